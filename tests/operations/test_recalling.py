"""Recall: live and readable, best first, with reasons; what was held back is counted, and nothing known is said."""

from datetime import timedelta

import pytest

from engram.errors import Invalid
from engram.model.scope import Scope
from engram.model.text import tokens
from engram.surfaces.render.answers import FACTORS
from rules.world import AGENT, World


@pytest.fixture
def world() -> World:
    return World(home=Scope("project", "api"))


def found(world: World, question: str, **said: object) -> list[str]:
    return [hit.memory.text for hit in world.agent.recall(question, **said).hits]


def test_the_best_answer_comes_first_with_its_reasons_and_cost(world):
    world.agent.remember("We deploy the api on Fridays")
    world.agent.remember("The api has a health check")
    hit, *_ = world.agent.recall("when do we deploy the api").hits
    assert hit.memory.text == "We deploy the api on Fridays"
    parts = {name: value for name, value in hit.reasons.items() if name not in FACTORS}
    assert max(parts, key=parts.get) == "words"
    assert hit.tokens == tokens("We deploy the api on Fridays")
    assert hit.ranks == {"words": 1}
    assert 0 < hit.score <= 1
    assert 0 < hit.relevance <= 1


def test_scores_descend_and_ties_come_by_id(world):
    for letter in "lkjihg":
        world.agent.remember(f"The port of service {letter} is open")
    world.agent.remember("The port of service m is open, and the service has no other port", importance=9)
    places = [(-hit.score, hit.memory.id) for hit in world.agent.recall("port service", limit=50).hits]
    assert places == sorted(places)
    assert len({score for score, _ in places}) < len(places) == 7


def test_pinned_and_important_memories_come_before_their_equals(world):
    world.agent.remember("The port of the web is open", importance=1)
    world.agent.remember("The port of the api is open", importance=10, pinned=True)
    assert found(world, "port")[0] == "The port of the api is open"


def test_held_back_counts_say_what_was_left_out_by_standing(world):
    now = world.clock()
    world.agent.remember("The harbour has a port", decay="1d")
    world.agent.remember("My port is starboard", kind="identity")
    world.agent.remember("A port that was", valid_until=now + timedelta(hours=1))
    world.agent.remember("A port to come", valid_from=now + timedelta(days=9))
    world.agent.remember("The api port is 8080", decay="none")
    world.person.remember("The api port is 9090", decay="none", confirm=True)
    gone = world.agent.remember("A port to forget").memory
    world.agent.forget(gone.id)
    world.clock.pass_by(days=2)
    answer = world.agent.recall("port")
    assert [hit.memory.text for hit in answer.hits] == ["The api port is 9090"]
    assert answer.held_back == {"stale": 1, "pending": 1, "expired": 1, "scheduled": 1, "replaced": 1}


def test_what_is_not_readable_is_never_counted(world):
    world.other.remember("The port of another", decay="1d")
    world.clock.pass_by(days=2)
    assert world.agent.recall("port", everywhere=True).held_back == {}


def test_nothing_known_is_said(world):
    answer = world.agent.recall("quantum gravity")
    assert (answer.hits, answer.held_back) == ((), {})
    assert "Nothing is known" in answer.hint


def test_a_question_without_a_word_is_told_so(world):
    assert "no word" in world.agent.recall("?!…").hint
    for question in ("", "  \n"):
        with pytest.raises(Invalid, match="empty"):
            world.agent.recall(question)


def test_words_that_do_not_occur_together_are_relaxed_to_any_and_that_is_told(world):
    world.agent.remember("We deploy on Fridays")
    answer = world.agent.recall("deploy zeppelin")
    assert answer.relaxed
    assert len(answer.hits) == 1


@pytest.mark.parametrize("kind", ["map", "finding", "prompt"])
def test_kinds_on_demand_come_only_when_asked_for_by_name(world, kind):
    world.agent.remember("The api is laid out by layers", kind=kind, cite=["src/api.py"])
    assert found(world, "api layers") == []
    assert found(world, "api layers", kind=["decision"]) == []
    assert found(world, "api layers", kind=[kind]) == ["The api is laid out by layers"]


def test_where_only_kinds_on_demand_would_answer_the_way_to_them_is_told(world):
    world.agent.remember("The api is laid out by layers", kind="map", cite=["src/api.py"])
    world.agent.insights_save("Likes an api with layers")
    told = world.agent.recall("api layers")
    assert (told.hits, told.hint) == (
        (),
        "What is known of it comes on demand only: engram recall QUESTION --kind map.",
    )
    assert "demand" not in world.agent.recall("zeppelin").hint
    world.agent.remember("The api has layers for a reason")
    assert "demand" not in world.agent.recall("api layers").hint


def test_beside_what_only_comes_near_the_way_to_what_answers_on_demand_is_told(world):
    world.agent.remember(
        "The api is laid out by layers of ports, adapters, handlers and stores", kind="map", cite=["src/api.py"]
    )
    world.agent.remember("The api is slow on Mondays")
    told = world.agent.recall("how is the api laid out: layers, ports, adapters, handlers, stores", words=True)
    assert (len(told.hits), told.unsure) == (1, True)
    assert told.hint.splitlines() == [
        "No memory clearly answers that: these only come near.",
        "What is known of it comes on demand only: engram recall QUESTION --kind map.",
    ]


def test_recall_looks_at_the_project_and_global_one_scope_or_everywhere(world):
    for scope in ("project:api", "global", "agent:codex", "project:web", "project:api@run"):
        world.agent.remember(f"A note that holds in {scope.replace(':', ' ').replace('@', ' ')}", scope=scope)
    assert len(found(world, "note")) == 3
    assert found(world, "note", scope="project:web") == ["A note that holds in project web"]
    assert len(found(world, "note", scope="project:api")) == 2
    assert len(found(world, "note", everywhere=True)) == 5


def test_the_same_text_in_two_scopes_comes_once(world):
    world.agent.remember("We deploy on Fridays")
    world.agent.remember("We deploy on Fridays", scope="global")
    assert found(world, "deploy") == ["We deploy on Fridays"]


def test_recall_is_narrowed_by_tag_and_cut_at_the_limit(world):
    for number in range(9):
        world.agent.remember(f"Port number {'x' * (number + 1)} is open", tag=["odd" if number % 2 else "even"])
    assert len(found(world, "port")) == 5
    assert len(found(world, "port", tag=["odd"])) == 4
    assert len(found(world, "port", limit=7)) == 7
    for limit in (0, 51):
        with pytest.raises(Invalid, match="limit"):
            world.agent.recall("port", limit=limit)


def test_key_kind_summary_and_tags_are_searched_too(world):
    world.agent.remember("First text", key="release-train")
    world.agent.remember("Second text", summary="about zeppelins")
    world.agent.remember("Third text", tag=["harbour"])
    world.agent.remember("Fourth text", kind="gotcha")
    assert [found(world, word) for word in ("train", "zeppelin", "harbour", "gotcha")] == [
        *(["First text"], ["Second text"], ["Third text"], ["Fourth text"]),
    ]


def test_reading_changes_nothing(world):
    made = world.agent.remember("We deploy on Fridays").memory
    past = world.events()
    world.agent.recall("deploy")
    world.agent.context()
    world.agent.list()
    world.agent.get(made.id)
    world.agent.stats()
    assert world.events() == past
    assert world.now(made.id) == made


@pytest.mark.parametrize("name", ["ci@prod", " spaced ", "a" * 300, "two\nlines"])
def test_an_agent_whose_name_no_scope_can_have_reads_like_any_other(world, name):
    world.agent.remember("We deploy on Fridays")
    agent = world.as_(AGENT._replace(agent=name))
    assert [hit.memory.text for hit in agent.recall("deploy").hits] == ["We deploy on Fridays"]
    assert len(agent.context().included) == len(agent.list().memories) == 1


def test_a_question_for_a_kind_that_nothing_is_of_is_told_so(world):
    world.agent.remember("The api is laid out by layers", kind="recipe")

    assert world.agent.recall("api", kind=["desicion"]).hint == (
        "Nothing is of the kind desicion here. Did you mean decision?"
    )
    assert world.agent.recall("api", kind=["zebra"]).hint == "Nothing is of the kind zebra here. See engram kinds."
    assert "kind" not in world.agent.recall("harbour", kind=["recipe"]).hint
    assert "kind" not in world.agent.recall("harbour", kind=["decision"]).hint


def test_a_slip_of_a_kind_is_asked_about_even_where_it_was_saved_under(world):
    world.agent.remember("The database listens on port 5433", kind="infra")
    world.agent.remember("The cache listens on port 6379", kind="infr")

    asked = "The kind infr is none of the table. Did you mean infra?"
    assert world.agent.recall("harbour", kind=["infr"]).hint == asked
    assert world.person.search("harbour", kind=["infr"]).hint == asked
    assert world.agent.recall("cache port", kind=["infr"]).hint == ""


def test_a_list_and_a_search_say_it_in_the_same_words(world):
    waiting = world.agent.remember("The page says so", kind="recipe", source="web:https://example.com").memory

    for ask in (world.person.list, world.person.search):
        assert ask(kind=["desicion"]).hint == "Nothing is of the kind desicion here. Did you mean decision?"
        assert ask(kind=["zebra"]).hint == "Nothing is of the kind zebra here. See engram kinds."
        assert ask(kind=["decision"]).hint == ""
        assert ask(kind=["recipe"]).hint == ""  # one waits
    assert world.stands(waiting.id) == "pending"
