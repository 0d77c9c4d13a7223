"""What `engram serve` runs: one guard, who speaks, how much they may ask, and what is told of it."""
