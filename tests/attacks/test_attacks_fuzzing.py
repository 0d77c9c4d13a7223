"""Parsers on bytes that nobody of ours wrote: they answer or refuse, and nothing else is ever raised."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.ledger import tried
from attacks.targets import REFUSALS, TARGETS

DOORS = {
    "files": "store",
    "journals": "store",
    "chunks": "sync",
    "payloads": "sync",
    "filters": "HTTP",
    "settings": "CLI",
    "scopes": "CLI",
    "hooks": "hook",
}
CORPUS = Path(__file__).with_name("corpus")
SEEDS = {name: [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))] for name in TARGETS}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def changed(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """Something that was right, with a few bytes of it cut, doubled or replaced; or bytes; or any JSON."""
    sort = draw(st.sampled_from(["seed", "seed", "seed", "bytes", "json"]))
    if sort == "bytes":
        return draw(st.binary(max_size=300))
    if sort == "json" or not seeds:
        return json.dumps(draw(VALUES)).encode()
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 4))):
        at, size = draw(st.integers(0, len(data))), draw(st.integers(0, 12))
        put = draw(
            st.sampled_from(
                [
                    b"",
                    data[at : at + size] * 2,
                    b"\x00",
                    b"\n",
                    b'"',
                    b"{",
                    b"[[",
                    b"\xff",
                    b": &a *a",
                    b"-",
                    b"9" * 30,
                ]
            )
        )
        data = data[:at] + put + data[at + size :]
    return data


@pytest.mark.parametrize("target", TARGETS)
def test_a_parser_answers_or_refuses(target: str):
    @settings(max_examples=120, derandomize=True, database=None)
    @given(changed(SEEDS[target]))
    def read(data: bytes) -> None:
        try:
            TARGETS[target](data)
        except REFUSALS:
            return

    read()
    tried(
        "Bytes that are no files, rows, chunks, filters or hooks of ours",
        DOORS.get(target, "import"),
        "a plain error",
    )


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_kept_of_earlier_hunts_is_read_or_refused(target: str):
    assert SEEDS[target]
    for data in SEEDS[target]:
        try:
            TARGETS[target](data)
        except REFUSALS:
            continue
