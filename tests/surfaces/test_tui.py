"""The full screen at a terminal, driven by keys and mouse over a real store."""

import asyncio
import os
import re
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Label, Static, TextArea
from textual.widgets._footer import FooterKey

import engram as face
from engram.errors import Unavailable
from engram.service import Engram
from engram.surfaces.tui.app import MemoryPage, Twin
from engram.surfaces.tui.command import run
from engram.surfaces.tui.dialogs import Keys, Line, Words
from engram.surfaces.tui.panes import Rows
from evidence.repos import Repo
from surfaces.driving import at_terminal, child

NAME = "My legal name is Alex"
PICTURE = Path(__file__).resolve().parents[2] / "docs" / "images" / "tui.svg"

Drive = Callable[[Pilot[None], Twin], Awaitable[None]]


class Clock:
    """A minute passes with every look at it."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engram]:
    """A store in a file, in a home without settings; words alone, so that nothing waits for a model."""
    monkeypatch.chdir(tmp_path)
    settings = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_STAGING": "off"}
    with face.open(tmp_path / "store.db", environment=settings, clock=Clock(), channel="terminal") as opened:
        yield opened


def driven(memory: Engram, drive: Drive, size: tuple[int, int] = (120, 36)) -> None:
    """The screen, while somebody does something with it."""

    async def go() -> None:
        app = Twin(memory)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await drive(pilot, app)

    asyncio.run(go())


def shown(app: Twin) -> str:
    """What the right half, or the page, says."""
    where = app.screen if isinstance(app.screen, MemoryPage) else app.pane
    return str(where.query_one(".said", Static).content)


def told(app: Twin) -> str:
    """What was said beside it."""
    return "\n".join(note.message for note in app._notifications)


def standing(memory: Engram, ref: str) -> str:
    one = memory.get(ref)
    return face.standing(one.memories[0], one.at)


def hold_conflict(memory: Engram) -> None:
    memory.remember("The port of the database is 5432")
    assert memory.remember("The port of the database is 5433").outcome == "held"


async def submit(pilot: Pilot[None], app: Twin, text: str) -> None:
    """Answer the question in sight."""
    assert isinstance(app.screen, Line)
    app.screen.query_one(Input).value = text
    await pilot.press("enter")
    await pilot.pause()


async def until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    """Wait until something is so."""
    for _ in range(100):
        if true():
            return
        await pilot.pause(0.05)
    pytest.fail("it never came so")


def test_an_empty_inbox_says_so(memory: Engram):
    async def drive(_pilot: Pilot[None], app: Twin) -> None:
        assert "Nothing waits for review." in shown(app)

    driven(memory, drive)


def test_a_memory_is_approved_and_taken_back(memory: Engram):
    hold_conflict(memory)

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        assert "It would replace mem-0001" in shown(app)
        assert "- The port of the database is 5432" in shown(app)
        await pilot.press("a")
        await pilot.pause()
        assert standing(memory, "mem-0002") == "live"
        assert standing(memory, "mem-0001") == "replaced"
        assert "Nothing waits" in shown(app)
        await pilot.press("u")
        await pilot.pause()
        assert standing(memory, "mem-0002") == "pending"
        assert standing(memory, "mem-0001") == "live"
        assert "It would replace mem-0001" in shown(app)
        await pilot.press("u")
        assert "Nothing was decided here yet" in told(app)

    driven(memory, drive)


def test_what_contradicts_is_kept_beside_it_by_its_key_where_something_does(memory: Engram):
    hold_conflict(memory)
    memory.remember("Never page anybody at night", kind="rule")

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        assert "b keeps both" in shown(app)
        await pilot.press("j")
        await pilot.pause()
        assert "b keeps both" not in shown(app)
        await pilot.press("b")
        await pilot.pause()
        assert standing(memory, "mem-0003") == "pending"
        await pilot.press("k", "b")
        await pilot.pause()
        assert [standing(memory, ref) for ref in ("mem-0001", "mem-0002")] == ["live", "live"]
        await pilot.press("u")
        await pilot.pause()
        assert standing(memory, "mem-0002") == "pending"

    driven(memory, drive)


def test_a_curated_memory_is_approved_by_typing_its_handle_only(memory: Engram):
    memory.remember(NAME, kind="identity")

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await pilot.press("a")
        await pilot.pause()
        await submit(pilot, app, "y")
        assert standing(memory, "mem-0001") == "pending"
        await pilot.press("a")
        await pilot.pause()
        await submit(pilot, app, "mem-0001")
        assert standing(memory, "mem-0001") == "live"

    driven(memory, drive)
    confirmed = memory.history("mem-0001").events[0].payload
    assert confirmed is not None
    assert "terminal" in str(confirmed.note)


def test_a_memory_is_worded_anew_and_then_approved(memory: Engram):
    hold_conflict(memory)

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await pilot.press("e")
        await pilot.pause()
        assert isinstance(app.screen, Words)
        app.screen.query_one(TextArea).text = "The port of the database is 5433 on staging"
        await pilot.press("ctrl+s")
        await pilot.pause()

    driven(memory, drive)
    assert memory.get("mem-0002").memories[0].text == "The port of the database is 5433 on staging"
    assert standing(memory, "mem-0002") == "live"


def test_a_memory_that_is_worded_anew_on_its_branch_waits_for_the_merge_still(tmp_path: Path):
    repo = Repo(tmp_path / "api")
    repo.commit()
    repo.git("switch", "-qc", "feature")
    repo.commit("feature")

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await pilot.press("2")
        await until(pilot, lambda: "We retry five times" in shown(app))
        app.pane.focus_list()
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, Words))
        app.screen.query_one(TextArea).text = "We retry six times"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: memory.get("mem-0001").memories[0].text == "We retry six times")

    with repo.open(tmp_path / "store.db") as memory:
        memory.remember("We retry five times")
        driven(memory, drive)

        one = memory.get("mem-0001").memories[0]
        assert one.text == "We retry six times"
        assert (one.status, one.held_for) == ("pending", "unmerged_branch")
        assert one.branch.endswith("#feature")


def test_who_edits_goes_on_at_the_end_of_the_text(memory: Engram):
    hold_conflict(memory)

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await pilot.press("e")
        await pilot.pause()
        await pilot.press("0")
        assert app.screen.query_one(TextArea).text == "The port of the database is 54330"

    driven(memory, drive)


def test_whoever_takes_a_decision_back_stands_at_what_came_back(memory: Engram):
    hold_conflict(memory)
    for word in ("Never", "Always"):
        memory.remember(f"{word} page somebody at night", kind="rule")

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await pilot.press("a")
        await pilot.pause()
        assert "It replaces mem-0001." in told(app)
        assert "Never page" in shown(app)
        await pilot.press("u")
        await pilot.pause()
        assert "It would replace mem-0001" in shown(app)
        assert app.current() == memory.get("mem-0002").memories[0]

    driven(memory, drive)


def test_an_edit_that_changes_nothing_approves_nothing(memory: Engram):
    hold_conflict(memory)

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        for key in ("ctrl+s", "escape"):
            await pilot.press("e")
            await pilot.pause()
            await pilot.press(key)
            await pilot.pause()
        assert "nothing was done" in told(app)

    driven(memory, drive)
    assert standing(memory, "mem-0002") == "pending"


def test_a_memory_is_rejected_with_its_reason(memory: Engram):
    hold_conflict(memory)

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await pilot.press("x")
        await pilot.pause()
        await submit(pilot, app, "never moved")

    driven(memory, drive)
    assert standing(memory, "mem-0002") == "rejected"
    event = memory.history("mem-0002").events[0]
    assert event.payload is not None
    assert event.payload.note == {"reason": "never moved"}


def test_two_memories_are_merged_in_words_that_say_both(memory: Engram):
    hold_conflict(memory)

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await pilot.press("m")
        await pilot.pause()
        assert isinstance(app.screen, Line)
        assert app.screen.query_one(Input).value == "mem-0001"
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, Words)
        assert app.screen.query_one(TextArea).text.count("\n") == 1
        app.screen.query_one(TextArea).text = "The port was 5432 and is 5433"
        await pilot.press("ctrl+s")
        await pilot.pause()

    driven(memory, drive)
    assert memory.get("mem-0001").memories[0].text == "The port was 5432 and is 5433"


def test_who_looked_at_older_words_is_refused_and_shown_the_new_ones(memory: Engram):
    hold_conflict(memory)

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        memory.revise("mem-0002", text="The port of the database is 5434")
        await pilot.press("a")
        await pilot.pause()
        assert standing(memory, "mem-0002") == "pending"
        assert "is at revision 2, not 1" in told(app)
        assert "5434" in shown(app)
        await pilot.press("a")
        await pilot.pause()
        assert standing(memory, "mem-0002") == "live"

    driven(memory, drive)


def test_a_merge_and_a_verdict_are_about_the_words_that_were_shown(memory: Engram):
    hold_conflict(memory)

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await pilot.press("m")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, Words)
        memory.revise("mem-0001", text="The port of the database is 6000")
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "mem-0001 is at revision 2, not 1" in told(app)
        assert memory.get("mem-0001").memories[0].text == "The port of the database is 6000"
        app.open_memory("mem-0001")
        await pilot.pause()
        memory.revise("mem-0001", text="The port of the database is 7000")
        await pilot.press("v")
        await pilot.pause()
        assert memory.get("mem-0001").memories[0].verified_at is None
        assert "7000" in shown(app)
        memory.revise("mem-0001", text="The port of the database is 8000")
        await pilot.press("f")
        await pilot.pause()
        await submit(pilot, app, "old")
        assert standing(memory, "mem-0001") == "live"

    driven(memory, drive)


def test_j_and_k_walk_through_what_waits_by_session(memory: Engram):
    for session in ("monday", "tuesday"):
        for name in ("Alex", "Kim"):
            memory.remember(f"On {session} the legal name is {name}", kind="identity", session=session)

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        rows = app.pane.query_one(Rows)
        heads = [str(one.prompt) for one in rows.options if one.disabled]
        assert [head.split(" ")[0] for head in heads] == ["monday", "tuesday"]
        assert "Alex" in shown(app)
        await pilot.press("j", "j")
        assert "On tuesday the legal name is Alex" in shown(app)
        await pilot.press("k")
        assert "On monday the legal name is Kim" in shown(app)
        await pilot.press("s")
        assert [str(one.prompt) for one in rows.options if one.disabled][-1].endswith("skipped")

    driven(memory, drive)


def test_more_than_a_page_waits_and_all_of_it_is_reached(memory: Engram):
    for number in range(60):
        memory.remember(f"Person number {number} is called {number}{number}", kind="people")

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        rows = app.pane.query_one(Rows)
        assert rows.option_count == 51
        await pilot.press("end")
        await pilot.pause()
        assert rows.option_count == 61

    driven(memory, drive)


def test_what_is_typed_is_found_with_reasons_and_what_was_held_back(memory: Engram):
    memory.remember("We deploy on Fridays after the standup", pinned=True)
    memory.remember("The invoice template is blue")
    memory.forget(memory.remember("We deploy on Mondays from the laptop").memory.id)

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await pilot.press("slash")
        await pilot.pause()
        await pilot.press(*"deploy")
        await until(pilot, lambda: "Why it is here" in shown(app))
        assert "We deploy on Fridays" in shown(app)
        assert "words" in shown(app)
        assert "█" in shown(app)
        assert "pinned" in shown(app)
        assert app.pane.query_one(Rows).option_count == 1
        assert "1 hit" in str(app.pane.border_title)
        await pilot.press("enter")
        assert app.pane.query_one(Rows).has_focus
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, MemoryPage)
        assert "History" in shown(app)
        await pilot.press("escape")
        await pilot.press("slash")
        app.pane.query_one(Input).value = "zzzqqq"
        await until(pilot, lambda: "Nothing relevant" in shown(app))

    driven(memory, drive)


def test_a_memory_is_pinned_worded_anew_and_forgotten_on_its_page(memory: Engram):
    hold_conflict(memory)

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        app.open_memory("mem-0001")
        await pilot.pause()
        await pilot.press("p")
        await pilot.pause()
        assert memory.get("mem-0001").memories[0].pinned
        await pilot.press("e")
        await pilot.pause()
        app.screen.query_one(TextArea).text = "The port is secret"
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "The port is secret" in shown(app)
        await pilot.press("v")
        await pilot.pause()
        assert memory.get("mem-0001").memories[0].verified_at
        await pilot.press("f")
        await pilot.pause()
        await submit(pilot, app, "moved")
        assert standing(memory, "mem-0001") == "forgotten"
        await pilot.press("u")
        await pilot.pause()
        assert standing(memory, "mem-0001") == "live"

    driven(memory, drive)


def test_only_what_fits_a_memory_is_offered_and_all_of_it_on_a_small_screen(memory: Engram):
    hold_conflict(memory)

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        all_of_them = {"Approve", "Keep both", "Edit", "Merge", "Reject", "Skip", "Take back", "Keys", "Quit"}
        await until(pilot, lambda: offered(app) >= all_of_them)
        app.open_memory("mem-0001")
        await pilot.pause()
        of_one = {"Edit", "Still holds", "Forget", "Pin", "Back", "Keys", "Quit"}
        await until(pilot, lambda: offered(app) >= of_one)
        assert not offered(app) & {"Approve", "Keep both", "Merge", "Reject"}
        await pilot.press("a", "x")
        await pilot.pause()
        assert isinstance(app.screen, MemoryPage)
        assert standing(memory, "mem-0001") == "live"

    driven(memory, drive, size=(80, 24))


def offered(app: Twin) -> set[str]:
    """What the foot of the screen says, as far as it can be read."""
    keys = app.screen.query(FooterKey)
    return {key.description for key in keys if key.region.right <= app.size.width and key.region.width}


def test_where_nothing_waits_nothing_is_offered_that_needs_a_memory(memory: Engram):
    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await until(pilot, lambda: "Quit" in offered(app) and "Approve" not in offered(app))
        assert not {"Approve", "Merge", "Edit", "Reject"} & offered(app)

    driven(memory, drive)


def test_on_a_narrow_screen_a_memory_stands_under_the_list(memory: Engram):
    memory.remember(NAME, kind="identity")

    async def drive(_pilot: Pilot[None], app: Twin) -> None:
        rows, about = app.pane.query_one(Rows).region, app.pane.query_one(".about").region
        assert about.y >= rows.bottom
        assert min(rows.width, about.width) > 30
        assert NAME in shown(app)

    driven(memory, drive, size=(40, 30))


def test_what_cites_something_changed_is_verified_beside_what_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    for words in (["init", "-q", "-b", "main"], ["remote", "add", "origin", "https://github.com/acme/api.git"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    code = tmp_path / "api.py"
    code.write_text("HOST = 'api'\nPORT = 1\nWAIT = 3\n")
    settings = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_STAGING": "off"}
    with face.open(tmp_path / "store.db", environment=settings, clock=Clock(), channel="terminal") as memory:
        told = memory.remember("The port is one", cite=["api.py:1-3"]).memory
        code.write_text("HOST = 'api'\nPORT = 2\nWAIT = 3\n")

        async def drive(pilot: Pilot[None], app: Twin) -> None:
            app.open_memory(told.id)
            await pilot.pause()
            await pilot.press("v")
            await pilot.pause()
            assert "+PORT = 2" in str(app.screen.query_one(Label).content)
            await submit(pilot, app, "y")
            assert memory.get(told.id).evidence[0][0].verdict == "fresh"

        driven(memory, drive)


def test_history_shows_what_changed_and_takes_back_the_line_one_stands_on(memory: Engram):
    memory.remember("We deploy on Fridays")
    memory.revise("mem-0001", text="We deploy on Thursdays")

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await pilot.press("3")
        await pilot.pause()
        assert "- We deploy on Fridays" in shown(app)
        assert "+ We deploy on Thursdays" in shown(app)
        await pilot.press("u")
        await pilot.pause()
        await submit(pilot, app, "n")
        assert memory.get("mem-0001").memories[0].text == "We deploy on Thursdays"
        await pilot.press("u")
        await pilot.pause()
        await submit(pilot, app, "y")
        assert memory.get("mem-0001").memories[0].text == "We deploy on Fridays"
        await pilot.press("j")
        assert "taken back since" in shown(app)

    driven(memory, drive)


def test_history_tells_fields_in_words_and_which_memory_it_was(memory: Engram):
    hold_conflict(memory)
    memory.promote("mem-0002")

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await pilot.press("3")
        await pilot.pause()
        lines = [line.strip() for line in shown(app).splitlines()]
        assert lines[lines.index("status") + 1 :][:2] == ["- pending", "+ approved"]
        assert lines[lines.index("held for") + 1] == "- it contradicts something known"
        assert lines[lines.index("replaced by") + 1] == "+ mem-0002"
        assert any(line.startswith("mem-0002") and "5433" in line for line in lines)
        assert lines[0].split()[1:2] == ["approve"], lines[0]
        assert "created at" not in lines

    driven(memory, drive)


def test_history_names_the_two_memories_of_a_verdict(memory: Engram):
    for name in ("old", "new"):
        memory.remember(f"The {name} gate is shut")
    memory.relate("mem-0001", "mem-0002", "compatible", reason="they are two")

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await pilot.press("3")
        await until(pilot, lambda: "they are two" in shown(app))
        assert "mem-0001~mem-0002" in shown(app)

    driven(memory, drive)


def test_panes_are_chosen_by_mouse_too_and_a_line_is_opened(memory: Engram):
    hold_conflict(memory)

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await pilot.click("Tab#history")
        await pilot.pause()
        assert app.pane.id == "history"
        await pilot.click("Tab#inbox")
        await pilot.pause()
        assert app.pane.id == "inbox"
        await pilot.click(Rows, offset=(8, 1))
        await pilot.pause()
        assert isinstance(app.screen, MemoryPage)

    driven(memory, drive)


def test_the_keys_are_told(memory: Engram):
    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(app.screen, Keys)
        keys = str(app.screen.query_one(Static).content)
        assert all(f"  {key} " in keys for key in ("a", "e", "m", "x", "u"))
        await pilot.press("escape")
        assert not isinstance(app.screen, Keys)

    driven(memory, drive)


def test_markup_and_marks_that_reorder_are_shown_as_they_are(memory: Engram):
    text = "[bold red]x[/] <script>alert(1)</script> \u202eevil العربية 🦊 port 1"
    memory.remember(text, kind="identity")

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        assert "[bold red]x[/] <script>" in shown(app)
        assert "\u202e" not in shown(app)
        assert "\\u202e" in shown(app)
        assert "🦊" in shown(app)
        await pilot.press("enter")
        await pilot.pause()
        assert "[bold red]x[/]" in shown(app)

    driven(memory, drive)


def test_without_textual_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("engram.surfaces.tui.command.find_spec", lambda _name: None)
    with pytest.raises(Unavailable, match="textual") as refused:
        run([])
    assert "pip install '.[tui]'" in refused.value.hint


def test_away_from_a_terminal_it_says_what_to_use_instead(tmp_path: Path):
    done = child(tmp_path, "tui")
    assert done.code == Unavailable.exit_code
    assert "needs a terminal" in done.err
    assert not (tmp_path / "store.db").exists()


def test_the_command_runs_on_a_real_terminal_and_leaves_by_q(tmp_path: Path):
    child(tmp_path, "remember", NAME, "--kind", "identity")
    code, screen = at_terminal(tmp_path, "tui", keys={"legal name": "q"})
    assert code == 0
    assert "mem-0001" in screen


def test_the_picture_in_the_guide_is_what_the_screen_shows(memory: Engram):
    said = {"kind": "convention", "session": "release-week"}
    memory.remember("The port of the staging database is 5432", **said)
    memory.for_agent("codex").remember("The port of the staging database is 5433", confidence=0.7, **said)
    memory.remember("Kim owns billing and the invoices", kind="people", session="release-week", confidence=0.9)
    memory.remember("Never commit to main on a release day", kind="rule", session="hotfix", tag=["git", "release"])

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        app.sub_title = "~/.local/share/engram/engram.db"
        await pilot.pause()
        # Without the fonts a picture of Textual would fetch from elsewhere.
        picture = re.sub(r"@font-face \{.*?\}", "", app.export_screenshot(title="engram tui"), flags=re.DOTALL)
        if os.environ.get("SCREENSHOTS") == "write":
            PICTURE.write_text(picture, encoding="utf-8")
        drawn = PICTURE.read_text(encoding="utf-8")
        assert drawn.count("mem-000") == picture.count("mem-000")
        assert "5433" in drawn
        assert "url(http" not in drawn.replace('"', "")

    driven(memory, drive, size=(124, 30))


# What others do meanwhile


@pytest.mark.parametrize(
    ("pane", "says"),
    [("1", "There is no memory"), ("2", "There is no memory"), ("3", "1  remember")],  # history stays
)
def test_a_memory_that_is_gone_meanwhile_is_told_where_one_comes_to_it(memory: Engram, pane: str, says: str):
    ids = [memory.remember(f"My passport number {n} is in the safe", kind="identity").memory.id for n in range(3)]
    if pane == "2":
        ids = [memory.promote(id, confirm=True).memories[0].id for id in ids]

    async def drive(pilot: Pilot[None], app: Twin) -> None:
        await pilot.press(pane)
        await pilot.pause(0.5)
        app.pane.focus_list()
        for id in ids:
            memory.purge(id, confirm=True)
        for key in ("j", "j", "k", "enter", "escape", "j"):
            await pilot.press(key)
            await pilot.pause()
        assert says in shown(app) + told(app)

    driven(memory, drive)
