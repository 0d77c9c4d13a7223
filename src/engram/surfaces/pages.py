"""Where the page does what a command does."""

from urllib.parse import quote

from engram.surfaces.mentions import Mention

PLACES = {
    "review": ("/inbox", "the inbox"),
    "promote": ("/inbox", "the inbox"),
    "reject": ("/inbox", "the inbox"),
    "history": ("/history", "the history"),
    "undo": ("/history", "the history"),
    "list": ("/search", "the search"),
    "search": ("/search", "the search"),
    "recall": ("/search", "the search"),
    "conflicts": ("/conflicts", "the conflicts"),
    "evidence": ("/files", "the files"),
    "files": ("/files", "the files"),
    "context": ("/next", "the next session"),
    "doctor": ("/health", "the health page"),
    "reembed": ("/health", "the health page"),
    "stats": ("/stats", "the stats"),
    "trends": ("/stats", "the stats"),
}
"""Where a command without a memory is at home, and what that is called."""

OF_ONE = frozenset({"history", "get", "revise", "verify", "forget", "restore", "related", "promote", "reject"})
"""Commands whose memory's own page does what they do."""


def place_of(mention: Mention) -> tuple[str, str] | None:
    """The path at which the page does what a command says, and what is to be seen there; None where it does not."""
    name, options = mention.command, dict(mention.options)
    if mention.apart:
        return None
    if name in OF_ONE and mention.given and not mention.given[0].isupper():
        return f"/memory/{quote(mention.given[0])}", mention.given[0]
    if pair := _pair_of(mention):
        return f"/conflicts/{quote(pair)}", pair.replace("~", " and ")
    if standing := options.get("standing"):
        return f"/search?standing={standing}", f"what is {standing}"
    if name == "conflicts" and "scan" in options:
        return PLACES["doctor"]
    return PLACES.get(name)


def _pair_of(mention: Mention) -> str:
    """The two memories that a command is about; "" where it is about no pair."""
    options = dict(mention.options)
    if mention.command == "relate":
        pair = "~".join(mention.given[:2])
    elif mention.command == "judge":
        pair = next(iter(mention.given), "")
    else:
        pair = (options.get("pair") or options.get("ignore", "")) if mention.command == "conflicts" else ""
    return pair if "~" in pair and not pair.isupper() else ""
