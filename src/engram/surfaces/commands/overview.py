"""All commands on one page, in the order a newcomer meets them."""

from collections.abc import Iterator, Mapping, Sequence

from engram.errors import TABLE
from engram.service import Operation, listed
from engram.surfaces.render.paper import cut, folded

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Remember and find": ("memories", "erasing", "recalls", "search", "capture", "sessions", "harvest", "assets"),
    "Decide": ("reviews", "routing", "conflicts", "relations"),
    "Look back": ("history",),
    "Look around": ("projects", "evidence", "files", "graph", "trends", "insights"),
    "Look after the store": ("upkeep", "hygiene", "backups", "models"),
    "Exchange with other stores": ("importing", "exporting", "syncing", "remotes"),
    "Run a team's store": ("keys", "owners"),
}
"""What a group of commands is for → the modules its operations stand in."""

FIRST = ("remember", "recall")
"""What a newcomer needs before all else: these stand before the others of their section."""

MACHINE = "On this machine"

CODES: Mapping[int, str] = {
    0: "done",
    1: "internal error",
    **{each.exit_code: each.code.replace("_", " ") for each in TABLE},
    11: "evidence --fail-on found one",
    130: "stopped by Ctrl-C",
}
"""What each exit code means, in a few words."""


def sections() -> Iterator[tuple[str, list[Operation]]]:
    """Every operation once, under what it is for."""
    for title, groups in SECTIONS.items():
        found = [each for each in listed() if each.group in groups]
        yield title, sorted(found, key=lambda each: (each.name not in FIRST, groups.index(each.group)))


def overview(extra: Mapping[str, str], width: int) -> Iterator[str]:
    """The lines of `engram --help`, a command each; `extra` are those that are no operations."""
    tables = [(title, [(each.command, each.summary) for each in operations]) for title, operations in sections()]
    tables.append((MACHINE, list(extra.items())))
    wide = max(len(command) for _, rows in tables for command, _ in rows)
    yield from folded("engram: one trustworthy memory for every agent you run.", width)
    yield from ("", "Usage: engram COMMAND [OPTIONS]")
    yield from (
        "",
        "Begin with:",
        '  engram remember "We deploy on Fridays"',
        '  engram recall "when do we deploy?"',
    )
    for title, rows in tables:
        yield from ("", f"{title}:")
        yield from (f"  {command:<{wide}}  {cut(about, width - wide - 4)}" for command, about in rows)
    codes = ", ".join(f"{code} {name}" for code, name in CODES.items())
    yield ""
    yield from folded(
        "Every command takes --help (with examples). All but tui take --json; commands about memories also take"
        " --store PATH.",
        width,
    )
    yield from folded(f"Exit codes: {codes}.", width)


def beginning_with(word: str) -> Sequence[str]:
    """A line for each command that begins with a word, such as `backup`."""
    found = [each for each in listed() if each.command.startswith(f"{word} ")]
    wide = max((len(each.command) for each in found), default=0)
    return [f"engram {each.command:<{wide}}  {each.summary}" for each in found]
