"""Doors without decisions: the command line, MCP, HTTP and the page, and what turns answers into words or JSON."""
