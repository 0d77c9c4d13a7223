"""Records in plain text files of the form memory.v1: the text is the truth, and an index answers the reads."""
