"""Notes in Markdown: what counts as one, what its file tells about it, and how they are taken in."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import Forbidden, Invalid
from engram.interop.markdown import Note, read
from engram.operations.intake import GROUP
from engram.projects import protocol, views
from rules.world import World

CLAUDE = """\
# CLAUDE.md

This file tells agents
how to work here.

@docs/style.md

## Build & test commands

To run everything:
- `make test` runs the
  **whole** suite
- [x] `make lint` comes first
  - it takes a minute
  - it mends what it can

Build it so:

```sh
make build
```

### Gotchas

1. The cache is never cleared
2) Clear it by hand

   with `make clean`

A plain paragraph.

Team
----

| who  | what    |
|------|---------|
| Alex | billing |

**preferences**
* I prefer tabs
---
> Quoted
> words
"""


def texts(notes: list[Note]) -> list[str]:
    return [note.text for note in notes]


def test_every_item_and_every_paragraph_is_a_note():
    assert texts(read(CLAUDE)) == [
        "This file tells agents how to work here.",
        "To run everything: `make test` runs the whole suite",
        "To run everything: `make lint` comes first\n- it takes a minute\n- it mends what it can",
        "Build it so:\n```sh\nmake build\n```",
        "The cache is never cleared",
        "Clear it by hand with `make clean`",
        "A plain paragraph.",
        "| who  | what    |\n|------|---------|\n| Alex | billing |",
        "I prefer tabs",
        "Quoted words",
    ]


def test_headings_become_tags_and_tell_the_kind():
    notes = {note.text.partition(" ")[0]: (note.kind, note.tags) for note in read(CLAUDE)}
    assert notes["This"] == ("", ())  # the title of the file says nothing about what is in it
    assert notes["To"] == ("tooling", ("build-test-commands",))
    assert notes["The"] == ("gotcha", ("build-test-commands", "gotchas"))
    assert notes["|"] == ("people", ("team",))
    assert notes["I"] == ("preference", ("team", "preferences"))


def test_a_note_knows_its_line():
    lines = CLAUDE.splitlines()
    for note in read(CLAUDE):
        assert set(note.text.split()) & set(lines[note.line - 1].split()), note


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("Code style", "convention"),
        ("Known pitfalls", "gotcha"),
        ("Key decisions", "decision"),
        ("Lessons learned", "learning"),
        ("Project structure", "architecture"),
        ("Deployment", "infra"),
        ("Rules", "rule"),
        ("tooling", "tooling"),
        ("Miscellaneous", ""),
    ],
)
def test_words_of_a_heading_tell_the_kind(heading: str, kind: str):
    assert [note.kind for note in read(f"## {heading}\n- Something\n")] == [kind]


def test_the_innermost_heading_that_tells_something_counts():
    (note,) = read("# Preferences\n# Other\n## Decisions\n### In March\n- We chose Postgres\n")
    assert (note.kind, note.tags) == ("decision", ("other", "decisions", "in-march"))


def test_a_note_that_an_agent_wrote_for_itself_is_one_memory():
    front = "---\nname: deploys\ndescription: Deploys are on Fridays\ntype: feedback\n---\n"
    assert read(f"{front}\nDeploy on Fridays.\n\n**Why:** Monday broke.\n") == [
        Note("Deploy on Fridays.\n\n**Why:** Monday broke.", 6, "preference", (), "Deploys are on Fridays")
    ]


def test_a_note_of_nothing_but_a_description_is_that():
    assert texts(read("---\ndescription: Deploys are on Fridays\n---\n")) == ["Deploys are on Fridays"]


def test_front_matter_gives_tags_and_a_kind_to_all_that_follows():
    notes = read("---\nkind: decision\ntags:\n  - api\n  - data base\n---\n- One\n## Gotchas\n- Two\n")
    assert [(note.kind, note.tags) for note in notes] == [
        ("decision", ("api", "data-base")),
        ("gotcha", ("api", "data-base", "gotchas")),
    ]


def test_the_registry_of_a_store_is_no_file_of_notes():
    with pytest.raises(Invalid, match="registry of a store"):
        read("---\nschema: memory.v1\ngenerated: 2026-01-15\nitems: []\n---\n\n# Memory\n")


@pytest.mark.parametrize(
    "ours",
    [
        f"{protocol.BEGIN}\n{protocol.INSTRUCTIONS}{protocol.END}",
        f"{views.BEGIN}\n<engram-memory>\n- We deploy on Fridays\n</engram-memory>\n{views.END}",
        f"{views.OLD_BEGIN}\n- We deploy on Fridays\n{views.OLD_END}",
        "<engram-memory>\n- We deploy on Fridays\n</engram-memory>",
        "<!-- We deploy\non Fridays -->",
    ],
    ids=["instructions", "a view", "an older view", "what was recalled", "a comment"],
)
def test_what_engram_wrote_and_comments_are_left_out(ours: str):
    assert texts(read(f"- Before\n\n{ours}\n\n- After\n")) == ["Before", "After"]


@pytest.mark.parametrize(
    "nothing",
    [
        "",
        "\n\n",
        "# Title\n",
        "- \n",
        "- None\n",
        "_No memories yet._\n",
        "---\n",
        "***\n",
        "@AGENTS.md\n",
        "- …\n",
    ],
)
def test_what_says_nothing_is_no_note(nothing: str):
    assert read(nothing) == []


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text])
def test_line_ends_and_a_byte_order_mark_change_nothing(change):
    assert read(change(CLAUDE)) == read(CLAUDE)


def test_the_same_words_are_one_note():
    assert texts(read("- We deploy on Fridays\n\n## Again\n- We deploy on Fridays\n")) == ["We deploy on Fridays"]


def test_only_the_sentence_that_announces_a_list_is_said_before_its_items():
    assert texts(read("We use make. To build:\n- `make all`\n- `make wheel`\n")) == [
        "We use make.",
        "To build: `make all`",
        "To build: `make wheel`",
    ]
    assert texts(read("Nothing follows this:\n\n## Next\n- One\n")) == ["Nothing follows this:", "One"]


def test_code_that_is_never_closed_goes_to_the_end():
    assert texts(read("Run:\n```\nmake\n- no item\n")) == ["Run:\n```\nmake\n- no item"]


@given(st.text(alphabet="#-*+>|`~=_:[]x1.) \t\nab<!--@\u2028", max_size=200))
def test_any_text_can_be_read(text: str):
    assert all(note.text.strip() and note.line >= 1 for note in read(text))


LONG = {
    "bold": "**a " * 20_000,
    "items": "- a\n\n" * 20_000,
    "blanks": "  " * 20_000,
    "comments": "<!--" * 20_000,
    "fences": "```\n" * 20_001,
    "headings": "#" * 80_000,
    "images": "[![" * 20_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_no_text_takes_long(text: str):
    begun = time.process_time()
    read(text)
    assert time.process_time() - begun < 5


# --- taking them in ---


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def notes(tmp_path: Path) -> str:
    path = tmp_path / "MEMORY.md"
    path.write_text(
        "# Memory\n\n## Preferences\n- I prefer tabs\n- I prefer pnpm\n\n## Team\n- Alex owns billing\n",
        encoding="utf-8",
    )
    return str(path)


def test_notes_wait_for_review_and_say_where_they_come_from(world: World, notes: str):
    assert world.person.import_(notes).outcomes == {"held": 3}
    waiting = world.everything().values()
    assert {(one.status, one.held_for, one.learned_by, one.source) for one in waiting} == {
        ("pending", "untrusted_origin", "import", "import:MEMORY.md")
    }
    assert {one.text: (one.kind, one.tags) for one in waiting} == {
        "I prefer tabs": ("preference", ("preferences",)),
        "I prefer pnpm": ("preference", ("preferences",)),
        "Alex owns billing": ("people", ("team",)),
    }


def test_notes_a_person_trusts_go_live_of_whatever_kind_and_history_says_by_what(world: World, notes: str):
    assert world.person.import_(notes, trust=True).outcomes == {"new": 3}
    assert len(world.person.list().memories) == 3
    assert {event.payload.note["confirmed"] for event in world.events()} == {"import"}


def test_a_trusted_note_replaces_nothing_that_is_live(world: World, tmp_path: Path):
    here = world.person.remember("The api port is 8080").memory
    path = tmp_path / "old.md"
    path.write_text("- The api port is 9090\n", encoding="utf-8")
    assert world.person.import_(str(path), trust=True, dry_run=True).outcomes == {"held": 1}
    assert world.person.import_(str(path), trust=True).outcomes == {"held": 1}
    assert world.stands(here.id) == "live"


def test_of_two_trusted_notes_that_contradict_each_other_the_second_waits(world: World, tmp_path: Path):
    path = tmp_path / "ports.md"
    path.write_text("- Harbor runs on port 9000\n- Harbor runs on port 9001\n", encoding="utf-8")
    assert world.person.import_(str(path), trust=True, dry_run=True).outcomes == {"new": 1, "held": 1}
    assert world.person.import_(str(path), trust=True).outcomes == {"new": 1, "held": 1}
    assert [one.text for one in world.person.list().memories] == ["Harbor runs on port 9000"]


def test_what_notes_say_under_another_heading_is_said_of_another_thing(world: World, tmp_path: Path):
    path = tmp_path / "ports.md"
    path.write_text("## Harbor\n\n- Runs on port 9000\n\n## Dock\n\n- Runs on port 9001\n", encoding="utf-8")
    assert world.person.import_(str(path), trust=True).outcomes == {"new": 2}


@pytest.mark.parametrize(
    ("heading", "outcomes"), [("Dock", {"new": GROUP + 1}), ("Harbor", {"new": GROUP, "held": 1})]
)
def test_notes_far_from_each_other_are_compared_as_near_ones_are(
    world: World, tmp_path: Path, heading: str, outcomes: dict[str, int]
):
    between = "".join(f"- Ada wrote page {number}\n" for number in range(GROUP - 1))
    said = f"## Harbor\n\n- Runs on port 9000\n\n## Pages\n\n{between}\n## {heading}\n\n- Runs on port 9001\n"
    path = tmp_path / "ports.md"
    path.write_text(said, encoding="utf-8")
    assert world.person.import_(str(path), trust=True).outcomes == outcomes


@pytest.mark.parametrize("trust", [True, False])
def test_taking_notes_in_twice_changes_nothing_the_second_time(world: World, notes: str, trust: bool):
    world.person.import_(notes, trust=trust)
    events = len(world.events())
    assert world.person.import_(notes, trust=trust).outcomes == {"known": 3}
    assert len(world.events()) == events


@pytest.mark.parametrize("trust", [True, False])
def test_a_dry_run_tells_what_the_run_will_do_and_writes_nothing(world: World, notes: str, trust: bool):
    world.person.remember("I prefer tabs")
    world.person.reject(world.agent.remember("Alex owns billing", kind="people").memory.id)
    events = len(world.events())
    told = world.person.import_(notes, trust=trust, dry_run=True)
    assert len(world.events()) == events
    assert told.outcomes == world.person.import_(notes, trust=trust).outcomes
    assert told.outcomes["skipped"] == 1
    assert told.problems[0].startswith("line 8: ")


def test_one_undo_takes_all_notes_back(world: World, notes: str):
    world.person.import_(notes)
    world.person.undo()
    assert world.everything() == {}


def test_a_credential_in_a_note_is_taken_out(world: World, tmp_path: Path):
    path = tmp_path / "old.md"
    path.write_text(f"- The key is AKIA{'ABCDEFGH' * 2} for now\n", encoding="utf-8")
    world.person.import_(str(path))
    (kept,) = world.everything().values()
    assert kept.text.startswith("The key is ")
    assert "AKIAABCD" not in kept.text


def test_an_agent_takes_in_nothing(world: World, notes: str):
    with pytest.raises(Forbidden):
        world.agent.import_(notes)


def test_what_is_no_text_is_refused(world: World, tmp_path: Path):
    (tmp_path / "binary.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Invalid, match="not UTF-8"):
        world.person.import_(str(tmp_path / "binary.md"))
    assert world.events() == []
