"""JSON that is larger than memory: read element by element, whatever is wrong with some of them."""

import io
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import Corrupt, Invalid
from engram.interop import streams
from engram.interop.streams import Broken, as_text, elements, pieces

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def listed(text: str) -> list:
    return list(elements(io.StringIO(text)))


@given(st.lists(JSON), st.integers(1, 40))
def test_the_elements_of_a_list_come_one_by_one_whatever_is_read_at_a_time(values, chunk):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "CHUNK", chunk)
        assert listed(json.dumps(values)) == [("", value) for value in values]


@given(st.dictionaries(st.text(), JSON), st.integers(1, 40))
def test_the_members_of_an_object_come_with_their_names_and_lists_by_element(values, chunk):
    expected = [
        (name, each) for name, value in values.items() for each in (value if isinstance(value, list) else [value])
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "CHUNK", chunk)
        assert listed(json.dumps(values, indent=1)) == expected


@pytest.mark.parametrize(
    "damaged",
    ['{"a": nope}', '{"a" 1}', '{"a": [1, 2}, "b": 3]}', "nope", '{"a": "x" "y"}', "[[[", "}", '{"a": 01}'],
)
def test_a_damaged_element_is_told_and_the_others_are_read(damaged):
    found = listed(f'[{{"n": 1}}, {damaged}, {{"n": 2}}, {{"n": 3}}]' + " " * 40)
    assert found[0] == ("", {"n": 1})
    assert any(isinstance(value, Broken) for _, value in found)
    if damaged not in ("[[[", "}"):
        assert ("", {"n": 3}) in found


def test_brackets_and_commas_in_texts_do_not_lead_astray():
    odd = r'{"a": nope, "t": "a \" ] } , \\"}'
    assert listed(f'[{odd}, "]", 5]' + " " * 40)[1:] == [("", "]"), ("", 5)]


@given(st.lists(JSON, min_size=1), st.data())
def test_a_text_that_is_cut_off_says_so_and_never_hangs(values, data):
    text = json.dumps([{"v": value} for value in values])
    cut = data.draw(st.integers(0, len(text) - 1))
    found = [value for _, value in listed(text[:cut])]
    assert isinstance(found[-1], Broken)
    whole = [value for value in found if not isinstance(value, Broken)]
    assert whole == [{"v": value} for value in values][: len(whole)]


@given(st.text() | st.text('[]{}",:\\ 1e-'))
def test_any_text_at_all_ends_in_values_and_in_words_about_what_is_none(text):
    found = listed(text)
    assert all(isinstance(name, str) for name, _ in found)
    assert all(isinstance(value, Broken | dict | list | str | int | float | None) for _, value in found)
    if text.lstrip(" \t\r\n\ufeff\x1e")[:1] not in ("[", "{"):
        assert [type(value) for _, value in found] == [Broken]


def test_what_is_nested_too_deeply_is_passed_over():
    deep = "[" * 100_000 + "]" * 100_000
    found = listed(f'[{deep}, {{"n": 1}}]')
    assert isinstance(found[0][1], Broken)
    assert found[1] == ("", {"n": 1})


def test_a_number_of_too_many_digits_is_passed_over():
    assert listed(f'[1, {"9" * 5_000}, {{"a": {"9" * 5_000}}}, 2]' + " " * 40) == [
        ("", 1),
        *[("", Broken("A number in it has too many digits."))] * 2,
        ("", 2),
    ]


def test_an_element_beyond_the_limit_is_passed_over(monkeypatch):
    monkeypatch.setattr(streams, "LARGEST", 1000)
    monkeypatch.setattr(streams, "CHUNK", 100)
    found = listed(json.dumps(["x" * 5000, {"big": ["y" * 50] * 200}, 7]))
    assert [type(value) for _, value in found] == [Broken, Broken, int]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_mark_at_the_beginning_tells_the_encoding(encoding):
    raw = json.dumps(["größer 🐘"], ensure_ascii=False).encode(encoding)
    assert list(elements(as_text(io.BytesIO(raw), raw))) == [("", "größer 🐘")]


def pieced(raw: bytes, *within: str) -> list:
    return list(pieces(io.BytesIO(raw), within))


@given(st.lists(st.dictionaries(st.text(), JSON), min_size=1, max_size=3), st.integers(1, 40))
def test_documents_one_after_the_other_come_with_the_way_to_each_value(documents, chunk):
    expected = [
        ((name,), each)
        for document in documents
        for name, value in document.items()
        for each in (value if isinstance(value, list) else [value])
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "CHUNK", chunk)
        assert pieced("\n".join(map(json.dumps, documents)).encode()) == expected


def test_what_is_named_is_gone_into_and_all_else_comes_whole():
    raw = json.dumps({"result": {"points": [1, 2], "next": None}, "other": {"points": [3]}}).encode()
    found = [(("result", "points"), 1), (("result", "points"), 2), (("result", "next"), None)]
    assert pieced(raw, "result") == [*found, (("other",), {"points": [3]})]


@pytest.mark.parametrize("raw", [b'{"a": [1, 2', b'{"a": "wor', b'{"a"', b'{"a": {"b": 1', b"["])
def test_an_exact_reader_refuses_what_ends_in_the_middle_as_damaged(raw):
    with pytest.raises(Corrupt, match="ends in the middle"):
        pieced(raw)


@pytest.mark.parametrize(
    "raw", [b'{"a": nope, "b": 1}', b"{1: 2}", b'{"a" 1}', b"nope", '["Z\u00fcrich"]'.encode("latin-1")]
)
def test_an_exact_reader_refuses_what_is_no_json_or_no_utf8(raw):
    with pytest.raises(Invalid) as refused:
        pieced(raw)
    assert type(refused.value) is Invalid


class Endless(io.TextIOBase):
    """A list of so many elements of a kilobyte each, made as it is read."""

    def __init__(self, count: int) -> None:
        self._left = count
        self._buffer = "["

    def read(self, size: int = -1) -> str:
        while len(self._buffer) < size and self._left:
            self._left -= 1
            self._buffer += json.dumps({"text": "a word and another " * 50}) + ("," if self._left else "]")
        given, self._buffer = self._buffer[:size], self._buffer[size:]
        return given


def test_a_hundred_megabytes_take_few_of_memory():
    tracemalloc.start()
    count = sum(1 for _ in elements(Endless(100_000)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 100_000
    assert peak < 8 * 1024 * 1024
