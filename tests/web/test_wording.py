"""How the page words and draws what it is told: hints as links, changed lines side by side, numbers as plots."""

import pytest

from engram.model.answers_look import Growth, Proposer
from engram.surfaces.render.steps import told_of, worded
from engram.surfaces.web import plots
from engram.surfaces.web.drawing import broken
from engram.surfaces.web.leading import led
from engram.surfaces.web.wording import Sides, short, sides
from rules.world import World


def test_a_field_at_its_default_is_told_by_its_value():
    world = World()
    world.person.remember("We deploy on Fridays")
    world.person.revise("mem-0001", confidence=0.6)
    (part,) = told_of(world.events()[-1], {}).parts

    assert [(edit.field, worded(edit.field, edit.old), worded(edit.field, edit.new)) for edit in part.edits] == [
        ("confidence", "1.0", "0.6")
    ]


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("Decide first: engram review.", 'Decide first: <a href="/web/inbox">the inbox</a>.'),
        ("Restore it: engram restore mem-0004.", 'Restore it: <a href="/web/memory/mem-0004">mem-0004</a>.'),
        (
            "Look: engram list --standing stale.",
            'Look: <a href="/web/search?standing=stale">what is stale</a>.',
        ),
        ("Run `engram doctor --fix`; or not.", 'Run <a href="/web/health">the health page</a>; or not.'),
        (
            "Judge: engram conflicts.",
            'Judge: <a href="/web/conflicts">the conflicts</a>.',
        ),
        (
            "A person decides: engram judge mem-0007~mem-0003 supersedes, or engram conflicts.",
            (
                'A person decides: <a href="/web/conflicts/mem-0007~mem-0003">mem-0007 and mem-0003</a>, '
                'or <a href="/web/conflicts">the conflicts</a>.'
            ),
        ),
        (
            "Relate them: engram relate mem-0007 mem-0003 scoped.",
            'Relate them: <a href="/web/conflicts/mem-0007~mem-0003">mem-0007 and mem-0003</a>.',
        ),
        (
            "Set it aside: engram conflicts --ignore mem-0007~mem-0003.",
            'Set it aside: <a href="/web/conflicts/mem-0007~mem-0003">mem-0007 and mem-0003</a>.',
        ),
        ("Judge one: engram judge FIRST~SECOND KIND.", "Judge one: <code>engram judge FIRST~SECOND KIND</code>."),
        ("Come in by engram serve --link.", "Come in by <code>engram serve --link</code>."),
        ("Copy it: engram backup create FOLDER.", "Copy it: <code>engram backup create FOLDER</code>."),
        ("See: engram list, or engram recall WORDS.", 'See: <a href="/web/search">the search</a>.'),
        ("Try other words, or --everywhere.", "Try other words, or an empty scope."),
        ("See more with --weak.", "See more with “Also what came near”."),
        ("Say --confirm.", "Say <code>--confirm</code>."),
        ("mem-0007 waits.", '<a href="/web/memory/mem-0007">mem-0007</a> waits.'),
        ("<b>engram purge</b>", "&lt;b&gt;<code>engram purge</code>&lt;/b&gt;"),
    ],
    ids=lambda value: value[:20],
)
def test_a_hint_leads_to_where_the_page_does_it(hint: str, shown: str):
    assert str(led(hint)) == shown


def test_changed_lines_have_two_sides_and_gaps_are_seen():
    diff = "--- a.py:1-9\n+++ a.py:1-9\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n@@ -8,1 +8,2 @@\n end\n+more"

    assert sides(diff) == Sides("same\nold\n⋯\nend", "same\nnew\n⋯\nend\nmore")
    assert sides("--- a.py:1\n+++ b.py:4\n(the same lines)") is None


def test_what_is_cut_is_seen_to_be():
    assert short("abcdef", 6) == "abcdef"
    assert short("abcdefg", 6) == "abcde…"


def test_fields_are_worded_as_a_reader_would():
    assert worded("verified_at", "2026-05-01T10:20:30.000000Z") == "2026-05-01 10:20 UTC"
    assert worded("citations", [{"kind": "file", "ref": "a.py", "locator": "1-3"}]) == "a.py:1-3"
    assert worded("pinned", True) == "yes"


@pytest.mark.parametrize(
    ("label", "lines"),
    [
        ("short", ["short"]),
        ("one two three four", ["one two", "three four"]),
        ("x" * 40, ["x" * 9, "x" * 9 + "…"]),
        ("港" * 40, ["港" * 4, "港" * 4 + "…"]),
        ("a \u202e" + "b" * 30, ["a", "\\u202ebbb…"]),
    ],
)
def test_a_label_is_broken_between_words_and_never_wider_than_its_room(label: str, lines: list[str]):
    assert broken(label, 10) == lines


def test_growth_is_told_by_stretches_that_leave_the_bars_apart():
    days = [Growth("2024-01-01", 3, 3), Growth("2024-06-01", 2, 5), Growth("2026-01-01", 7, 12)]
    made = plots.made(days)

    assert (made.about, made.scale) == ("four weeks", ("10", "0"))
    assert made.field.count("<rect") <= plots.MOST_BARS
    assert plots.made(days[:1]).about == "day"
    assert plots.grown(days).scale == ("20", "10", "0")
    assert plots.grown(days).below == ("1 Jan 2024", "31 Dec 2024", "1 Jan 2026")


def test_a_recall_that_took_far_longer_is_cut_and_told():
    drawn = plots.latency([5.0] * 40 + [900.0])

    assert drawn.scale == ("6 ms", "3 ms", "0")
    assert drawn.about == "1 took longer than 6 ms, and is cut"
    assert drawn.field.count('class="cut"') == 1
    assert plots.latency([5.0, 8.0]).about == ""


def test_shares_of_what_was_proposed_fill_the_whole_row():
    drawn = plots.shares(Proposer("codex", approved=1, rejected=1, waiting=2, by_itself=0))

    assert [part.split('"')[0] for part in drawn.split('width="')[1:]] == ["150.0", "0.0", "300.0", "150.0"]
