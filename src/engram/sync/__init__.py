"""History between stores: chunks of it, the folder they lie in, who signs them, and the way to a server."""
