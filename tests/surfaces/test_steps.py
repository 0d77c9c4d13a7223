"""What history tells of an event, whatever stands in it: another store, or a newer Engram, may have written it."""

import re
from itertools import product
from typing import Any

import pytest

from engram.model import answers as a
from engram.model.event import Edit, Event, edits_between
from engram.model.memory import Memory
from engram.model.record import replace
from engram.surfaces.render.answers import TOLD, render, told
from engram.surfaces.render.assets import assets_edited
from engram.surfaces.render.paper import Paper
from engram.surfaces.render.steps import did, sessions_in, tells, told_of, worded
from engram.surfaces.web.frame import templates
from rules.histories import said
from rules.world import START, memory

FIELDS = (*TOLD, "assets", "replaced_by", "held_for", "created_at", "valid_from", "scope", "context", "of_tomorrow")
STRANGE: tuple[Any, ...] = (
    *(None, "", "word", "\x1b[2J\u202e\x00", 0, 7, -1, 1.5, 10**400, True, float("nan")),
    *([], {}, [None], [[]], ["a", 1], [{}], [[{}]], {"a": [{"b": None}]}, [{"zzz": 1}], {"kind": "file"}),
    [{"kind": "file", "ref": ""}],
    [{"kind": "file", "ref": "a\x1b[2J.py", "locator": 7}],
    [{"kind": ["file"], "ref": {"a": 1}, "locator": [], "of_tomorrow": 1}],
    [{"kind": "emperor", "ref": "x"}, "src/a.py"],
    [{"name": ["a"], "size": "large", "media_type": None}],
    [{"name": "a\x07.txt", "size": 10**400, "media_type": "text/plain", "sha256": "0" * 64}],
)
NUMBERED = [str(number) for number in range(len(STRANGE))]


def event(*edits: Edit, action: str = "revise", **note: Any) -> Event:
    return said("r", *edits, action=action, subjects=("m-1",), note=note)


@pytest.mark.parametrize("value", STRANGE, ids=NUMBERED)
def test_history_tells_of_a_value_of_any_shape_and_never_fails(value: Any):
    sides = ((None, value), (value, None), (value, value), ("before", value), (value, [{"ref": "a"}]))
    for field, (old, new) in product(FIELDS, sides):
        edits = (Edit("memory", "m-1", "text", "old", "new"), Edit("memory", "m-1", field, old, new))
        page = a.Chronicle(START, (event(*edits),), {"m-1": "mem-0001"})
        line = render(page, Paper())

        assert "mem-0001" in line
        assert "\x1b" not in line
        assert "\u202e" not in line
        for part in told_of(page.events[0], page.handles).parts:
            for edit in part.edits:
                assert all(isinstance(worded(edit.field, side), str) for side in (edit.old, edit.new))
        assert isinstance(assets_edited(edits[1]), str)
        assert isinstance(did(event(edits[1])), str)


@pytest.mark.parametrize("value", STRANGE, ids=NUMBERED)
def test_history_tells_of_a_note_of_any_shape_and_never_fails(value: Any):
    verdict = Edit("relation", "m-1", "status", None, value)
    for action, name in product(("undo", "join", "revise"), ("undid", "reason", "why", "verdict")):
        for one in (event(action=action, **{name: value}), event(verdict, action=action, **{name: value})):
            assert isinstance(told(one), str)
            assert isinstance(did(one), str)


@pytest.mark.parametrize("value", STRANGE, ids=NUMBERED)
def test_the_page_shows_an_event_of_any_shape_and_never_fails(value: Any):
    edits = [
        Edit("memory", "m-1", field, *sides) for field in FIELDS for sides in ((None, value), (value, "after"))
    ]
    page = a.Chronicle(START, (event(*edits, reason=value),), {"m-1": "mem-0001"})
    values = {"at": START, "csrf": "", "me": {"writes": True, "owner": ""}, "of": None}
    shown = templates().get_template("history_rows.html")
    html = shown.render(found=page, told_of=told_of, tells=tells, sessions_in=sessions_in, **values)

    assert "of tomorrow" in html
    assert "\u202e" not in html


def test_the_page_sets_apart_only_the_names_that_it_tells():
    edit = Edit("memory", "m-2", "importance", 5, 6)
    one = said("r", edit, action="revise", subjects=("gone", "m-1", "gone too", "m-2"), note={})
    page = a.Chronicle(START, (one,), {"m-1": "mem-0001", "m-2": "mem-0002"})
    values = {"at": START, "csrf": "", "me": {"writes": True, "owner": ""}, "of": None}
    shown = templates().get_template("history_rows.html")
    html = shown.render(found=page, told_of=told_of, tells=tells, sessions_in=sessions_in, **values)
    head = " ".join(re.sub(r"<[^>]+>", "", html[: html.index("</div>")]).split())

    assert "mem-0001 · mem-0002 tester ·" in head
    assert head.count("·") == 2  # the other is before the time


def test_a_citation_and_an_attachment_are_told_as_people_write_them():
    cited = [{"kind": "file", "ref": "src/a.py", "locator": "2-4", "pin": "sha1"}, {"kind": "commit", "ref": "abc"}]
    file = [{"name": "log.txt", "size": 172, "media_type": "text/plain", "sha256": "0" * 64}]

    assert told(event(Edit("memory", "m-1", "citations", None, cited))) == (
        "citations: none → file src/a.py:2-4, commit abc"
    )
    assert worded("citations", cited) == "src/a.py:2-4; commit:abc"
    assert assets_edited(Edit("memory", "m-1", "assets", None, file)) == "attached log.txt (172 bytes)"
    assert assets_edited(Edit("memory", "m-1", "assets", file, [])) == "detached log.txt (172 bytes)"


def test_a_value_that_was_left_out_is_told_as_what_a_memory_has_by_itself():
    """Documents leave out what is as it is by itself."""
    plain = memory()
    for field, other in {
        "confidence": 0.9,
        "decay": "30d",
        "importance": 9,
        "visibility": "shared",
        "pinned": True,
        "status": "promoted",
        "kind": "decision",
        "seen": 4,
    }.items():
        usual = Memory.DEFAULTS[field]
        before, after = replace(plain, **{field: usual}), replace(plain, **{field: other})

        assert told(event(*edits_between(before, after))) == f"{field}: {usual} → {other}"
        assert told(event(*edits_between(after, before))) == f"{field}: {other} → {usual}"
