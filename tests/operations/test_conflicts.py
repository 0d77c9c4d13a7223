"""A save names what it may be at odds with; `conflicts` lists, scans, asks and sets aside; hits show verdicts."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from engram.errors import Conflict, Forbidden, Invalid, NotFound
from engram.model.judgement import Judged, Judgement
from engram.ports import Harvesting
from engram.rules.policy import Policy
from engram.service import Engram
from recall.embedders import Concepts
from rules.world import AGENT, PERSON, World

OLD = "The staging database is Postgres 14"
NEW = "We upgraded the staging database to Postgres 16"


@pytest.fixture
def world() -> World:
    return World()


def named(answer) -> list[str]:
    return [one.memory.text for one in answer.candidates]


# A save


def test_a_save_names_what_it_may_be_at_odds_with_and_what_to_do(world):
    old = world.agent.remember(OLD).memory
    said = world.agent.remember(NEW)

    (rival,) = said.candidates
    assert (rival.memory.id, rival.why) == (old.id, "14 → 16")
    assert rival.pair == f"{said.memory.handle}~{old.handle}"
    assert f"engram judge {rival.pair} supersedes" in said.hint
    assert said.memory.status == "promoted"


def test_at_most_three_are_named_and_what_it_contradicts_counts_among_them(world):
    for color in ("red", "green", "blue", "white"):
        world.agent.remember(f"Auth middleware logs {color} lines")

    said = world.agent.remember("Auth middleware logs black lines")
    assert len(said.candidates) + len(said.conflicts) == 3
    assert all(rival.pair in said.hint for rival in said.candidates)


def test_a_judged_pair_is_never_named_again(world):
    world.agent.remember(OLD)
    said = world.agent.remember(NEW, key="staging")
    world.agent.judge(said.candidates[0].pair, "compatible")

    again = world.agent.remember("We upgraded the staging database to Postgres 17", key="staging")
    assert again.outcome == "revised"
    assert again.candidates == ()


@pytest.mark.parametrize("kind", ["prompt", "summary"])
def test_what_tells_of_its_moment_is_compared_with_nothing(world, kind):
    world.agent.remember(OLD)

    assert world.agent.remember(NEW, kind=kind).candidates == ()


def test_a_repeat_and_a_change_of_weight_name_nothing(world):
    world.agent.remember(OLD)
    new = world.agent.remember(NEW)

    assert world.agent.remember(NEW).candidates == ()
    assert world.agent.revise(new.memory.id, importance=9).candidates == ()
    assert named(world.agent.revise(new.memory.id, text="The staging database is Postgres 17 now")) == [OLD]


def test_only_what_is_live_readable_and_in_place_is_named(world):
    world.agent.remember(OLD, scope="project:other")
    world.other.remember(OLD)
    gone = world.agent.remember(OLD, scope="global").memory
    world.agent.forget(gone.id)

    assert world.agent.remember(NEW).candidates == ()
    theirs = world.other.remember("Kim made the staging database a Postgres 12", visibility="shared").memory
    assert set(named(world.agent.remember("The staging database is now Postgres 18"))) == {NEW, theirs.text}


def test_the_same_key_in_another_place_is_named(world):
    world.agent.remember("Tokens are checked in the middleware", key="auth", scope="project:api")

    assert named(world.agent.remember("Cookies, signed", key="auth")) == ["Tokens are checked in the middleware"]


class Failing:
    """An engine whose search breaks, and nothing else."""

    def __init__(self, engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str):
        return getattr(self._engine, name)

    def search(self, *_args, **_more):
        raise RuntimeError("the index is broken")


def test_a_look_up_that_fails_fails_no_save(world):
    world.agent.remember(OLD)
    broken = World(engine=Failing(world.engine), name="broken")

    said = broken.agent.remember(NEW)
    assert (said.outcome, said.candidates) == ("new", ())


def test_meaning_is_compared_only_where_the_model_is_loaded():
    embedder = Concepts({"sessions": 0, "logins": 0, "expire": 1, "end": 1})
    world = World(embedder=embedder)
    world.agent.remember("Sessions expire at noon")

    assert world.agent.remember("Logins end whenever").candidates == ()
    assert embedder.embedded == []
    world.agent.recall("sessions")
    assert "Sessions expire at noon" in named(world.agent.remember("Logins end someday"))
    world.close()


def test_a_list_names_what_a_save_named_for_its_meaning_where_the_model_is_still_loaded():
    embedder = Concepts({"sessions": 0, "logins": 0, "expire": 1, "end": 1})
    world = World(embedder=embedder)
    world.agent.remember("Sessions expire at noon")
    world.agent.recall("sessions")
    (rival,) = world.agent.remember("Logins end someday").candidates

    assert [each.pair for each in world.person.conflicts().pairs] == [rival.pair]
    assert world.person.conflicts(words=True).pairs == ()
    world.close()


def test_a_save_waits_for_no_model_elsewhere():
    embedder = Concepts({"sessions": 0, "logins": 0, "expire": 1, "end": 1})
    embedder.local, embedder.ready = False, True
    world = World(embedder=embedder)
    world.agent.remember("Sessions expire at noon")

    assert world.agent.remember("Logins end whenever").candidates == ()
    world.close()


# The list and the scan


def test_the_list_shows_what_saves_named_until_it_is_judged_or_set_aside(world):
    world.person.remember(OLD)
    pair = world.person.remember(NEW).candidates[0].pair

    (shown,) = world.person.conflicts().pairs
    assert (shown.pair, shown.status, shown.why) == (pair, "open", "14 → 16")
    world.person.conflicts(ignore=pair)
    assert world.person.conflicts().pairs == ()
    (kept,) = world.person.conflicts(settled=True).pairs
    assert kept.status == "ignored"
    assert world.person.conflicts(scan=True).proposed == 0


def test_credentials_for_reading_see_the_pairs_and_do_nothing_about_them(world):
    first = world.person.remember("The port is 80").memory.id
    second = world.person.remember("The port is 81").memory.id
    reader = world.as_(world.person.caller._replace(writes=False))

    assert len(reader.conflicts().pairs) == 1
    assert len(reader.conflicts(pair=f"{first}~{second}").pairs) == 1
    for said in ({"scan": True}, {"ask": True}, {"ignore": f"{first}~{second}"}):
        with pytest.raises(Forbidden, match="reading only"):
            reader.conflicts(**said)


def test_a_scan_proposes_each_pair_once_and_one_undo_takes_it_back(world):
    for text in (
        OLD,
        NEW,
        "The lobby has plants",
        "The API limit is 100 requests",
        "The API limit was 50 requests",
    ):
        world.person.remember(text, confirm=True)
    world.person.relate(world.person.list().memories[0].id, world.person.list().memories[1].id, "unrelated")

    first = world.person.conflicts(scan=True)
    assert (first.scanned, first.proposed) == (5, 1)
    (pair,) = first.pairs
    assert (pair.status, pair.kind, pair.first.text, pair.second.text) == ("proposed", "conflicts", NEW, OLD)
    assert world.person.conflicts(scan=True).proposed == 0
    world.person.undo(first.batch)
    assert world.person.conflicts(scan=True, dry_run=True).proposed == 1
    assert world.person.conflicts(settled=True).pairs[0].status != "proposed"


def test_a_scan_is_told_how_far_it_came_and_goes_on_where_it_stopped(world, monkeypatch):
    from engram.operations import conflicting

    monkeypatch.setattr(conflicting, "PAGE", 2)
    monkeypatch.setattr(conflicting, "MOST_SCANNED", 2)
    for text in ("The lobby has plants", "Parsers carry lines", OLD, NEW):
        world.person.remember(text)
        world.clock.pass_by(seconds=1)
    told: list[tuple[int, int]] = []
    watched = world.person.watched_by(lambda done, total, _what: told.append((done, total)))

    first = watched.conflicts(scan=True)
    assert (first.scanned, first.proposed, told) == (2, 0, [(2, 4)])
    second = watched.conflicts(scan=True, after=first.rest)
    assert (second.scanned, second.proposed) == (2, 1)


def test_the_list_shows_what_waits_and_what_was_judged_to_conflict(world):
    world.person.remember("The API listens on port 8080")
    held = world.agent.remember("The API listens on port 9090").memory
    world.person.remember(OLD)
    new = world.person.remember(NEW)
    world.person.judge(new.candidates[0].pair, "conflicts")

    assert [(one.status, one.first.id) for one in world.person.conflicts().pairs] == [
        ("held", held.id),
        ("judged", new.memory.id),
    ]
    world.person.judge(new.candidates[0].pair, "supersedes")
    assert [one.status for one in world.person.conflicts().pairs] == ["held"]


def test_a_long_list_is_read_page_by_page(world):
    for number in range(30):
        world.person.remember(f"Relay {number} of the {'abcdefghijklmnopqrstuvwxyzäöüß'[number]} line stands")
    ids = [one.id for one in world.person.list(limit=30).memories]
    for one, other in pairwise(ids):
        world.person.relate(one, other, "conflicts")
        world.clock.pass_by(seconds=1)
    seen: list[str] = []
    after = None
    while True:
        page = world.person.conflicts(limit=10, after=after)
        seen += [one.pair for one in page.pairs if one.status == "judged"]
        if (after := page.next) is None:
            break

    assert len(seen) == len(set(seen)) == 29


def test_what_waits_for_other_reasons_hides_no_contradiction_from_the_list(world):
    world.agent.remember("The port of the database is 5432")
    world.agent.remember("The port of the database is 6000")
    for number in range(51):
        world.agent.remember(f"Rule {number} of the house", kind="rule")
    assert [one.status for one in world.person.conflicts().pairs] == ["held"]


def test_no_pair_is_lost_between_pages_whether_it_is_kept_or_not(world):
    for name in ("database", "cache", "broker"):
        world.agent.remember(f"The port of the {name} is 5432")
        world.agent.remember(f"The port of the {name} is 6000")
    live = [one.id for one in world.person.list(limit=3).memories]
    world.person.relate(live[0], live[1], "conflicts")
    whole = [one.pair for one in world.person.conflicts().pairs]
    for limit in range(1, len(whole) + 1):
        paged: list[str] = []
        page = world.person.conflicts(limit=limit)
        paged += [one.pair for one in page.pairs]
        while page.next is not None:
            page = world.person.conflicts(limit=limit, after=page.next)
            paged += [one.pair for one in page.pairs]
        assert paged == whole
    assert len(set(whole)) >= 4


@pytest.mark.parametrize("door", ["relate", "judge", "ignore"])
def test_nothing_is_said_of_a_pair_in_words_that_nobody_saw(world, door: str):
    person = world.person
    old, new = person.remember(OLD).memory, person.remember(NEW).memory
    says = {
        "relate": lambda first, second: person.relate(first, second, "compatible"),
        "judge": lambda first, second: person.judge(f"{first}~{second}", "compatible"),
        "ignore": lambda first, second: person.conflicts(ignore=f"{first}~{second}"),
    }[door]
    person.revise(old.handle, text="The staging database is Postgres 15")

    for pair in ((f"{new.handle}@1", f"{old.handle}@1"), (f"{old.id}@1", f"{new.id}@1")):
        with pytest.raises(Conflict, match=f"{old.handle} is at revision 2, not 1"):
            says(*pair)
    assert person.conflicts(pair=f"{new.handle}~{old.handle}").pairs[0].status == "open"
    assert says(f"{new.handle}@1", f"{old.handle}@2").event


def test_a_verdict_by_revision_is_the_same_request_when_it_is_sent_again(world):
    person = world.person
    old, new = person.remember(OLD).memory, person.remember(NEW).memory
    pair, token = f"{new.handle}@1~{old.handle}@1", "once"

    done = person.judge(pair, "supersedes", token=token)

    assert person.get(old.id).memories[0].revision == 2
    assert person.judge(pair, "supersedes", token=token).event == done.event


def test_one_pair_is_shown_whatever_was_said_of_it(world):
    person = world.person
    old, new = person.remember(OLD).memory, person.remember(NEW).memory
    other = person.remember("Tea is at four").memory

    def known(first, second) -> list[tuple[str, str, str, str]]:
        found = person.conflicts(pair=f"{first.handle}~{second.handle}")
        assert (found.next, found.settled) == (None, False)
        return [(one.pair, one.status, one.kind, one.why) for one in found.pairs]

    assert known(old, new) == [(f"{new.handle}~{old.handle}", "open", "conflicts", "14 → 16")]
    assert known(old, other) == [(f"{other.handle}~{old.handle}", "none", "related", "")]
    person.judge(f"{old.handle}~{new.handle}", "scoped", reason="two clusters")
    assert known(new, old) == [(f"{old.handle}~{new.handle}", "judged", "scoped", "two clusters")]
    person.conflicts(ignore=f"{old.handle}~{other.handle}")
    assert known(old, other)[0][1] == "ignored"
    live = person.remember("The port is 1", kind="infra").memory
    waiting = person.remember("The port is 2", kind="infra").memory
    assert known(live, waiting)[0][:3] == (f"{waiting.handle}~{live.handle}", "held", "conflicts")
    with pytest.raises(Invalid, match="two memories"):
        known(old, old)
    with pytest.raises(NotFound):
        person.conflicts(pair=f"{old.handle}~mem-9999")


def test_what_was_judged_cannot_be_set_aside(world):
    world.person.remember(OLD)
    pair = world.person.remember(NEW).candidates[0].pair
    world.person.judge(pair, "compatible")

    with pytest.raises(Conflict, match="judged already"):
        world.person.conflicts(ignore=pair)


@pytest.mark.parametrize("pair", ["0195562e", "mem-0001~mem-0404"])
def test_what_is_not_there_cannot_be_set_aside(world, pair: str):
    world.person.remember(OLD)

    with pytest.raises(NotFound):
        world.person.conflicts(ignore=pair)


# Asking a model


class Model:
    """A judge that says what a test wrote down."""

    name = "wise-1"

    def __init__(self, *answers: Judgement) -> None:
        self.answers = list(answers)
        self.asked: list[Sequence[tuple[str, str]]] = []
        self.budgets: list[int] = []

    def cost(self, pairs: Sequence[tuple[str, str]]) -> int:
        return 100 * len(pairs)

    def judge(self, pairs: Sequence[tuple[str, str]], budget: int) -> Judgement:
        self.asked.append(pairs)
        self.budgets.append(budget)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def asking(world: World, model: Model | None, caller=PERSON) -> Engram:
    return Engram(
        world.engine,
        caller=caller,
        clock=world.clock,
        new_id=world.new_id,
        policy=Policy(),
        home=world.home,
        harvesting=Harvesting(judge=model),
    )


def test_a_models_verdict_is_proposed_and_does_nothing_by_itself(world):
    old = world.person.remember(OLD).memory
    world.clock.pass_by(days=1)
    new = world.person.remember(NEW).memory
    model = Model(Judgement((Judged(0, "supersedes", 0.9, "It was upgraded."),), tokens=70))
    person = asking(world, model)

    said = person.conflicts(scan=True, ask=True, budget=1000)
    assert model.asked == [[(NEW, OLD)]]
    assert model.budgets == [1000]
    assert (said.asked, said.tokens) == (1, 70)
    (pair,) = said.pairs
    assert (pair.kind, pair.status, pair.model, pair.why) == (
        "supersedes",
        "proposed",
        "wise-1",
        "It was upgraded.",
    )
    assert world.now(old.id).replaced_by == ""
    assert person.conflicts(scan=True, ask=True).asked == 0  # asked once is enough
    world.person.forget(new.id)
    world.person.restore(new.id)
    assert world.now(old.id).replaced_by == ""
    person.judge(pair.pair, "supersedes")
    assert world.now(old.id).replaced_by == new.id


def test_a_pair_that_a_model_finds_harmless_leaves_the_list(world):
    world.person.remember(OLD)
    world.person.remember(NEW)
    person = asking(world, Model(Judgement((Judged(0, "compatible", 0.8, "Both hold."),), tokens=70)))

    assert person.conflicts(scan=True, ask=True).pairs == ()
    assert person.conflicts(settled=True).pairs[0].kind == "compatible"


def test_a_dry_run_tells_what_asking_would_cost_and_keeps_nothing(world):
    world.person.remember(OLD)
    world.person.remember(NEW)
    model = Model(Judgement())
    past = len(world.events())

    said = asking(world, model).conflicts(scan=True, ask=True, dry_run=True)
    assert (said.proposed, said.asked, said.tokens, model.asked) == (1, 1, 100, [])
    assert len(world.events()) == past


def test_a_model_that_is_over_or_no_use_is_left_alone(world):
    for metal in ("brass", "steel"):
        for word in (
            "alpha",
            "beta",
            "gamma",
            "delta",
            "zeta",
            "theta",
            "iota",
            "kappa",
            "lambda",
            "mu",
            "pi",
            "rho",
        ):
            world.person.remember(f"{word}house {word}lamp {metal}")
    over = Model(Judgement(problem="It asks to slow down.", hint="Later.", over=True))

    said = asking(world, over).conflicts(scan=True, ask=True)
    assert len(over.asked) == 1
    assert said.problems == ("It asks to slow down. Later.",)
    useless = Model(Judgement(problem="No JSON."))
    asking(world, useless).conflicts(ask=True)
    assert len(useless.asked) == 2  # twelve pairs, eight at a time


def test_only_a_person_asks_a_model_and_only_where_one_is_configured(world):
    with pytest.raises(Forbidden):
        asking(world, Model(Judgement()), AGENT).conflicts(ask=True)
    with pytest.raises(Invalid, match="no endpoint"):
        world.person.conflicts(ask=True)


# What hits show


def test_hits_and_memories_show_what_was_judged_about_them(world):
    old = world.person.remember(OLD).memory
    new = world.person.remember(NEW)
    world.person.judge(new.candidates[0].pair, "conflicts")

    hits = {hit.memory.id: hit.marks for hit in world.person.recall("staging database", words=True).hits}
    assert hits == {
        old.id: (f"conflicts with {new.memory.handle}",),
        new.memory.id: (f"conflicts with {old.handle}",),
    }
    assert world.person.get(old.id).marks == {old.id: (f"conflicts with {new.memory.handle}",)}
    world.person.judge(new.candidates[0].pair, "supersedes")
    (hit,) = world.person.recall("staging database", words=True).hits
    assert hit.marks == (f"supersedes {old.handle}",)
    world.person.forget(old.id)
    (hit,) = world.person.recall("staging database", words=True).hits
    assert hit.marks == ()


def test_a_proposal_is_shown_as_one_and_what_was_set_aside_is_not(world):
    old = world.person.remember(OLD).memory
    new = world.person.remember(NEW)
    world.person.conflicts(scan=True)

    assert world.person.get(old.id).marks == {old.id: (f"may conflict with {new.memory.handle}",)}
    world.person.conflicts(ignore=new.candidates[0].pair)
    assert world.person.get(old.id).marks == {}
    assert "conflicts" not in str([one.edges for one in world.person.related(old.id, judged=True).relatives])


def test_two_that_say_one_thing_differently_are_marked_wherever_they_are_told_until_somebody_judges(world):
    old, new = (world.person.remember(f"We deploy on {day}").memory for day in ("Wednesdays", "Fridays"))
    world.person.remember("We deploy from a branch called release")
    world.person.remember("We deploy on Sundays", scope="project:other")

    def told():
        ways = world.person.recall, world.person.search
        recalled, searched = (
            {
                hit.memory.id: hit.marks
                for hit in way("when do we deploy", everywhere=True, words=True).hits
                if hit.marks
            }
            for way in ways
        )
        assert recalled == searched
        return recalled

    assert told() == {old.id: (f"may conflict with {new.handle}",), new.id: (f"may conflict with {old.handle}",)}
    assert f"We deploy on Fridays [{new.handle}, fact, said, today, may conflict with {old.handle}]" in (
        world.person.context().text
    )
    world.person.relate(new.id, old.id, "compatible")
    assert told() == {}
    assert "may conflict" not in world.person.context().text


def test_nobody_elses_verdict_is_shown(world):
    old = world.person.remember(OLD, visibility="shared").memory
    new = world.person.remember(NEW, visibility="shared").memory
    world.person.relate(new.id, old.id, "conflicts")

    assert world.other.get(old.id).marks == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use Redis for the queue", "Use RabbitMQ for the queue"),
        ("Deploy on Fridays", "Deploy on Mondays"),
        ("Ada owns the parser", "Bob owns the parser"),
    ],
)
def test_a_save_names_a_short_statement_that_differs_in_one_word(world, old, new):
    world.person.remember(old)
    for number in range(20):  # many that have one of its words
        world.person.remember(f"The queue of parsers deploys {number} tons of work, as many owners say")

    assert old in named(world.person.remember(new))


@pytest.mark.parametrize(
    ("old", "new"), [("We always use pnpm", "We never use pnpm"), ("We use Python 3.11", "We use Python 3.12")]
)
def test_opposites_and_other_values_of_a_short_statement_wait(world, old, new):
    world.person.remember(old)
    answer = world.person.remember(new)

    assert (answer.outcome, [one.text for one in answer.conflicts]) == ("held", [old])
