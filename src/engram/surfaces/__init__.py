"""Doors without decisions: the command line, and what turns answers into words or JSON."""
