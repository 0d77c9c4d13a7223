"""Handles, prefixes and page cursors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import Invalid
from engram.model.refs import handle_number, print_handle, read_cursor, write_cursor


@given(st.sampled_from(["memory", "session", "relation"]), st.integers(1, 10**9))
def test_a_handle_is_read_as_it_was_printed(type, number):
    assert handle_number(type, print_handle(type, number)) == number


def test_a_handle_has_at_least_four_digits():
    assert print_handle("memory", 1) == "mem-0001"
    assert print_handle("session", 12345) == "ses-12345"


@pytest.mark.parametrize("ref", ["mem-1", "MEM-0001", "mem-0001", "mem-00001"])
def test_a_handle_is_read_with_any_zeros_and_case(ref):
    assert handle_number("memory", ref) == 1


@pytest.mark.parametrize(
    "ref", ["", "mem", "mem-", "mem-x", "ses-0001", "mem--1", "mem-1.0", "mem-\u0661", "mem-" + "9" * 16]
)
def test_what_is_no_handle_of_a_memory(ref):
    assert handle_number("memory", ref) is None


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_cursor_is_read_as_it_was_written(created, id):
    assert read_cursor(write_cursor(created, id)) == (created, id)


@given(st.text(max_size=40))
def test_any_other_text_is_refused_as_a_cursor(text):
    try:
        place = read_cursor(text)
    except Invalid:
        return
    assert all(isinstance(part, str) for part in place)


@pytest.mark.parametrize("cursor", ["", "x", "e30", "WzFd", "WzEsMl0", "\u65e5", "[]"])
def test_what_is_no_cursor_is_refused(cursor):
    with pytest.raises(Invalid, match="cursor"):
        read_cursor(cursor)
