"""The memory at a terminal, full screen: inbox, search, memory and history, by the keys of the web page."""
