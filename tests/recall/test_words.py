"""Lists of those that say some words: all of them, in any form or as pieces, page by page."""

import pytest

from engram.errors import Invalid
from engram.recall import words
from rules.world import World

TEXTS = (
    "We deploy on Fridays",
    "Deployments wait for the review",
    "The review is on Mondays",
    "The database port is 5433",
)


@pytest.fixture
def world() -> World:
    made = World()
    for text in TEXTS:
        made.person.remember(text)
        made.clock.pass_by(minutes=1)
    return made


def listed(world: World, words: str, **more: object) -> list[str]:
    return [one.text for one in world.person.list(saying=words, **more).memories]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("deploy", (0,)),
        ("review", (2, 1)),
        ("review mondays", (2,)),
        ("review friday", ()),
        ("deplyo", (0,)),
        ("ploy", (1, 0)),
        ("atabas", (3,)),
        ("view day", (2,)),
        ('"the review"', (2, 1)),
        ('"review the"', ()),
        ("of the", ()),
        ("at", ()),
        ("...", ()),
        ("%", ()),
    ],
)
def test_all_that_say_every_word_or_a_piece_of_it_are_listed_newest_first(world, words, found):
    assert listed(world, words) == [TEXTS[at] for at in found]


@pytest.mark.parametrize(
    ("piece", "found"),
    [
        ("ploy-da", "The deploy-day is Friday"),
        ("nternal.exa", "PostgreSQL runs at db.internal.example"),
        ("greSQ", "PostgreSQL runs at db.internal.example"),
        ("postgres greSQ runs", "PostgreSQL runs at db.internal.example"),
        ("od-clu", "Use k8s-prod-cluster"),
        ("k8", "Use k8s-prod-cluster"),
        ("1234", "Call 030 5551234"),
        ("ploy-da greSQ", ""),
        ("zz-ploy", ""),
    ],
)
def test_a_piece_may_end_in_the_middle_of_a_name_or_number_and_have_two_letters(piece, found):
    world = World()
    for text in (
        *("The deploy-day is Friday", "PostgreSQL runs at db.internal.example", "Use k8s-prod-cluster"),
        *("Call 030 5551234", "The upgrade is over"),
    ):
        world.person.remember(text)
    assert listed(world, piece) == [found] * bool(found)


def test_other_clauses_hold_beside_the_words(world):
    world.person.remember("The review of the design", kind="decision")
    assert listed(world, "review", kind="decision") == ["The review of the design"]
    world.person.forget(world.person.list(kind="decision").memories[0].id)
    assert listed(world, "review") == [TEXTS[2], TEXTS[1]]
    assert listed(world, "review", standing=["forgotten"]) == ["The review of the design"]


def test_pages_neither_repeat_nor_skip(world):
    for number in range(25):
        world.person.remember(f"Lantern {number} hangs in street {number * 7919}")
    seen, after = [], None
    while True:
        page = world.person.list(saying="lantern hangs", limit=7, after=after)
        seen += [one.text for one in page.memories]
        if (after := page.next) is None:
            break
    assert seen == [one.text for one in world.person.list(limit=25).memories]


def test_of_very_many_the_best_by_their_words_are_listed(world, monkeypatch):
    monkeypatch.setattr(words, "MOST", 3)
    for number in range(9):
        world.person.remember(f"Somewhere among many other words stands lantern {number * 7919}")
    world.person.remember("Lantern!")
    assert len(listed(world, "lantern")) == 3
    assert "Lantern!" in listed(world, "lantern")


def test_what_is_no_text_or_no_cursor_is_refused(world):
    for said in ({"saying": "a\x00b"}, {"saying": "review", "after": "nonsense"}, {"saying": "x" * (1 << 21)}):
        with pytest.raises(Invalid):
            world.person.list(**said)
