"""Which project a folder belongs to, and the files by which the agents of this machine are set up."""
