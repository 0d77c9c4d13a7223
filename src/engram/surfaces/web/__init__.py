"""The page in a browser: reviewing, looking and undoing, with every decision left to the operations."""
