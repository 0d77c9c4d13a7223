"""Hints at every door: tools for agents, routes for programs, and commands for the people who can run them."""

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import engram
from engram.errors import EngramError, NotFound
from engram.model import answers, answers_assets, answers_look, answers_store, answers_sync, answers_work
from engram.model.answers import Answer
from engram.model.change import Finding
from engram.service import OPERATIONS
from engram.surfaces import rewording
from engram.surfaces.cli import EXTRA
from engram.surfaces.http.routes import resources
from engram.surfaces.mcp.tools import SHOWN
from engram.surfaces.mentions import mentioned
from engram.surfaces.rewording import SENTENCES, Tools, as_routes

SOURCE = Path(engram.__file__).parent
OWN = Tools(SHOWN)
OTHERS = Tools({})
TEAM = Tools(SHOWN, "https://memory.example.org/web")
SERVED = {f"{each.method} {each.path}": set(each.arguments.schema["properties"]) for each in resources()}
SERVED |= {each.route: set() for each in OPERATIONS.values() if each.name in rewording.BYTES}


def written() -> Iterator[tuple[str, str]]:
    """Every text of the source that names a command or an option, as it reads with names filled in, and its file.

    What documents the source itself is left out, and so are examples of operations and options of other programs.
    """
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        apart = {id(part) for node in ast.walk(tree) for part in _no_sentence(node)}
        for node in ast.walk(tree):
            if id(node) not in apart and (text := _text(node)) and " " in text and any(mentioned(text)):
                yield path.relative_to(SOURCE).as_posix(), text


def _no_sentence(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Expr):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield from (part for part in ast.walk(node) if part is not node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "operation":
        yield from node.args


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    parts = node.values if isinstance(node, ast.JoinedStr) else []
    return "".join(str(each.value) if isinstance(each, ast.Constant) else "mem-0001" for each in parts)


HINTS = sorted({text for path, text in written() if not path.startswith(("surfaces/", "config.py"))})
"""What operations, rules, engines and profiles say of commands."""


def test_hints_are_found_in_the_source():
    assert len(HINTS) > 150
    assert "Nothing relevant is known here. See what came near with --weak, or try --everywhere." in HINTS


def test_every_hint_names_tools_that_an_agent_has_with_arguments_that_they_take():
    for hint in HINTS:
        said = OWN.says(hint, "recall")
        for name, given in re.findall(r"`(\w+)` with (\w+)", said):
            assert given in SHOWN[name], said
        for name in re.findall(r"`([a-z_]+)`(?! of)", said):
            assert name in SHOWN or name in SHOWN["recall"], said


@pytest.mark.parametrize("tools", [OWN, OTHERS, TEAM], ids=["own", "others", "team"])
def test_every_command_an_agent_is_told_says_whose_it_is(tools: Tools):
    for hint in HINTS:
        said = tools.says(hint, "recall")
        if any(mentioned(said)):
            assert "person" in said or "for whoever runs this memory" in said, said


def test_every_hint_names_routes_that_are_served_with_arguments_that_they_take():
    for hint in HINTS:
        _check_routes(as_routes(hint, "recall"))


def _check_routes(said: str) -> None:
    for method, path, more in re.findall(r"`(GET|POST|PATCH|DELETE) ([^?`]+)([^`]*)`", said):
        fits = [route for route in SERVED if _fits(route, method, path)]
        assert fits, said
        assert {each.partition("=")[0] for each in more[1:].split("&") if each} <= SERVED[fits[0]], said
    for one in mentioned(said):
        assert one.apart or one.command in EXTRA or (one.operation and one.operation.local), said
        assert "person" in said or "for whoever runs this memory" in said, said


def _fits(route: str, method: str, path: str) -> bool:
    served, _, form = route.partition(" ")
    return served == method and re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(form)), path) is not None


def test_a_plain_word_joined_to_an_option_is_its_value():
    hint = "Say where it holds: --scope=global for what holds everywhere, --scope=project:api for one of them."

    assert OWN.says(hint, "remember") == (
        "Say where it holds: `scope=global` for what holds everywhere, `scope=project:api` for one of them."
    )


def test_a_hint_keeps_every_word_that_is_no_command():
    for hint in HINTS:
        kept = hint
        for one in reversed([*mentioned(hint)]):
            kept = kept[: one.start] + kept[one.end :]
        said = as_routes(hint, "recall")
        assert [word for word in kept.split() if word.strip("()") not in said] == [], said


WORDED_LATER = ("_what_next", "NOTHING_OPEN")
"""Lines of renderers that whoever takes them puts into words."""


def test_a_renderer_says_nothing_of_commands_but_in_the_words_of_who_reads_it():
    paths = sorted((SOURCE / "surfaces" / "render").glob("*.py"))
    assert len(paths) >= 10
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        apart = {id(part) for node in ast.walk(tree) for part in _no_sentence(node)}
        apart |= {id(part) for node in ast.walk(tree) if _is_worded(node) for part in ast.walk(node)}
        bare = [_text(node) for node in ast.walk(tree) if id(node) not in apart and " " in _text(node)]

        assert [text for text in bare if any(mentioned(text))] == [], path.name


def _is_worded(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr in ("way", "says")
    named = [getattr(each, "id", "") for each in getattr(node, "targets", ())] or [getattr(node, "name", "")]
    return isinstance(node, ast.Compare) or named[0] in WORDED_LATER


# The words themselves


@pytest.mark.parametrize(
    ("hint", "asked", "said"),
    [
        ("See what came near with --weak.", "recall", "See what came near with `weak=true`."),
        ("See both: engram get mem-0001.", "", "See both: `get` with memory=mem-0001."),
        ("Look: engram list --standing stale.", "", "Look: `list` with standing=stale."),
        ('Say: engram remember "We deploy on Fridays".', "", 'Say: `remember` with text="We deploy on Fridays".'),
        ("Make them: engram reembed.", "recall", "Make them: `engram reembed` (for the person to run)."),
        ("Bring it back: engram undo 7", "", "Bring it back: `engram undo 7` (for the person to run)"),
        ("A person decides about it: engram review.", "", "A person decides about it: engram review."),
        (
            "A person decides: engram review. Judge it: engram judge mem-2~mem-1 supersedes, or so.",
            "",
            "A person decides: engram review. Judge it: `judge` with relation=mem-2~mem-1, kind=supersedes, or so.",
        ),
        (
            "Make them: engram reembed. Ask the person: engram forget mem-0001.",
            "",
            "Make them: `engram reembed` (for the person to run). Ask the person: engram forget mem-0001.",
        ),
        ("Ask with --words.", "recall", "Ask with `--words` of `engram recall` (for the person to run)."),
        ("Leave --since out.", "recall", "Leave `since` out."),
        ("Use a plain name.", "", "Use a plain name."),
    ],
)
def test_an_agent_reads(hint: str, asked: str, said: str):
    assert OWN.says(hint, asked) == said


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        (
            "A person decides about it: engram review.",
            "A person decides about it: the person's page https://memory.example.org/web/inbox.",
        ),
        ("See: engram history mem-0001.", "See: the person's page https://memory.example.org/web/memory/mem-0001."),
        ("See what there is: engram list.", "See what there is: `list`."),
        ("Up to date: engram migrate.", "Up to date: `engram migrate` (for whoever runs this memory)."),
    ],
)
def test_an_agent_of_a_team_is_sent_to_the_page(hint: str, said: str):
    assert TEAM.says(hint) == said


@pytest.mark.parametrize(
    ("hint", "asked", "said"),
    [
        ("See what came near with --weak.", "recall", "See what came near with `weak=true`."),
        ("See yours: engram keys list.", "", "See yours: `GET /v1/apikeys`."),
        ("Look: engram list --standing stale.", "", "Look: `GET /v1/memories?standing=stale`."),
        (
            "Do: engram promote mem-0001 --confirm.",
            "",
            "Do: `POST /v1/memories/mem-0001/promote` with confirm=true.",
        ),
        ("Say so with --confirm.", "purge", "Say so with `confirm=true`."),
        ("See what waits: engram review --list.", "", "See what waits: `GET /v1/review`."),
        ("Run `engram doctor`; wait.", "", "Run `GET /v1/doctor`; wait."),
        ("Again: engram attach mem-0001 FILE.", "", "Again: `POST /v1/memories/mem-0001/assets`."),
        ("Up to date: engram migrate.", "", "Up to date: `engram migrate` (for whoever runs this memory)."),
        (
            "ENGRAM_STORE=files:F engram list.",
            "",
            "`ENGRAM_STORE=files:F engram list` (for whoever runs this memory).",
        ),
    ],
)
def test_a_program_reads(hint: str, asked: str, said: str):
    assert as_routes(hint, asked) == said


# Where hints stand


def test_every_answer_that_has_a_hint_has_it_in_other_words():
    modules = (answers, answers_assets, answers_look, answers_store, answers_sync, answers_work)
    every = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    hinting = [one for one in every if issubclass(one, Answer) and set(SENTENCES) & set(one.FIELDS)]

    assert len(hinting) > 15
    for kind in hinting:
        sentence = next(name for name in SENTENCES if name in kind.FIELDS)
        bare = kind(**dict.fromkeys(kind.FIELDS) | {sentence: "Look: engram list."})
        told = rewording.told(bare, OWN.says)
        assert told._asdict()[sentence] == "Look: `list`.", kind


def test_findings_within_an_answer_are_worded_too():
    now = datetime(2026, 1, 5, tzinfo=UTC)
    found = (Finding("a", "It is stale.", "Look: engram list."), Finding("b", "Nothing."))
    report = answers_store.Report(**dict.fromkeys(answers_store.Report.FIELDS) | {"at": now, "findings": found})

    assert [one.hint for one in rewording.told(report, OWN.says).findings] == ["Look: `list`.", ""]


def test_an_error_that_comes_by_twice_is_worded_once():
    def fails() -> None:
        raise NotFound("No.", "See --weak, or engram reembed.")

    with pytest.raises(EngramError) as caught:
        rewording.ask(OWN.says, "recall", fails)
    rewording.reword(caught.value, OWN.says, "get")

    assert caught.value.hint == "See `weak=true`, or `engram reembed` (for the person to run)."


def test_what_was_remembered_is_never_reworded(tmp_path: Path):
    with engram.open(str(tmp_path / "memory.db")) as memory:
        memory.remember("Say engram review --list every Monday")
        found = rewording.told(memory.recall("Monday"), OWN.says)

    assert found.hits[0].memory.text == "Say engram review --list every Monday"
