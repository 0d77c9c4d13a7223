"""Write the generated pages of docs/: architecture and reference, from the code they describe.

python tools/docs.py            write them
python tools/docs.py --check    exit 1 and name the stale ones
"""

import argparse
import ast
import contextlib
import io
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from docs_python import WIDTH, first_line, python
from manual import manual

from engram import config, errors
from engram.layout import DATABASE_ENDINGS
from engram.model import limits
from engram.operations.base import Operation
from engram.rules.kinds import TABLE, Kind
from engram.surfaces import cli
from engram.surfaces.commands.overview import MACHINE, sections
from engram.surfaces.http.openapi import describe
from engram.surfaces.http.routes import resources
from engram.surfaces.parsing import parser_for

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "engram"
DOCS = ROOT / "docs"

NOTICE = "<!-- Made by tools/docs.py from the code. Do not edit: run `make docs`. -->"

FENCE = ROOT / "tests" / "architecture" / "test_fence.py"
"""The test that holds the table of layers: the page shows what is enforced."""


def pages() -> dict[Path, str]:
    """Every generated page: its path and the text it should have."""
    makers: dict[str, Callable[[], Iterable[str]]] = {
        "architecture.md": architecture,
        "reference/cli.md": commands,
        "reference/http.md": routes,
        "reference/python.md": python,
        "reference/settings.md": settings,
        "reference/errors.md": failures,
        "reference/kinds.md": kinds,
        "reference/limits.md": bounds,
    }
    with _wide():
        made = {DOCS / name: "\n".join((NOTICE, "", *make())).rstrip() + "\n" for name, make in makers.items()}
    return made | {DOCS / "reference" / "engram.1": manual()}


@contextlib.contextmanager
def _wide() -> Iterator[None]:
    """Help texts are wrapped to the width of the terminal: give them one that never wraps, and no colour."""
    before = dict(os.environ)
    os.environ.update(COLUMNS="1000", NO_COLOR="1")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def stale() -> list[str]:
    """The pages that differ from what the code says, by their path in the repository."""
    return [
        str(path.relative_to(ROOT))
        for path, text in pages().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


# --- architecture ---


def architecture() -> Iterator[str]:
    """The tree, a sentence a module, and who may import whom."""
    yield from (
        "# Architecture",
        "",
        "Engram is a core of pure decisions with input and output at its edge. An operation reads what is",
        "there, asks a rule what should become of it, and hands the answer, a Change, to an engine, which",
        "applies it whole or not at all. The [decisions](adr/) say why.",
        "",
        "## The tree",
        "",
        "Each line is the first sentence of the module's docstring.",
        "",
        "```",
        *_tree(),
        "```",
        "",
        "## Layers",
        "",
        "A test, `tests/architecture/test_fence.py`, reads every import and names the one that breaks this table.",
        "",
        *_table(("layer", "may import of ours", "because"), _layers()),
        "",
        "`wiring` may import everything. The public face and the doors that start a process ask it for an Engram.",
        "`__init__.py` is the public face: what it lists in `__all__` is the interface, the rest may change.",
    )


def _tree() -> Iterator[str]:
    rows = [("engram/", _first_sentence(SOURCE / "__init__.py"))]
    folders = sorted(each for each in SOURCE.iterdir() if (each / "__init__.py").is_file())
    files = sorted(each for each in SOURCE.glob("*.py") if each.name != "__init__.py")
    rows += [(f"  {file.name}", _first_sentence(file)) for file in files]
    for folder in folders:
        rows += _inside(folder, "  ")
    wide = max(len(name) for name, _ in rows) + 2
    for name, about in rows:
        first, *rest = textwrap.wrap(about, WIDTH - wide) or [""]
        yield f"{name.ljust(wide)}{first}".rstrip()
        yield from (" " * wide + line for line in rest)


def _inside(folder: Path, indent: str) -> list[tuple[str, str]]:
    """A package, its modules, and the packages in it."""
    rows = [(f"{indent}{folder.name}/", _first_sentence(folder / "__init__.py"))]
    files = sorted(each for each in folder.glob("*.py") if each.name != "__init__.py")
    rows += [(f"{indent}  {file.name}", _first_sentence(file)) for file in files]
    deeper = sorted(each for each in folder.iterdir() if (each / "__init__.py").is_file())
    return [*rows, *(row for each in deeper for row in _inside(each, f"{indent}  "))]


def _layers() -> Iterator[tuple[str, str, str]]:
    """The table of the fence: each layer, what it may import, and why."""
    found = [
        each.value
        for each in ast.parse(FENCE.read_text(encoding="utf-8")).body
        if isinstance(each, ast.AnnAssign) and ast.unparse(each.target) == "MAY_IMPORT" and each.value is not None
    ]
    rows = ast.literal_eval(found[0])
    for name, (allowed, why) in rows.items():
        shown = "`__init__.py`" if name == "face" else f"`{name}`"
        yield shown, ", ".join(one for one in [*rows, "wiring"] if one in allowed) or "nothing", why


def _first_sentence(file: Path) -> str:
    prose = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(prose.partition("\n\n")[0].split())
    found = re.match(r".+?[.?!](?=\s|$)", paragraph)
    return found[0] if found else paragraph


# --- command line ---


def commands() -> Iterator[str]:
    """Every command, as `--help` prints it."""
    yield from (
        "# Commands",
        "",
        "`engram COMMAND --help` prints the same. Required parameters stand alone, the others are options; an",
        "option that may be repeated says so. Every operation takes `--json` (one stable shape, times in UTC)",
        "and `--store PATH`. Exit codes are those of the [table of errors](errors.md).",
        "",
    )
    for title, operations in sections():
        yield from (f"## {title}", "")
        for operation in operations:
            yield from _command(operation)
    yield from (f"## {MACHINE}", "")
    for name in cli.EXTRA:
        yield from (f"### engram {name}", "", "```text", *_printed([name, "--help"]), "```", "")


def _command(operation: Operation) -> Iterator[str]:
    usage, _, rest = parser_for(operation).format_help().partition("\n\n")
    flags = [
        word for word, is_so in (("writes", operation.writes), ("meant for a person", operation.human)) if is_so
    ]
    flags += ["cannot be undone"] if operation.destructive else []
    yield from (f"### engram {operation.command}", "")
    yield from ((f"*{', '.join(flags)}*", "") if flags else ())
    yield from ("```text", *_usage(usage), "", *rest.rstrip().splitlines(), "```", "")


def _usage(text: str) -> list[str]:
    """A usage text in which no line break falls inside brackets."""
    whole: list[str] = []
    for word in re.findall(r"\[[^\]]*\]|\S+", " ".join(text.split())):
        if whole and len(whole[-1]) + 1 + len(word) <= WIDTH:
            whole[-1] += f" {word}"
        else:
            whole.append(" " * 9 * bool(whole) + word)
    return whole


def _printed(words: list[str]) -> list[str]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        cli.main(words)
    return out.getvalue().rstrip().splitlines()


# --- HTTP ---


def routes() -> Iterator[str]:
    """Every operation that is served over HTTP, by its route."""
    yield from (
        "# Routes",
        "",
        "What `engram serve` answers under `/v1`; [Over HTTP](../guides/http.md) shows how it is asked. Options",
        "are those of the [command](cli.md), with `_` for `-`: in the query of GET and DELETE, else in a JSON",
        "object. `/openapi.json` has all of it with schemas and examples.",
        "",
    )
    paths = describe(resources())["paths"]
    served = {f"{way.upper()} {path}" for path, ways in paths.items() for way in ways}
    for title, operations in sections():
        rows = [
            (f"`{each.route}`", each.summary, f"`{each.command}`", _for(each))
            for each in operations
            if each.route in served
        ]
        if rows:
            yield from (f"## {title}", "", *_table(("route", "what it does", "command", ""), rows), "")


def _for(operation: Operation) -> str:
    flags = {"writes": operation.writes, "a person's": operation.human, "cannot be undone": operation.destructive}
    return ", ".join(word for word, is_so in flags.items() if is_so)


# --- tables ---


def settings() -> Iterator[str]:
    """The table of settings."""
    rows = [
        (f"`{each.name}`", f"`{each.variable}`", _default(each.default), "yes" if each.shared else "no", each.about)
        for each in config.SETTINGS
    ]
    *others, last = (f"`{ending}`" for ending in sorted(DATABASE_ENDINGS))
    endings = f"{', '.join(others)} or {last}"
    aliases = ", ".join(f"`{old}` is `{new}` given as a folder" for old, new in config.ALIASES.items())
    yield from (
        "# Settings",
        "",
        "An environment variable goes over a file, a file over the default. There may be two files, both called",
        f"`{config.FILE}`: your own in `$XDG_CONFIG_HOME/engram/` (else `~/.config/engram/`), and one in the",
        "project, found from the working directory upwards to the root of the repository. The project's file goes",
        "over your own, but may hold only the settings marked so below, because others may have written it.",
        "`engram config` shows every value and where it comes from.",
        "",
        *_table(("setting", "variable", "default", "in a project's file", "meaning"), rows),
        "",
        "With no `store`, memories rest in `$XDG_DATA_HOME/engram/engram.db` (else",
        "`~/.local/share/engram/engram.db`), or in that folder itself where plain files lie in it without one.",
        "A path to a file is a database, a path to a folder is plain files; one that leads nowhere yet is a",
        f"database if it ends with {endings}, else a folder. `ram:` lasts as long as the process.",
        f"In a file, {aliases}. A variable that is a switch takes",
        "`1`, `true`, `yes`, `on` or their opposites. Tables are JSON there; in a file `kinds` is:",
        "",
        "```toml",
        "autopromote = true",
        "budget = 2000",
        "",
        "[kinds.runbook]",
        "tier = 3",
        'decay = "90d"',
        'recall = "on_demand"',
        'about = "Steps to take when something breaks."',
        "```",
    )


def _default(value: object) -> str:
    return {"": "none", "{}": "none"}.get(str(value), f"`{str(value).lower()}`")


def failures() -> Iterator[str]:
    """The table of errors."""
    rows = [
        (f"`{each.__name__}`", f"`{each.code}`", str(each.exit_code), str(each.http_status), first_line(each))
        for each in errors.TABLE
    ]
    bug = "A bug. The details go to a log, and the answer says where; please report them."
    rows.append(("anything else", "`internal`", "1", "500", bug))
    yield from (
        "# Errors",
        "",
        "Every failure is one of these. All are subclasses of `engram.EngramError` and carry `message`, what",
        "happened, and `hint`, the next step. `engram serve` answers with the HTTP status of the class.",
        "",
        *_table(("class", "code", "exit code", "HTTP status", "when"), rows),
        "",
        "On the command line the message and the hint go to standard error, one line each. With `--json` they are",
        "one object there:",
        "",
        "```json",
        '{"error": {"code": "not_found", "message": "…", "hint": "…"}}',
        "```",
        "",
        "Exit code 0 means done, also for a `recall` that found nothing. `doctor` ends with 8 when it found an",
        "error, `evidence --fail-on` with 11 when it found one of the verdicts named. 130 means stopped by Ctrl-C.",
        "",
        "Over HTTP there are two more, answered before credentials are asked for: 421 `misdirected`, where the",
        "request names another host, and 405 `invalid`, where a route does not know its method.",
        "",
        "What a caller may not read is `NotFound`, never `Forbidden`, so that nobody can probe for what exists.",
    )


def kinds() -> Iterator[str]:
    """The table of kinds."""
    yield from (
        "# Kinds",
        "",
        "A kind decides how much care a memory takes (its tier), how long it stays fresh (its decay) and when it",
        "is recalled. `engram kinds` shows the table as configured; [settings](settings.md) can add rows.",
        "",
        "- Tier 1 and tier 2 go live by themselves, while `autopromote` is on. A contradiction holds any tier.",
        "  Tier 3 is curated: it becomes live by a person's confirmed word only.",
        "- Recall `always`: found by `recall`, and part of `context`. `on_demand`: found only when asked for by",
        "  `--kind`, and never part of `context`. `own_list`: in neither, whatever is asked; insights have",
        "  [a list of their own](../guides/insights.md).",
        "- Cited: at least one citation is required, and the origin is `inferred` whoever typed it: a discovery is",
        "  told from what it cites. Apart: each saving is a memory of its own, never a repeat.",
        "",
        *_table(("kind", "tier", "decay", "recall", "", "about"), [_kind(each) for each in TABLE]),
        "",
        "Any other lower-case word is a kind too: tier 2, fresh for 180 days, always recalled.",
    )


def _kind(kind: Kind) -> tuple[str, ...]:
    marks = ", ".join(word for word, is_so in (("cited", kind.cited), ("apart", kind.apart)) if is_so)
    return (f"`{kind.name}`", str(kind.tier), kind.decay, kind.recall, marks, kind.about)


def bounds() -> Iterator[str]:
    """The table of limits."""
    rows = [(f"`{name}`", f"{most:,}", LIMITED.get(name, "")) for name, most in limits.LIMITS.items()]
    units = ", ".join(f"`{unit}` = {_span(hours)}" for unit, hours in limits.DECAY_HOURS.items())
    yield from (
        "# Limits",
        "",
        "Sizes are UTF-8 bytes. The exact limit is accepted; one byte more is an `Invalid` error that names the",
        "field, the limit and the size. Nothing is ever cut silently.",
        "",
        *_table(("field", "bytes at most", "what is measured by it"), rows),
        "",
        *_table(
            ("list", "at most"),
            [
                ("tags of a memory", str(limits.MOST_TAGS)),
                ("citations of a memory", str(limits.MOST_CITATIONS)),
                ("assets of a memory", str(limits.MOST_ASSETS)),
            ],
        ),
        "",
        "| value | form |",
        "|---|---|",
        "| `confidence` | 0 to 1, rounded to two decimals |",
        "| `importance` | a whole number from 1 to 10 |",
        f"| `decay` | `none`, or a whole number and a unit: {units}; from 1h to 200y |",
        f"| every time | with a time zone, from {limits.EARLIEST:%Y-%m-%d} to before {limits.LATEST:%Y-%m-%d} |",
        "| `kind` | lower-case letters and digits, begun by a letter, parts joined by `_` or `-` |",
        "| `sha256` of an asset | 64 lower-case hexadecimal digits |",
        "",
        "Control characters are refused everywhere, but for tab, and for line breaks in the text, an excerpt and a",
        "reason. Lone surrogates are refused.",
    )


LIMITED = {
    "text": "the text of a memory",
    "summary": "its summary, a single line",
    "key": "a key; also ids and references to ids",
    "scope": "a scope in its printed form",
    "source": "where it comes from",
    "kind": "a kind",
    "tag": "one tag",
    "ref": "what a citation points at",
    "locator": "where in it",
    "pin": "the version of it",
    "excerpt": "what it said; also the evidence of a relation",
    "name": "session, owner, actor; name and media type of an asset",
    "reason": "the reason of a relation",
    "context": "each field of a context",
    "token": "an idempotency token",
}


def _span(hours: int) -> str:
    return f"{hours} hour" if hours == 1 else f"{hours} hours" if hours == 24 else f"{hours // 24} days"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write the generated pages of docs/.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 and name what is stale")
    check = parser.parse_args(arguments).check
    old = stale()
    if check:
        for name in old:
            print(f"{name} is stale. Run: make docs")
        return 1 if old else 0
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print("\n".join(f"wrote {name}" for name in old) or "Every page was fresh.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
