"""Citations against the world: whether what a memory cites is still there."""
