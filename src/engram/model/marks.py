"""The marks around what was recalled: by them it is known again, and never captured as something new."""

BEGIN = "<engram-memory>"
END = "</engram-memory>"
