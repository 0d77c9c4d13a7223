"""What citing does for a memory: filled in when it is saved, judged when it is read, pinned anew by verifying."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import engram
from engram.errors import Conflict, Invalid, Unconfirmed
from engram.model.memory import Citation
from engram.operations.routing import agent_view
from engram.service import Engram
from evidence.repos import API, Repo
from rules.world import World


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "api")
    made.write("src/api.py", API)
    made.write("docs/how.md", "".join(f"Line {n}\n" for n in range(1, 120)))
    made.commit()
    return made


@pytest.fixture
def memory(repo: Repo, tmp_path: Path) -> Iterator[Engram]:
    with repo.open(tmp_path / "store.db") as opened:
        yield opened


def test_a_citation_gets_its_pin_and_excerpt_by_itself(repo: Repo, memory: Engram):
    (cited,) = memory.remember("It times out", kind="finding", cite=["src/api.py:3-4"]).memory.citations
    blob, commit = repo.git("rev-parse", "HEAD:src/api.py"), repo.git("rev-parse", "HEAD")

    assert cited == Citation("file", "src/api.py", "3-4", f"{blob}@{commit}", "TIMEOUT = 30\nRETRIES = 5")


@pytest.mark.parametrize(
    ("said", "locator", "excerpt"),
    [
        ("src/api.py:L3", "L3", "TIMEOUT = 30"),
        ("src/api.py:Server.stop", "Server.stop", "    def stop(self):\n        self.close()"),
        ("src/api.py:TIMEOUT", "TIMEOUT", "TIMEOUT = 30"),
        ("src/api.py", "", API.rstrip()),
    ],
)
def test_places_are_named_by_line_and_by_symbol(memory: Engram, said: str, locator: str, excerpt: str):
    (cited,) = memory.remember("It is so", cite=[said]).memory.citations

    assert (cited.ref, cited.locator, cited.excerpt) == ("src/api.py", locator, excerpt)


def test_hygiene_counts_what_was_changed_and_not_what_merely_moved(repo: Repo, memory: Engram):
    memory.remember("The limit of the API is thirty seconds", cite=["src/api.py:3"])
    repo.write("src/api.py", f"# another line\n{API}")
    assert memory.evidence().counts["moved"] == 1
    assert [row.name for row in memory.hygiene().rows] == []
    repo.write("src/api.py", "something else altogether\n")
    assert [row.name for row in memory.hygiene().rows] == ["drifted"]


def test_a_path_is_meant_from_where_one_stands(repo: Repo, tmp_path: Path):
    with repo.open(tmp_path / "store.db", folder="src") as memory:
        near = memory.remember("It is so", cite=["api.py:3"]).memory.citations[0]
        far = memory.remember("It is thus", cite=["docs/how.md:3"]).memory.citations[0]
        whole = memory.remember("It is there", cite=[f"{repo.folder}/src/api.py:3"]).memory.citations[0]

    assert (near.ref, far.ref, whole.ref) == ("src/api.py", "docs/how.md", "src/api.py")


def test_many_lines_are_warned_about_and_too_many_kept_by_their_hash(repo: Repo, memory: Engram):
    long = memory.remember("How it goes", kind="map", cite=["docs/how.md:1-60"])
    repo.write("huge.txt", "".join(f"{n} {'x' * 200}\n" for n in range(200)))
    huge = memory.remember("How it grows", kind="map", cite=["huge.txt:1-150"])

    assert "60 lines" in long.hint
    assert (huge.memory.citations[0].excerpt, "16 KiB" in huge.hint) == ("", True)
    assert memory.get(huge.memory.id).evidence[0][0].verdict == "fresh"


def test_an_address_is_pinned_to_the_moment(memory: Engram):
    said = memory.remember("It is documented", cite=["https://example.org/a:b"]).memory

    assert said.citations[0].pin.startswith(f"{said.created_at:%Y-%m-%dT%H:%M}")
    assert memory.get(said.id).evidence[0][0].verdict == "unreachable"


def test_an_excerpt_that_holds_a_credential_is_not_kept_and_still_judged(repo: Repo, memory: Engram):
    repo.write("keys.py", 'A = 1\nTOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"\n')
    repo.commit()
    said = memory.remember("The token is in keys.py", cite=["keys.py:2"]).memory
    assert said.citations[0].excerpt == ""
    assert memory.get(said.id).evidence[0][0].verdict == "fresh"
    repo.write("keys.py", 'A = 1\nTOKEN = ""\n')

    assert memory.get(said.id).evidence[0][0].verdict == "drifted"


def test_what_is_about_another_project_stays_as_it_was_said(memory: Engram):
    said = memory.remember("It is so", scope="project:other", cite=["lib/x.py:3"]).memory

    assert said.citations == (Citation("file", "lib/x.py", "3"),)
    assert memory.get(said.id).evidence[0][0].why == "another repository"


def test_what_cites_a_file_outside_of_a_repository_says_that_nothing_can_check_it(tmp_path: Path, memory: Engram):
    outside = tmp_path / "outside"
    outside.mkdir()
    with engram.open(memory.store, folder=outside, environment={"HOME": str(tmp_path)}) as there:
        said = there.remember("Parsers fail on empty files", cite=["src/parser.py:40-52"])
        assert there.get(said.memory.id).evidence[0][0].why == "there is no working tree here"

    assert "nothing can tell later whether src/parser.py changed" in said.hint
    assert memory.get(said.memory.id).evidence[0][0].why == "nothing says which repository it is in"


def test_what_cites_a_file_on_a_server_says_that_nothing_can_check_it():
    said = World().agent.remember(
        "Parsers fail on empty files", cite=["src/parser.py:40-52", "https://example.org"]
    )

    assert said.hint == "No repository is here, so nothing can tell later whether src/parser.py changed."


def test_what_is_global_is_judged_in_the_repository_it_cites(tmp_path: Path, memory: Engram):
    said = memory.remember("Timeouts are short", scope="global", cite=["src/api.py:3"]).memory
    other = Repo(tmp_path / "other")
    other.write("src/api.py", "nothing\n")
    other.commit()
    with other.open(tmp_path / "store.db") as elsewhere:
        beyond = elsewhere.get(said.id).evidence[0][0]

    assert memory.get(said.id).evidence[0][0].verdict == "fresh"
    assert beyond.verdict == "unreachable"


@pytest.mark.parametrize("scope", ["global", "project:api"])
def test_other_words_cite_the_same_repository_whoever_says_them(repo: Repo, tmp_path: Path, scope: str):
    with repo.open(tmp_path / "store.db", ENGRAM_AGENT="bot") as agent:
        said = agent.remember("Timeouts are short", scope=scope, cite=["src/api.py:3"]).memory
        assert said.context.repo
        after = agent.revise(said.id, text="Timeouts are thirty seconds").memory

        assert (after.context.repo, after.context.agent) == (said.context.repo, "bot")
        assert agent.get(said.id).evidence[0][0].verdict == "fresh"


@pytest.mark.parametrize("again", ["revise", "remember"])
def test_what_is_cited_later_says_which_repository_it_is_in(memory: Engram, again: str):
    said = memory.remember("Timeouts are short", scope="global").memory
    if again == "revise":
        memory.revise(said.id, cite=["src/api.py:3"])
    else:
        memory.remember("Timeouts are short", scope="global", cite=["src/api.py:3"])

    assert memory.get(said.id).evidence[0][0].verdict == "fresh"


def test_what_a_proposal_cites_is_in_its_repository_once_it_is_approved(repo: Repo, tmp_path: Path, memory: Engram):
    said = memory.remember("Never raise the timeout", kind="rule", scope="global", confirm=True).memory
    with repo.open(tmp_path / "store.db", ENGRAM_AGENT="bot") as agent:
        waits = agent.revise(said.id, cite=["src/api.py:3"])
    assert waits.outcome == "proposed"
    memory.promote(waits.memory.id, confirm=True)

    assert memory.get(said.id).evidence[0][0].verdict == "fresh"


def test_a_client_that_gives_a_citation_in_parts_keeps_what_it_gave(memory: Engram):
    given = Citation("file", "not/there.py", "3", pin="0" * 40, excerpt="x = 1")
    bare = Citation("file", "not/there.py", "3")

    assert memory.remember("It is so", kind="map", cite=[given]).memory.citations == (given,)
    assert memory.remember("It is too", kind="map", cite=[bare]).memory.citations == (bare,)
    with pytest.raises(Invalid, match="no file"):
        memory.remember("It is three", kind="map", cite=["not/there.py:3"])


def test_saying_it_again_pins_the_same_place_anew_and_cites_it_once(repo: Repo, memory: Engram):
    memory.remember("It times out", cite=["src/api.py:3"])
    repo.edit("src/api.py", "TIMEOUT = 30", "TIMEOUT = 60")
    (cited,) = memory.remember("It times out", cite=["src/api.py:3"]).memory.citations

    assert cited.excerpt == "TIMEOUT = 60"


def three(memory: Engram) -> None:
    memory.remember("Requests time out quickly here", kind="gotcha", cite=["src/api.py:3"], importance=9)
    memory.remember("Requests are retried", kind="gotcha", cite=["src/api.py:4"])
    memory.remember("Requests are bad sometimes", kind="gotcha")


def test_what_drifted_is_labelled_and_comes_last(repo: Repo, memory: Engram):
    three(memory)
    before = memory.recall("requests", words=True).hits
    repo.edit("src/api.py", "RETRIES = 5", "RETRIES = 6")
    after = memory.recall("requests", words=True).hits

    assert (before[0].memory.handle, before[0].verdict) == ("mem-0002", "fresh")
    assert (after[-1].memory.handle, after[-1].verdict) == ("mem-0002", "drifted")
    assert [hit.memory for hit in after[:-1]] == [hit.memory for hit in before[1:]]
    assert memory.recall("requests", words=True, limit=2).hits == after[:2]


def test_reading_refreshes_nothing(repo: Repo, memory: Engram):
    three(memory)
    repo.edit("src/api.py", "TIMEOUT = 30", "TIMEOUT = 60")
    history = memory.history().events
    for _ in range(2):
        memory.recall("requests", words=True)
        memory.evidence()
        memory.context()
        memory.get("mem-0001")

    assert memory.history().events == history
    assert memory.recall("requests time out", words=True).hits[-1].verdict == "drifted"


def test_what_drifted_stays_out_of_a_context_unless_it_is_asked_for(repo: Repo, memory: Engram):
    three(memory)
    repo.edit("src/api.py", "TIMEOUT = 30", "TIMEOUT = 60")
    without, asked = memory.context(query="requests time out"), memory.context(with_drifted=True)

    assert "time out quickly" not in without.text
    assert "retried" in without.text
    assert "1 left out" in without.hint
    assert "time out quickly" in asked.text
    assert "what it cites is drifted" in asked.text


def test_what_drifted_stays_out_of_the_files_that_agents_read(repo: Repo, memory: Engram):
    three(memory)
    repo.edit("src/api.py", "TIMEOUT = 30", "TIMEOUT = 60")
    told = agent_view(memory.call()).text

    assert "time out quickly" not in told
    assert "retried" in told


def test_discoveries_come_on_demand_only_on_every_path(memory: Engram):
    memory.remember("Requests are handled in api.py", kind="map", cite=["src/api.py:handler"], pinned=True)

    assert memory.context(query="requests are handled").included == ()
    assert memory.recall("requests handled", words=True).hits == ()
    assert memory.recall("requests handled", kind=["map"], words=True).hits[0].verdict == "fresh"
    assert memory.get("mem-0001").memories[0].origin == "inferred"


def test_a_recall_of_the_past_is_not_held_against_the_present(repo: Repo, memory: Engram):
    said = memory.remember("Requests time out", cite=["src/api.py:3"]).memory
    repo.edit("src/api.py", "TIMEOUT = 30", "TIMEOUT = 60")

    assert memory.recall("requests", as_of=said.created_at, words=True).hits[0].evidence == ()


class TestVerify:
    def test_it_shows_what_changed_first_and_does_nothing(self, repo: Repo, memory: Engram):
        memory.remember("Requests time out", cite=["src/api.py:3"])
        repo.edit("src/api.py", "TIMEOUT = 30", "TIMEOUT = 60")
        shown = memory.verify("mem-0001")

        assert shown.event == 0
        assert "-TIMEOUT = 30\n+TIMEOUT = 60" in shown.evidence[0][0].diff
        assert memory.get("mem-0001").memories[0].verified_at is None

    def test_it_pins_what_moved_and_what_drifted_anew_and_can_be_undone(self, repo: Repo, memory: Engram):
        memory.remember("Requests time out", cite=["src/api.py:3", "src/api.py:7-11"])
        repo.git("mv", "src/api.py", "src/web.py")
        repo.edit("src/web.py", "TIMEOUT = 30", "# seconds\nTIMEOUT = 60")
        done = memory.verify("mem-0001", repin=True)
        assert [check.verdict for check in done.evidence[0]] == ["fresh", "fresh"]
        assert done.hint == "Pinned anew to what is there now: mem-0001."
        (first, second), checks = (found := memory.get("mem-0001")).memories[0].citations, found.evidence[0]
        assert (first.ref, first.locator, first.excerpt) == ("src/web.py", "4", "TIMEOUT = 60")
        assert (second.ref, second.locator) == ("src/web.py", "8-12")
        assert [check.verdict for check in checks] == ["fresh", "fresh"]
        memory.undo()

        assert memory.get("mem-0001").memories[0].citations[0].excerpt == "TIMEOUT = 30"

    def test_what_is_gone_cannot_be_pinned(self, repo: Repo, memory: Engram):
        memory.remember("Requests time out", cite=["src/api.py:3"])
        (repo.folder / "src/api.py").unlink()

        mend = "Cite something else: engram revise mem-0001 --cite PATH; or forget it: engram forget mem-0001."
        assert memory.verify("mem-0001").hint == f"Nothing was done: what mem-0001 cites is gone. {mend}"
        with pytest.raises(Conflict, match="gone") as refused:
            memory.verify("mem-0001", repin=True)
        assert refused.value.hint == mend
        memory.revise("mem-0001", cite=["docs/how.md:5"])
        assert memory.verify("mem-0001").event

    def test_it_is_as_before_where_nothing_changed(self, memory: Engram):
        made = memory.remember("Requests time out", cite=["src/api.py:3"]).memory
        done = memory.verify("mem-0001")

        assert done.event
        assert done.memories[0].citations == made.citations
        assert done.memories[0].verified_at == done.memories[0].updated_at > made.updated_at

    def test_a_curated_memory_is_pinned_by_a_persons_confirmed_word(self, repo: Repo, memory: Engram):
        memory.remember("Never raise the timeout", kind="rule", cite=["src/api.py:3"], confirm=True)
        repo.edit("src/api.py", "TIMEOUT = 30", "TIMEOUT = 60")

        with pytest.raises(Unconfirmed):
            memory.verify("mem-0001", repin=True)
        assert memory.verify("mem-0001", repin=True, confirm=True).event


class TestEvidence:
    def test_a_whole_project_is_checked_the_worst_first(self, repo: Repo, memory: Engram):
        three(memory)
        memory.remember("How it goes", kind="map", cite=["docs/how.md:5", "https://example.org"])
        repo.edit("src/api.py", "TIMEOUT = 30", "TIMEOUT = 60")
        (repo.folder / "docs/how.md").unlink()
        answer = memory.evidence(fail_on=["gone"])

        assert [row.verdict for row in answer.memories] == ["gone", "drifted", "fresh"]
        assert answer.counts == {"fresh": 1, "moved": 0, "drifted": 1, "gone": 1, "unreachable": 1}
        assert (answer.failed, answer.exit_code) == (("gone",), 11)
        assert memory.evidence(fail_on=["moved"]).exit_code == 0
        assert memory.evidence(fail_on=["any"]).failed == ("drifted", "gone", "unreachable")

    def test_only_what_a_change_touched(self, repo: Repo, memory: Engram):
        three(memory)
        memory.remember("How it goes", kind="map", cite=["docs/how.md:5"])
        base = repo.git("rev-parse", "HEAD")
        repo.edit("docs/how.md", "Line 5\n", "Line five\n")
        repo.commit()
        touched = memory.evidence(since=base)

        assert [row.memory.handle for row in touched.memories] == ["mem-0004"]
        assert memory.evidence(since="HEAD").memories == ()
        with pytest.raises(Invalid, match="no revision"):
            memory.evidence(since="nope")

    def test_a_verdict_that_does_not_exist_is_refused(self, memory: Engram):
        with pytest.raises(Invalid, match="rotten"):
            memory.evidence(fail_on=["drifted,rotten"])

    def test_it_tells_how_far_it_has_come(self, memory: Engram):
        three(memory)
        told: list[tuple[int, int, str]] = []
        memory.watched_by(lambda *said: told.append(said)).evidence()

        assert told[0] == (0, 2, "checking citations")
        assert told[-1] == (2, 2, "checking citations")


def test_the_memories_of_a_file_come_with_their_verdicts_the_worst_first(repo: Repo, memory: Engram):
    memory.remember("A request takes half a minute at most", cite=["src/api.py:3"])
    memory.remember("Each request is tried again a few times", cite=["src/api.py:4"])
    memory.remember("Both limits are of one mind", cite=["src/api.py:3", "src/api.py:4"])
    repo.edit("src/api.py", "TIMEOUT = 30", "TIMEOUT = 60")
    (row,) = memory.files().files
    drawn = memory.graph("file", "src/api.py", limit=2)

    assert [(one.handle, verdict) for one, verdict in zip(row.memories, row.evidence, strict=True)] == [
        ("mem-0003", "drifted"),
        ("mem-0001", "drifted"),
        ("mem-0002", "fresh"),
    ]
    assert list(row.verdicts.items()) == [("drifted", 2), ("fresh", 2)]
    assert {(node.memory.handle, node.verdict) for node in drawn.nodes if node.memory} == {
        ("mem-0001", "drifted"),
        ("mem-0003", "drifted"),
    }


def test_who_cites_this_file(repo: Repo, memory: Engram):
    three(memory)
    memory.remember("Requests are handled here", kind="map", cite=["src/api.py:handler"])
    repo.edit("src/api.py", "import os\n", "import os\n\n\n")

    def handles(file: str) -> list[str]:
        return [row.memory.handle for row in memory.cited(file).memories]

    assert handles("src/api.py") == ["mem-0001", "mem-0002", "mem-0004"]
    assert handles("src/api.py:5") == ["mem-0001"], "where the line is now"
    assert handles("src/api.py:10-12") == ["mem-0004"]
    assert handles("docs/how.md") == []
    assert handles(f"{repo.folder}/src/api.py:6") == ["mem-0002"]
    with pytest.raises(Invalid, match="outside"):
        memory.cited("../x")


@pytest.mark.parametrize("staged", [True, False], ids=["renamed", "renamed and committed"])
def test_who_cites_a_file_is_told_by_its_new_name_too(repo: Repo, memory: Engram, *, staged: bool):
    three(memory)
    memory.remember("Requests are handled here", kind="map", cite=["src/api.py:handler"])
    repo.git("mv", "src/api.py", "src/core.py")
    if not staged:
        repo.commit("renamed")

    def handles(file: str) -> list[str]:
        return [row.memory.handle for row in memory.cited(file).memories]

    assert handles("src/core.py") == handles("src/api.py") == ["mem-0001", "mem-0002", "mem-0004"]
    assert handles("src/core.py:3") == ["mem-0001"]
    assert handles("docs/how.md") == []


def test_a_commit_is_cited_by_its_whole_name(repo: Repo, memory: Engram):
    head = repo.git("rev-parse", "HEAD")
    repo.git("tag", "-a", "v1", "-m", "first")

    for said in ("HEAD", "v1", head[:8]):
        (cited,) = memory.remember(f"It was so at {said}", cite=[f"commit:{said}"]).memory.citations
        assert cited.ref == head


def test_a_memory_leads_to_the_message_and_session_that_made_it_and_back():
    world = World()
    world.person.session_begin("s-1")
    one = world.person.remember("The net is out", cite=["message:msg-42", "session:s-0"]).memory
    two = world.person.remember("The net is in", session="s-1").memory

    assert [(each.kind, each.ref) for each in world.person.get(one.id).memories[0].citations] == [
        ("message", "msg-42"),
        ("session", "s-0"),
    ]
    assert [row.memory.id for row in world.person.cited("message:msg-42").memories] == [one.id]
    assert [row.memory.id for row in world.person.cited("session:s-0").memories] == [one.id]
    assert [row.memory.id for row in world.person.cited("session:s-1").memories] == [two.id]
    assert world.person.cited("message:other").memories == ()
    assert world.other.cited("message:msg-42").memories == ()
    with pytest.raises(Invalid):
        world.person.cited("message:")
