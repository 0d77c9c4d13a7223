"""One question, answered: only what is live and readable, once, with a word where nothing is relevant."""

import functools
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from engram.engines.sqlite import SqliteEngine
from engram.errors import Invalid, Unavailable
from engram.inference.lazy import LazyEmbedder, Loaded
from engram.model.answers import Recalled, Recollection
from engram.model.scope import Scope
from engram.model.text import query_terms
from engram.ports import Embedder
from engram.recall import pipeline
from engram.recall.pipeline import FAINT, RELEVANT
from recall.embedders import Concepts
from rules.world import World

SEA = {"harbour": 0, "haven": 0, "port": 0, "anchorage": 0, "lunch": 1, "meal": 1, "bees": 2}
"""What words mean here: the first four the same."""


@pytest.fixture
def world() -> World:
    return World(embedder=Concepts(SEA))


def texts(answer: Recalled) -> list[str]:
    return [hit.memory.text for hit in answer.hits]


# --- what never appears ---


def stale(world: World) -> None:
    world.person.remember("The harbour is stale", decay="1d")
    world.clock.pass_by(days=2)


def pending(world: World) -> None:
    world.agent.remember("The harbour is my identity", kind="identity")


def rejected(world: World) -> None:
    held = world.agent.remember("The harbour is my identity", kind="identity").memory
    world.person.reject(held.id)


def forgotten(world: World) -> None:
    world.person.forget(world.person.remember("The harbour is forgotten").memory.id)


def replaced(world: World) -> None:
    world.person.remember("The harbour closes at 8")
    world.person.remember("The harbour closes at 9", confirm=True)


def expired(world: World) -> None:
    world.person.remember("The harbour has expired", valid_until=world.clock() + timedelta(hours=1))
    world.clock.pass_by(hours=2)


def scheduled(world: World) -> None:
    world.person.remember("The harbour is to come", valid_from=world.clock() + timedelta(hours=1))


def purged(world: World) -> None:
    world.person.purge(world.person.remember("The harbour is erased").memory.id, confirm=True)


def of_another(world: World) -> None:
    world.other.remember("The harbour of another")
    world.other.recall("haven")  # so that it has a vector as well


def elsewhere(world: World) -> None:
    world.person.remember("The harbour of another project", scope="project:web")


NOT_FOR_US = (stale, pending, rejected, forgotten, replaced, expired, scheduled, purged, of_another, elsewhere)


@pytest.mark.parametrize("make", NOT_FOR_US, ids=lambda make: make.__name__)
@pytest.mark.parametrize("question", ["harbour", "haven", '"the harbour"', "anchorage closes"])
@pytest.mark.parametrize("by", ["words", "meaning"])
def test_what_is_not_live_here_never_appears(world: World, make: Callable[[World], None], question: str, by: str):
    make(world)
    live = "Nothing of the harbour" if make is not replaced else "The harbour closes at 9"
    world.person.remember("Nothing of the harbour")
    answer = world.person.recall(question, words=by == "words", weak=True, limit=50)

    assert answer.by_meaning is (by == "meaning")
    assert set(texts(answer)) <= {live, "Nothing of the harbour"}
    if by == "meaning" and '"' not in question:
        assert live in texts(answer), "or nothing is proven"


def test_a_memory_that_was_revised_is_no_longer_found_by_what_it_meant(world: World):
    made = world.person.remember("The port is small").memory
    assert texts(world.person.recall("haven")) == ["The port is small"]
    world.person.revise(made.id, text="The meal is small")

    assert texts(world.person.recall("haven")) == []
    assert texts(world.person.recall("lunch")) == ["The meal is small"]


@pytest.mark.parametrize(
    ("narrowed", "expected"),
    [
        ({"kind": ["decision"]}, ["A haven by decision"]),
        ({"tag": ["sea"]}, ["A haven with a tag"]),
        ({"scope": "project:web"}, ["A haven of the web"]),
    ],
    ids=str,
)
def test_meaning_stays_within_kind_tag_and_scope(world: World, narrowed: dict[str, object], expected: list[str]):
    world.person.remember("A haven of facts")
    world.person.remember("A haven by decision", kind="decision")
    world.person.remember("A haven with a tag", tag=["sea"])
    world.person.remember("A haven of the web", scope="project:web")

    assert texts(world.person.recall("anchorage", **narrowed)) == expected
    assert len(texts(world.person.recall("anchorage", everywhere=True))) == 4


@pytest.mark.parametrize("kind", ["map", "finding", "prompt"])
def test_kinds_on_demand_are_not_found_by_meaning_either(world: World, kind: str):
    world.person.remember("The haven is laid out by layers", kind=kind, cite=["src/api.py"])

    assert texts(world.person.recall("anchorage", weak=True)) == []
    assert texts(world.person.recall("anchorage", kind=[kind])) == ["The haven is laid out by layers"]


# --- what says the same ---

LONG = (
    "The nightly backup of the api database runs in Riga and takes about twenty minutes"
    " before it is checked once more"
)


def test_near_duplicates_come_once_and_are_counted(world: World):
    for text in (LONG, f"{LONG} today", f"{LONG} again", "The backup is kept for a year in Oslo"):
        world.person.remember(text, dedupe="create")
    answer = world.person.recall("nightly backup", words=True)

    assert len(answer.hits) == 2
    assert answer.collapsed == 2


def test_the_better_of_two_that_say_the_same_is_kept(world: World):
    world.person.remember(LONG, dedupe="create")
    world.person.remember(f"{LONG} today", dedupe="create", pinned=True)

    assert texts(world.person.recall("nightly backup", words=True)) == [f"{LONG} today"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{LONG} on port 5432", f"{LONG} on port 5433"),
        (f"{LONG} with version 1.2.3", f"{LONG} with version 1.2.4"),
        (f"{LONG} by load_user", f"{LONG} by save_user"),
        (LONG, LONG.replace("takes", "never takes")),
        (LONG, LONG.replace("it is checked", "it is not checked")),
        (LONG, LONG.replace("it is checked", "it isn't checked")),
        (LONG.replace("takes", "does take"), LONG.replace("takes", "doesn't take")),
        (LONG, LONG.replace("is checked", "cannot be checked")),
        (LONG.replace("takes", "can take"), LONG.replace("takes", "can't take")),
        (LONG.replace("in Riga", "with sudo"), LONG.replace("in Riga", "without sudo")),
        (f"{LONG} nachts immer wieder", f"{LONG} nachts nicht immer wieder"),
        (f"{LONG} mit Fehler", f"{LONG} mit keinem Fehler"),
    ],
)
def test_what_differs_in_a_number_a_name_or_a_negation_does_not_say_the_same(world: World, one: str, other: str):
    for text in (one, other):
        world.person.remember(text, dedupe="create", scope="global" if text == one else "agent:codex")
    answer = world.person.recall("nightly backup of the api database", words=True, everywhere=True)

    assert set(texts(answer)) == {one, other}
    assert answer.collapsed == 0


def test_short_texts_that_share_most_words_are_apart(world: World):
    for text in ("Riga has the oldest harbour", "Oslo has the oldest harbour", "Rome has the oldest harbour"):
        world.person.remember(text, dedupe="create", scope=f"project:{text[:4].lower()}")

    assert len(world.person.recall("oldest harbour", words=True, everywhere=True).hits) == 3


def test_what_was_collapsed_makes_room_for_others(world: World):
    for word in ("today", "again", "always", "mostly", "often", "still"):
        world.person.remember(f"{LONG} {word}", dedupe="create")
    world.person.remember("The backup is kept for a year in Oslo")
    answer = world.person.recall("nightly backup", words=True, limit=2)

    assert len(answer.hits) == 2
    assert "The backup is kept for a year in Oslo" in texts(answer)


# --- what was held back ---


def test_what_of_others_waits_is_not_counted_and_what_of_others_is_readable_is():
    world = World(home=Scope("project", "api"))
    world.other.remember("The harbour of Kim, shared", visibility="shared", decay="1d")
    world.other.remember("The harbour of Kim, private", decay="1d")
    world.other.remember("My harbour of Kim", kind="identity", visibility="shared")
    world.clock.pass_by(days=2)

    assert world.person.recall("harbour").held_back == {"stale": 1}
    assert world.other.recall("harbour").held_back == {"stale": 2, "pending": 1}


def test_what_was_held_back_is_counted_up_to_a_hundred():
    world = World()
    for number in range(104):
        world.person.remember(f"The harbour of ship {'x' * (number + 1)}", decay="1d", dedupe="create")
    world.clock.pass_by(days=2)

    assert world.person.recall("harbour").held_back == {"stale": 100}


def test_what_was_held_back_follows_the_question_and_its_bounds(world: World):
    world.person.remember("The harbour is stale", decay="1d")
    world.person.remember("The harbour by decision is stale", kind="decision", decay="1d")
    world.clock.pass_by(days=2)

    assert world.person.recall("bees", words=True).held_back == {}
    assert world.person.recall("harbour", words=True, kind=["decision"]).held_back == {"stale": 1}
    assert world.person.recall('"harbour is"', words=True).held_back == {"stale": 1}
    assert world.person.recall("harbour", words=True, scope="project:web").held_back == {}
    assert world.person.recall("stale harbuor", words=True).held_back == {"stale": 2}
    assert world.person.recall("zeppelin over Paris", words=True).held_back == {}


def test_where_nothing_in_use_answers_what_would_have_been_the_answer_is_counted(world: World):
    world.person.remember("The harbour is closed on Sundays", decay="1d")
    world.other.remember("The harbour of Kim is closed on Sundays", decay="1d")
    world.clock.pass_by(days=2)

    assert world.person.recall("is the harbour closed tomorrow", words=True).held_back == {"stale": 1}
    world.person.remember("The harbour is closed tomorrow")
    answer = world.person.recall("is the harbour closed tomorrow", words=True)
    assert (len(answer.hits), answer.held_back) == (1, {})


# --- nothing relevant ---

NOTES = (
    "We deploy the api on Fridays after the nightly tests",
    "The staging database listens on port 5432",
    "Use pnpm instead of npm in the web project",
    "Nadia reviews every change to the billing service",
    "The parser must not swallow trailing commas",
    "Feature flags live in config/flags.toml",
    "We chose SQLite because it needs no server",
    "The login page times out behind the old proxy",
)


@pytest.fixture(scope="module")
def knowing(arctic: Embedder) -> World:
    """What a developer's store may hold, with the real model."""
    world = World(embedder=arctic)
    for text in NOTES:
        world.person.remember(text)
    return world


@pytest.mark.parametrize(
    "question",
    [
        "What is a good recipe for lasagne?",
        "How tall is the Eiffel tower?",
        "Who won the football match last night?",
        "zeppelin umbrella",
        "sport",  # a word of its own, and one letter from another
    ],
)
def test_a_question_about_something_else_is_declined(knowing: World, question: str):
    answer = knowing.person.recall(question)

    assert answer.hits == ()
    assert answer.by_meaning
    assert answer.weak > 0
    assert answer.hint.startswith("Nothing ")
    assert "--weak" in answer.hint
    near = knowing.person.recall(question, weak=True)
    assert near.hits
    assert all(hit.relevance < RELEVANT for hit in near.hits)
    assert (near.weak, near.hint) == (0, "")


def test_what_is_just_relevant_is_an_answer(monkeypatch: pytest.MonkeyPatch):
    world = World()
    world.person.remember("Nadia reviews every change to the billing service")
    (hit,) = world.person.recall("zeppelin of the billing curtain", words=True, weak=True).hits
    for bound, expected in ((hit.relevance, 1), (hit.relevance + 0.001, 0)):
        monkeypatch.setattr(pipeline, "RELEVANT", bound)
        assert len(world.person.recall("zeppelin of the billing curtain", words=True).hits) == expected


@pytest.mark.parametrize(
    ("score", "relevance", "counts"),
    [
        (0.01, RELEVANT, True),  # relevant by itself
        (0.3, FAINT, True),  # for its company
        (0.29, RELEVANT - 0.01, False),  # too far from the best
        (0.59, FAINT - 0.01, False),  # beside the point
    ],
)
def test_what_is_faint_counts_where_it_is_near_the_best(score: float, relevance: float, counts: bool):
    memory = World().person.remember("The harbour is small").memory
    hits = [Recollection(memory, *each, {}, 5) for each in ((0.6, 0.9), (score, relevance), (0.5, 0.9))]

    assert list(pipeline._clear(hits, weak=False)) == (hits if counts else [hits[0], hits[2]])
    assert list(pipeline._clear(hits, weak=True)) == hits


def test_a_question_about_something_else_is_declined_by_words_too(knowing: World):
    asked = "which zeppelin umbrella marmalade trumpet giraffe saxophone in the billing curtain"
    answer = knowing.person.recall(asked, words=True)

    assert answer.hits == ()
    assert answer.weak == 1
    assert texts(knowing.person.recall(asked, words=True, weak=True)) == [NOTES[3]]


@pytest.mark.parametrize(
    "question", ["What does Zebulon say about deploys?", "when does Zebulon\u2019s train leave"]
)
def test_a_name_that_nobody_wrote_is_told_by_name(knowing: World, question: str):
    answer = knowing.person.recall(question)

    assert answer.hits == ()
    assert "Nothing is known about Zebulon here." in answer.hint


def test_a_name_that_is_known_or_only_misspelt_is_no_strange_one(arctic: Embedder):
    world = World(embedder=arctic)
    world.person.remember("Bartholomew owns the release train")
    for question in ("What does Bartholomew own?", "What does Bartolomew own?"):
        assert texts(world.person.recall(question)) == ["Bartholomew owns the release train"]


def test_a_question_is_about_whom_it_names_first(arctic: Embedder):
    world = World(embedder=arctic)
    world.person.remember("Bartholomew left for the coast on the twelfth of July")

    assert world.person.recall("What did Bartholomew eat in Zanzibar?").hits
    answer = world.person.recall("When did Zebulon go with Bartholomew?")
    assert answer.hits == ()
    assert "Nothing is known about Zebulon here." in answer.hint


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("how do I reset the VPN password", "VPN"),
        ("VPN password reset", "VPN"),
        ("the VPN's password, or that of AWS: how do we reset it?", "VPN or AWS"),
        ("how does Bartholomew reset a password in Zanzibar", "Zanzibar"),
        ("how do I reset the password of S3", "S3"),
    ],
)
def test_beside_what_was_found_stands_which_names_no_memory_has(arctic: Embedder, question: str, named: str):
    world = World(embedder=arctic)
    world.person.remember("Bartholomew resets passwords at the desk; see the FAQ")
    answer = world.person.recall(question)

    assert len(answer.hits) == 1
    assert answer.hint == f"No memory here says {named}, so this may be about something else."


@pytest.mark.parametrize(
    "question", ["how do I reset a password", "HOW DO I RESET THE VPN", "the FAQ on passwords", "a password, I say"]
)
def test_names_that_some_memory_has_and_loud_questions_are_not_told_of(arctic: Embedder, question: str):
    world = World(embedder=arctic)
    world.person.remember("Bartholomew resets passwords at the desk; see the FAQ")
    answer = world.person.recall(question)

    assert (len(answer.hits), "so this may" in answer.hint) == (1, False)


@pytest.mark.parametrize(
    "question",
    [
        *(
            f"{word} which port does the API listen on?"
            for word in ("OK", "FYI", "ASAP", "TODO", "PS", "BTW", "LOL")
        ),
        *(f"{word}, which port does the API listen on?" for word in ("IMO", "AFAIK", "WTF", "HELP", "IMPORTANT")),
        *(f"which port does the API listen on, {word}" for word in ("EOD", "ETA", "Q&A", "PLEASE", "at 5 PM")),
        "which port does the API LISTEN on, and why EXACTLY that, QUICKLY?",
    ],
)
def test_what_is_only_said_aloud_is_no_name(arctic: Embedder, question: str):
    world = World(embedder=arctic)
    world.person.remember("The API listens on port 8080")
    answer = world.person.recall(question)

    assert (len(answer.hits), "so this may" in answer.hint) == (1, False)


def test_here_is_where_the_question_looks_and_not_what_is_forgotten_or_of_another_project():
    world = World(home=Scope("project", "api"))
    world.person.remember("The password is reset at the desk")
    gone = world.person.remember("The VPN was bought in spring").memory
    world.person.remember("VPN tunnels end in Zanzibar", scope="project:web")
    told = "No memory here says VPN, so this may be about something else."
    question = "how do I reset the VPN password"

    assert told not in world.person.recall(question).hint
    world.person.forget(gone.id)
    assert told in world.person.recall(question).hint
    assert told not in world.person.recall(question, everywhere=True).hint
    assert told in world.person.recall(question, kind=["fact"]).hint
    world.person.remember("The VPM is a machine that packs boxes")  # a short name is not misspelt
    assert told in world.person.recall(question).hint


def test_of_an_earlier_moment_nothing_is_said_about_names(arctic: Embedder):
    world = World(embedder=arctic)
    memory = world.person.remember("The VPN password is reset at the desk").memory
    world.clock.pass_by(days=1)
    world.person.revise(memory.id, text="The password is reset at the desk")
    answer = world.person.recall("who resets the VPN password", as_of=world.clock() - timedelta(hours=2))

    assert [hit.memory.text for hit in answer.hits] == ["The VPN password is reset at the desk"]
    assert "so this may" not in answer.hint


@pytest.mark.parametrize("question", ["which day do we deploy", "what day of the week do we deploy?"])
def test_in_a_store_of_one_memory_a_telling_word_is_enough(question: str):
    world = World()
    world.person.remember("We deploy on Fridays")

    assert texts(world.person.recall(question, words=True)) == ["We deploy on Fridays"]


def test_a_question_that_shares_nothing_has_nothing_weak_either():
    answer = World().person.recall("zeppelin")

    assert (answer.hits, answer.weak) == ((), 0)
    assert "Nothing is known about that here." in answer.hint


@pytest.mark.parametrize(
    "question", ["zeppelin", "deploy the zeppelin hangar on Mondays", "what did we decide last week?"]
)
def test_who_looked_everywhere_is_not_told_to_look_everywhere(question: str):
    world = World()
    world.person.remember("We deploy on Fridays")
    here, everywhere = (world.person.recall(question, words=True, everywhere=wide) for wide in (False, True))

    assert here.hits == everywhere.hits == ()
    assert everywhere.hint
    assert "--everywhere" not in everywhere.hint


@pytest.mark.parametrize(
    ("question", "here", "everywhere"),
    [
        ("?!", "There is no word to look for in that question.", "There is no word to look for in that question."),
        (
            "zeppelin",
            "Nothing is known about that here. Try other words, or --everywhere.",
            "Nothing is known about that. Try other words.",
        ),
        (
            "deploy the zeppelin umbrella trumpet giraffe saxophone curtain",
            "Nothing relevant is known here. See what came near with --weak, or try --everywhere.",
            "Nothing relevant is known. See what came near with --weak.",
        ),
        (
            "Did Zebulon deploy the zeppelin umbrella trumpet giraffe?",
            "Nothing is known about Zebulon here. See what came near with --weak.",
            "Nothing is known about Zebulon here. See what came near with --weak.",
        ),
        (
            "deploy the zeppelin umbrella trumpet",
            "No memory clearly answers that: these only come near.",
            "No memory clearly answers that: these only come near.",
        ),
        ("deploy", "", ""),
    ],
)
def test_a_question_without_an_answer_is_told_why_and_what_to_try(question: str, here: str, everywhere: str):
    world = World()
    world.person.remember("We deploy on Fridays")

    assert world.person.recall(question, words=True).hint == here
    assert world.person.recall(question, words=True, everywhere=True).hint == everywhere


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what day do you ship to production?", NOTES[0]),
        ("where does postgres run?", NOTES[1]),
        ("preferred JavaScript package manager", NOTES[2]),
        ("which linter complains about syntax?", NOTES[4]),
        ("where are toggles configured?", NOTES[5]),
        ("sign-in is slow", NOTES[7]),
    ],
)
def test_a_paraphrase_without_a_common_word_is_found(knowing: World, question: str, expected: str):
    answer = knowing.person.recall(question)

    assert texts(answer)[0] == expected
    assert answer.hits[0].relevance >= RELEVANT
    assert set(query_terms(question)).isdisjoint(query_terms(expected))
    assert "words" not in answer.hits[0].reasons


def test_relevance_tells_the_answer_from_the_rest(knowing: World):
    first, *rest = knowing.person.recall("on which port does the staging database listen").hits

    assert first.memory.text == NOTES[1]
    assert first.relevance > 0.9
    assert all(hit.relevance < first.relevance for hit in rest)


def test_the_same_question_has_the_same_answer(knowing: World):
    answer = knowing.person.recall("deploy day")

    assert texts(answer)[0] == NOTES[0]
    assert knowing.person.recall("deploy day") == answer


def test_a_megabyte_is_a_question_for_the_model_too(knowing: World):
    answer = knowing.person.recall(("deploy the api on Fridays " * 50_000)[: 1024 * 1024])

    assert texts(answer)[0] == NOTES[0]


@pytest.mark.parametrize("question", ["?!…", "🚀", "\u202e", "\u200b", "…" * 3000])
def test_a_question_without_a_word_is_answered_with_a_word(knowing: World, question: str):
    answer = knowing.person.recall(question)

    assert answer.hits == () or answer.by_meaning
    assert answer.hits or answer.hint


# --- words alone ---


def test_words_alone_never_ask_the_model(world: World):
    world.person.remember("The harbour is small")
    answer = world.person.recall("harbour", words=True)

    assert texts(answer) == ["The harbour is small"]
    assert (answer.by_meaning, answer.behind, answer.hint) == (False, 0, "")
    assert world.embedder.asked == world.embedder.embedded == []
    assert not world.embedder.ready


def test_saving_listing_and_a_context_without_a_question_never_load_the_model(arctic: Embedder):
    def load() -> Loaded:
        raise AssertionError("The model was loaded.")

    world = World(embedder=LazyEmbedder(arctic.space, latin=True, floor=0.45, load=load))
    made = world.person.remember("The harbour is small").memory
    world.person.revise(made.id, text="The harbour is large")
    world.person.recall("harbour", words=True)
    world.person.context()
    world.person.list()
    world.person.forget(made.id)

    assert not world.embedder.ready


def test_a_question_in_chinese_is_answered_by_words_where_the_model_reads_latin_only(knowing: World):
    made = knowing.person.remember("数据库端口是5432").memory
    answer = knowing.person.recall("数据库端口是什么")
    knowing.person.forget(made.id)

    assert texts(answer) == ["数据库端口是5432"]
    assert not answer.by_meaning
    assert "Latin" in answer.hint


def test_a_question_in_another_latin_script_is_compared_by_meaning(knowing: World):
    answer = knowing.person.recall("Où est la base de données de préproduction ?", weak=True)

    assert answer.by_meaning
    assert all("meaning" in hit.ranks for hit in answer.hits)


# --- what is told ---


def test_the_answer_tells_where_each_search_put_a_hit(world: World):
    for text in ("The harbour is small", "A haven of sorts", "Lunch is at noon"):
        world.person.remember(text)
    ranks = {hit.memory.text: hit.ranks for hit in world.person.recall("harbour", weak=True).hits}

    assert ranks["The harbour is small"] == {"words": 1, "meaning": 1}
    assert ranks["A haven of sorts"] == {"meaning": 2}


def test_of_what_has_a_phrase_that_must_be_there_only_words_tell_the_place(world: World):
    world.person.remember("The harbour is small")
    (hit,) = world.person.recall('"the harbour"').hits

    assert hit.ranks == {"words": 1}
    assert world.person.recall('"the harbour"').by_meaning


@pytest.mark.parametrize("latin", [True, False])
def test_a_text_that_the_model_cannot_read_is_near_to_nothing(latin: bool):
    world = World(embedder=Concepts({**SEA, "гавань": 0}))
    world.embedder.latin = latin
    world.person.remember("гавань")
    near = world.person.recall("haven", weak=True)

    assert near.by_meaning
    assert texts(near) == ([] if latin else ["гавань"])


def test_an_answer_that_has_every_word_is_not_relaxed(world: World):
    world.person.remember("The harbour is small", tag=["tide"], key="pier")

    for question in ("harbour", "small harbour", "harbour tide", "pier of the harbour"):
        assert not world.person.recall(question, words=True).relaxed
    assert world.person.recall("harbour of giants", words=True).relaxed
    assert not world.person.recall("giants", words=True).relaxed


@pytest.mark.parametrize(("lacking", "told"), [(1, "1 memory has"), (2, "2 memories have")])
def test_what_has_no_vector_yet_is_told(world: World, lacking: int, told: str):
    def refuse(_: Sequence[str]) -> list[bytes]:
        raise Unavailable("It stumbled.", "Try again.")

    world.person.remember("Lunch is at noon")
    world.person.recall("lunch")
    world.embedder.documents = refuse
    for number in range(lacking):
        world.person.remember(f"The harbour of pier {number}")
    answer = world.person.recall("harbour")

    assert answer.behind == lacking
    assert answer.hint == f"{told} no vector yet: engram reembed."


def test_the_answer_tells_the_time_it_read_in_the_question(world: World):
    world.person.remember("The harbour is small")

    assert world.person.recall("harbour last week").time == "last week"
    assert world.person.recall("harbour").time == ""


def test_the_time_in_the_question_decides_between_equals(world: World):
    old = world.person.remember("The harbour bell rang for fog").memory
    world.clock.pass_by(days=30)
    world.person.remember("The harbour bell rang for mist")
    world.clock.pass_by(days=3)

    first = world.person.recall("when did the harbour bell ring last month or so, in January 2026").hits[0]
    assert first.memory.id == old.id
    assert texts(world.person.recall("the latest harbour bell"))[0] == "The harbour bell rang for mist"


def test_a_hit_found_by_meaning_alone_has_no_words_among_its_reasons(world: World):
    world.person.remember("A haven of sorts")
    hit, *_ = world.person.recall("anchorage").hits

    assert "words" not in hit.reasons
    assert hit.reasons["meaning"] > 0
    assert hit.relevance > 0.9


def test_a_model_that_fails_leaves_words_and_the_reason(world: World):
    world.person.remember("The harbour is small")
    world.embedder.broken = "The model is damaged."
    answer = world.person.recall("harbour")

    assert texts(answer) == ["The harbour is small"]
    assert not answer.by_meaning
    assert "The model is damaged. Mend it." in answer.hint


def test_a_model_that_fails_for_the_question_alone_leaves_words(world: World):
    world.person.remember("The harbour is small")
    world.person.recall("harbour")

    def refuse(_: str) -> bytes:
        raise Unavailable("It stumbled.", "Try again.")

    world.embedder.query = refuse
    answer = world.person.recall("harbour")

    assert texts(answer) == ["The harbour is small"]
    assert "It stumbled. Try again." in answer.hint


# --- a vector that is made beside ---


class Beside(Concepts):
    """Its vectors are begun before they are needed, and say what was asked for first: they or the words."""

    def begin(self, text: str) -> Callable[[], bytes]:
        self.begun = text
        return functools.partial(self.query, text)


@pytest.mark.parametrize(
    "question", ["harbour", "haven lunch", '"the harbour"', "Which port is open?", "?!", "squid"]
)
def test_a_vector_that_is_made_beside_answers_as_one_that_is_not(tmp_path: Path, question: str):
    answers = []
    for embedder in (Concepts(SEA), Beside(SEA)):
        engine = SqliteEngine(tmp_path / f"{type(embedder).__name__}.db", new_replica=lambda: "replica")
        world = World(embedder=embedder, engine=engine)
        for number in range(60):
            world.person.remember(f"The harbour number {number} is an anchorage")
        world.person.remember("A port is open all night")
        world.person.remember("Lunch is at noon")
        world.person.reembed()
        answers.append(world.person.recall(question, weak=True, limit=20))
        world.person.close()

    assert answers[0] == answers[1]
    assert answers[0].hits or question == "?!"


def test_a_vector_is_begun_before_the_place_of_the_question_is_known():
    embedder = Beside(SEA)
    world = World(embedder=embedder)
    with pytest.raises(Invalid, match="scope"):
        world.person.recall("haven", scope="no such:thing")

    assert embedder.begun == "haven"
    assert embedder.asked == []  # and nobody waited for it


# --- a time and nothing else ---


def test_a_question_for_a_time_alone_is_answered_with_what_was_saved_then_the_newest_first(world):
    world.person.remember("The harbour opens in spring")
    world.clock.pass_by(days=1)
    world.person.remember("Lunch is at noon")
    world.person.remember("The bees have moved")

    assert texts(world.person.recall("what happened today?")) == ["The bees have moved", "Lunch is at noon"]
    assert texts(world.person.recall("what happened yesterday?")) == ["The harbour opens in spring"]


def test_of_a_time_alone_the_kind_that_is_meant_counts_where_there_is_any_of_it(world):
    world.person.remember("Lunch is at noon")
    world.person.remember("The harbour is dredged in May", kind="decision")

    assert texts(world.person.recall("what did we decide today?")) == ["The harbour is dredged in May"]
    assert len(world.person.recall("what did we learn today?").hits) == 2


def test_of_a_time_alone_the_kinds_that_are_asked_for_bound_the_one_that_is_meant(world):
    world.person.remember("Lunch is at noon", kind="convention")
    world.person.remember("The harbour is dredged in May", kind="decision")

    assert texts(world.person.recall("what did we decide today?", kind=["convention"])) == ["Lunch is at noon"]


def test_of_a_time_alone_all_is_equally_relevant_and_nothing_but_the_time_tells(world):
    world.person.remember("Lunch is at noon")
    (hit,) = world.person.recall("what happened today?").hits

    assert (hit.score, hit.relevance, hit.reasons) == (1.0, 1.0, {"time": 1.0})


def test_of_a_time_alone_as_many_come_as_were_asked_for_and_none_that_says_the_same(world):
    for number in range(44):
        world.person.remember(f"The market of day {number} is over")
    for word in ("", " today", " again"):
        world.person.remember(LONG + word, dedupe="create")
    answer = world.person.recall("what happened today?", limit=45)

    assert (len(answer.hits), answer.collapsed, answer.hint) == (45, 2, "")


def test_a_time_of_which_nothing_is_known_is_told_and_nothing_else_is_offered(world):
    world.person.remember("Lunch is at noon")

    answer = world.person.recall("what did we decide last week?")

    assert not answer.hits
    assert "last week" in answer.hint


def test_of_a_time_alone_nothing_comes_that_is_not_live_or_not_asked_for(world):
    forgotten(world)
    of_another(world)
    elsewhere(world)
    world.person.remember("Lunch is at noon", tag=["food"])
    world.person.remember("The bees have moved")

    assert texts(world.person.recall("what happened today?", tag=["food"])) == ["Lunch is at noon"]
    assert texts(world.person.recall("what happened today?")) == ["The bees have moved", "Lunch is at noon"]


def test_more_of_a_time_than_was_asked_for_is_told(world):
    for day in ("Monday", "Tuesday", "Wednesday"):
        world.person.remember(f"The market of {day} is over")

    assert "--limit" in world.person.recall("what happened today?", limit=2).hint
    assert not world.person.recall("what happened today?", limit=3).hint
