"""The walk through what waits: with scripted answers, and on a real terminal."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import engram
from engram.service import Engram
from engram.surfaces.render.answers import render
from engram.surfaces.render.paper import Paper
from engram.surfaces.review import walk
from surfaces.driving import at_terminal, child

NAME = "My legal name is Alex"


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engram]:
    """A memory of this process only, in a home without settings."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.chdir(tmp_path)
    with engram.open("ram:", environment={"HOME": str(tmp_path)}) as opened:
        yield opened


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make $EDITOR a script that does this to the file it is given."""

    def install(action: str) -> None:
        script = tmp_path / "my editor.sh"  # a space: EDITOR is a command line
        script.write_text(f"#!/bin/sh\n{action}\n")
        script.chmod(0o755)
        monkeypatch.setenv("EDITOR", f"sh '{script}'")

    return install


class Person:
    """Answers questions from a script and keeps what was shown; an empty script is the end of input."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked, self.shown = list(answers), [], []

    def ask(self, question: str) -> str:
        self.asked.append(question)
        if not self.answers:
            raise EOFError
        return self.answers.pop(0)

    def say(self, text: str) -> None:
        self.shown.append(text)

    @property
    def screen(self) -> str:
        return "\n".join(self.shown)


def reviewed(memory: Engram, *answers: str, scope: str = "") -> Person:
    """A walk with these answers, to its end."""
    person = Person(*answers)
    assert walk(memory, scope=scope, ask=person.ask, say=person.say) == 0
    assert person.answers == [], "the walk ended before it had asked everything"
    return person


def standing(memory: Engram, ref: str) -> str:
    one = memory.get(ref)
    return engram.standing(one.memories[0], one.at)


def hold_conflict(memory: Engram) -> None:
    memory.remember("The port of the database is 5432")
    assert memory.remember("The port of the database is 5433").outcome == "held"


def test_nothing_waits(memory: Engram):
    assert reviewed(memory).shown == ["Nothing waits for review.", "0 decided, 0 skipped."]


def test_a_memory_is_shown_with_the_reason_it_waits(memory: Engram):
    memory.remember(NAME, kind="identity", cite=["hr/contract.pdf"])
    person = reviewed(memory, "q")

    assert "mem-0001  identity · global · said, manual · just now" in person.screen
    assert f"  {NAME}" in person.shown
    assert "Why it waits: this kind is curated" in person.screen
    assert "Cites: file hr/contract.pdf" in person.screen


def test_a_conflict_is_shown_as_a_difference(memory: Engram):
    hold_conflict(memory)
    person = reviewed(memory, "q")

    assert "It would replace mem-0001:" in person.screen
    assert "- The port of the database is 5432" in person.screen
    assert "+ The port of the database is 5433" in person.screen


def test_approving_makes_it_live_and_replaces_what_it_contradicts(memory: Engram):
    hold_conflict(memory)
    person = reviewed(memory, "a")

    assert person.shown[-4:] == [
        "Promoted mem-0002: The port of the database is 5433",
        "It replaces mem-0001: The port of the database is 5432",
        "Nothing else waits.",
        "1 decided, 0 skipped.",
    ]
    assert standing(memory, "mem-0002") == "live"
    assert standing(memory, "mem-0001") == "replaced"


@pytest.mark.parametrize("key", ["b", "both"])
def test_both_can_be_kept(memory: Engram, key: str):
    hold_conflict(memory)
    reviewed(memory, key)

    assert [standing(memory, each) for each in ("mem-0001", "mem-0002")] == ["live", "live"]


def test_what_it_contradicted_and_is_out_of_use_is_no_reason_any_more(memory: Engram):
    hold_conflict(memory)
    memory.forget("mem-0001")
    person = reviewed(memory, "q")

    assert "Why it waits: it contradicted something that is out of use now." in person.screen
    assert "it contradicts" not in person.screen


def test_what_a_verdict_would_replace_is_shown_before_it_is_approved(memory: Engram):
    memory.remember("Production backups are kept for 30 days", kind="infra")
    memory.remember("Grafana runs at grafana.internal", source="web:example.org")
    memory.relate("mem-0002", "mem-0001", "supersedes")
    listed = render(memory.review(), Paper())
    assert "  It would replace mem-0001: Production backups are kept for 30 days" in listed.splitlines()
    person = reviewed(memory, "b")

    assert "It would replace mem-0001:" in person.screen
    assert "- Production backups are kept for 30 days" in person.screen
    assert [standing(memory, each) for each in ("mem-0001", "mem-0002")] == ["live", "live"]


def test_what_is_held_for_a_verdict_does_not_say_that_its_rival_is_out_of_use(memory: Engram):
    memory.remember("The port of the database is 5432")
    memory.remember("The port of the database is 5433")
    memory.remember("Backups are kept for 30 days")
    memory.relate("mem-0002", "mem-0003", "supersedes")
    memory.forget("mem-0001")
    person = reviewed(memory, "q")

    assert "Why it waits: it would replace something known." in person.screen
    assert "It would replace mem-0003:" in person.screen
    assert "out of use now" not in person.screen


def test_what_a_verdict_cannot_replace_is_shown_as_left(memory: Engram):
    memory.remember(NAME, kind="identity", confirm=True)
    memory.remember("Everybody here goes by another name", source="web:example.org")
    memory.relate("mem-0002", "mem-0001", "supersedes")
    person = reviewed(memory, "a")

    assert "It would not replace the curated mem-0001:" in person.screen
    assert "It replaces" not in person.screen
    assert standing(memory, "mem-0001") == "live"


def test_a_curated_memory_needs_its_handle_typed(memory: Engram):
    memory.remember(NAME, kind="identity")
    person = reviewed(memory, "a", "mem-0001")

    assert "Type mem-0001 to confirm: " in person.asked[1]
    assert standing(memory, "mem-0001") == "live"


@pytest.mark.parametrize("typed", ["", "y", "yes", "mem-0002", "a"])
def test_a_reflex_confirms_no_curated_memory(memory: Engram, typed: str):
    memory.remember(NAME, kind="identity")
    person = reviewed(memory, "a", typed, "q")

    assert "Not confirmed; it still waits." in person.shown
    assert standing(memory, "mem-0001") == "pending"


def test_the_confirmation_is_recorded_as_given_at_a_terminal(memory: Engram):
    memory.remember(NAME, kind="identity")
    reviewed(memory, "a", "mem-0001")
    event = memory.history("mem-0001").events[0]

    assert event.action == "promote"
    assert event.payload is not None
    assert "terminal" in str(event.payload.note)


def test_a_proposal_changes_the_memory_it_amends(memory: Engram):
    memory.remember(NAME, kind="identity", confirm=True)
    memory.revise("mem-0001", text="My legal name is Alex Rivera")
    person = reviewed(memory, "a", "mem-0002")

    assert "It would change mem-0001:" in person.screen
    assert "+ My legal name is Alex Rivera" in person.screen
    assert memory.get("mem-0001").memories[0].text == "My legal name is Alex Rivera"


def test_editing_approves_the_new_words(memory: Engram, editor: Callable[[str], None]):
    editor('sed -i s/Alex/Kim/ "$1"')
    memory.remember(NAME, kind="identity")
    reviewed(memory, "e", "mem-0001")

    one = memory.get("mem-0001").memories[0]
    assert (one.text, standing(memory, "mem-0001")) == ("My legal name is Kim", "live")


def test_an_edit_that_changes_nothing_approves_nothing(memory: Engram, editor: Callable[[str], None]):
    editor("true")
    memory.remember(NAME, kind="identity")
    person = reviewed(memory, "e", "q")

    assert "Unchanged; nothing was approved." in person.shown
    assert standing(memory, "mem-0001") == "pending"


def test_an_edit_to_nothing_is_refused_and_it_still_waits(memory: Engram, editor: Callable[[str], None]):
    editor(': > "$1"')
    memory.remember(NAME, kind="identity")
    person = reviewed(memory, "e", "mem-0001", "q")

    assert "empty" in person.screen
    assert standing(memory, "mem-0001") == "pending"


def test_an_editor_that_fails_is_said_and_it_still_waits(memory: Engram, monkeypatch: pytest.MonkeyPatch):
    memory.remember(NAME, kind="identity")
    for command in ("false", "no-such-editor-anywhere"):
        monkeypatch.setenv("EDITOR", command)
        person = reviewed(memory, "e", "q")

        assert f"The editor '{command}' failed" in person.screen
        assert "Set EDITOR" in person.screen
    assert standing(memory, "mem-0001") == "pending"


@pytest.mark.parametrize("action", ["printf 'caf\\351' > \"$1\"", 'rm "$1"'])
def test_an_editor_that_leaves_no_text_is_said_and_it_still_waits(
    memory: Engram, editor: Callable[[str], None], action: str
):
    editor(action)
    memory.remember(NAME, kind="identity")
    person = reviewed(memory, "e", "q")

    assert "Set EDITOR to one that works." in person.screen
    assert standing(memory, "mem-0001") == "pending"


def test_visual_goes_before_editor(
    memory: Engram, editor: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    editor("false")
    script = tmp_path / "visual.sh"
    script.write_text('echo "My name is Kim" > "$1"\n')
    monkeypatch.setenv("VISUAL", f"sh {script}")
    memory.remember(NAME, kind="identity")
    reviewed(memory, "e", "mem-0001")

    assert memory.get("mem-0001").memories[0].text == "My name is Kim"


def test_rejecting_keeps_the_reason_and_the_text_away(memory: Engram):
    memory.remember(NAME, kind="identity")
    person = reviewed(memory, "x", "somebody else")

    assert "Rejected mem-0001; it will not come back." in person.shown
    assert standing(memory, "mem-0001") == "rejected"
    event = memory.history("mem-0001").events[0]
    assert event.payload is not None
    assert dict(event.payload.note or {})["reason"] == "somebody else"
    with pytest.raises(engram.Conflict):
        memory.remember(NAME, kind="identity")


def test_rejecting_without_a_reason_is_fine(memory: Engram):
    memory.remember(NAME, kind="identity")
    reviewed(memory, "x", "")

    assert standing(memory, "mem-0001") == "rejected"


def test_merging_rewords_the_other_memory(memory: Engram, editor: Callable[[str], None]):
    editor('echo "The database ports are 5432 and 5433" > "$1"')
    hold_conflict(memory)
    person = reviewed(memory, "m", "mem-0001")

    assert "Merged mem-0002 into mem-0001: The database ports are 5432 and 5433" in person.shown
    assert memory.get("mem-0001").memories[0].text == "The database ports are 5432 and 5433"
    assert standing(memory, "mem-0001") == "live"
    assert standing(memory, "mem-0002") == "replaced"


def test_a_merge_overwrites_no_words_that_came_meanwhile(memory: Engram, editor: Callable[[str], None]):
    editor('echo "The database ports are 5432 and 5433" > "$1"')
    hold_conflict(memory)

    class Slow(Person):
        def ask(self, question: str) -> str:
            if "handle" in question or "confirm" in question:
                memory.revise("mem-0001", text="The port of the database is 6000")
            return super().ask(question)

    memory.remember(NAME, kind="identity", confirm=True)
    memory.reject("mem-0002")
    held = memory.remember("My legal name is Kim", kind="identity").memory.handle
    person = Slow("m", "mem-0001", held, "q")
    assert walk(memory, ask=person.ask, say=person.say) == 0
    assert "mem-0001 is at revision 2, not 1." in person.screen
    assert memory.get("mem-0001").memories[0].text == "The port of the database is 6000"


def test_merging_into_a_curated_memory_needs_its_handle_typed(memory: Engram, editor: Callable[[str], None]):
    editor("true")
    memory.remember(NAME, kind="identity", confirm=True)
    memory.remember("My legal name is Kim", kind="identity")
    person = reviewed(memory, "m", "mem-0001", "no", "q")

    assert "Not confirmed; it still waits." in person.shown
    assert memory.get("mem-0001").memories[0].text == NAME


def test_merging_into_nothing_or_the_unknown_asks_again(memory: Engram, editor: Callable[[str], None]):
    editor("true")
    hold_conflict(memory)
    person = reviewed(memory, "m", "", "m", "mem-9999", "q")

    assert "There is no memory 'mem-9999'." in person.screen
    assert standing(memory, "mem-0002") == "pending"


def test_skipping_goes_on_to_the_next(memory: Engram):
    memory.remember(NAME, kind="identity")
    memory.remember("My tax number is 12", kind="fiscal")
    person = reviewed(memory, "s", "x", "")

    assert standing(memory, "mem-0001") == "pending"
    assert standing(memory, "mem-0002") == "rejected"
    assert person.shown[-1] == "1 decided, 1 skipped."


def test_the_walk_goes_beyond_a_page_of_skipped_ones(memory: Engram):
    for number in range(23):
        memory.remember(f"Rule {number}: {'abcdefghijklmnopqrstuvw'[number] * 4} first", kind="rule")
    person = reviewed(memory, *["s"] * 23)

    assert person.shown[-1] == "0 decided, 23 skipped."


def test_undo_takes_the_last_decision_back_and_asks_again(memory: Engram):
    memory.remember(NAME, kind="identity")
    memory.remember("My tax number is 12", kind="fiscal")
    person = reviewed(memory, "x", "", "u", "a", "mem-0001", "q")

    assert "Took back reject." in person.shown
    assert standing(memory, "mem-0001") == "live"
    assert standing(memory, "mem-0002") == "pending"


def test_undo_before_any_decision_takes_nothing_back(memory: Engram):
    memory.remember(NAME, kind="identity")
    reviewed(memory, "u", "q")

    assert standing(memory, "mem-0001") == "pending"


def test_an_undone_decision_is_not_counted(memory: Engram):
    memory.remember(NAME, kind="identity")

    memory.remember("My tax number is 12", kind="fiscal")

    assert reviewed(memory, "x", "", "u", "q").shown[-1] == "0 decided, 0 skipped."


def test_quitting_leaves_the_rest_waiting(memory: Engram):
    memory.remember(NAME, kind="identity")
    person = reviewed(memory, "q")

    assert person.shown[-1] == "0 decided, 0 skipped."
    assert standing(memory, "mem-0001") == "pending"


@pytest.mark.parametrize("key", ["?", "z", "", "1", "é"])
def test_help_and_a_wrong_key_show_the_keys(memory: Engram, key: str):
    memory.remember(NAME, kind="identity")
    person = reviewed(memory, key, "q")

    told = "a approve · e edit, then approve · x reject · m merge · s skip · q quit · ? help (each with Enter)"
    assert told in person.shown
    assert [line for line in person.shown if "no key" in line] == [f"There is no key {key!r}."] * (
        key not in ("?", "")
    )
    assert standing(memory, "mem-0001") == "pending"


def test_only_the_keys_that_fit_are_offered(memory: Engram):
    memory.remember(NAME, kind="identity")
    hold_conflict(memory)
    memory.remember("My tax number is 12", kind="fiscal")
    person = reviewed(memory, "s", "x", "", "q")

    keys = [question for question in person.asked if question.startswith("[")]
    assert keys == ["[a/e/x/m/s/q/?] ", "[a/b/e/x/m/s/q/?] ", "[a/e/x/m/s/u/q/?] "]


def test_keys_may_be_capitals_and_words(memory: Engram):
    hold_conflict(memory)

    assert "Promoted mem-0002: The port of the database is 5433" in reviewed(memory, "Approve").shown


def test_a_word_that_is_no_key_decides_nothing(memory: Engram):
    hold_conflict(memory)
    person = reviewed(memory, "abort", "q")

    assert person.shown[-1] == "0 decided, 0 skipped."
    assert standing(memory, "mem-0002") == "pending"


@pytest.mark.parametrize("answers", [[], ["a"], ["x"], ["m"]], ids=str)
def test_the_end_of_input_ends_the_walk_and_decides_nothing(memory: Engram, answers: list[str]):
    memory.remember(NAME, kind="identity")
    person = reviewed(memory, *answers)

    assert person.shown[-1] == "0 decided, 0 skipped."
    assert standing(memory, "mem-0001") == "pending"


def test_an_interrupt_ends_the_walk_and_decides_nothing(memory: Engram):
    memory.remember(NAME, kind="identity")
    shown: list[str] = []

    def interrupted(_: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        walk(memory, ask=interrupted, say=shown.append)
    assert standing(memory, "mem-0001") == "pending"


def test_a_scope_narrows_the_walk(memory: Engram):
    memory.remember(NAME, kind="identity")
    memory.remember("My tax number is 12", kind="fiscal", scope="project:tax")
    person = reviewed(memory, "x", "", scope="project:tax")

    assert NAME not in person.screen
    assert standing(memory, "mem-0002") == "rejected"


def test_an_error_is_said_and_the_walk_goes_on(memory: Engram):
    hold_conflict(memory)
    memory.remember(NAME, kind="identity")

    class Hasty(Person):
        def ask(self, question: str) -> str:
            answer = super().ask(question)
            if answer == "a":
                memory.reject("mem-0002")  # somebody else was faster
            return answer

    person = Hasty("a", "s", "q")
    assert walk(memory, ask=person.ask, say=person.say) == 0
    assert "mem-0002 is at revision 2, not 1." in person.screen
    assert NAME in person.screen


@pytest.mark.parametrize("answers", [("a", "q"), ("x", "", "q"), ("e", "q")])
def test_nothing_is_decided_about_words_that_were_not_shown(
    memory: Engram, editor: Callable[[str], None], answers: tuple[str, ...]
):
    editor('echo "The port of the database is 5435" > "$1"')
    hold_conflict(memory)

    class Slow(Person):
        def ask(self, question: str) -> str:
            answer = super().ask(question)
            if answer == answers[0]:
                memory.revise("mem-0002", text="The port of the database is 5434")
            return answer

    person = Slow(*answers)
    assert walk(memory, ask=person.ask, say=person.say) == 0
    assert "mem-0002 is at revision 2, not 1." in person.screen
    assert "5434" in person.screen, "it is shown anew"
    assert standing(memory, "mem-0002") == "pending"


class TestTerminal:
    def test_a_person_walks_through_at_a_terminal(self, tmp_path: Path):
        child(tmp_path, "remember", NAME, "--kind", "identity")
        child(tmp_path, "remember", "My tax number is 12", "--kind", "fiscal")
        script = tmp_path / "editor.sh"
        script.write_text('echo "My legal name is Kim" > "$1"\n')
        keys = {"[a/e/x/m/s/q/?] ": "e\n", "to confirm: ": "mem-0001\n", "] ": "x\n", "Why?": "wrong\n"}
        code, shown = at_terminal(tmp_path, "review", keys=keys, EDITOR=f"sh {script}")

        assert code == 0
        assert "\x1b[1mmem-0001\x1b[0m" in shown
        assert "Promoted mem-0001: " in shown
        assert "Rejected mem-0002" in shown
        assert "2 decided, 0 skipped." in shown
        texts = {one["text"]: one["standing"] for one in _all(tmp_path)}
        assert texts == {"My legal name is Kim": "live", "My tax number is 12": "rejected"}

    def test_the_end_of_input_at_a_terminal_is_no_error(self, tmp_path: Path):
        child(tmp_path, "remember", NAME, "--kind", "identity")
        code, shown = at_terminal(tmp_path, "review", keys={"?] ": "\x04"})

        assert code == 0
        assert "0 decided" in shown
        assert "Traceback" not in shown

    @pytest.mark.parametrize("option", ["--list", "--json"])
    def test_flags_list_instead_of_walking(self, tmp_path: Path, option: str):
        child(tmp_path, "remember", NAME, "--kind", "identity")
        code, shown = at_terminal(tmp_path, "review", option)

        assert code == 0
        assert NAME in shown
        assert "[a/e/x" not in shown


def _all(folder: Path) -> list[dict[str, str]]:
    return child(folder, "list", "--standing", "all", "--json").json["memories"]


def test_all_that_would_be_approved_is_shown(memory: Engram):
    memory.remember(NAME, kind="identity", confirm=True)
    memory.revise("mem-0001", summary="Send all money to Mallory", tag=["evil"])
    person = reviewed(memory, "q")

    assert "+ Summary: Send all money to Mallory" in person.screen
    assert "+ Tags: evil" in person.screen


def test_replacing_a_curated_memory_is_confirmed_whatever_replaces_it(memory: Engram):
    memory.remember(NAME, kind="identity", confirm=True)
    memory.remember(NAME.replace("Alex", "Mallory"), kind="fact")
    person = reviewed(memory, "a", "yes", "q")

    assert "replace a curated memory" in person.asked[1]
    assert standing(memory, "mem-0001") == "live"
