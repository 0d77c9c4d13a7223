"""The memory as an agent meets it: tools, pages and prompts over the Model Context Protocol."""
