"""The pages say what is so: the reference is fresh, shown commands run, links lead somewhere, names exist."""

import contextlib
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from engram import config
from engram.engines.sqlite_file import MEMORY_COLUMNS
from engram.model.event import Event
from engram.model.memory import Asset, Citation, Context, Memory
from engram.model.relation import Relation
from engram.model.session import Session
from engram.service import OPERATIONS, Engram
from engram.surfaces.cli import BY_FLAG, EXTRA, main
from engram.surfaces.parsing import RENDERING, parameters
from interop.dirty_stores import DIRTY_STORES

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")],
    key=lambda path: path.relative_to(ROOT).as_posix(),
)
SHOWN = [ROOT / "README.md", ROOT / "docs" / "start.md"]
EVERYWHERE = {"--json", "--store", "--help", "-h"}
FIRST_WORDS = {operation.command.partition(" ")[0] for operation in OPERATIONS.values()}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path, *languages: str) -> list[str]:
    """The fenced blocks of a page in one of these languages."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [text for language, text in found if language in languages]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("engram_docs_tool", ROOT / "tools" / "docs.py")
    assert spec is not None
    assert spec.loader is not None
    sys.path.append(str(ROOT / "tools"))  # as for a script that is run there
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- the reference ---


def test_the_generated_pages_are_fresh():
    assert generator().stale() == [], "run: make docs"


def test_the_check_names_a_stale_page_and_fails(tmp_path, capsys):
    tool = generator()
    tool.ROOT, tool.DOCS = tmp_path, tmp_path / "docs"
    assert tool.main(["--check"]) == 1
    assert "docs/reference/cli.md is stale" in capsys.readouterr().out
    tool.main([])
    assert tool.main(["--check"]) == 0


def test_the_generated_pages_do_not_depend_on_the_terminal(monkeypatch):
    tool = generator()
    before = tool.pages()
    monkeypatch.setenv("COLUMNS", "40")
    assert tool.pages() == before
    assert os.environ["COLUMNS"] == "40"


def test_every_command_is_in_the_reference():
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    for command in [*(operation.command for operation in OPERATIONS.values()), *EXTRA]:
        assert f"### engram {command}\n" in page


def test_every_method_is_in_the_python_reference():
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    for operation in OPERATIONS:
        method = "import_" if operation == "import" else operation
        assert hasattr(Engram, method)
        assert f"### {method}\n" in page


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_every_operation_has_an_example_and_says_what_its_parameters_mean(operation):
    assert operation.examples
    assert operation.summary.endswith(".")
    for parameter in parameters(operation):
        assert parameter.about, parameter.name


# --- what is shown, runs ---


@pytest.fixture
def place(tmp_path: Path) -> dict[str, str]:
    """An environment with a throw-away store and nobody's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ENGRAM_", "XDG_"))}
    return kept | {"HOME": str(tmp_path), "ENGRAM_STORE": str(tmp_path / "e.db"), "NO_COLOR": "1"}


def sessions(path: Path) -> Iterator[tuple[str, str]]:
    """Each command of a page's console blocks, with the output shown for it."""
    for block in blocks(path, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def normalised(text: str) -> str:
    """The text without what differs each time: ids, hashes, moments, and space at the ends of lines."""
    text = re.sub(r"\b[0-9a-f]{8}-[0-9a-f]{4}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?\b", "ID", text)
    text = re.sub(r"\b[0-9a-f]{64}\b", "HASH", text)
    text = re.sub(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z| UTC)", "TIME", text)
    text = re.sub(r"\b(just now|\d+ \w+ ago)\b( {2,})?", lambda found: "AGO  " if found[2] else "AGO", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def run(command: str, place: dict[str, str]) -> str:
    words = shlex.split(command)
    assert words[0] == "engram", command
    done = subprocess.run(
        [sys.executable, "-m", "engram.surfaces.cli", *words[1:]],
        env=place | {"PYTHONPATH": str(ROOT / "src")},
        cwd=place["HOME"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("path", SHOWN, ids=name_of)
def test_the_commands_of_a_page_answer_as_shown(path, place):
    shown = list(sessions(path))
    assert shown
    for command, output in shown:
        assert normalised(run(command, place)) == normalised(output), command


def test_what_is_shown_of_another_store_is_what_the_command_says_of_one(place):
    DIRTY_STORES["observations"](Path(place["HOME"]))
    [(command, output)] = sessions(ROOT / "docs" / "guides" / "hygiene.md")
    assert normalised(run(command, place)) == normalised(output)


def test_readme_shows_the_whole_round():
    said = " ".join(command for command, _ in sessions(ROOT / "README.md"))
    for command in ("remember", "promote", "recall", "undo", "history"):
        assert f"engram {command}" in said


def test_the_python_of_the_readme_prints_what_its_comments_say(place, monkeypatch):
    for name, value in place.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(place["HOME"])
    ran = blocks(ROOT / "README.md", "python")
    assert ran
    for block in ran:
        expected = re.findall(r"^\s*print\(.*\)  # (.*)$", block, re.MULTILINE)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block, "README.md", "exec"), {})  # noqa: S102 - our own page
        assert out.getvalue().splitlines() == expected


def test_the_first_python_of_the_reference_runs(place, monkeypatch, capsys):
    for name, value in place.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(place["HOME"])
    block = blocks(ROOT / "docs" / "reference" / "python.md", "python")[0]
    exec(compile(block, "python.md", "exec"), {})  # noqa: S102 - our own page
    assert "We deploy on Fridays" in capsys.readouterr().out


def test_the_settings_shown_can_be_read(tmp_path):
    own = tmp_path / ".config" / "engram"
    own.mkdir(parents=True)
    (own / "engram.toml").write_text(
        blocks(ROOT / "docs" / "reference" / "settings.md", "toml")[0], encoding="utf-8"
    )
    settings = config.read({"HOME": str(tmp_path)}, tmp_path)
    assert settings.get("kinds")["runbook"]["tier"] == 3


# --- names and links ---


def headings(path: Path) -> set[str]:
    """The anchors of a page, as they are made from its headings."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_relative_link_leads_somewhere(path):
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if re.match(r"\w+:", link):
            continue
        target, _, anchor = link.partition("#")
        place = path if not target else path.parent / target
        assert place.resolve().is_relative_to(ROOT), link
        assert place.exists(), link
        if anchor:
            assert anchor in headings(place), link


def said_commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Every `engram NAME …` of a page, with the options that follow it on the line."""
    code = re.findall(r"`([^`\n]+)`", text) + re.findall(r"^(?:\$ )?(.*\bengram .*)$", text, re.MULTILINE)
    for line in code:
        for part in re.split(r"(?:^|[\s|(])engram ", line.partition("  #")[0])[1:]:
            words = re.split(r"[|`#]", re.sub(r'"[^"]*"', "TEXT", part))[0].split()
            if words:
                first = words[0].rstrip(".,;:)")
                two = "_".join([first, *(word.rstrip(".,;:)") for word in words[1:2])])
                options = [word for word in words[1:] if re.match(r"--[a-z]", word)]
                flagged = next((name for (a, flag), name in BY_FLAG.items() if a == first and flag in options), "")
                yield flagged or (two if two in OPERATIONS else first), options


def options_of(command: str) -> set[str]:
    if command in EXTRA:
        return set(re.findall(r"--[a-z-]+", help_of(command)))
    if command not in OPERATIONS:
        return set()
    own = parameters(OPERATIONS[command])
    no = {f"--no-{each.flag[2:]}" for each in own if each.type is bool and each.optional}
    return {each.flag for each in own} | no | {f"--{name}" for name, _ in RENDERING.get(command, ())}


def help_of(command: str) -> str:
    """What a command that is no operation prints about itself."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main([command, "--help"])
    return out.getvalue()


def looks_like_prose(line_word: str) -> bool:
    """Whether the word after `engram` is no command but an option, a placeholder or a file name's end."""
    return line_word.startswith("-") or line_word.isupper() or not re.fullmatch(r"[a-z_]+", line_word)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_no_page_names_a_command_or_option_that_does_not_exist(path):
    text = path.read_text(encoding="utf-8")
    code = "\n".join([*blocks(path, "console", "sh", "text"), *re.findall(r"`[^`\n]+`", text)])
    for command, options in said_commands(code):
        if looks_like_prose(command):
            continue
        assert command in {*OPERATIONS, *EXTRA} | FIRST_WORDS, f"engram {command}"
        known = options_of(command) | EVERYWHERE
        for option in options:
            assert option.rstrip(".,;:)`]") in known, f"engram {command} {option}"


def test_no_page_names_an_option_that_no_command_has():
    known = {option for command in (*OPERATIONS, *EXTRA) for option in options_of(command)} | EVERYWHERE
    known |= {"--version", "--check", "--format", "--list"}  # of engram, tools/docs.py and git
    known |= {"--profile", "--transport"}  # of docker compose and claude mcp add
    known |= {"--tests", "--stale"}  # of tools/mutate.py
    known |= {
        "--data",
        "--write",
        "--only",
        "--sizes",
        "--half",
        "--megabytes",
        "--conversations",
        "--size",
    }  # of the benches
    for path in PAGES:
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", path.read_text(encoding="utf-8")):
            assert option in known, f"{name_of(path)}: {option}"


def test_no_page_names_a_machine_or_how_it_was_made():
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"/(?:work|tmp|root|home)/|pypi\.org", text), name_of(path)


# --- the format page ---


@pytest.mark.parametrize(
    "record", [Memory, Citation, Asset, Context, Session, Relation], ids=lambda one: one.__name__
)
def test_the_format_page_lists_every_field(record):
    page = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    for field in record.FIELDS:
        assert f"`{field}`" in page, field


def test_the_format_page_lists_every_column_and_envelope_field():
    page = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    envelope = set(Event._fields) - {"payload"}
    for name in (*MEMORY_COLUMNS, *sorted(envelope)):
        assert f"`{name}`" in page, name


def test_the_format_page_gives_every_default_of_a_memory():
    page = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    for field, default in Memory.DEFAULTS.items():
        if isinstance(default, str | int | float) and field != "handle":
            row = next(line for line in page.splitlines() if line.startswith(f"| `{field}` |"))
            shown = f'"{default}"' if isinstance(default, str) else str(default).lower()
            assert f"`{shown}`" in row, field


def test_the_manual_page_names_every_command_and_is_good_troff():
    page = ROOT / "docs" / "reference" / "engram.1"
    shown = page.read_text(encoding="utf-8").replace(r"\-", "-")
    missing = [each.command for each in OPERATIONS.values() if f"engram {each.command}" not in shown]

    assert missing == []
    assert [name for name in EXTRA if f"engram {name}" not in shown] == []
    if formatter := shutil.which("groff"):
        done = subprocess.run(
            [formatter, "-man", "-Tutf8", "-ww", page], capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
