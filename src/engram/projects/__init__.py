"""Which project a folder belongs to, so that memories land where they hold."""
