"""What a person writes into memory.md beside plain edits: promotions, new items, names, secrets, and nonsense."""

import gzip
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

import engram
from engines.samples import Story, change, everything, memory
from engines.stores import open_files
from engines.test_files_edits import HERE, by_handle, edit, opened
from engines.test_files_edits import folder as folder  # noqa: PLC0414 - a fixture, used by name
from engines.test_files_format import NOW, SEED, front, items, store_of
from engram.errors import Corrupt
from engram.model.memory import standing
from engram.model.record import replace

TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789AB"  # noqa: S105 - a shape, no secret
END = "---\n\n# Memory"


def everywhere(folder: Path) -> bytes:
    """Every byte of the store, of its snapshots and of its index."""
    parts = [each.read_bytes() for each in folder.parent.rglob("*") if each.is_file()]
    return b"".join(gzip.decompress(part) if part[:2] == b"\x1f\x8b" else part for part in parts)


# --- promoted, added, renamed ---


def test_what_was_promoted_by_hand_is_approved_and_held_for_nothing(folder):
    edit(folder, "status: pending", "status: promoted")
    engine = opened(folder)
    live = by_handle(engine)["mem-0002"]

    assert (live.status, live.held_for, live.approved_by, live.verified_at) == ("promoted", "", "manual", NOW)
    item = items(folder)["mem-0002"]
    assert (item["status"], item["dest"], str(item["last_verified"])) == ("promoted", "memory.md", "2026-01-20")
    assert "held_for" not in item
    assert "I pay in euros" not in (folder / "memory-log.md").read_text()
    assert not (folder / "queue" / "mem-0002.json").exists()
    assert engine.check() == []
    engine.close()


def test_what_waits_because_it_contradicts_and_is_promoted_by_hand_is_told(folder):
    edit(folder, "status: pending", "status: pending\n    held_for: conflict")
    engine = opened(folder)
    assert by_handle(engine)["mem-0002"].held_for == "curated_kind"  # why it waits, only we say
    waits = by_handle(engine)["mem-0002"]
    held = replace(waits, held_for="conflict", revision=waits.revision + 1)
    engine.commit(change(held, was=waits, batch="held"))
    engine.notices()
    edit(folder, "status: pending", "status: promoted")
    everything(engine)
    [told] = engine.notices()

    assert told.message == ("mem-0002: promoted by hand, though it contradicts another memory. Both are live now.")
    engine.close()


@pytest.mark.parametrize(
    ("kind", "tier", "decay", "held_for"),
    [("fiscal", 3, "365d", "curated_kind"), ("map", 1, "90d", ""), (None, 2, "180d", "")],
)
def test_an_item_added_by_hand_gets_care_and_decay_of_its_kind(folder, kind, tier, decay, held_for):
    said = f"\n    kind: {kind}" if kind else ""
    edit(folder, END, f"\n  - fact: My IBAN is in the safe{said}\n{END}")
    engine = opened(folder)
    made = by_handle(engine)["mem-0003"]

    assert (made.kind, made.tier, made.decay, made.held_for) == (kind or "fact", tier, decay, held_for)
    assert (made.confidence, made.status, made.created_at) == (1.0, "pending", NOW)
    item = items(folder)["mem-0003"]
    assert (item["risk_tier"], item["decay"], item["confidence"]) == (tier, decay, 1.0)
    assert (folder / "queue" / "mem-0003.json").exists() == bool(held_for)
    assert engine.check() == []
    engine.close()


def test_what_an_item_added_by_hand_says_itself_counts(folder):
    edit(folder, END, f"\n  - fact: Coffee at nine\n    kind: fiscal\n    risk_tier: 1\n    decay: 30d\n{END}")
    engine = opened(folder)

    assert (by_handle(engine)["mem-0003"].tier, by_handle(engine)["mem-0003"].decay) == (1, "30d")
    engine.close()


def test_an_item_added_by_hand_just_now_was_learned_just_now(folder):
    now = NOW + timedelta(hours=9)
    edit(folder, END, f"\n  - fact: I like tea\n    status: promoted\n{END}")
    engine = open_files(folder, clock=lambda: now)

    assert by_handle(engine)["mem-0003"].created_at == now
    engine.close()


@pytest.mark.parametrize("reworded", [False, True])
def test_a_uid_changed_by_hand_forgets_nothing(folder, reworded):
    engine = opened(folder)
    id = by_handle(engine)["mem-0001"].id
    engine.close()
    edit(folder, f"uid: {id}", "uid: of-my-own")
    if reworded:
        edit(folder, 'fact: "We deploy on Fridays"', 'fact: "We deploy on Mondays"')
    engine = opened(folder)

    assert by_handle(engine)["mem-0001"].id == id
    assert all(each.forgotten_at is None for each in everything(engine))
    engine.check(repair=True)
    texts = {each.text for each in everything(engine)}
    assert texts >= ({"We deploy on Fridays", "We deploy on Mondays"} if reworded else {"We deploy on Fridays"})
    assert items(folder)["mem-0001"].get("uid") in (id, None)
    assert engine.check() == []
    engine.close()


# --- what must not be kept ---


def test_a_credential_written_by_hand_is_taken_out_of_the_file_and_kept_nowhere(folder):
    engine = opened(folder)
    edit(
        folder, 'fact: "We deploy on Fridays"', f'fact: "Deploy with {TOKEN} <private>salary</private> on Fridays"'
    )
    told = by_handle(engine)["mem-0001"]

    assert told.text == "Deploy with [redacted:github-token] [redacted:private] on Fridays"
    assert items(folder)["mem-0001"]["fact"] == told.text
    [notice] = engine.notices()
    assert notice.message == (
        "Taken out of memory.md (mem-0001): github-token, private. It is kept nowhere in the store."
    )
    assert TOKEN.encode() not in everywhere(folder)
    assert b"salary" not in everywhere(folder)
    assert engine.check() == []
    Story(engine, start=50).remember("Use uv")
    assert TOKEN.encode() not in everywhere(folder)
    engine.close()


@pytest.mark.parametrize("where", ["tags: [TOKEN]", "summary: TOKEN", "# TOKEN", "team: TOKEN"])
def test_a_credential_is_found_wherever_it_stands_in_an_item(folder, where):
    edit(folder, "risk_tier: 2", f"risk_tier: 2\n    {where.replace('TOKEN', TOKEN)}")
    engine = opened(folder)
    everything(engine)

    assert TOKEN.encode() not in everywhere(folder)
    assert "[redacted:github-token]" in (folder / HERE).read_text()
    assert yaml.safe_load((folder / HERE).read_text().split("---\n")[1])
    assert engine.check() == []
    engine.close()


def test_a_new_item_with_a_credential_and_a_conflict_copy_with_one_leave_no_trace(folder):
    text = (folder / HERE).read_text()
    other = text.replace("We deploy on Fridays", f"We log in with {TOKEN}").replace("uid: ", "uid: other-")
    (folder / "memory 2.md").write_text(other)
    edit(folder, END, f"\n  - fact: My token is {TOKEN}\n{END}")
    engine = opened(folder)
    engine.check(repair=True)

    assert "My token is [redacted:github-token]" in {each.text for each in everything(engine)}
    assert "We log in with [redacted:github-token]" in {each.text for each in everything(engine)}
    assert TOKEN.encode() not in everywhere(folder)
    engine.close()


def test_a_merge_that_brings_a_credential_leaves_no_trace_of_it(folder):
    sides = f"<<<<<<< HEAD\n    kind: fact\n=======\n    summary: {TOKEN}\n    kind: fact\n>>>>>>> theirs\n"
    edit(folder, "    kind: fact\n", sides)
    engine = opened(folder)
    engine.check(repair=True)

    assert by_handle(engine)["mem-0001"].summary == "[redacted:github-token]"
    assert TOKEN.encode() not in everywhere(folder)
    engine.close()


def test_a_store_of_another_program_is_opened_without_loss_and_its_secrets_are_told(tmp_path):
    text = SEED.replace("I prefer pnpm over npm", f"My token is {TOKEN}")
    engine = store_of(tmp_path / "store", text)

    assert (tmp_path / "store" / HERE).read_text() == text
    assert by_handle(engine)["mem-0001"].text == f"My token is {TOKEN}"
    told = [each for each in engine.check() if each.code == "secret"]
    assert [each.message for each in told] == ["mem-0001 holds what should not be kept: github-token."]
    engine.close()


def test_a_secret_beside_more_words_of_another_program_than_a_memory_may_have_is_taken_out(folder):
    engine = opened(folder)
    edit(folder, "    kind: fiscal", f"    theirs: {'words ' * 12_000}{TOKEN}\n    kind: fiscal")
    everything(engine)
    told = [each.code for each in engine.notices()]

    assert told == ["secret"]
    assert TOKEN.encode() not in everywhere(folder)
    assert "words words [redacted:github-token]" in (folder / "memory.md").read_text()
    engine.close()


# --- what cannot be read ---


def test_a_store_that_never_could_be_read_is_refused_and_not_shown_as_empty(tmp_path):
    with pytest.raises(Corrupt, match=r"memory\.md, line 13: decay cannot be 'soon'"):
        store_of(tmp_path / "store", SEED.replace("decay: 180d", "decay: soon"))
    engine = store_of(tmp_path / "store", SEED.replace("decay: 180d", "decay: soon"), lenient=True)
    assert [each.code for each in engine.check()] == ["registry"]
    engine.close()


def test_reads_of_a_store_that_cannot_be_read_say_so_every_time(folder):
    edit(folder, "decay: 365d", "decay: soon")
    engine = opened(folder, cache=folder.parent / "another")  # history alone has the last good state
    for _ in range(2):
        assert len(everything(engine)) == 2
        [told] = engine.notices()
        assert "decay cannot be 'soon'. Until it is mended, the last good state answers." in told.message
    edit(folder, "decay: soon", "decay: 365d")
    everything(engine)
    assert engine.notices() == []
    engine.close()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("seen: -4", "seen cannot be '-4'"),
        ("citations: [1]", r"citations cannot be \[1\]"),
        ("citations: {}", r"citations cannot be \{\}"),
        ("context: 7", "context cannot be '7'"),
        ("tags: {}", r"tags cannot be \{\}"),
        ("valid_until: tomorrow", "valid_until cannot be 'tomorrow'"),
        ("pinned: soon", "pinned"),
        ("tags: " + "[" * 100_000, "tags cannot be read: it is nested too deep"),
        ("scope: [1, 2]", "scope cannot be"),
        ("summary: *nobody", "summary cannot be read"),
        ("pinned true", "'pinned true' is not a key with a value"),
    ],
)
def test_a_value_of_a_wrong_kind_is_told_in_plain_words_with_its_line(folder, line, reason):
    text = edit(folder, "risk_tier: 2", f"risk_tier: 2\n    {line}")
    n = text[: text.index(line)].count("\n") + 1
    engine = opened(folder)
    with pytest.raises(Corrupt, match=rf"memory\.md, line {n}: {reason}") as refused:
        engine.commit(change(memory("id-9")))

    for word in ("instances", "argument", "mapping", "NoneType", "subscriptable", "object", "iterable"):
        assert word not in refused.value.message
    engine.close()


def test_a_tab_before_a_key_is_called_by_its_name(folder):
    text = edit(folder, "    kind: fiscal", "\tkind: fiscal")
    n = text[: text.index("\tkind")].count("\n") + 1
    engine = opened(folder)

    assert engine.check()[0].message.startswith(f"memory.md, line {n}: a tab stands before a key.")
    assert engine.check()[0].hint == "Use spaces."
    engine.close()


def test_a_single_tag_needs_no_brackets(folder):
    edit(folder, "risk_tier: 2", "risk_tier: 2\n    tags: python")
    engine = opened(folder)

    assert by_handle(engine)["mem-0001"].tags == ("python",)
    engine.close()


@pytest.mark.parametrize("odd", ["\x85", "\u2028", "\u2029"])
def test_what_only_yaml_takes_for_the_end_of_a_line_is_read_as_yaml_reads_it(tmp_path, odd):
    facts = [f"one{odd}two", f"one {odd} two three", f"'one'{odd}", f"{odd}one", f"a: b{odd}c", f"x{odd}{odd}y"]
    records = [{"id": f"mem-{n:04d}", "fact": fact, "kind": "fact"} for n, fact in enumerate(facts, 1)]
    text = yaml.safe_dump(
        {"schema": "memory.v1", "generated": "2026-01-15", "items": records}, sort_keys=False, allow_unicode=True
    )
    meant = [record["fact"].replace("\x85", "\n") for record in yaml.safe_load(text)["items"]]
    engine = store_of(tmp_path / "store", f"---\n{text}---\n")

    assert [by_handle(engine)[record["id"]].text for record in records] == meant
    engine.close()


def test_a_line_of_history_nested_beyond_all_measure_is_torn_and_stops_nobody(folder):
    with (folder / "events.jsonl").open("ab") as file:
        file.write(b"[" * 100_000 + b"\n")
    engine = opened(folder)

    assert len(everything(engine)) == 2
    assert [each.code for each in engine.check()] == ["history"]
    engine.close()


@pytest.mark.parametrize("name", ["memory.md", "memory-log.md", "events.jsonl"])
def test_a_folder_in_the_place_of_a_file_is_told_and_left(tmp_path, name):
    (tmp_path / "store").mkdir(mode=0o700)
    (tmp_path / "store" / name).mkdir(mode=0o700)
    with pytest.raises(Corrupt, match=f"{name} is a folder"):
        opened(tmp_path / "store")
    assert (tmp_path / "store" / name).is_dir()


@pytest.mark.parametrize("name", [".memory.md.1.2.new", "queue/mem-0002.json", "queue/.x.new"])
def test_a_folder_among_the_files_beside_stops_nobody(folder, name):
    path = folder / name
    if path.exists():
        path.unlink()
    path.mkdir(mode=0o700)
    engine = opened(folder, cache=folder.parent / "another")
    Story(engine, start=50).remember("Use uv")

    assert len(everything(engine)) == 3
    engine.close()


# --- other hands: quoted keys, sorted keys, older schemas ---

QUOTED = {
    "json": lambda told: yaml.safe_dump(told, default_style='"', sort_keys=False),
    "single": lambda told: (
        yaml.safe_dump(told, sort_keys=False).replace("items:", "'items':").replace("schema:", "'schema' :")
    ),
    "sorted": lambda told: yaml.safe_dump(told, sort_keys=True),
}


@pytest.mark.parametrize("form", QUOTED)
def test_keys_in_quotes_or_in_another_order_are_the_same_keys(tmp_path, form):
    told = yaml.safe_load(SEED.split("---\n")[1])
    told["items"] = [{**item, "my key": "mine"} for item in told["items"]]
    text = f"---\n{QUOTED[form](told)}---\n"
    engine = store_of(tmp_path / "store", text)
    assert {each.text for each in everything(engine)} == {item["fact"] for item in told["items"]}
    story = Story(engine, start=50)
    assert story.remember("Use uv").handle == "mem-0003"
    old = by_handle(engine)["mem-0001"]
    engine.commit(change(replace(old, text="I prefer bun", revision=2), was=old, batch="b"))

    lines = (tmp_path / "store" / HERE).read_text().split("---\n")[1].splitlines()
    for key in ("schema", "generated", "items", "as_of"):
        assert len([line for line in lines if line.lstrip("'\"").startswith(key)]) == 1, key
    assert front(tmp_path / "store")["schema"] == "memory.v1"
    assert {item["fact"] for item in items(tmp_path / "store").values()} == {
        "I prefer bun",
        "My legal name is Alex Rivera",
        "Use uv",
    }
    assert items(tmp_path / "store")["mem-0001"]["my key"] == "mine"
    assert engine.check(repair=True) == []
    engine.close()


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("schema: memory.v9", "Upgrade Engram"),
        ('"schema": "memory.v9"', "Upgrade Engram"),
        ("'schema': memory.v2", "Upgrade Engram"),
        ("schema: memory.v0", "no way from it"),
        ("schema: notes", "no way from it"),
    ],
)
def test_an_unknown_schema_is_refused_untouched_in_any_spelling_with_the_right_advice(tmp_path, line, hint):
    text = SEED.replace("schema: memory.v1", line)
    with pytest.raises(Corrupt, match="schema") as refused:
        store_of(tmp_path / "store", text)

    assert hint in refused.value.hint
    assert (tmp_path / "store" / HERE).read_text() == text
    assert sorted(each.name for each in (tmp_path / "store").iterdir()) == [".lock", HERE]


def test_a_frontmatter_that_is_no_list_of_keys_is_not_taken_for_an_empty_store(tmp_path):
    text = '---\n{"schema": "memory.v1", "items": [{"fact": "I like tea"}]}\n---\n'
    with pytest.raises(Corrupt, match="line 2: the frontmatter is not a list of keys"):
        store_of(tmp_path / "store", text)
    assert (tmp_path / "store" / HERE).read_text() == text


UNNAMED = SEED.replace("schema: memory.v1\n", "")


def test_a_store_from_before_schemas_is_brought_to_the_one_of_today_and_kept_aside_first(tmp_path):
    engine = store_of(tmp_path / "store", UNNAMED)

    assert (tmp_path / "store" / HERE).read_text() == SEED
    assert [each.read_text() for each in (tmp_path / "store" / ".bak").iterdir()] == [UNNAMED]
    assert {each.text for each in everything(engine)} == {"I prefer pnpm over npm", "My legal name is Alex Rivera"}
    assert [event.action for event in engine.events()] == ["adopted"]
    engine.close()


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from engines.stores import open_files
def trace(at):
    if at == {point!r}:
        os.kill(os.getpid(), signal.SIGKILL)
open_files(Path({store!r}), trace=trace)
"""


@pytest.mark.parametrize("point", ["kept before migrating", "migrated"])
@pytest.mark.parametrize("hit", ["memory.md", "memory-log.md"])
def test_e7_a_kill_in_the_middle_of_a_migration_is_made_up_for(tmp_path, point, hit):
    store = tmp_path / "store"
    store.mkdir(mode=0o700)
    log = "---\ngenerated: 2026-01-15\n---\n\n# Memory log\n"
    for name, text in ((HERE, UNNAMED), ("memory-log.md", log)):
        done = name not in (hit, HERE)
        (store / name).write_text(text.replace("---\n", "---\nschema: memory.v1\n", 1) if done else text)
        (store / name).chmod(0o600)
    code = KILLED.format(tests=str(Path(__file__).resolve().parents[1]), point=point, store=str(store))
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert child.returncode == -9, child.stderr
    texts = {UNNAMED, SEED}
    assert (store / HERE).read_text() in texts
    engine = opened(store)

    assert (store / HERE).read_text() == SEED
    assert "schema: memory.v1" in (store / "memory-log.md").read_text()
    assert len(everything(engine)) == 2
    assert {standing(each, NOW) for each in everything(engine)} == {"live"}
    assert UNNAMED.encode() in everywhere(store)
    assert not [each for each in os.listdir(store) if each.endswith(".new")]
    engine.close()


def test_what_a_person_typed_into_the_file_no_agent_rewords(tmp_path):
    place = f"files:{tmp_path / 'store'}"
    with engram.open(place, agent="codex") as agent:
        agent.remember("The backup runs at 2 am", key="backup")
    registry = tmp_path / "store" / "memory.md"
    registry.write_text(registry.read_text().replace("runs at 2 am", "runs at 3 am", 1))
    with engram.open(place, agent="codex") as agent:
        said = agent.remember("The backup runs at 4 am", key="backup")
        (kept,) = agent.recall("backup").hits

    assert (said.outcome, kept.memory.text) == ("proposed", "The backup runs at 3 am")
