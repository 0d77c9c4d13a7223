"""Sessions begin, go on and end; memories are found around one another; learnings are taken up."""

import pytest

from engram.errors import Conflict, Forbidden, Invalid, NotFound
from engram.model.caller import Caller
from engram.model.memory import Context
from engram.model.scope import Scope
from engram.service import Engram
from rules.world import AGENT, World, texts


@pytest.fixture
def world() -> World:
    return World(home=Scope("project", "api"))


def test_a_session_begins_with_who_works_where(world):
    began = world.agent.session_begin("s-1", folder="/src/api", branch="main", commit="abc")

    assert not began.resumed
    session = began.session
    assert (session.name, session.agent, str(session.scope), session.owner) == (
        "s-1",
        "codex",
        "project:api",
        "alex",
    )
    assert session.context == Context(base_dir="/src/api", branch="main", commit="abc")


def test_beginning_again_goes_on_and_leaves_no_event(world):
    world.agent.session_begin("s-1")
    past = len(world.events())

    assert world.agent.session_begin("s-1").resumed
    assert len(world.events()) == past


def test_a_session_that_ended_is_taken_up_again(world):
    world.agent.session_begin("s-1")
    world.agent.session_end("s-1")
    again = world.agent.session_begin("s-1")

    assert again.resumed
    assert again.session.ended_at is None


def test_without_an_id_a_session_gets_one_of_its_own(world):
    first, second = (world.agent.session_begin().session for _ in range(2))

    assert first.id
    assert first.id != second.id


@pytest.fixture
def nobodys(world) -> Engram:
    """An agent where authentication is off: its sessions have their names for ids."""
    return world.as_(Caller(agent="codex", human=False))


@pytest.mark.parametrize("others", [["work-12"], ["work-12", "work-13"]])
def test_a_session_is_begun_by_its_whole_name_though_others_begin_alike(nobodys, others: list[str]):
    for name in others:
        nobodys.session_begin(name)
    began = nobodys.session_begin("work-1")

    assert (began.resumed, began.session.name) == (False, "work-1")
    assert nobodys.session_begin("work-1").resumed
    assert nobodys.session_end("work-1").session.name == "work-1"
    assert len(nobodys.session_list(open=True).sessions) == len(others)


def test_a_session_ends_by_the_beginning_of_its_id(nobodys):
    nobodys.session_begin("work-12")

    assert nobodys.session_end("work").session.name == "work-12"


def test_a_memory_of_a_session_that_nobody_began_is_not_shown_in_one_that_begins_alike(nobodys):
    for name in ("work-12", "work-13"):
        nobodys.session_begin(name)
    made = nobodys.remember("Said in a session of its own", session="work-1").memory

    assert nobodys.timeline(made.id).session is None


def test_history_tells_of_a_session_that_is_gone_though_others_begin_alike(nobodys, world):
    person = world.as_(Caller())
    nobodys.session_begin("work-1")
    person.undo()
    for name in ("work-12", "work-13"):
        nobodys.session_begin(name)

    assert [event.subjects for event in person.history().events if event.action == "begin"] == [
        ("work-13",),
        ("work-12",),
        ("work-1",),
    ]


def test_ending_keeps_the_summary_in_one_event_and_undo_takes_both_back(world):
    world.agent.session_begin("s-1", branch="main")
    past = len(world.events())
    world.clock.pass_by(hours=1)
    ended = world.agent.session_end("s-1", summary="Goal: the login\n\nNext steps: tests")

    assert len(world.events()) == past + 1
    assert ended.session.ended_at == world.clock.now
    assert (ended.summary.kind, ended.summary.session) == ("summary", "s-1")
    assert ended.summary.context.branch == "main"
    assert "Goal: the login" in world.agent.context().text
    world.person.undo()
    assert world.agent.session_list(session="s-1").sessions[0].ended_at is None
    assert world.agent.list().memories == ()


def test_two_sessions_may_be_summed_up_in_the_same_words(world):
    for id in ("s-1", "s-2"):
        world.agent.session_begin(id)
        world.agent.session_end(id, summary="Nothing was done")

    assert len(world.agent.list(kind=["summary"]).memories) == 2


def test_a_session_ends_once_but_what_is_said_about_it_is_kept_each_time(world):
    world.agent.session_begin("s-1")
    world.agent.session_end("s-1", summary="The first half")

    with pytest.raises(Conflict, match="ended already"):
        world.agent.session_end("s-1")
    later = world.agent.session_end("s-1", summary="The second half")
    assert later.session is None
    assert later.summary.session == "s-1"


@pytest.mark.parametrize("summary", ["", "Said all the same"])
def test_a_session_that_nobody_began_cannot_end_and_nothing_is_kept_of_it(world, summary: str):
    with pytest.raises(NotFound, match="no session 'never-begun'"):
        world.agent.session_end("never-begun", summary=summary)

    assert world.agent.list(kind=["summary"]).memories == ()


def test_two_owners_may_call_their_sessions_alike(world):
    mine, theirs = world.agent.session_begin("s-1"), world.other.session_begin("s-1")

    assert not theirs.resumed
    assert mine.session.id != theirs.session.id
    world.other.session_end("s-1")
    assert world.agent.session_list(session="s-1").sessions[0].ended_at is None


def test_a_clock_that_was_set_back_does_not_keep_a_session_from_ending(world):
    world.agent.session_begin("s-1")
    world.clock.pass_by(hours=-1)
    ended = world.agent.session_end("s-1").session

    assert ended.ended_at >= ended.started_at


def test_without_a_name_the_latest_session_of_this_agent_here_ends(world):
    for id in ("s-1", "s-2", "s-3"):
        world.agent.session_begin(id)
        world.clock.pass_by(minutes=1)
    world.person.session_begin("of-the-person")
    world.agent.session_end("s-3")

    assert world.agent.session_end(summary="Goal: met").session.name == "s-2"
    assert [one.name for one in world.agent.session_list(open=True).sessions] == ["of-the-person", "s-1"]
    assert world.person.session_end().session.name == "of-the-person"
    assert world.person.session_end().session.name == "s-1"


def test_where_no_session_is_under_way_what_is_said_is_kept_all_the_same(world):
    ended = world.agent.session_end(summary="Goal: met")

    assert ended.session is None
    assert (ended.summary.kind, ended.summary.session) == ("summary", "")
    with pytest.raises(NotFound, match="No session is under way"):
        world.agent.session_end()


def test_sessions_of_others_are_neither_seen_nor_ended(world):
    world.agent.session_begin("s-1")

    with pytest.raises(NotFound):
        world.other.session_end("s-1")
    assert world.other.session_list(everywhere=True).sessions == ()


def test_sessions_are_listed_newest_first_page_by_page(world):
    for number in range(5):
        world.agent.session_begin(f"s-{number}")
        world.clock.pass_by(minutes=1)
    world.agent.session_end("s-3")
    first = world.agent.session_list(open=True, limit=3)
    rest = world.agent.session_list(open=True, limit=3, after=first.next)

    assert [one.name for one in (*first.sessions, *rest.sessions)] == ["s-4", "s-2", "s-1", "s-0"]
    assert [one.name for one in world.agent.session_list(open=False).sessions] == ["s-3"]


def test_pages_of_open_sessions_are_full_however_many_ended_ones_lie_between(world):
    for number in range(260):
        world.agent.session_begin(f"s-{number}")
        if number % 20:
            world.agent.session_end(f"s-{number}")
        world.clock.pass_by(minutes=1)
    sizes, names, after = [], [], None
    while True:
        page = world.agent.session_list(open=True, limit=4, after=after)
        sizes.append(len(page.sessions))
        names += [one.name for one in page.sessions]
        if (after := page.next) is None:
            break

    assert names == [f"s-{number}" for number in range(240, -1, -20)]
    assert sizes == [4, 4, 4, 1]


def test_what_an_agent_remembers_belongs_to_the_session_it_has_under_way(world):
    before = world.agent.remember("The port of the api is 8080").memory
    world.agent.session_begin("s-1")
    during = world.agent.remember("Deploys run on Fridays", scope="global").memory
    named = world.agent.remember("Logs rotate weekly", session="another").memory
    world.agent.session_end(summary="Goal: met")
    after = world.agent.remember("The cache is warm before a deploy").memory

    assert [one.session for one in (before, during, named, after)] == ["", "s-1", "another", ""]


def test_what_an_agent_captures_belongs_to_the_session_it_has_under_way(world):
    world.agent.session_begin("s-1")
    learnt = "## Key learnings\n- The parser drops the last line of a file without an end\n"
    assert [one.session for one in world.agent.capture(learnt).memories] == ["s-1"]


def test_of_several_sessions_under_way_none_is_guessed_nor_one_of_another_agent_or_place(world):
    other = world.as_(AGENT._replace(agent="other"))
    other.session_begin("of-another-agent")
    world.other.session_begin("of-another-owner")
    world.agent.session_begin("elsewhere", scope="project:web")
    alone = world.agent.remember("The port of the api is 8080").memory
    world.agent.session_begin("s-1")
    world.agent.session_begin("s-2")
    torn = world.agent.remember("Deploys run on Fridays").memory
    world.agent.session_end("s-2")
    back = world.agent.remember("Logs rotate weekly").memory

    assert [one.session for one in (alone, torn, back)] == ["", "", "s-1"]


def test_a_session_that_was_never_ended_gathers_nothing_after_a_day(world):
    world.agent.session_begin("forgotten")
    world.clock.pass_by(hours=25)

    assert world.agent.remember("Said the day after").memory.session == ""
    world.agent.session_begin("today")
    assert world.agent.remember("Said in a session of its own").memory.session == "today"


def test_what_a_person_says_belongs_to_no_session_of_an_agent(world):
    world.agent.session_begin("s-1")
    world.person.session_begin("s-2")

    assert world.person.remember("Said by hand meanwhile").memory.session == ""


def test_a_memory_may_name_a_session_that_nobody_began(world):
    assert world.agent.remember("It is never refused for that", session="unheard-of").memory.session == "unheard-of"


def filled(world: World, count: int = 6, **said: object):
    made = []
    for number in range(count):
        made.append(world.agent.remember(f"Step number {number} was taken", **said).memory)
        world.clock.pass_by(minutes=1)
    return made


def test_a_timeline_shows_the_session_around_a_memory_oldest_first(world):
    world.agent.session_begin("s-1")
    made = filled(world, session="s-1")
    world.agent.remember("Said in another session", session="s-2")
    line = world.agent.timeline(made[3].id, before=2, after=1)

    assert texts(line.before) == texts(made[1:3])
    assert texts(line.after) == texts(made[4:5])
    assert line.session.name == "s-1"


def test_a_timeline_keeps_sessions_of_two_owners_apart_that_are_called_alike(world):
    for who in (world.person, world.other):
        who.session_begin("s-1")
    mine = world.person.remember("Alex says this first", session="s-1").memory
    theirs = world.other.remember("Kim says that then", session="s-1", visibility="shared").memory
    more = world.person.remember("Alex says more later", session="s-1").memory
    told = world.person.timeline(mine.id)
    assert ([one.id for one in told.after], told.session.owner) == ([more.id], mine.owner)
    told = world.person.timeline(theirs.id)
    assert (told.before, told.after, told.session) == ((), (), None)


def test_a_timeline_without_a_session_shows_the_scope(world):
    made = filled(world)
    world.agent.remember("Elsewhere", scope="project:other")
    line = world.agent.timeline(made[0].id)

    assert line.before == ()
    assert texts(line.after) == texts(made[1:6])
    assert line.session is None


def test_a_timeline_leaves_out_what_is_not_live_and_what_is_not_readable(world):
    made = filled(world, 3)
    world.person.forget(made[1].id)

    assert texts(world.agent.timeline(made[2].id).before) == texts(made[:1])
    with pytest.raises(NotFound):
        world.other.timeline(made[2].id)
    with pytest.raises(Invalid):
        world.agent.timeline(made[2].id, before=-1)


def test_memories_made_in_the_same_moment_are_each_others_neighbours(world):
    for number in range(6):
        world.agent.remember(f"Step number {number} was taken")
    line = [one.id for one in reversed(world.agent.list(limit=10).memories)]
    told = world.agent.timeline(line[3], before=2, after=1)

    assert [one.id for one in told.before] == line[1:3]
    assert [one.id for one in told.after] == line[4:5]
    for at, id in enumerate(line):
        around = world.agent.timeline(id)
        assert [one.id for one in (*around.before, *around.after)] == [*line[:at], *line[at + 1 :]]


def test_get_shows_what_is_around(world):
    made = filled(world, 3)
    shown = world.agent.get(made[1].id, around=1)

    assert texts(shown.around[0].before + shown.around[0].after) == [made[0].text, made[2].text]
    assert world.agent.get(made[1].id).around == ()


LEARNED = (
    "Done.\n\n## Key Learnings\n1. The cache must be warm before a deploy\n2. Retries need a jitter of their own\n"
)


def test_capture_remembers_each_learning_once_in_one_batch(world):
    first = world.agent.capture(LEARNED, session="s-1", source="subagent")
    again = world.agent.capture(LEARNED)

    assert (first.extracted, len(first.memories), first.repeated) == (2, 2, 0)
    assert {(one.kind, one.source, one.session) for one in first.memories} == {("learning", "subagent", "s-1")}
    assert (again.extracted, again.memories, again.repeated) == (2, (), 2)
    world.person.undo()  # the repetition
    world.person.undo()  # both memories
    assert world.agent.list().memories == ()


def test_capture_tells_of_every_item_that_it_does_not_take_up(world):
    captured = world.agent.capture("## Key learnings\n- Builds need make\n- The cache must be warm before a deploy")

    assert texts(captured.memories) == ["The cache must be warm before a deploy"]
    assert [("Builds need make" in problem) for problem in captured.problems] == [True]

    nothing = world.agent.capture("## Key learnings\n1. Builds need make")
    assert (nothing.extracted, len(nothing.problems)) == (0, 1)

    many = "## Key learnings\n" + "".join(f"- Host number {at} is out of order today\n" for at in range(52))
    assert "2 more" in world.agent.capture(many).problems[-1]


def test_capture_leaves_a_known_memory_of_what_kind_it_is(world):
    known = world.person.remember("The cache must be warm before a deploy", kind="decision").memory
    captured = world.agent.capture(LEARNED)

    assert captured.repeated == 1
    assert world.now(known.id).kind == "decision"
    assert world.person.capture(LEARNED).repeated == 2
    assert world.now(known.id).kind == "decision"


def test_an_agent_that_says_a_known_thing_again_says_nothing_about_its_kind(world):
    known = world.person.remember("We deploy on Fridays", kind="convention").memory
    world.agent.remember("We deploy on Fridays", kind="insight")

    assert world.now(known.id).kind == "convention"
    assert world.agent.recall("deploy", words=True).hits


def test_one_learning_that_was_rejected_before_does_not_cost_the_others(world):
    held = world.agent.remember("Retries need a jitter of their own", source="web:x").memory
    world.person.reject(held.id)
    captured = world.agent.capture(LEARNED)

    assert texts(captured.memories) == ["The cache must be warm before a deploy"]
    assert "rejected before" in captured.problems[0]


def test_capture_of_nothing_and_of_what_was_recalled_makes_nothing(world):
    assert world.agent.capture("Nothing here").extracted == 0
    world.agent.capture(LEARNED)
    recalled = world.agent.context().text

    assert world.agent.capture(f"{recalled}\n").extracted == 0


def test_what_was_recalled_is_not_remembered_as_new(world):
    world.agent.remember("We deploy on Fridays")
    recalled = world.agent.context().text

    with pytest.raises(Invalid, match="recalled from here"):
        world.agent.remember(recalled)
    assert world.agent.remember(f"{recalled}\nAnd tea is at four").memory.text.strip() == "And tea is at four"


def test_a_suggested_key_tells_who_holds_it(world):
    key = world.agent.suggest_key(summary="Log rotation", kind="config").key
    assert key == "config/log-rotation"
    held = world.agent.remember("Logs rotate at midnight", key=key).memory

    assert world.agent.suggest_key(summary="Log rotation", kind="config").held_by.id == held.id
    assert world.other.suggest_key(summary="Log rotation", kind="config").held_by is None
    with pytest.raises(Invalid):
        world.agent.suggest_key()


def test_what_is_made_in_a_context_says_so(world):
    there = world.agent.made_in(Context(repo="acme/api", word="discovery")).made_in(Context(branch="main"))
    memory = there.remember("Made on a branch").memory

    assert memory.context == Context(repo="acme/api", word="discovery", branch="main")
    assert world.agent.remember("Made anywhere").memory.context == Context()


def test_for_the_person_at_the_other_end_a_curated_memory_can_be_approved(world):
    held = world.agent.remember("My name is Alex", kind="identity").memory
    with pytest.raises(Forbidden):
        world.agent.promote(held.id, confirm=True)
    world.agent.for_person("elicitation").promote(held.id, confirm=True)

    assert world.now(held.id).status == "promoted"
    assert world.now(held.id).approved_by == "alex@example.org"
    assert world.events()[-1].payload.note["confirmed"] == "elicitation"


def test_a_session_can_be_begun_and_summed_up_in_another_project(world):
    world.agent.session_begin("s-1", scope="project:web")
    ended = world.agent.session_end(summary="Goal: met", scope="project:web")

    assert ended.session.name == "s-1"
    assert str(ended.summary.scope) == "project:web"


def test_without_a_name_the_session_that_was_begun_from_here_ends_whatever_scope_it_has(world):
    began = world.agent.session_begin(scope="project:web")
    assert began.hint == f"When it is done: engram session end {began.session.name} --summary TEXT"
    ended = world.agent.session_end(summary="Goal: met")

    assert ended.session.name == began.session.name
    assert str(ended.summary.scope) == "project:web"


def test_a_session_that_the_same_agent_has_under_way_in_another_project_is_left_alone(world):
    world.agent.standing_in("project:web").session_begin("s-1")
    ended = world.agent.session_end(summary="Goal: met")

    assert ended.session is None
    assert ended.summary.scope == world.agent.home
    assert world.agent.standing_in("project:web").session_end().session.name == "s-1"
