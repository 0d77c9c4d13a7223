"""The export's own form, line by line."""

import hashlib
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.strategies import whole_memories
from engram.errors import Corrupt, Invalid
from engram.interop import jsonl
from engram.model.codec import encode
from engram.model.memory import Memory
from engram.model.relation import Relation
from engram.model.session import Session

START = datetime(2026, 1, 1, tzinfo=UTC)
ONE = Memory(id="m", text="words", owner="", created_at=START, updated_at=START)


@given(st.lists(whole_memories(), max_size=4))
def test_memories_are_read_as_they_were_written(memories):
    assert list(jsonl.read(jsonl.write(memories, START))) == memories


def test_every_line_is_one_line_of_json_between_a_header_and_a_footer():
    lines = list(jsonl.write([ONE, ONE], START))
    assert all("\n" not in line for line in lines)
    header, *rows, footer = [json.loads(line) for line in lines]
    assert header == {"format": "engram.export", "version": 2, "exported_at": "2026-01-01T00:00:00.000000Z"}
    assert [list(row) for row in rows] == [["memory"], ["memory"]]
    assert footer["footer"]["memories"] == 2


def test_an_export_of_version_1_is_read_as_it_was_written_then():
    lines = ['{"format":"engram.export","version":1,"exported_at":"2026-01-01T00:00:00.000000Z"}']
    lines.append(json.dumps({"memory": encode(ONE)}, separators=(",", ":")))
    sealed = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    lines.append(json.dumps({"footer": {"memories": 1, "sha256": sealed}}))
    assert list(jsonl.read(lines)) == [ONE]


def test_sessions_and_relations_travel_too():
    session = Session(id="s", name="s", owner="", started_at=START)
    relation = Relation(
        id="r", from_id="m", to_id="n", kind="supersedes", owner="", created_at=START, updated_at=START
    )
    lines = list(jsonl.write([session, ONE, relation], START))
    assert list(jsonl.read(lines)) == [session, ONE, relation]
    footer = json.loads(lines[-1])["footer"]
    assert (footer["memories"], footer["sessions"], footer["relations"]) == (1, 1, 1)


def test_line_ends_and_blank_lines_of_other_systems_do_no_harm():
    lines = list(jsonl.write([ONE], START))
    assert list(jsonl.read([f"{line}\r\n" for line in lines])) == [ONE]
    assert list(jsonl.read([lines[0], "\n", *lines[1:], "\n"])) == [ONE]


def test_memories_are_made_as_they_are_asked_for():
    made = []

    def some():
        for _ in range(3):
            made.append(1)
            yield ONE

    lines = jsonl.write(some(), START)
    next(lines)
    next(lines)
    assert len(made) == 1


def test_a_header_after_a_blank_line_is_checked_too():
    newer = '{"format":"engram.export","version":3}'
    sealed = hashlib.sha256(f"{newer}\n".encode()).hexdigest()
    footer = json.dumps({"footer": {"memories": 0, "sha256": sealed}})
    with pytest.raises(Invalid):
        list(jsonl.read(["\n", newer, footer]))


@pytest.mark.parametrize("line", ["{", "[]", '"x"', "null"])
def test_a_line_that_is_no_object_is_named(line):
    lines = list(jsonl.write([ONE], START))
    with pytest.raises(Corrupt, match="Line 2"):
        list(jsonl.read([lines[0], line, *lines[1:]]))


def test_a_line_that_is_no_utf_8_is_named():
    lines = list(jsonl.write([ONE], START))
    broken = b'{"memory":{"text":"\xff"}}'.decode("utf-8", "surrogateescape")
    with pytest.raises(Invalid, match="Line 1 of the export is not UTF-8 text"):
        list(jsonl.read([lines[0][:-1] + f',"by":{broken}}}']))
    with pytest.raises(Invalid, match="Line 3 of the export is not UTF-8 text"):
        list(jsonl.read([*lines[:2], broken]))
