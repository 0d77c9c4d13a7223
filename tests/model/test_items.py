"""A memory as an item of memory.v1: what stands there is read as it stands."""

import itertools
import json
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from engram.errors import Invalid
from engram.model.items import LATER, TWELVE, Style, item_in, print_item, read_item, read_record, reason_in
from engram.model.memory import Memory
from engram.model.record import replace

NOW = datetime(2026, 6, 2, tzinfo=UTC)
STYLE = Style()
KNOWN = Memory(id="known", text="We deploy on Fridays", status="promoted", created_at=NOW, updated_at=NOW)


# --- a status set by hand ---


@pytest.mark.parametrize("status", ["pending", "promoted", "rejected", "stale"])
def test_an_item_is_the_memory_that_its_other_keys_tell_of_beside_the_status_that_stands_there(status):
    forgotten = replace(KNOWN, status="pending", held_for="conflict", forgotten_at=NOW)
    written = print_item(forgotten, "mem-0001", NOW, STYLE)
    item = read_item(written.replace("status: rejected", f"status: {status}"), STYLE, NOW)

    assert (item.memory, item.status, item.settled) == (forgotten, status, True)


# --- why a memory waits in a queue ---


@pytest.mark.parametrize(
    ("envelope", "reason"),
    [
        ('{"routing": {"reason": "conflict"}}', "conflict"),
        ('{"memory": {}, "reason": "people needs review"}', "people needs review"),
        ('{"routing": 5, "reason": "sensitive"}', "sensitive"),
        ('{"routing": {}}', ""),
        ('{"routing": {"reason": []}}', ""),
        ('{"routing": {"reason": "\\ud800"}}', ""),
        ("[]", ""),
        ("[" * 100_000, None),
        ("", None),
        (b"\xff\xfe\xff", None),
    ],
)
def test_either_form_of_an_envelope_tells_its_reason_and_any_other_none(envelope, reason):
    assert reason_in(envelope) == reason


# --- what tells of no memory ---

ODD = (
    *(None, True, -1, 1e400, float("nan"), 10**30, "", "\ud800", "a\x00b", "\x85", "a\nb", "9" * 50, "2026-13-45"),
    *([], ["mem-0002"], [[["x"]]], ["\ud800"], {}, {"a": 1}, {"\ud800": [None]}),
)


@pytest.mark.parametrize("key", [*TWELVE, *LATER])
def test_an_envelope_with_any_value_under_any_key_tells_of_a_memory_or_of_none(key):
    said = read_record(print_item(KNOWN, "mem-0001", NOW, STYLE), STYLE)
    for value, status in itertools.product(ODD, ("pending", "superseded")):
        block = item_in(json.dumps({"memory": said | {"status": status, key: value}}), STYLE)
        block.encode()
        with suppress(Invalid):
            assert not block or print_item(read_item(block, STYLE, NOW).memory, "mem-0001", NOW, STYLE).encode()


@pytest.mark.parametrize("record", [{}, {"fact": "x"}, {"id": "mem-0001"}, {"id": 1, "fact": "x"}, [], None])
def test_what_has_no_id_or_says_nothing_is_no_memory(record):
    assert item_in(json.dumps(record), STYLE) == item_in(json.dumps({"memory": record}), STYLE) == ""


@pytest.mark.parametrize(
    "line",
    [
        "id: [mem-0002]",
        'fact: "lone \\ud800 half"',
        "project: [api]",
        "superseded_by: {}",
        'superseded_reason: "\\ud800"',
    ],
)
def test_a_value_that_no_memory_can_have_is_refused_by_its_key(line):
    key = line.partition(":")[0]
    said = "".join(
        f"    {name}: {value}\n" for name, value in {"id": "mem-0001", "fact": "x"}.items() if name != key
    )
    with pytest.raises(Invalid, match=f"^{key} cannot be") as refused:
        read_item(f"  - {line}\n{said}", STYLE, NOW)
    assert refused.value.field == key
