"""Commands that are no operations: they set up this machine, answer hooks, or tell about the command itself."""
