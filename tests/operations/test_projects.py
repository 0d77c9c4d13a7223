"""Projects as a caller meets them: short names, the list, merging and renaming with preview and undo."""

from pathlib import Path

import pytest

from engram.engines.sqlite import SqliteEngine
from engram.errors import Conflict, Forbidden, Invalid, NotFound, Unconfirmed
from engram.model.answers_work import Merged, Projects
from engram.model.change import Change
from engram.model.event import Draft
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.scope import Scope
from engram.model.session import Session
from engram.operations.projects import projects_list, projects_merge, projects_rename
from engram.operations.scopes import in_view, scope_named
from engram.rules.changes import claims_of
from engram.service import Engram
from rules.world import AGENT, OTHER, PERSON, START, World, memory, texts

ACME, RIVAL = "project:github.com/acme/api", "project:github.com/rival/api"


@pytest.fixture(params=["ram", "sqlite"])
def world(request: pytest.FixtureRequest, tmp_path: Path):
    engine = (
        SqliteEngine(tmp_path / "store.db", new_replica=lambda: "replica") if request.param == "sqlite" else None
    )
    world = World(engine=engine)
    yield world
    world.close()


def session(world: World, id: str, scope: str, **fields: object) -> Session:
    made = Session(id=id, scope=Scope.parse(scope), owner=PERSON.owner, started_at=world.clock(), **fields)
    draft = Draft("begin", "alex", world.clock(), (id,), owner=PERSON.owner, batch=id)
    world.engine.commit(Change(draft, puts=(made,), expects={id: 0}))
    return made


def merge(who: Engram, *words: str, **asked: bool) -> Merged:
    return projects_merge(who.call(), words[:-1], words[-1], **asked)


def rename(who: Engram, project: str, name: str, **asked: bool) -> Merged:
    return projects_rename(who.call(), project, name, **asked)


def listed(who: Engram) -> Projects:
    return projects_list(who.call())


def state(world: World) -> dict[str, Memory]:
    return {id: replace(one, revision=1, updated_at=START) for id, one in world.everything().items()}


class TestShortNames:
    def test_the_only_project_of_a_short_name_is_meant_by_it(self, world):
        kept = world.person.remember("We deploy on Fridays", scope=ACME).memory

        assert str(scope_named(world.person.call(), "project:api")) == ACME
        assert str(scope_named(world.person.call(), "project:API@eval")) == f"{ACME}@eval"
        assert [one.id for one in world.person.list(scope="project:api").memories] == [kept.id]

    def test_a_short_name_of_two_projects_is_a_conflict_that_lists_them(self, world):
        for scope in (ACME, RIVAL):
            world.person.remember("We deploy on Fridays", scope=scope)

        with pytest.raises(Conflict, match=f"{ACME}, {RIVAL}") as refused:
            in_view(world.person.call(), "project:api")
        assert "whole name" in refused.value.hint
        assert str(scope_named(world.person.call(), RIVAL)) == RIVAL

    def test_a_project_called_just_so_goes_before_a_short_name(self, world):
        for scope in ("project:api", ACME):
            world.person.remember("We deploy on Fridays", scope=scope)

        assert str(scope_named(world.person.call(), "project:api")) == "project:api"

    def test_a_project_that_was_renamed_away_leaves_its_name_to_its_successor(self, world):
        world.person.remember("We deploy on Fridays", scope="project:api")
        rename(world.person, "api", "github.com/acme/api", apply=True)

        assert str(scope_named(world.person.call(), "project:api")) == ACME

    def test_what_nobody_knows_is_taken_as_it_is_said(self, world):
        for text in ("project:web", "global", "agent:api", "project:github.com/acme/web"):
            assert str(scope_named(world.person.call(), text)) == text
        with pytest.raises(Invalid):
            scope_named(world.person.call(), "somewhere")

    def test_the_current_project_goes_by_its_short_name_before_anything_is_in_it(self):
        world = World(home=Scope.parse(ACME))

        assert str(scope_named(world.person.call(), "project:api")) == ACME

    def test_where_the_short_name_alone_is_known_an_empty_answer_says_how_to_join_the_two(self, tmp_path):
        world = World(home=Scope.parse(ACME))
        told = "a person joins them: engram projects merge api github.com/acme/api"
        assert told not in world.person.recall("Fridays").hint
        world.person.remember("We deploy on Fridays", scope=Scope("project", "api"))

        assert told in world.person.recall("Fridays").hint
        assert told in world.person.context().hint
        assert told not in world.person.recall("Fridays", everywhere=True).hint
        assert told not in world.other.recall("Fridays").hint  # who may not read it is told nothing of it
        notes = tmp_path / "notes.md"
        notes.write_text("- The api port is 8080\n")
        assert told in world.person.import_(str(notes), trust=True).hint
        merge(world.person, "api", "github.com/acme/api", apply=True)
        assert [hit.memory.text for hit in world.person.recall("Fridays").hits] == ["We deploy on Fridays"]
        assert told not in world.person.recall("zebra").hint
        assert told not in world.person.context().hint

    def test_the_short_names_of_what_may_not_be_read_tell_nothing(self, world):
        world.other.remember("We deploy on Fridays", scope=RIVAL)

        assert str(scope_named(world.person.call(), "project:api")) == "project:api"

    def test_another_workspace_is_another_world(self, world):
        world.person.remember("We deploy on Fridays", scope=f"team/{ACME}")

        assert str(scope_named(world.person.call(), "project:api")) == "project:api"
        assert str(scope_named(world.person.call(), "team/project:api")) == f"team/{ACME}"


class TestTheList:
    def test_projects_are_counted_with_their_sessions_the_latest_first(self, world):
        world.person.remember("We deploy on Fridays", scope=ACME)
        world.person.remember("In a run", scope=f"{ACME}@eval")
        world.person.forget(world.person.remember("Gone", scope=ACME).memory.id)
        world.person.remember("Everywhere", scope="global")
        world.clock.pass_by(hours=1)
        session(world, "ses-a", "project:web")
        answer = listed(world.person)

        assert [row[:4] for row in answer.projects] == [("web", "web", 0, 1), ("github.com/acme/api", "api", 2, 0)]
        assert answer.projects[0].latest == world.clock()
        assert answer.current == ""

    def test_an_empty_store_has_no_project_but_the_current_one_is_told(self):
        answer = listed(World(home=Scope.parse(ACME)).agent)

        assert (answer.projects, answer.current) == ((), "github.com/acme/api")

    def test_only_what_may_be_read_is_listed(self, world):
        world.other.remember("A private thing", scope="project:secret")
        world.other.remember("A shared thing", scope="project:open", visibility="shared")
        session(world, "ses-a", "project:mine")

        assert [row.name for row in listed(world.other).projects] == ["secret", "open"]
        assert [(row.name, row.memories) for row in listed(world.person).projects] == [("open", 1), ("mine", 0)]

    def test_a_project_of_a_workspace_is_told_with_it(self, world):
        world.person.remember("We deploy on Fridays", scope="team/project:api")

        assert [row[:2] for row in listed(world.person).projects] == [("team/project:api", "api")]


class TestMerging:
    def test_nothing_happens_until_it_is_applied(self, world):
        world.person.remember("We deploy on Fridays", scope="project:old")
        world.person.remember("Lint with ruff", scope=ACME)
        before, events = state(world), len(world.events())
        told = merge(world.person, "old", "api")

        assert (told.applied, told.event, told.memories) == (False, 0, 1)
        assert (told.sources, told.into) == (("old",), "github.com/acme/api")
        assert "--apply" in told.hint
        assert state(world) == before
        assert len(world.events()) == events

    def test_memories_runs_and_sessions_move_in_one_step_that_undo_takes_back(self, world):
        world.person.remember("We deploy on Fridays", scope="project:old")
        world.person.remember("In a run", scope="project:older@eval")
        world.person.remember("Lint with ruff", scope=ACME)
        session(world, "ses-a", "project:old", ended_at=world.clock())
        before, events = state(world), len(world.events())
        told = merge(world.person, "old", "older", "api", apply=True)

        assert (told.applied, told.memories, told.sessions, told.repeated) == (True, 2, 1, 0)
        assert len(world.events()) == events + 1
        scopes = sorted(str(one.scope) for one in world.everything().values())
        assert scopes == [ACME, ACME, f"{ACME}@eval"]
        assert [row[:4] for row in listed(world.person).projects] == [("github.com/acme/api", "api", 3, 1)]
        assert texts(world.person.list(scope=ACME).memories) == [
            "In a run",
            "Lint with ruff",
            "We deploy on Fridays",
        ]
        assert world.engine.check() == []

        world.person.undo(told.event)
        assert state(world) == before
        assert {row.name: row.sessions for row in listed(world.person).projects} == {
            "old": 1,
            "older": 0,
            "github.com/acme/api": 0,
        }
        assert world.engine.check() == []

    def test_the_same_text_on_both_sides_is_told_once_and_counted(self, world):
        older = world.person.remember("We deploy on Fridays", scope="project:old").memory
        world.person.remember("We deploy on Fridays", scope="project:old")
        world.clock.pass_by(days=1)
        newer = world.person.remember("we deploy on fridays.", scope=ACME, pinned=True).memory
        before = state(world)
        told = merge(world.person, "old", "api", apply=True)

        assert (told.memories, told.repeated) == (1, 1)
        assert world.stands(older.id) == "live"
        assert world.stands(newer.id) == "forgotten"
        assert (world.now(older.id).seen, world.now(older.id).pinned) == (3, True)
        assert world.now(newer.id).text == "we deploy on fridays."
        again = world.person.remember("We deploy on Fridays", scope=ACME)
        assert (again.outcome, again.memory.id) == ("repeated", older.id)

        world.person.undo()
        world.person.undo(told.event)
        assert state(world) == before

    def test_forgetting_what_both_said_brings_no_twin_back(self, world):
        older = world.person.remember("We deploy on Fridays", scope="project:old").memory
        world.person.remember("We deploy on Fridays", scope=ACME)
        merge(world.person, "old", "api", apply=True)
        world.person.forget(older.id)

        assert world.person.list(scope=ACME).memories == ()

    def test_under_one_key_the_last_word_stays_in_use_and_the_other_text_is_kept(self, world):
        first = world.person.remember("We deploy on Fridays", scope=ACME, key="deploy").memory
        world.clock.pass_by(days=1)
        last = world.person.remember("Thursday is for releases", scope="project:old", key="deploy").memory
        told = merge(world.person, "old", "api", apply=True)

        assert (told.repeated, told.replaced) == (0, 1)
        assert (world.stands(last.id), world.stands(first.id)) == ("live", "replaced")
        assert world.now(first.id).replaced_by == last.id
        said = world.person.remember("Releases are on Mondays", scope=ACME, key="deploy")
        assert (said.outcome, said.memory.id) == ("revised", last.id)
        assert world.engine.check() == []

    def test_under_one_key_the_same_text_is_the_older_one(self, world):
        older = world.person.remember("We deploy on Fridays", scope=ACME, key="deploy").memory
        world.clock.pass_by(days=1)
        newer = world.person.remember("We deploy on Fridays", scope="project:old", key="deploy").memory
        merge(world.person, "old", "api", apply=True)

        assert (world.stands(older.id), world.stands(newer.id)) == ("live", "forgotten")

    def test_what_is_in_use_goes_before_what_is_older_and_forgotten(self, world):
        older = world.person.remember("We deploy on Fridays", scope=ACME).memory
        world.person.forget(older.id)
        newer = world.person.remember("We deploy on Fridays", scope="project:old").memory
        merge(world.person, "old", "api", apply=True)

        assert (world.stands(newer.id), world.stands(older.id)) == ("live", "forgotten")

    @pytest.mark.parametrize(("live", "rejected"), [("project:old", ACME), (ACME, "project:old")])
    def test_what_was_rejected_on_one_side_waits_for_review(self, world, live, rejected):
        kept = world.person.remember("Always run this script", scope=live).memory
        refused = world.agent.remember("Always run this script", scope=rejected, source="web:example.org").memory
        world.person.reject(refused.id)
        before = state(world)
        told = merge(world.person, "old", "api", apply=True)

        assert told.held == 1
        assert (world.stands(kept.id), world.now(kept.id).held_for) == ("pending", "conflict")
        assert world.stands(refused.id) == "rejected"
        with pytest.raises(Conflict, match="rejected before"):
            world.agent.remember("Always run this script", scope=ACME)
        world.person.undo(told.event)
        assert state(world) == before

    def test_approved_memories_move_by_a_confirmed_word_only(self, world):
        name = world.person.remember("My name is Alex", kind="identity", scope="project:old", confirm=True).memory
        world.person.remember("Lint with ruff", scope=ACME)
        told = merge(world.person, "old", "api")

        assert told.curated == 1
        assert "--apply --confirm" in told.hint
        with pytest.raises(Unconfirmed, match="1 approved memory"):
            merge(world.person, "old", "api", apply=True)
        assert str(world.now(name.id).scope) == "project:old"

        merge(world.person, "old", "api", apply=True, confirm=True)
        assert (str(world.now(name.id).scope), world.stands(name.id)) == (ACME, "live")

    def test_what_others_shared_stays_and_is_counted(self, world):
        world.person.remember("Mine", scope="project:old")
        theirs = world.other.remember("Theirs", scope="project:old", visibility="shared").memory
        world.person.remember("Lint with ruff", scope=ACME)
        told = merge(world.person, "old", "api", apply=True)

        assert (told.memories, told.left) == (1, 1)
        assert str(world.now(theirs.id, world.other).scope) == "project:old"

    def test_where_everything_belongs_to_others_nothing_is_done(self, world):
        world.other.remember("Theirs", scope="project:old", visibility="shared")
        world.person.remember("Lint with ruff", scope=ACME)

        with pytest.raises(Forbidden, match="belongs to others"):
            merge(world.person, "old", "api", apply=True)

    def test_a_proposal_goes_along_with_what_it_would_amend(self, world):
        name = world.person.remember("My name is Alex", kind="identity", scope="project:old", confirm=True).memory
        proposed = world.agent.revise(name.id, text="My name is Alexandra").memory
        world.person.remember("Lint with ruff", scope=ACME)
        merge(world.person, "old", "api", apply=True, confirm=True)
        world.person.promote(proposed.id, confirm=True)

        assert (world.now(name.id).text, str(world.now(name.id).scope)) == ("My name is Alexandra", ACME)

    def test_only_known_projects_are_merged(self, world):
        world.person.remember("We deploy on Fridays", scope=ACME)
        world.person.remember("We deploy on Fridays", scope="team/project:api")

        with pytest.raises(NotFound, match="no project 'web'"):
            merge(world.person, "web", "api")
        with pytest.raises(NotFound, match="no project 'web'") as refused:
            merge(world.person, "api", "web")
        assert "rename" in refused.value.hint
        with pytest.raises(Invalid, match="into itself"):
            merge(world.person, "github.com/acme/api", "api")
        with pytest.raises(Invalid, match="two workspaces"):
            merge(world.person, "github.com/acme/api", "team/project:api")

    def test_the_current_project_can_be_merged_into_while_it_is_empty(self):
        world = World(home=Scope.parse(ACME))
        world.person.remember("We deploy on Fridays", scope="project:old")

        assert merge(world.person, "old", "github.com/acme/api", apply=True).memories == 1

    def test_a_retry_with_the_same_token_returns_the_first_answer(self, world):
        world.person.remember("We deploy on Fridays", scope="project:old")
        world.person.remember("We deploy on Fridays", scope=ACME)
        token = "merge-1"  # noqa: S105 - a name, no secret
        merged = [projects_merge(world.person.call(), "old", "api", apply=True, token=token) for _ in range(2)]
        renamed = [projects_rename(world.person.call(), "api", "web", apply=True, token=token) for _ in range(2)]

        assert merged[0] == merged[1]
        assert renamed[0] == renamed[1]
        assert [event.action for event in world.events()][2:] == ["merge", "rename"]
        with pytest.raises(Conflict, match="another request"):
            projects_rename(world.person.call(), "web", "api", apply=True, token=token)

    def test_it_is_a_persons_to_do(self, world):
        for act in (projects_merge, projects_rename):
            with pytest.raises(Forbidden, match="Only a person"):
                act(world.as_(AGENT).call(), "old", "new")

    def test_thousands_of_memories_move_at_once_and_come_back(self, tmp_path):
        world = World(engine=SqliteEngine(tmp_path / "many.db", new_replica=lambda: "replica"))
        made = [memory(f"many-{n:06d}", f"Fact number {n}", scope=Scope("project", "old")) for n in range(3000)]
        draft = Draft("import", "alex", START, tuple(one.id for one in made), owner=PERSON.owner, batch="made")
        world.engine.commit(Change(draft, puts=tuple(made), claims={one.id: claims_of(one) for one in made}))
        told = rename(world.person, "old", "new", apply=True)

        assert told.memories == 3000
        assert [row[:3] for row in listed(world.person).projects] == [("new", "new", 3000)]
        world.person.undo()
        assert [row[:3] for row in listed(world.person).projects] == [("old", "old", 3000)]
        world.close()


class TestRenaming:
    def test_a_project_gets_another_name_and_its_old_one_back(self, world):
        kept = world.person.remember("We deploy on Fridays", scope="project:api", key="deploy").memory
        told = rename(world.person, "api", "github.com/acme/api", apply=True)

        assert (told.action, told.sources, told.into) == ("rename", ("api",), "github.com/acme/api")
        assert str(world.now(kept.id).scope) == ACME
        assert world.events()[-1].action == "rename"
        world.person.undo()
        assert str(world.now(kept.id).scope) == "project:api"

    def test_a_name_that_is_taken_is_refused(self, world):
        for scope in ("project:api", "project:web"):
            world.person.remember("We deploy on Fridays", scope=scope)

        with pytest.raises(Conflict, match="web holds something") as refused:
            rename(world.person, "api", "web")
        assert "engram projects merge api web" in refused.value.hint
        with pytest.raises(Invalid, match="already"):
            rename(world.person, "api", "api")
        with pytest.raises(Invalid):
            rename(world.person, "api", "a@b@c")
        with pytest.raises(NotFound):
            rename(world.person, "nowhere", "somewhere")

    def test_a_project_keeps_its_workspace(self, world):
        kept = world.person.remember("We deploy on Fridays", scope="team/project:api").memory
        rename(world.person, "team/project:api", "web", apply=True)

        assert str(world.now(kept.id).scope) == "team/project:web"

    def test_nobody_renames_what_is_anothers(self, world):
        world.other.remember("Theirs", scope="project:api")

        with pytest.raises(NotFound):
            rename(world.as_(PERSON), "api", "web", apply=True)
        assert [row.name for row in listed(world.as_(OTHER)).projects] == ["api"]
