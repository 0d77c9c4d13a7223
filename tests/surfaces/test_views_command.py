"""`engram views`: shows first, writes on a yes, twice is once, and comes out again; `sync` keeps it fresh."""

import stat
from pathlib import Path

import pytest

from engram.projects.views import BEGIN, END, OLD_BEGIN, OLD_END
from surfaces.driving import Driver, at_terminal

BEFORE = b"# Agents\r\n\r\nBe kind.\r\n"


@pytest.fixture
def agents(engram: Driver) -> Path:
    """An AGENTS.md with Windows line ends, and something to say in it."""
    path = engram.folder / "AGENTS.md"
    path.write_bytes(BEFORE)
    path.chmod(0o640)
    engram.remember("We deploy on Fridays", "--kind", "convention")
    return path


def test_away_from_a_terminal_it_shows_and_writes_nothing(engram: Driver, agents: Path):
    shown = engram("views")
    assert shown.code == 0
    assert "--- AGENTS.md\n+++ AGENTS.md\n@@ " in shown.out
    assert "\n+- We deploy on Fridays\n" in shown.out
    assert "Nothing was written. To write 1 file: engram views AGENTS.md --yes" in shown.out
    assert agents.read_bytes() == BEFORE


def test_it_goes_in_once_and_comes_out_to_the_byte(engram: Driver, agents: Path):
    first = engram("views", "--yes")
    once = agents.read_bytes()
    assert (first.code, first.out.splitlines()[-1]) == (0, "Wrote AGENTS.md")
    assert once.startswith(BEFORE)
    assert b"\r\n- We deploy on Fridays\r\n" in once
    assert once.count(b"\n") == once.count(b"\r\n")
    assert stat.S_IMODE(agents.stat().st_mode) == 0o640

    again = engram("views", "--yes")
    assert (again.code, again.out) == (0, "Nothing to change: every view is up to date.\n")
    assert agents.read_bytes() == once

    engram("views", "--remove", "--yes")
    assert agents.read_bytes() == BEFORE
    assert engram("views", "--remove", "--yes").out == "Nothing to take out.\n"
    assert sorted(path.name for path in engram.folder.iterdir() if path.suffix == ".md") == ["AGENTS.md"]


@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md", "CURSOR.md"])
def test_each_of_the_usual_files_gets_its_block_without_being_named(engram: Driver, name: str):
    engram.remember("We deploy on Fridays")
    path = engram.folder / name
    path.write_text("# Mine\n", encoding="utf-8")
    assert engram("views", "--yes").out.splitlines()[-1] == f"Wrote {name}"
    assert "- We deploy on Fridays" in path.read_text(encoding="utf-8")
    engram("views", "--remove", "--yes")
    assert path.read_text(encoding="utf-8") == "# Mine\n"


def test_a_file_that_was_not_there_is_private_and_goes_again(engram: Driver):
    engram.remember("We deploy on Fridays")
    path = engram.folder / "GEMINI.md"
    assert engram("views", "GEMINI.md", "--yes").code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text(encoding="utf-8").startswith(BEGIN)
    removed = engram("views", "GEMINI.md", "--remove", "--yes")
    assert removed.out.splitlines()[-1] == "Removed GEMINI.md"
    assert not path.exists()


def test_without_any_file_it_says_how_to_begin(engram: Driver):
    engram.remember("We deploy on Fridays")
    shown = engram("views", "--yes")
    assert (shown.code, list(engram.folder.glob("*.md"))) == (0, [])
    assert "engram views AGENTS.md" in shown.out


def test_where_nothing_is_remembered_no_empty_block_is_put(engram: Driver):
    path = engram.folder / "AGENTS.md"
    path.write_text("# Agents\n", encoding="utf-8")
    assert "Nothing is remembered for it yet." in engram.made()("views", "--yes").out
    assert path.read_text(encoding="utf-8") == "# Agents\n"


def test_drift_is_shown_and_mended(engram: Driver, agents: Path):
    engram("views", "--yes")
    good = agents.read_bytes()
    agents.write_bytes(good.replace(b"on Fridays", b"never"))
    shown = engram("views")
    assert "\n-- We deploy never\n+- We deploy on Fridays\n" in shown.out
    engram("views", "--yes")
    assert agents.read_bytes() == good


def test_what_is_forgotten_leaves_the_block(engram: Driver, agents: Path):
    engram("views", "--yes")
    engram("forget", "mem-0001")
    engram("views", "--yes")
    assert b"Fridays" not in agents.read_bytes()
    assert b"_Nothing yet._" in agents.read_bytes()


def test_what_waits_and_what_is_personal_stays_out(engram: Driver, agents: Path):
    engram.remember("Never push to main", "--kind", "rule")
    engram.remember("My name is Alex", "--kind", "identity", "--confirm")
    shown = engram("views", "--yes")
    assert b"push" not in agents.read_bytes()
    assert b"Alex" not in agents.read_bytes()
    assert "Personal memories stay out of files: 1" in shown.out


def test_a_person_at_a_terminal_is_asked(engram: Driver, agents: Path):
    code, screen = at_terminal(engram.folder, "views", keys={"Type yes to write 1 file: ": "no\n"})
    assert (code, agents.read_bytes()) == (0, BEFORE)
    assert "Nothing was written." in screen
    code, screen = at_terminal(engram.folder, "views", keys={"Type yes to write 1 file: ": "yes\n"})
    assert code == 0
    assert "Wrote AGENTS.md" in screen
    assert END.encode() in agents.read_bytes()


def test_json_tells_the_same_and_asks_nobody(engram: Driver, agents: Path):
    told = engram("views", "--json").json
    assert [(file["path"], file["change"]) for file in told["files"]] == [(str(agents), "edit")]
    assert "+- We deploy on Fridays" in told["files"][0]["diff"]
    assert (told["memories"], told["left_out"], told["written"]) == (1, 0, False)
    assert agents.read_bytes() == BEFORE
    assert engram("views", "--json", "--yes").json["written"]
    assert engram("views", "--json").json["files"][0]["change"] == "none"


def test_the_files_of_a_project_are_found_from_within_it(
    engram: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    deep = tmp_path / "repo" / "src"
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    deep.mkdir()
    (tmp_path / "repo" / "CLAUDE.md").write_text("# Rules\n", encoding="utf-8")
    monkeypatch.chdir(deep)
    engram.remember("We deploy on Fridays")
    assert engram("views", "--yes").code == 0
    assert "Fridays" in (tmp_path / "repo" / "CLAUDE.md").read_text(encoding="utf-8")


# --- links and imports ---


def test_a_link_to_another_of_the_files_is_left_alone(engram: Driver, agents: Path):
    link = engram.folder / "CLAUDE.md"
    link.symlink_to("AGENTS.md")
    done = engram("views", "--yes")
    assert done.code == 0
    assert "CLAUDE.md is left as it is. It gives its reader AGENTS.md already." in done.out
    assert link.is_symlink()
    assert agents.read_bytes().count(BEGIN.encode()) == 1


def test_an_import_of_another_of_the_files_is_left_alone(engram: Driver, agents: Path):
    claude = engram.folder / "CLAUDE.md"
    claude.write_text("@AGENTS.md\n", encoding="utf-8")
    engram("views", "--yes")
    assert BEGIN.encode() in agents.read_bytes()
    assert claude.read_text(encoding="utf-8") == "@AGENTS.md\n"


@pytest.mark.parametrize("words", [(), ("AGENTS.md",)], ids=["found", "named"])
def test_a_link_out_of_the_folder_is_refused(engram: Driver, tmp_path_factory: pytest.TempPathFactory, words):
    outside = tmp_path_factory.mktemp("outside") / "notes.md"
    outside.write_text("mine\n", encoding="utf-8")
    (engram.folder / "AGENTS.md").symlink_to(outside)
    engram.remember("We deploy on Fridays")
    done = engram("views", *words, "--yes")
    assert done.code == 5
    assert "is a symbolic link" in done.err
    assert outside.read_text(encoding="utf-8") == "mine\n"


def test_a_linked_folder_within_the_project_is_not_followed(
    engram: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
):
    outside = tmp_path_factory.mktemp("outside")
    repo = tmp_path / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / "docs").symlink_to(outside)
    (repo / "engram.toml").write_text('views = ["docs/AGENTS.md"]\n', encoding="utf-8")
    monkeypatch.chdir(repo)
    engram.remember("We deploy on Fridays")
    assert engram("views", "--yes").code == 5
    assert list(outside.iterdir()) == []


# --- bad input ---


@pytest.mark.parametrize(
    ("words", "code"),
    [(["--force"], 2), (["package.json"], 2), (["missing/AGENTS.md"], 2), (["."], 5), (["--store="], 2)],
    ids=["an option nobody knows", "no words", "no folder", "a folder", "no store"],
)
def test_what_makes_no_sense_is_refused(engram: Driver, words: list[str], code: int):
    engram.remember("We deploy on Fridays")
    assert engram("views", *words, "--yes").code == code


def test_marks_that_do_not_pair_are_refused_and_the_other_files_are_written(engram: Driver, agents: Path):
    claude = engram.folder / "CLAUDE.md"
    claude.write_text(f"{BEGIN}\n{BEGIN}\n", encoding="utf-8")
    done = engram("views", "--yes")
    assert done.code == 5
    assert "CLAUDE.md is left as it is." in done.err
    assert b"Fridays" in agents.read_bytes()
    assert claude.read_text(encoding="utf-8") == f"{BEGIN}\n{BEGIN}\n"


def test_taking_out_needs_no_store(engram: Driver, agents: Path):
    engram("views", "--yes")
    engram.store.write_bytes(b"this is no store")
    assert engram("views", "--remove", "--yes").code == 0
    assert agents.read_bytes() == BEFORE


# --- sync ---


def test_sync_refreshes_the_files_that_carry_a_view_and_no_other(engram: Driver, agents: Path):
    claude = engram.folder / "CLAUDE.md"
    claude.write_text("# Rules\n", encoding="utf-8")
    engram("views", "AGENTS.md", "--yes")
    engram.set(ENGRAM_AUTOPROMOTE="off")
    engram.remember("We build with pnpm", "--kind", "tooling")
    planned = engram("sync", "--json").json
    assert (planned["refreshed"], b"pnpm" in agents.read_bytes()) == ([], False)
    done = engram("sync", "--apply", "--json").json
    assert done["refreshed"] == [str(agents)]
    assert b"- We build with pnpm" in agents.read_bytes()
    assert claude.read_text(encoding="utf-8") == "# Rules\n"
    assert engram("sync", "--apply", "--json").json["refreshed"] == []


def test_sync_shows_what_would_change_in_agent_files_and_then_what_did(engram: Driver, agents: Path):
    engram("views", "AGENTS.md", "--yes")
    engram.set(ENGRAM_AUTOPROMOTE="off")
    engram.remember("We build with pnpm", "--kind", "tooling")
    before = agents.read_bytes()
    planned = engram("sync")
    assert "+- We build with pnpm" in planned.out
    assert f"To be brought up to date: {agents}" in planned.out
    assert "Do it: engram sync --apply." in planned.out
    assert agents.read_bytes() == before
    done = engram("sync", "--apply")
    assert "+- We build with pnpm" in done.out
    assert f"Brought up to date: {agents}" in done.out
    assert engram("sync").out.strip() == "Nothing waits."


def test_sync_shows_drift_where_nothing_waits(engram: Driver, agents: Path):
    engram("views", "AGENTS.md", "--yes")
    agents.write_bytes(agents.read_bytes().replace(b"on Fridays", b"on Mondays"))
    [drift] = engram("sync", "--json").json["drift"]
    assert drift["path"] == str(agents)
    assert "-- We deploy on Mondays\n+- We deploy on Fridays" in drift["diff"]
    engram("sync", "--apply")
    assert b"on Fridays" in agents.read_bytes()


def test_sync_makes_the_body_of_a_registry_anew_where_nothing_waits(engram: Driver):
    store = engram.folder / "store"
    engram.set(ENGRAM_STORE=f"files:{store}")
    engram.remember("We deploy on Fridays")
    right = (store / "memory.md").read_text(encoding="utf-8")
    (store / "memory.md").write_text(right.replace("- We deploy on Fridays", "- We never deploy"), encoding="utf-8")
    planned = engram("sync")
    assert "-- We never deploy\n+- We deploy on Fridays" in planned.out
    assert "We never deploy" in (store / "memory.md").read_text(encoding="utf-8")
    done = engram("sync", "--apply", "--json").json
    assert done["refreshed"] == [str(store / "memory.md")]
    assert (store / "memory.md").read_text(encoding="utf-8") == right
    assert engram("sync", "--json").json["drift"] == []


def test_sync_takes_over_a_block_of_the_older_form(engram: Driver, agents: Path):
    agents.write_text(f"# Agents\n\n{OLD_BEGIN}\n- I prefer npm\n{OLD_END}\n", encoding="utf-8")
    assert engram("sync", "--apply", "--json").json["refreshed"] == [str(agents)]
    assert "npm" not in agents.read_text(encoding="utf-8")


def test_a_file_that_sync_cannot_refresh_is_named_and_the_routing_stands(engram: Driver, agents: Path):
    agents.write_text(f"{BEGIN}\n{BEGIN}\n", encoding="utf-8")
    engram.set(ENGRAM_AUTOPROMOTE="off")
    engram.remember("We build with pnpm", "--kind", "tooling")
    done = engram("sync", "--apply", "--json")
    assert done.code == 0
    assert done.json["counts"]["append"] == 1
    assert "AGENTS.md" in done.json["problems"][0]


def test_a_file_that_settings_name_is_kept_too(engram: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    repo = tmp_path / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / "engram.toml").write_text('views = ["GEMINI.md"]\n', encoding="utf-8")
    monkeypatch.chdir(repo)
    engram.remember("We deploy on Fridays")
    assert engram("views", "--yes").code == 0
    assert "Fridays" in (repo / "GEMINI.md").read_text(encoding="utf-8")
    engram.remember("We test with pytest")
    engram("sync", "--apply")
    assert "pytest" in (repo / "GEMINI.md").read_text(encoding="utf-8")


def test_a_project_that_names_a_file_of_somebody_elses_is_refused(
    engram: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    repo = tmp_path / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / "engram.toml").write_text('views = ["../AGENTS.md"]\n', encoding="utf-8")
    (tmp_path / "AGENTS.md").write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    monkeypatch.chdir(repo)
    engram.remember("We deploy on Fridays")
    assert engram("views", "--yes").code == 2
    engram("sync", "--apply")
    assert (tmp_path / "AGENTS.md").read_text(encoding="utf-8") == f"{BEGIN}\n{END}\n"


def test_a_file_that_was_named_once_is_kept_and_taken_out_like_the_others(
    engram: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    repo = tmp_path / "repo"
    (repo / ".git").mkdir(parents=True)
    monkeypatch.chdir(repo)
    (repo / "README.md").write_text("# Mine\n", encoding="utf-8")
    engram.remember("We deploy on Fridays")
    assert engram("views", "GEMINI.md", "--yes").code == 0
    engram.remember("We test with pytest")
    engram("sync", "--apply")

    assert "pytest" in (repo / "GEMINI.md").read_text(encoding="utf-8")
    assert engram("views", "--remove", "--yes").code == 0
    assert not (repo / "GEMINI.md").exists()
    assert (repo / "README.md").read_text(encoding="utf-8") == "# Mine\n"
