"""The form of a store of plain files: every note on serialisation and every row of the layout, by name."""

import gzip
import json
import os
import shutil
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import engram
from attacks.ledger import tried
from engines.samples import MINE, START, Story, change, everything, later, memory, purge, relation, session
from engines.stores import open_files, wrong
from engines.strategies import prose, whole_memories
from engram.engines.files.registry import read_registry
from engram.errors import Conflict, Corrupt, Invalid
from engram.model.filter import Filter
from engram.model.items import TWELVE, Style, print_item, read_item, read_record
from engram.model.memory import Citation, standing
from engram.model.record import replace
from engram.model.scope import Scope

DATA = Path(__file__).with_name("data")

SEED = """---
schema: memory.v1
generated: 2026-01-15
items:
  - id: mem-0001
    fact: "I prefer pnpm over npm"
    kind: tooling
    source: tool:remember
    confidence: 0.6
    learned_by: remember
    learned_at: 2026-01-15
    last_verified: null
    decay: 180d
    status: promoted
    risk_tier: 1
    dest: memory-log.md

  - id: mem-0002
    fact: "My legal name is Alex Rivera"
    kind: identity
    source: manual
    confidence: 1.0
    learned_by: manual
    learned_at: 2026-01-10
    last_verified: 2026-01-15
    decay: 365d
    status: promoted
    risk_tier: 3
    dest: memory.md
---
"""
NOW = datetime(2026, 1, 20, tzinfo=UTC)


def store_of(folder: Path, text: str | bytes, **more: object):
    """A store that holds this memory.md, opened; the clock stands at NOW."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "memory.md"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(0o600)
    return open_files(folder, clock=lambda: NOW, **more)


def front(folder: Path) -> dict:
    return yaml.safe_load((folder / "memory.md").read_text().split("---\n")[1])


def items(folder: Path) -> dict[str, dict]:
    return {item["id"]: item for item in front(folder)["items"]}


# --- the example and the notes of the schema page ---


def test_the_two_items_of_the_example_come_back_byte_for_byte():
    registry = read_registry(SEED)
    spans = registry.blocks()
    told = [registry.item(span, NOW) for span in spans]

    written = [print_item(each.memory, each.handle, NOW, registry.style, each.others) for each in told]
    assert "\n".join(written) == SEED[registry.start : registry.end]
    changes = dict(zip(spans, written, strict=True))
    assert registry.spliced(changes, (), date="2026-01-15", mark={}, body="") == SEED + "\n"


def test_the_example_is_read_as_it_is_meant_and_left_as_it_is(tmp_path):
    engine = store_of(tmp_path / "store", SEED)
    first, second = (engine.get("memory", [f"mem-000{n}"], MINE)[f"mem-000{n}"] for n in (1, 2))

    assert (first.text, first.kind, first.confidence) == ("I prefer pnpm over npm", "tooling", 0.6)
    assert (first.status, first.tier, first.approved_by, first.verified_at) == ("promoted", 1, "", None)
    assert (second.text, second.tier, second.decay) == ("My legal name is Alex Rivera", 3, "365d")
    assert (second.approved_by, second.verified_at) == ("manual", datetime(2026, 1, 15, tzinfo=UTC))
    assert (tmp_path / "store" / "memory.md").read_text() == SEED
    engine.close()


def test_what_is_new_stands_below_the_example_and_the_example_stays_byte_for_byte(tmp_path):
    engine = store_of(tmp_path / "store", SEED)
    Story(engine).remember("We deploy on Fridays")
    text = (tmp_path / "store" / "memory.md").read_text()

    assert SEED[SEED.index("items:") : SEED.rindex("---")] in text
    assert engine.get("memory", ["mem-0003"], MINE)["mem-0003"].text == "We deploy on Fridays"
    engine.close()


def test_every_item_has_the_twelve_keys_in_order_and_then_ours_only_when_set(tmp_path):
    engine = open_files(tmp_path / "store")
    engine.commit(change(memory("id-1", created_at=START)))
    engine.commit(change(memory("id-2", "Use uv", key="tool", scope=Scope("project", "api")), batch="b2"))
    bare, more = items(tmp_path / "store").values()

    assert list(bare) == [*TWELVE, "uid"]
    assert list(more) == [*TWELVE, "uid", "key", "scope"]
    engine.close()


def test_note_dates_are_written_as_yyyy_mm_dd_without_a_time():
    made = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    text = print_item(memory("id-1", created_at=made, verified_at=made), "mem-0001", NOW, Style())

    assert "\n    learned_at: 2026-03-04\n    last_verified: 2026-03-04\n" in text
    assert read_item(text, Style(), NOW).memory.created_at == made


def test_note_last_verified_null_is_written_literally():
    assert "\n    last_verified: null\n" in print_item(memory("id-1"), "mem-0001", NOW, Style())


def test_note_decay_is_a_bare_string():
    assert "\n    decay: 30d\n" in print_item(memory("id-1", decay="30d"), "mem-0001", NOW, Style())


def test_a_decay_that_never_comes_is_one_every_reader_understands():
    text = print_item(memory("id-1", decay="none"), "mem-0001", NOW, Style())

    assert "\n    decay: 200y\n" in text
    assert read_item(text, Style(), NOW).memory.decay == "none"


@pytest.mark.parametrize(
    ("value", "written"), [(0.6, "0.6"), (1, "1.0"), (0, "0.0"), (0.55, "0.55"), (0.1, "0.1"), (0.05, "0.05")]
)
def test_note_confidence_has_one_or_two_decimals_and_a_leading_zero(value, written):
    text = print_item(memory("id-1", confidence=value), "mem-0001", NOW, Style())

    assert f"\n    confidence: {written}\n" in text


@given(record=whole_memories())
def test_any_memory_comes_back_equal_from_its_item_and_every_yaml_reader_sees_its_text(record):
    text = print_item(record, "mem-0001", NOW, Style())
    (item,) = yaml.safe_load(text)

    assert read_item(text, Style(), NOW).memory == record
    assert (item["fact"], item["kind"], item["source"]) == (record.text, record.kind, record.source)
    assert item["uid"] == record.id
    assert item["status"] in ("pending", "promoted", "rejected", "stale")


WORDS = st.text(st.sampled_from("ab  '\":#-?*&!%@`[]{}|>,.\\\n\téß漢🦊0123yes~="), min_size=1, max_size=300)


@given(text=st.one_of(prose(300), WORDS).filter(str.strip).filter(lambda text: "\r" not in text))
def test_any_fact_that_another_program_wrote_is_read_as_it_was_meant(text):
    """Bare, quoted or folded, as PyYAML thinks best."""
    told = dict(zip(TWELVE, yaml.safe_load(SEED.split("---\n")[1])["items"][0].values(), strict=True))
    told |= {"fact": text, "learned_at": "2026-01-15"}
    block = yaml.safe_dump([told], sort_keys=False, allow_unicode=True)
    (wanted,) = yaml.safe_load(block)

    assert read_item(block, Style("", gap=False), NOW).memory.text == wanted["fact"]


# --- the rows of the layout ---


def test_row_the_folder_has_0700_and_every_file_0600(tmp_path):
    umask = os.umask(0)
    try:
        engine = open_files(tmp_path / "store")
        story = Story(engine)
        story.remember("We deploy on Fridays")
        story.promote(story.remember("My name is Alex", kind="identity"))
        story.remember("I pay in euros", kind="fiscal")
        engine.close()
    finally:
        os.umask(umask)
    modes = {
        str(each.relative_to(tmp_path / "store")): stat.S_IMODE(each.stat().st_mode)
        for each in [tmp_path / "store", *(tmp_path / "store").rglob("*")]
    }

    folders = {name: mode for name, mode in modes.items() if (tmp_path / "store" / name).is_dir()}
    assert folders == {".": 0o700, "queue": 0o700, "queue/_done": 0o700, ".bak": 0o700}
    assert {mode for name, mode in modes.items() if name not in folders} == {0o600}
    assert {"memory.md", "memory-log.md", "audit.jsonl", "events.jsonl"} <= modes.keys()
    assert {"queue/mem-0003.json", "queue/_done/mem-0002.json"} <= modes.keys()


@pytest.mark.parametrize(
    "name",
    [
        *(".", "memory.md", "memory-log.md", "audit.jsonl", "events.jsonl", ".lock", "queue", ".bak"),
        *("queue/mem-0002.json", "queue/_done", "queue/_done/mem-0003.json", ".bak/*.bak"),
    ],
)
def test_row_looser_permissions_are_refused_at_start_with_the_command_that_mends_them(tmp_path, name):
    engine = open_files(tmp_path / "store")
    story = Story(engine)
    story.remember("We deploy on Fridays")
    story.remember("I pay in euros", kind="fiscal")
    story.promote(story.remember("I was born in May", kind="identity"))
    engine.close()
    path = min((tmp_path / "store").glob(name)) if "*" in name else tmp_path / "store" / name
    right = 0o700 if path.is_dir() else 0o600
    path.chmod(right | 0o044)

    with pytest.raises(Corrupt) as refused:
        open_files(tmp_path / "store")
    assert f"chmod {right:o} {path.resolve()}" in refused.value.hint
    lenient = open_files(tmp_path / "store", lenient=True)
    assert [(each.code, each.hint[-25:]) for each in lenient.check()] == [("modes", "(or: engram doctor --fix)")]
    assert wrong(lenient.check(repair=True)) == []
    lenient.close()
    assert stat.S_IMODE(path.stat().st_mode) == right


def test_row_memory_md_lists_every_memory_in_every_status(tmp_path):
    engine = open_files(tmp_path / "store", clock=lambda: later(86_400 * 200))
    story = Story(engine)
    story.remember("We deploy on Fridays")
    story.remember("I pay in euros", kind="fiscal")
    story.reject(story.remember("My name is Bob", kind="identity"))
    story.forget(story.remember("Use tabs", decay="none"))
    story.remember("Use spaces", decay="none")

    told = {item["fact"]: item["status"] for item in front(tmp_path / "store")["items"]}
    assert told == {
        "We deploy on Fridays": "stale",
        "I pay in euros": "pending",
        "My name is Bob": "rejected",
        "Use tabs": "rejected",
        "Use spaces": "promoted",
    }
    engine.close()


def test_row_the_body_shows_promoted_memories_that_are_not_stale_by_kind(tmp_path):
    engine = open_files(tmp_path / "store", clock=lambda: later(86_400 * 200))
    story = Story(engine)
    for text, kind, decay in (
        ("Old news", "tooling", "30d"),
        ("Use uv", "tooling", "none"),
        ("Use two\nlines", "preference", "none"),
        ("I pay in euros", "fiscal", "none"),
        ("Use ruff", "tooling", "none"),
    ):
        story.remember(text, kind=kind, decay=decay)
    body = (tmp_path / "store" / "memory.md").read_text().split("---\n", 2)[2]

    assert body == "\n# Memory\n\n## preference\n\n- Use two lines\n\n## tooling\n\n- Use uv\n- Use ruff\n"
    story.forget(story._all(Filter(kinds=("preference",)))[0])
    body = (tmp_path / "store" / "memory.md").read_text().split("---\n", 2)[2]
    assert body == "\n# Memory\n\n## tooling\n\n- Use uv\n- Use ruff\n"
    engine.close()


def test_row_the_log_is_newest_first_with_id_and_time_in_a_comment(tmp_path):
    engine = open_files(tmp_path / "store")
    story = Story(engine)
    story.remember("We deploy on Fridays --> now", kind="project")
    story.remember("I pay in euros", kind="fiscal")
    story.remember("Use uv", kind="tooling")

    assert (tmp_path / "store" / "memory-log.md").read_text() == (
        "---\nschema: memory.v1\ngenerated: 2026-01-01\n---\n\n"
        "# Memory log\n\nNewest first. Auto-captured, low-risk facts.\n\n"
        "- [tooling] Use uv <!-- id: mem-0003 ts: 2026-01-01T00:00:03.000000Z -->\n"
        "- [project] We deploy on Fridays --\u203a now <!-- id: mem-0001 ts: 2026-01-01T00:00:01.000000Z -->\n"
    )
    engine.close()


def test_row_what_waits_is_a_file_in_the_queue_with_its_reason(tmp_path):
    engine = open_files(tmp_path / "store")
    story = Story(engine)
    story.remember("The port is 8080")
    story.remember("The port is 9090")
    story.remember("I pay in euros", kind="fiscal")
    story.remember("Our budget is small", kind="fiscal", key="budget", confirmed="typed")
    story.remember("Our budget is gone", kind="fiscal", key="budget")
    told = {path.name: json.loads(path.read_text()) for path in (tmp_path / "store" / "queue").glob("*.json")}

    assert {name: one["routing"] for name, one in told.items()} == {
        "mem-0002.json": {"reason": "conflict"},
        "mem-0003.json": {"reason": "curated_kind"},
        "mem-0005.json": {"reason": "edits_curated_node"},
    }
    assert list(told["mem-0003.json"]) == [*TWELVE, "routing"]
    assert told["mem-0003.json"]["learned_at"] == "2026-01-01"
    assert told["mem-0003.json"]["fact"] == "I pay in euros"
    engine.close()


@pytest.mark.parametrize(
    ("act", "status"), [("promote", "promoted"), ("reject", "rejected"), ("forget", "rejected")]
)
def test_row_what_was_decided_moves_to_done_with_its_status(tmp_path, act, status):
    engine = open_files(tmp_path / "store")
    story = Story(engine)
    getattr(story, act)(story.remember("I pay in euros", kind="fiscal"))
    queue = tmp_path / "store" / "queue"

    assert not (queue / "mem-0001.json").exists()
    assert json.loads((queue / "_done" / "mem-0001.json").read_text())["status"] == status
    engine.close()


def test_row_what_was_promoted_is_told_so_in_done_whatever_became_of_it(tmp_path):
    with engram.open(f"files:{tmp_path / 'store'}") as memory:
        rule = memory.remember("Releases are cut on Mondays", kind="rule").memory
        memory.promote(rule.id, confirm=True)
        change = memory.revise(rule.id, text="Releases are cut on Tuesdays").memory
        memory.promote(change.id, confirm=True)
        memory.forget(rule.id)
    done = tmp_path / "store" / "queue" / "_done"

    assert {name.name: json.loads(name.read_text())["status"] for name in done.iterdir()} == {
        "mem-0001.json": "promoted",
        "mem-0002.json": "promoted",
    }


def test_row_the_audit_trail_says_of_what_a_promotion_replaced_that_it_was_replaced(tmp_path):
    with engram.open(f"files:{tmp_path / 'store'}") as memory:
        memory.remember("The port is 5433")
        memory.promote(memory.remember("The port is 5434").memory.id)
    rows = [json.loads(line) for line in (tmp_path / "store" / "audit.jsonl").read_text().splitlines()]

    assert [(row["op"], row["id"]) for row in rows[-2:]] == [("promote", "mem-0002"), ("replace", "mem-0001")]


def test_row_the_audit_trail_says_what_happened_and_no_word_of_a_memory(tmp_path):
    engine = open_files(tmp_path / "store")
    story = Story(engine)
    story.remember("We deploy on quagga Fridays")
    story.promote(story.remember("My name is quagga", kind="identity"))
    story.reject(story.remember("I pay in quaggas", kind="fiscal"))
    story.remember("harvested quagga words", learned_by="harvest")
    engine.commit(change(session("session-1"), batch="s", action="start"))
    text = (tmp_path / "store" / "audit.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]

    assert [list(row)[:5] for row in rows] == [["ts", "op", "id", "tier", "undo_token"]] * 7
    assert [(row["op"], row["id"], row["tier"]) for row in rows] == [
        ("auto_append", "mem-0001", 2),
        ("remember", "mem-0002", 3),
        ("promote", "mem-0002", 3),
        ("remember", "mem-0003", 3),
        ("reject", "mem-0003", 3),
        ("harvest", "mem-0004", 2),
        ("start", None, 0),
    ]
    assert rows[0]["ts"] == "2026-01-01T00:00:01.000000Z"
    assert rows[-1]["undo_token"] is None
    assert "quagga" not in text
    engine.close()


def test_row_the_snapshot_that_an_undo_token_names_is_the_file_from_before(tmp_path):
    engine = open_files(tmp_path / "store")
    story = Story(engine)
    story.remember("We deploy on Fridays")
    before = [(tmp_path / "store" / name).read_text() for name in ("memory.md", "memory-log.md")]
    story.remember("Use uv")
    token = json.loads((tmp_path / "store" / "audit.jsonl").read_text().splitlines()[-1])["undo_token"]
    kept = [(tmp_path / "store" / ".bak" / f"{token}{ending}").read_text() for ending in (".bak", ".log.bak")]

    assert kept == before
    engine.close()


def test_row_snapshots_are_bounded_and_pressed_beyond_the_newest(tmp_path):
    engine = open_files(tmp_path / "store", snapshots=5)
    story = Story(engine)
    for n in range(12):
        story.remember(f"note {n}")
    rows = [json.loads(line) for line in (tmp_path / "store" / "audit.jsonl").read_text().splitlines()]
    tokens = [row["undo_token"] for row in rows][-5:]
    folder = tmp_path / "store" / ".bak"

    assert {path.name.partition(".")[0] for path in folder.iterdir()} == set(tokens)
    assert (folder / f"{tokens[-1]}.bak").read_text().count("- id: ") == 11
    assert gzip.decompress((folder / f"{tokens[0]}.bak").read_bytes()).count(b"- id: ") == 7
    engine.close()


@pytest.mark.parametrize("name", ["memory.md", "memory-log.md"])
def test_row_an_unknown_schema_in_either_file_is_refused_untouched(tmp_path, name):
    engine = open_files(tmp_path / "store")
    Story(engine).remember("We deploy on Fridays")
    engine.close()
    path = tmp_path / "store" / name
    path.write_text(path.read_text().replace("schema: memory.v1", "schema: memory.v99"))
    before = {each: each.read_bytes() for each in (tmp_path / "store").rglob("*") if each.is_file()}

    with pytest.raises(Corrupt, match=r"memory\.v99"):
        open_files(tmp_path / "store")
    assert {each: each.read_bytes() for each in (tmp_path / "store").rglob("*") if each.is_file()} == before


def test_a_newer_history_is_refused_untouched(tmp_path):
    engine = open_files(tmp_path / "store")
    Story(engine).remember("We deploy on Fridays")
    engine.close()
    path = tmp_path / "store" / "events.jsonl"
    path.write_text(path.read_text().replace("engram.events.v1", "engram.events.v2"))

    with pytest.raises(Corrupt, match=r"engram\.events\.v2"):
        open_files(tmp_path / "store")


def test_items_are_accepted_in_the_log_too_and_the_registry_is_canonical(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir(mode=0o700)
    log = SEED.replace("I prefer pnpm over npm", "something else").replace("mem-0002", "mem-0007")
    (folder / "memory-log.md").write_text(log)
    (folder / "memory-log.md").chmod(0o600)
    engine = store_of(folder, SEED.replace("risk_tier: 1", "risk_tier: 2"))

    assert {each.handle: each.text for each in everything(engine)} == {
        "mem-0001": "I prefer pnpm over npm",
        "mem-0002": "My legal name is Alex Rivera",
        "mem-0007": "My legal name is Alex Rivera",
    }
    assert items(folder)["mem-0007"]["fact"] == "My legal name is Alex Rivera"
    assert engine.check() == []
    engine.close()


@pytest.mark.parametrize("nested", [False, True], ids=["as documented", "with the record inside"])
def test_what_another_program_keeps_in_the_queue_alone_is_taken_in_when_its_store_is_opened_first(tmp_path, nested):
    folder = tmp_path / "store"
    record = read_record(SEED.split("items:\n")[1].split("\n\n", maxsplit=1)[0], Style()) | {
        "dest": None,
        "confidence": 0.625,
    }
    (folder / "queue" / "_done").mkdir(parents=True)
    for name, fact, status in (
        ("queue/mem-0001", "The registry says mem-0001 otherwise", "pending"),
        ("queue/mem-0004", 'My VAT number: "no" #1', "pending"),
        ("queue/mem-0009", "It is called otherwise", "pending"),
        ("queue/_done/mem-0005", "I live in Madrid", "rejected"),
        ("queue/_done/mem-0006", "What was promoted is in the registry", "promoted"),
    ):
        id = "mem-0010" if name.endswith("9") else name.rpartition("/")[2]
        told = record | {"id": id, "fact": fact, "kind": "fiscal", "status": status}
        envelope = {"memory": told, "dest": "memory.md", "diff": "", "reason": "conflict with existing memory"}
        whole = envelope if nested else told | {"routing": {"reason": "conflict"}}
        (folder / f"{name}.json").write_text(json.dumps(whole, indent=2))
    (folder / "queue" / "mem-0007.json").write_text('{"fact": "half a')
    (folder / "queue" / "mem-0008.json").write_text('{"fact": ["no", "text"], "id": "mem-0008"}')
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)

    engine = store_of(folder, SEED)
    told = {each.handle: (each.text, each.status, each.held_for) for each in everything(engine)}

    assert told.pop("mem-0001")[0] == "I prefer pnpm over npm"
    assert told.pop("mem-0002")[0] == "My legal name is Alex Rivera"
    assert told == {
        "mem-0004": ('My VAT number: "no" #1', "pending", "conflict"),
        "mem-0005": ("I live in Madrid", "rejected", ""),
    }
    assert items(folder)["mem-0004"]["confidence"] == 0.62
    assert Story(engine).remember("Use uv").handle == "mem-0006"
    engine.close()
    again = open_files(folder, clock=lambda: NOW, cache=tmp_path / "another")
    assert len(everything(again)) == 5
    again.close()


def test_what_is_in_use_is_said_again_although_the_queue_tells_that_the_same_words_were_rejected(tmp_path):
    folder = tmp_path / "store"
    (folder / "queue" / "_done").mkdir(parents=True)
    told = {"id": "mem-0007", "fact": "I prefer pnpm over npm", "kind": "tooling", "status": "rejected"}
    (folder / "queue" / "_done" / "mem-0007.json").write_text(json.dumps(told))
    (folder / "memory.md").write_text(SEED)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)

    with engram.open(f"files:{folder}") as memory:
        memory.verify("mem-0001")
        again = memory.remember("I prefer pnpm over npm", scope="global")
        memory.forget("mem-0001")
        with pytest.raises(Conflict, match=r"rejected before \(mem-0007\)"):
            memory.remember("I prefer pnpm over npm", scope="global")

    assert (again.outcome, again.memory.handle) == ("repeated", "mem-0001")


@pytest.mark.parametrize("odd", [{"fact": "lone \ud800 half"}, {"id": ["mem-0001"]}, {"project": ["api"]}])
@pytest.mark.parametrize("place", ["queue", "queue/_done"])
def test_an_odd_file_of_the_queue_is_left_out_and_told_and_the_store_opens(tmp_path, place, odd):
    folder, status = tmp_path / "store", "rejected" if place.endswith("_done") else "pending"
    (folder / "queue" / "_done").mkdir(parents=True)
    told = {"id": "mem-0007", "fact": "I live in Madrid", "kind": "project", "status": status} | odd
    (folder / place / "mem-0007.json").write_text(json.dumps(told))
    (folder / "queue" / "mem-0008.json").write_text(
        json.dumps(told | {"id": "mem-0008", "fact": "Use uv", "status": "pending", "project": "api"})
    )
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)

    engine = store_of(folder, SEED)

    assert {each.handle for each in everything(engine)} == {"mem-0001", "mem-0002", "mem-0008"}
    found = [each.message for each in engine.check() if "mem-0007" in each.message]
    assert found == ([] if status == "rejected" else ["queue/mem-0007.json is there, and nothing waits under it."])
    engine.check(repair=True)
    assert wrong(engine.check()) == []
    engine.close()


def test_an_envelope_keeps_what_else_it_says_even_where_that_is_no_text(tmp_path):
    folder = tmp_path / "store"
    (folder / "queue").mkdir(parents=True)
    told = {"id": "mem-0007", "fact": "I live in Madrid", "kind": "location", "status": "pending", "risk_tier": 3}
    (folder / "queue" / "mem-0007.json").write_text(json.dumps(told | {"note": "half \ud800 of it"}))
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    engine = store_of(folder, SEED)
    story = Story(engine)
    waits = next(each for each in everything(engine) if each.handle == "mem-0007")
    story.promote(story.read(waits.id))
    done = json.loads((folder / "queue" / "_done" / "mem-0007.json").read_text())
    engine.close()

    assert (done["status"], done["note"]) == ("promoted", "half \ud800 of it")


@pytest.mark.parametrize("put_back", [False, True])
def test_a_purge_takes_an_item_out_of_the_log_too_and_it_does_not_come_back_from_there(tmp_path, put_back):
    folder, log = tmp_path / "store", tmp_path / "store" / "memory-log.md"
    folder.mkdir(mode=0o700)
    written = SEED.replace("pnpm over npm", "tabs in Makefiles").replace("mem-000", "mem-001")
    log.write_text(written)
    log.chmod(0o600)
    engine = store_of(folder, SEED)
    gone = next(each for each in everything(engine) if each.handle == "mem-0011")

    done = engine.commit(purge(gone))
    engine.close()

    assert (done.traces, done.places) == (0, ())
    assert [item["id"] for item in yaml.safe_load(log.read_text().split("---\n")[1])["items"]] == ["mem-0012"]
    if put_back:
        log.write_text(written)
    again = open_files(folder, clock=lambda: NOW, cache=tmp_path / "another")
    assert {each.handle for each in everything(again)} == {"mem-0001", "mem-0002", "mem-0012"}
    again.close()


def test_sessions_and_relations_live_in_readable_text_beside(tmp_path):
    engine = open_files(tmp_path / "store")
    engine.commit(change(session("session-1", agent="codex"), relation("relation-1", reason="because"), batch="b"))
    engine.close()
    again = open_files(tmp_path / "store", cache=tmp_path / "another")

    assert everything(again, "session")[0].agent == "codex"
    assert everything(again, "relation")[0].reason == "because"
    assert '"codex"' in (tmp_path / "store" / "events.jsonl").read_text()
    again.close()


@pytest.mark.parametrize("name", ["memory.md", "events.jsonl", "queue", ".bak", "audit.jsonl"])
def test_a_link_that_leads_out_of_the_store_is_never_followed(tmp_path, name):
    engine = open_files(tmp_path / "store")
    Story(engine).remember("I pay in euros", kind="fiscal")
    engine.close()
    outside = tmp_path / "outside"
    (tmp_path / "store" / name).rename(outside)
    (tmp_path / "store" / name).symlink_to(outside)

    with pytest.raises(Corrupt, match="symbolic link"):
        open_files(tmp_path / "store")
    tried("A link that leads out of a folder", "store", "refused")


def test_a_path_that_is_no_folder_is_invalid(tmp_path):
    (tmp_path / "store").write_text("hello")
    with pytest.raises(Invalid):
        open_files(tmp_path / "store")


# --- erasing ---


def test_e10_no_file_keeps_a_word_of_a_purged_memory(tmp_path):
    engine = open_files(tmp_path / "store")
    story = Story(engine)
    cited = (Citation("file", "quagga.py", excerpt="quagga = 1"),)
    first = story.remember("The quagga runs at night over the plains", key="quagga-key", citations=cited)
    story.remember("The quagga sleeps all day long in the shade", key="quagga-key")
    waiting = story.remember("I pay my quagga in euros", kind="fiscal")
    story.promote(waiting)
    story.remember("We deploy on Fridays")
    everywhere = lambda: b"".join(e.read_bytes() for e in tmp_path.rglob("*") if e.is_file())  # noqa: E731
    assert b"quagga" in everywhere()

    assert story.purge(story.read(first.id)).traces == 0
    assert story.purge(story.read(waiting.id)).traces == 0
    assert b"quagga" not in everywhere()
    assert [each.text for each in everything(engine)] == ["We deploy on Fridays"]
    assert engine.check() == []
    engine.close()


def test_e10_a_copy_of_a_sync_tool_does_not_bring_a_purged_memory_back(tmp_path):
    engine = open_files(tmp_path / "store")
    story = Story(engine)
    made = story.remember("The quagga runs at night over the plains")
    story.remember("We deploy on Fridays")
    shutil.copy(tmp_path / "store" / "memory.md", tmp_path / "store" / "memory 2.md")
    story.purge(story.read(made.id))
    engine.check(repair=True)

    assert [each.text for each in everything(engine)] == ["We deploy on Fridays"]
    assert not any(b"quagga" in each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
    assert engine.check() == []
    engine.close()


def test_e10_what_was_undone_before_it_was_purged_leaves_nothing_either(tmp_path):
    engine = open_files(tmp_path / "store")
    story = Story(engine)
    story.remember("We deploy on Fridays")
    made = story.remember("I pay my quagga in euros", kind="fiscal")
    story.promote(made)
    other = story.remember("The quagga runs at night")
    for each in (story.read(made.id), other):
        drop = (("memory", each.id),)
        engine.commit(change(drops=drop, expects={each.id: each.revision}, batch=f"undo {each.id}", action="undo"))
        engine.commit(change(expects={}, erase=(each.id,), batch=f"purge {each.id}", action="purge"))

    assert b"quagga" not in b"".join(each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
    assert engine.check() == []
    engine.close()


def test_e10_a_piece_another_memory_holds_is_no_trace(tmp_path):
    engine = open_files(tmp_path / "store")
    text = "The zebra runs at night over the wide open plains of the north"
    story = Story(engine)
    gone = story.remember(text)
    story.remember(text, apart=True)

    assert story.purge(gone).traces == 0
    assert [each.text for each in everything(engine)] == [text]
    engine.close()


# --- stores of another program ---


def copied(tmp_path: Path, name: str) -> Path:
    """A store of the other program, with the modes it gives."""
    folder = tmp_path / "store"
    shutil.copytree(DATA / name, folder)
    for each in [folder, *folder.rglob("*")]:
        each.chmod(0o700 if each.is_dir() else 0o600)
    return folder


JUNE = datetime(2026, 6, 2, tzinfo=UTC)


def test_a_store_of_the_june_release_opens_and_shows_every_memory_with_its_status(tmp_path):
    folder = copied(tmp_path, "june")
    before = {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    engine = open_files(folder, clock=lambda: JUNE)
    told = {each.handle: each for each in everything(engine)}
    wanted = yaml.safe_load((DATA / "june" / "memory.md").read_text().split("---\n")[1])["items"]

    assert {handle: each.text for handle, each in told.items()} == {item["id"]: item["fact"] for item in wanted}
    assert {handle: each.status for handle, each in told.items()} == {i["id"]: i["status"] for i in wanted}
    assert standing(told["mem-0012"], JUNE) == "stale"
    assert (told["mem-0006"].held_for, told["mem-0008"].held_for) == ("curated_kind", "conflict")
    assert (told["mem-0002"].approved_by, told["mem-0001"].approved_by) == ("manual", "")
    after = {each: each.read_bytes() for each in before}
    audit = folder / "audit.jsonl"
    theirs, trail = before.pop(audit), after.pop(audit)
    assert trail.startswith(theirs)
    assert {json.loads(line)["op"] for line in trail[len(theirs) :].splitlines()} == {"adopted"}
    assert after == before
    assert [event.action for event in engine.events()] == ["adopted"]
    engine.close()


def test_a_june_store_whose_taking_in_was_cut_short_is_left_as_it_is_too(tmp_path):
    """Killed after the line of history, and before the trail knew of it."""
    folder = copied(tmp_path, "june")
    before = {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    open_files(folder, clock=lambda: JUNE).close()
    (folder / "audit.jsonl").write_bytes(before[folder / "audit.jsonl"])
    shutil.rmtree(tmp_path / "cache")
    engine = open_files(folder, clock=lambda: JUNE)

    assert len(engine.events()) == 1
    assert len(everything(engine)) == 10
    after = {each: each.read_bytes() for each in before}
    assert after.pop(folder / "audit.jsonl") != before.pop(folder / "audit.jsonl")
    assert after == before
    engine.close()


def test_after_our_writes_a_june_store_still_parses_and_keeps_what_it_had(tmp_path):
    folder = copied(tmp_path, "june")
    had, log = items(folder), (folder / "memory-log.md").read_text()
    engine = open_files(folder, clock=lambda: JUNE)
    story = Story(engine, start=86_400 * 150)
    new = story.remember("Use uv: never pip")
    story.promote(story.read(engine.get("memory", ["mem-0006"], MINE)["mem-0006"].id))
    now = items(folder)

    assert new.handle == "mem-0013"
    assert now["mem-0013"]["fact"] == "Use uv: never pip"
    untouched = ("mem-0001", "mem-0002", "mem-0003", "mem-0005", "mem-0007", "mem-0009")
    assert [now[handle] for handle in untouched] == [had[handle] for handle in untouched]
    assert (now["mem-0006"]["status"], now["mem-0006"]["dest"]) == ("promoted", "memory.md")
    assert now["mem-0012"] | {"learned_at": had["mem-0012"]["learned_at"]} == had["mem-0012"] | {"status": "stale"}
    done = json.loads((folder / "queue" / "_done" / "mem-0006.json").read_text())
    assert (list(done), done["memory"]["status"]) == (["memory", "dest", "diff", "reason"], "promoted")
    assert all(line in (folder / "memory-log.md").read_text() for line in log.splitlines())
    assert (folder / ".bak" / "0123456789ab.bak").exists()
    assert front(folder)["generated"] == "2026-06-02"
    engine.close()


def test_a_june_store_answers_the_same_without_the_index(tmp_path):
    folder = copied(tmp_path, "june")
    engine = open_files(folder, clock=lambda: JUNE)
    first = everything(engine)
    engine.close()
    again = open_files(folder, clock=lambda: JUNE, cache=tmp_path / "another")

    assert everything(again) == first
    assert [each.handle for each in everything(again)] == [each.handle for each in first]
    assert [each.code for each in again.check()] == ["queue", "body"]  # as that release leaves them
    assert wrong(again.check(repair=True)) == []
    again.close()


def test_a_store_of_a_later_release_keeps_its_projects_and_what_was_superseded(tmp_path):
    folder = copied(tmp_path, "later")
    had = items(folder)
    engine = open_files(folder, clock=lambda: JUNE)
    told = {each.handle: each for each in everything(engine)}

    assert told["mem-0001"].scope == Scope("project", "acme-api")
    assert told["mem-0002"].replaced_by == told["mem-0001"].id
    assert standing(told["mem-0002"], JUNE) == "replaced"
    story = Story(engine, start=86_400 * 150)
    story.remember("Use uv")
    old = story.read(told["mem-0002"].id)
    engine.commit(change(replace(old, seen=2, revision=2), was=old, batch="seen"))
    now = items(folder)
    assert [now[handle] for handle in ("mem-0001", "mem-0003")] == [had["mem-0001"], had["mem-0003"]]
    kept = ("status", "project", "superseded_by", "superseded_at", "superseded_reason")
    assert [now["mem-0002"][name] for name in kept] == [had["mem-0002"][name] for name in kept]
    assert wrong(engine.check(repair=True)) == []
    engine.close()


def test_unknown_keys_of_an_item_and_of_the_file_are_kept(tmp_path):
    text = SEED.replace(
        "    dest: memory-log.md\n", "    dest: memory-log.md\n    mood: [calm, 'so so']\n    # why\n"
    )
    text = text.replace("items:", "owner_note: |\n  two\n  lines\nitems:")
    engine = store_of(tmp_path / "store", text)
    first = engine.get("memory", ["mem-0001"], MINE)["mem-0001"]
    engine.commit(change(replace(first, pinned=True, revision=2), was=first, batch="pin"))
    now = (tmp_path / "store" / "memory.md").read_text()

    assert items(tmp_path / "store")["mem-0001"]["mood"] == ["calm", "so so"]
    assert items(tmp_path / "store")["mem-0001"]["pinned"] is True
    assert "    mood: [calm, 'so so']\n    # why\n" in now
    assert front(tmp_path / "store")["owner_note"] == "two\nlines\n"
    engine.close()


def test_comments_of_a_person_survive_our_writes_wherever_they_stand(tmp_path):
    comments = "# col zero note\n # one in\n    # at the keys\n          # far in\n"
    text = SEED.replace("    dest: memory-log.md\n", f"    dest: memory-log.md\n{comments}")
    text = text.replace("    kind: tooling\n", "    kind: tooling  # it's a remark\n")
    engine = store_of(tmp_path / "store", text)
    for revision in (1, 2):
        first = engine.get("memory", ["mem-0001"], MINE)["mem-0001"]
        after = replace(first, pinned=revision == 1, revision=revision + 1)
        engine.commit(change(after, was=first, batch=f"pin {revision}"))
    now = (tmp_path / "store" / "memory.md").read_text()

    assert now.count(comments) == now.count("# it's a remark\n") == 1
    assert engine.check() == []
    engine.close()


def test_numbers_have_gaps_after_a_purge_and_an_index_made_anew_knows_them(tmp_path):
    engine = open_files(tmp_path / "store")
    story = Story(engine)
    for n in range(4):
        story.remember(f"note {n}")
    for handle in ("mem-0002", "mem-0004"):
        story.purge(engine.get("memory", [handle], MINE)[handle])
    engine.close()
    again = open_files(tmp_path / "store", cache=tmp_path / "another")

    assert sorted(each.handle for each in everything(again)) == ["mem-0001", "mem-0003"]
    assert Story(again, start=50).remember("note 9").handle == "mem-0005"
    again.close()


def test_a_copied_store_begins_a_chain_of_its_own(tmp_path):
    engine = open_files(tmp_path / "store", "first")
    Story(engine).remember("We deploy on Fridays")
    engine.close()
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    copy = open_files(tmp_path / "copy", "second")
    Story(copy, start=20).remember("Use uv")
    Story(copy, start=30).remember("Use ruff")

    assert [(event.replica, event.position) for event in copy.events()] == [
        ("first", 1),
        ("second", 1),
        ("second", 2),
    ]
    assert copy.check() == []
    copy.close()


def test_where_the_cache_cannot_be_written_the_store_is_used_without_it(tmp_path):
    (tmp_path / "cache").write_text("no folder")
    engine = open_files(tmp_path / "store")
    Story(engine).remember("We deploy on Fridays")
    engine.close()
    again = open_files(tmp_path / "store")

    assert [each.text for each in everything(again)] == ["We deploy on Fridays"]
    again.close()


def test_a_damaged_index_is_made_anew(tmp_path):
    engine = open_files(tmp_path / "store")
    Story(engine).remember("We deploy on Fridays")
    engine.close()
    (index,) = (tmp_path / "cache").glob("*.db")
    index.write_bytes(b"garbage")
    again = open_files(tmp_path / "store")

    assert [each.text for each in everything(again)] == ["We deploy on Fridays"]
    again.close()


def test_a_new_day_refreshes_what_time_alone_has_changed(tmp_path):
    day = [START]
    engine = open_files(tmp_path / "store", clock=lambda: day[0])
    story = Story(engine)
    story.remember("We deploy on Fridays", decay="30d")
    day[0] = START + timedelta(60)
    story.remember("Use uv", decay="none")

    assert items(tmp_path / "store")["mem-0001"]["status"] == "stale"
    assert "Fridays" not in (tmp_path / "store" / "memory.md").read_text().split("---\n", 2)[2]
    assert engine.check() == []
    engine.close()
