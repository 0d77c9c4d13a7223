"""What every record does: made whole or not at all, checked where it was given something."""

import pytest

from engram.errors import Invalid
from engram.model.record import Record


def check_even(value: int) -> None:
    if value % 2:
        raise Invalid("odd")


class Pair(Record):
    CHECKS = {"first": check_even, "second": check_even}  # noqa: RUF012 - as records do it

    first: int
    second: int = 4
    label: str = ""

    def _check(self) -> None:
        if self.first > self.second:
            raise Invalid("out of order")


def test_a_record_is_the_same_by_place_by_name_and_from_values():
    assert Pair(2, 6, "x") == Pair(first=2, second=6, label="x") == Pair.of({"label": "x", "second": 6, "first": 2})
    assert Pair(2) == Pair.of({"first": 2}) == Pair(2, 4, "")


@pytest.mark.parametrize("values", [{}, {"second": 2}, {"first": 2, "third": 2}, {"third": 2}], ids=str)
def test_what_misses_a_field_or_has_another_is_no_record(values):
    with pytest.raises(TypeError):
        Pair(**values)
    with pytest.raises(TypeError):
        Pair.of(values)


def test_more_values_than_fields_are_refused():
    with pytest.raises(TypeError):
        Pair(2, 4, "", 8)


@pytest.mark.parametrize("values", [{"first": 1}, {"first": 2, "second": 5}, {"first": 6}], ids=str)
def test_each_given_field_is_checked_and_then_all_together(values):
    for make in (lambda: Pair(**values), lambda: Pair.of(values), lambda: Pair(*values.values())):
        with pytest.raises(Invalid):
            make()
