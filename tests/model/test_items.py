"""A memory as an item of memory.v1: what stands there is read as it stands."""

from datetime import UTC, datetime

import pytest

from engram.model.items import Style, print_item, read_item, reason_in
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
        ("[]", ""),
        ("[" * 100_000, None),
        ("", None),
        (b"\xff\xfe\xff", None),
    ],
)
def test_either_form_of_an_envelope_tells_its_reason_and_any_other_none(envelope, reason):
    assert reason_in(envelope) == reason
