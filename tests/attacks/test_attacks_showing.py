"""What a person is shown is what is there: nothing hides, turns a line around, or steers a terminal."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

import engram as package
from attacks.doors import house
from attacks.ledger import tried
from engram.surfaces.mcp.asking import question_about
from engram.surfaces.render.paper import Paper
from engram.surfaces.review import told
from surfaces.driving import Driver

ATTACK = "A name or a text that hides, turns around or steers what is shown"
SHOWN = "shown by its number"
HIDDEN = "one\u202etwo\u2066\u200b\U000e0041three\u3164\ufe00four"
FILLERS = "\u3164\ufe00"
STEERING = "a\x1b]0;title\x07\x1b[2Jb"


def hides(shown: str) -> set[str]:
    """What in a text a person does not see, or a terminal obeys."""
    return {sign for sign in shown if sign in FILLERS or not (sign.isprintable() or sign in "\n\t")}


@pytest.fixture
def full(engram: Driver) -> Driver:
    """A store with such a name wherever one may stand, and files of such names."""
    subprocess.run(["git", "init", "-q"], cwd=engram.folder, check=True)
    for words in (
        ("--tag", HIDDEN, "--key", HIDDEN, "--source", f"web:{HIDDEN}", "--session", HIDDEN, "--summary", HIDDEN),
        ("--cite", f"https://example.org/{HIDDEN}"),
        ("--scope", f"project:{HIDDEN}"),
    ):
        engram.remember(f"Said with {words[0]} {HIDDEN}", *words)
    engram("session", "begin", HIDDEN, "--agent", HIDDEN, "--folder", f"/{HIDDEN}", "--branch", HIDDEN)
    engram("relate", "mem-0002", "mem-0003", "conflicts", "--reason", HIDDEN, "--model", HIDDEN)
    engram("attach", "mem-0002", "-", "--name", f"{HIDDEN}.txt", stdin=b"plain")
    (engram.folder / f"{STEERING}.md").write_text("# Conventions\n\n- Builds are cached for a week\n")
    (engram.folder / f"{STEERING}.jsonl").write_text('{"x":')
    return engram


def test_no_name_hides_or_steers_at_the_terminal(full: Driver):
    asked = (
        ("list", "--everywhere", "--standing", "all"),
        *(("get", f"mem-000{n}") for n in range(1, 4)),
        ("recall", "said", "--everywhere", "--explain"),
        ("history", "--limit", "50"),
        ("session", "list", "--everywhere"),
        ("projects", "list"),
        ("conflicts",),
        ("related", "mem-0002"),
        ("assets", "mem-0002"),
        ("stats",),
        ("review",),
        ("get", HIDDEN),
        ("list", "--scope", f"project:{HIDDEN}"),
        ("cited", f"{STEERING}.md"),
        ("import", str(full.folder / f"{STEERING}.md")),
        ("import", str(full.folder / f"{STEERING}.jsonl")),
        ("session", "end", HIDDEN, "--summary", HIDDEN),
        ("export", str(full.folder / f"{STEERING}.out")),
    )
    shown = {words: full(*words) for words in asked}

    assert {words: hides(done.out + done.err) for words, done in shown.items() if hides(done.out + done.err)} == {}
    assert {words[0]: done.code for words, done in shown.items() if done.code} == {"get": 3, "import": 2}
    for words, done in shown.items():
        told = done.out + done.err
        assert ("\\u001b" if STEERING in words[-1] else "\\u200b") in told, (words, told)
    assert "\\u202e" in shown["get", "mem-0001"].out
    tried(ATTACK, "CLI", SHOWN)


def test_no_text_hides_anything_on_the_page(tmp_path: Path):
    with house(tmp_path) as home:
        said = json.dumps({"text": f"Said {HIDDEN}", "tag": [HIDDEN], "source": f"web:{HIDDEN}"})
        one = home.ask("POST", "/v1/memories", said).json["memory"]["handle"]
        cookie, _ = home.visit()
        pages = [
            home.ask("GET", path, authorization="", cookie=cookie).body
            for path in ("/web/inbox", f"/web/memory/{one}", "/web/history", "/web/search?q=said&standing=pending")
        ]
    # The form to edit it has the text as it is: what comes back must be what was there.
    shown = [re.sub(r"(?s)<textarea.*?</textarea>|<input[^>]*>|<[^>]+>", "", page) for page in pages]

    assert all("U+202E" in page for page in shown[:2])
    assert [hides(page.replace("\r", "")) for page in shown] == [set()] * 4
    assert ["Said one" in page for page in shown] == [True] * 4
    tried(ATTACK, "web", SHOWN)


BREAKING = (
    "---\nevil: true\n---\n# New",
    "../../evil",
    "[[../../evil]]",
    "a: b # c\n- evil",
    "!!python/object:os.system evil",
    "\u2028evil: true",
    'evil"\\',
    "<!-- engram:begin -->",
)


@pytest.mark.parametrize("form", ["obsidian", "memory-v1"])
def test_no_name_or_text_breaks_out_of_an_exported_folder_or_its_fields(tmp_path: Path, form: str):
    variables = {"HOME": str(tmp_path / "home"), "ENGRAM_EMBEDDER": "none"}
    folder = tmp_path / "apart" / "out"
    folder.parent.mkdir()
    with package.open("ram:", folder=tmp_path, environment=variables) as memory:
        for text in BREAKING:
            line = " ".join(text.split())
            memory.remember(f"Said: {text}", summary=line, tag=[line], key=line, source=line, session=line)
            memory.remember(text, scope=f"project:{line}")
        memory.export(str(folder), form=form)
    files = [path for path in folder.rglob("*") if path.is_file()]
    texts = [path.read_text() for path in files if path.suffix == ".md"]
    heads = [text[4:].partition("\n---")[0] for text in texts if text.startswith("---\n")]
    fields = [yaml.safe_load(head) for head in heads]

    assert len(fields) >= (2 * len(BREAKING) if form == "obsidian" else 1)
    assert [text for text in BREAKING if not any(text.split()[-1] in page for page in texts)] == []
    assert [path for path in folder.parent.iterdir() if path != folder] == []
    assert not any(path.is_symlink() or ".." in path.name.split() for path in folder.rglob("*"))
    assert not any("evil" in field for field in fields)
    tried("A name or a text that breaks out of an exported folder or its fields", "CLI", "stays where it belongs")


def test_colours_are_ours_and_nothing_else_steers():
    paper = Paper(colour=True)
    shown = paper.clean(f"{paper.bold(STEERING)} {paper.bad(HIDDEN)}")

    assert shown.replace("\x1b[1m", "").replace("\x1b[31m", "").replace("\x1b[0m", "").isprintable()
    assert shown.startswith("\x1b[1ma\\u001b]0;title")


def test_what_a_person_is_asked_about_hides_nothing(tmp_path: Path):
    variables = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_AGENT": "builder"}
    with package.open("ram:", folder=tmp_path, environment=variables) as memory:
        said = memory.remember(f"Ada is called {HIDDEN}", kind="identity", source=HIDDEN, scope=f"project:{HIDDEN}")
        question = question_about(said)
        (waiting,) = memory.review(scope=f"project:{HIDDEN}").candidates
        lines = list(told(waiting, memory.now, Paper()))

    assert question is not None
    assert (hides(question.message), hides("\n".join(lines))) == (set(), set())
    assert "\\u202e" in question.message
    assert "\\u202e" in "\n".join(lines)
    assert question.schema["properties"]["text"]["default"] == said.memory.text  # what is approved is what was said
    for surface in ("MCP", "CLI"):
        tried(ATTACK, surface, SHOWN)
