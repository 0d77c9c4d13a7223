"""The Memory record: every limit, every check, and where it stands at a moment."""

import math
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import Invalid
from engram.model.limits import (
    AGO,
    AHEAD,
    LIMITS,
    LONGEST_SHOWN,
    MOST_ASSETS,
    MOST_CITATIONS,
    MOST_TAGS,
    WHOLE_DAY,
    at_moment,
    parse_decay,
    parse_moment,
    parse_time,
    print_time,
)
from engram.model.memory import Asset, Citation, Context, HeldFor, Memory, Status, clean_tags, standing
from engram.model.record import replace

START = datetime(2026, 1, 1, tzinfo=UTC)


def memory(**fields: object) -> Memory:
    values = {"id": "m", "text": "words", "status": "promoted", "created_at": START, "updated_at": START} | fields
    return Memory(**values)


# --- what is shown of it among others ---

LONG = "A sentence of a text that nobody reads to its end. " * 6


@pytest.mark.parametrize(
    ("text", "summary", "shown"),
    [
        ("We deploy on Fridays", "", "We deploy on Fridays"),
        ("Nightly to S3 at 02:00", "Backups", "Backups: Nightly to S3 at 02:00"),
        ("Nightly to S3 at 02:00", "Backups.", "Backups. Nightly to S3 at 02:00"),
        ("Backups go to S3 at 02:00", "backups", "Backups go to S3 at 02:00"),
        ("All may push except the interns", "All may push…", "All may push except the interns"),
        ("All may push except the interns", "All may...", "All may push except the interns"),
        ("Categories are flat", "Cat", "Cat: Categories are flat"),
        ("Backups", "Backups go to S3", "Backups go to S3"),
        (LONG, "In short", "In short"),
        (LONG, "A sentence of a text", "A sentence of a text"),
        (LONG, "", LONG.strip()),
        ("x" * LONGEST_SHOWN, "In short", f"In short: {'x' * LONGEST_SHOWN}"),
        ("x" * (LONGEST_SHOWN + 1), "In short", "In short"),
    ],
)
def test_a_short_text_is_shown_itself_and_only_a_long_one_by_its_summary(text: str, summary: str, shown: str):
    assert memory(text=text, summary=summary).gist == shown


# --- times ---


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("2026-05-01", "2026-05-01T23:59:59.999999Z"),
        (" 20260501 ", "2026-05-01T23:59:59.999999Z"),
        ("2026-05-01T00:00", "2026-05-01T00:00:00.000000Z"),
        ("2026-05-01T12:00:00+02:00", "2026-05-01T10:00:00.000000Z"),
    ],
)
def test_a_date_alone_may_mean_all_of_its_day_and_a_time_means_just_that(said: str, meant: str):
    assert print_time(parse_time("x", said, whole_day=True)) == meant


def test_a_date_alone_is_the_beginning_of_its_day_elsewhere():
    assert print_time(parse_time("x", "2026-05-01")) == "2026-05-01T00:00:00.000000Z"


NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "marks", "meant"),
    [
        ("12h", (AGO,), "2026-05-01T00:00:00.000000Z"),
        (" 7d ", (AGO,), "2026-04-24T12:00:00.000000Z"),
        ("2w", (WHOLE_DAY, AGO), "2026-04-17T12:00:00.000000Z"),
        ("6m", (AGO,), "2025-11-02T12:00:00.000000Z"),
        ("1y", (AHEAD,), "2027-05-01T12:00:00.000000Z"),
        ("30d", (WHOLE_DAY, AHEAD), "2026-05-31T12:00:00.000000Z"),
        ("2026-04-30", (WHOLE_DAY, AGO), "2026-04-30T23:59:59.999999Z"),
        ("2026-04-30", (AGO,), "2026-04-30T00:00:00.000000Z"),
        (NOON, (AGO,), "2026-05-01T12:00:00.000000Z"),
    ],
)
def test_a_span_is_counted_from_now_in_the_direction_of_its_type(
    said: str | datetime, marks: tuple[str, ...], meant: str
):
    assert print_time(at_moment("x", said, marks, NOON)) == meant


def test_a_time_of_another_zone_is_the_same_moment_and_one_of_no_zone_is_none():
    there = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))

    assert at_moment("x", there, (AGO,), NOON).isoformat() == NOON.isoformat()
    for wrong in (NOON.replace(tzinfo=None), datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=9)))):
        with pytest.raises(Invalid, match=r"^x "):
            at_moment("x", wrong, (AGO,), NOON)


def test_a_span_stays_a_text_until_it_is_known_when_it_is_asked():
    assert parse_moment("x", " 7d ", (AGO,)) == "7d"
    assert parse_moment("x", "2026-05-01", (AGO,)) == parse_time("x", "2026-05-01")


@pytest.mark.parametrize(
    ("said", "marks", "why"),
    [
        (
            "yesterday",
            (AGO,),
            r"Write 2026-05-01 or 2026-05-01T12:00:00Z; or how long ago: 12h, 7d, 2w, 6m or 1y\.",
        ),
        ("soon", (AHEAD,), r"or how long from now: 12h, 7d, 2w, 6m or 1y\."),
        ("none", (AGO,), "cannot be 'none'"),
        ("d", (AGO,), "cannot be 'd'"),
        ("-7d", (AGO,), "cannot be '-7d'"),
        ("1.5d", (AGO,), "cannot be '1.5d'"),
        ("\u0667d", (AGO,), "cannot be"),
        ("7D", (AGO,), "cannot be '7D'"),
        ("0d", (AGO,), "'0d' is outside 1h to 200y"),
        ("9999999y", (AHEAD,), "outside 1h to 200y"),
        ("100y", (AGO,), "outside 1970 to 2199"),
        ("200y", (AHEAD,), "outside 1970 to 2199"),
        ("7d", (), r"Write 2026-05-01 or 2026-05-01T12:00:00Z\.$"),
    ],
)
def test_what_is_neither_a_time_nor_a_span_is_refused_with_what_could_be_said(
    said: str, marks: tuple[str, ...], why: str
):
    with pytest.raises(Invalid) as refused:
        at_moment("x", said, marks, NOON)

    assert re.search(why, f"{refused.value.message} {refused.value.hint}")


# --- limits ---

SIZED = [
    ("text", LIMITS["text"], lambda value: memory(text=value)),
    ("summary", 512, lambda value: memory(summary=value)),
    ("key", 120, lambda value: memory(key=value)),
    ("source", 128, lambda value: memory(source=value)),
    ("kind", 64, lambda value: memory(kind=value)),
    ("tag", 128, lambda value: memory(tags=(value,))),
    ("session", 256, lambda value: memory(session=value)),
    ("actor", 256, lambda value: memory(actor=value)),
    ("owner", 256, lambda value: memory(owner=value)),
    ("approved_by", 256, lambda value: memory(approved_by=value)),
    ("amends", 120, lambda value: memory(amends=value)),
    ("replaced_by", 120, lambda value: memory(replaced_by=value)),
    ("branch", 2048, lambda value: memory(branch=value)),
    ("ref", 1024, lambda value: Citation("file", value)),
    ("locator", 128, lambda value: Citation("file", "a.py", locator=value)),
    ("pin", 128, lambda value: Citation("file", "a.py", pin=value)),
    ("excerpt", 16 * 1024, lambda value: Citation("file", "a.py", excerpt=value)),
    ("context", 1024, lambda value: Context(repo=value)),
    ("name", 256, lambda value: Asset("0" * 64, name=value)),
]


@pytest.mark.parametrize(("field", "limit", "make"), SIZED)
def test_the_exact_limit_is_accepted_and_one_byte_more_names_field_limit_and_size(field, limit, make):
    make("x" * limit)
    with pytest.raises(Invalid) as refused:
        make("x" * (limit + 1))
    assert f"{field} is {limit + 1:,} bytes; the limit is {limit:,} bytes" in refused.value.message


@pytest.mark.parametrize("char", ["é", "日", "🦉"])
@pytest.mark.parametrize(("field", "limit", "make"), [row for row in SIZED if row[0] != "kind"])
def test_limits_count_utf_8_bytes(field, limit, make, char):
    width = len(char.encode())
    fits = char * (limit // width)
    make(fits + "x" * (limit - len(fits.encode())))
    with pytest.raises(Invalid, match=f"{field} is .* bytes"):
        make(fits + char)


@pytest.mark.parametrize(
    ("most", "make"),
    [
        (MOST_TAGS, lambda n: memory(tags=tuple(f"t{i}" for i in range(n)))),
        (MOST_CITATIONS, lambda n: memory(citations=(Citation("file", "a.py"),) * n)),
        (MOST_ASSETS, lambda n: memory(assets=(Asset("0" * 64),) * n)),
    ],
)
def test_how_many_there_may_be_is_limited(most, make):
    make(most)
    with pytest.raises(Invalid, match=f"There are {most + 1} [a-z]+; the limit is {most}"):
        make(most + 1)


# --- characters ---


@pytest.mark.parametrize("char", ["\x00", "\x07", "\x1b", "\x7f", "\x85", "\x9b"])
@pytest.mark.parametrize("field", ["text", "summary", "key", "source", "session"])
def test_control_characters_are_refused_with_their_name_and_place(field, char):
    with pytest.raises(Invalid, match=rf"U\+{ord(char):04X} at position 2"):
        memory(**{field: f"ab{char}c"})


def test_half_a_character_is_refused_as_no_utf_8():
    with pytest.raises(Invalid, match="text is not UTF-8 at position 2"):
        memory(text="ab\ud800c")


def test_text_has_lines_and_tabs_and_the_other_fields_have_one_line():
    assert memory(text="a\n\tb\r\nc").text == "a\n\tb\r\nc"
    for field in ("summary", "key", "source"):
        with pytest.raises(Invalid, match="single line"):
            memory(**{field: "a\nb"})


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_an_empty_text_is_refused(text):
    with pytest.raises(Invalid, match="empty"):
        memory(text=text)


@pytest.mark.parametrize(
    "fields",
    [
        {"id": ""},
        {"key": " k"},
        {"scope": "global"},
        {"tags": ("a", "a")},
        {"tags": ("",)},
        {"tags": (" a",)},
        {"origin": "guessed"},
        {"visibility": ""},
        {"status": "stale"},
        {"tier": 0},
        {"tier": 4},
        {"held_for": "fun"},
        {"importance": 0},
        {"importance": 11},
        {"importance": 5.5},
        {"importance": True},
        {"seen": -1},
        {"revision": 0},
        {"text": 7},
        {"valid_from": START, "valid_until": START},
    ],
)
def test_what_makes_no_sense_is_refused(fields):
    with pytest.raises(Invalid):
        memory(**fields)


def test_a_citation_needs_a_ref_and_one_of_six_kinds():
    for kind in ("file", "commit", "url", "repo", "session", "message"):
        Citation(kind, "x")
    with pytest.raises(Invalid):
        Citation("book", "x")
    with pytest.raises(Invalid):
        Citation("file", " ")


def test_an_asset_is_named_by_its_hash():
    for wrong in ("", "0" * 63, "A" * 64):
        with pytest.raises(Invalid):
            Asset(wrong)
    with pytest.raises(Invalid):
        Asset("0" * 64, size=-1)


def test_a_record_is_frozen_and_replaced_with_all_its_checks():
    one = memory()
    with pytest.raises(AttributeError):
        one.text = "other"
    assert replace(one, text="other").text == "other"
    with pytest.raises(Invalid):
        replace(one, text="")
    with pytest.raises(TypeError):
        memory(colour="red")


def test_a_handle_is_no_part_of_what_a_memory_is():
    assert memory(handle="mem-0001") == memory(handle="mem-0002")
    assert hash(memory(handle="mem-0001")) == hash(memory())


@given(st.lists(st.text(max_size=5)))
def test_clean_tags_are_distinct_trimmed_and_in_order(tags):
    clean = clean_tags(tags)
    assert clean == clean_tags(clean)
    assert all(tag and tag == tag.strip() for tag in clean)


# --- confidence ---


@pytest.mark.parametrize(
    ("said", "kept"), [(0, 0.0), (1, 1.0), (0.6, 0.6), (0.123, 0.12), (0.999, 1.0), (0.006, 0.01), (1e-9, 0.0)]
)
def test_confidence_is_kept_to_two_decimals(said, kept):
    assert memory(confidence=said).confidence == kept


@pytest.mark.parametrize("wrong", [-0.01, 1.01, math.nan, math.inf, True, "0.5", None])
def test_a_confidence_outside_0_to_1_is_refused(wrong):
    with pytest.raises(Invalid, match="confidence"):
        memory(confidence=wrong)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.integers(0, 400))
def test_effective_confidence_falls_with_age_and_keeps_the_order(one, two, days):
    now = START + timedelta(days=days)
    first, second = memory(confidence=one), memory(confidence=two)
    assert 0 <= first.effective_confidence(now) <= first.confidence
    if first.confidence < second.confidence:
        assert first.effective_confidence(now) <= second.effective_confidence(now)
    assert memory(confidence=one, decay="none").effective_confidence(now) == first.confidence


# --- decay and time ---


@pytest.mark.parametrize(
    ("decay", "days"),
    [("24h", 1), ("1d", 1), ("180d", 180), ("2w", 14), ("6m", 180), ("1y", 365), ("200y", 73_000)],
)
def test_decay_is_a_whole_number_and_a_unit(decay, days):
    assert parse_decay(decay) == timedelta(days=days)


def test_decay_none_never_goes_stale():
    assert parse_decay("none") is None
    assert memory(decay="none").stale_at is None


@pytest.mark.parametrize(
    "decay", ["", "d", "0d", "-1d", "+1d", "1.5d", "1 d", "1D", "201y", "99999999d", "\u0661d"]
)
def test_other_decays_are_refused(decay):
    with pytest.raises(Invalid, match="decay"):
        memory(decay=decay)


@pytest.mark.parametrize(
    "field", ["valid_from", "valid_until", "created_at", "verified_at", "reworded_at", "forgotten_at"]
)
@pytest.mark.parametrize(
    "wrong",
    [
        datetime(2026, 1, 1),  # noqa: DTZ001 - naive on purpose
        datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2))),
        datetime(1969, 12, 31, tzinfo=UTC),
        datetime(2200, 1, 1, tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
    ],
)
def test_absurd_naive_and_foreign_times_are_refused(field, wrong):
    with pytest.raises(Invalid, match=field):
        memory(**{field: wrong})


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("2026-05-01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-05-01T12:00:00Z", datetime(2026, 5, 1, 12, tzinfo=UTC)),
        ("2026-05-01T12:00:00+02:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
    ],
)
def test_times_and_dates_are_read_in_utc(said, read):
    assert parse_time("valid_from", said) == read


@pytest.mark.parametrize(
    "said", ["", "tomorrow", "2026-13-01", "0001-01-01", "9999-12-31", "0001-01-01T00:00+23:59"]
)
def test_what_is_no_time_is_refused(said):
    with pytest.raises(Invalid, match="valid_from"):
        parse_time("valid_from", said)


@given(st.datetimes(datetime(1970, 1, 1), datetime(2199, 12, 31)), st.datetimes(datetime(1970, 1, 1)))  # noqa: DTZ001
def test_printed_times_sort_as_times_do(one, two):
    one, two = one.replace(tzinfo=UTC), two.replace(tzinfo=UTC)
    assert (print_time(one) < print_time(two)) == (one < two)
    assert datetime.fromisoformat(print_time(one)) == one


# --- standing ---

HOUR = timedelta(hours=1)
NOW = START + timedelta(days=10)


@pytest.mark.parametrize(
    ("fields", "stands"),
    [
        ({}, "live"),
        ({"status": "pending"}, "pending"),
        ({"status": "rejected"}, "rejected"),
        ({"forgotten_at": START}, "forgotten"),
        ({"forgotten_at": START, "status": "rejected"}, "forgotten"),
        ({"replaced_by": "other"}, "replaced"),
        ({"valid_from": NOW}, "live"),
        ({"valid_from": NOW + HOUR}, "scheduled"),
        ({"valid_until": NOW + HOUR}, "live"),
        ({"valid_until": NOW}, "expired"),
        ({"decay": "10d"}, "live"),
        ({"decay": "239h"}, "stale"),
        ({"decay": "1d", "verified_at": NOW - HOUR}, "live"),
        ({"decay": "1h", "valid_until": NOW}, "expired"),
        ({"status": "pending", "held_for": "unmerged_branch", "branch": "b"}, "staged"),
        ({"status": "pending", "replaced_by": "other"}, "pending"),
        ({"status": "rejected", "decay": "1h"}, "rejected"),
    ],
)
def test_the_table_of_standings(fields, stands):
    assert standing(memory(**fields), NOW) == stands


def test_a_staged_memory_is_live_on_its_own_branch_only():
    staged = memory(status="pending", held_for="unmerged_branch", branch="acme/api@feature")
    assert standing(staged, NOW, "acme/api@feature") == "live"
    assert standing(staged, NOW, "acme/api@main") == "staged"
    assert standing(replace(staged, replaced_by="other"), NOW, "acme/api@feature") == "replaced"


@pytest.mark.parametrize(
    ("moments", "fresh"),
    [
        ({}, START),
        ({"reworded_at": START + HOUR}, START + HOUR),
        ({"verified_at": START + HOUR}, START + HOUR),
        ({"reworded_at": START + HOUR, "verified_at": START + 2 * HOUR}, START + 2 * HOUR),
        ({"reworded_at": START + 2 * HOUR, "verified_at": START + HOUR}, START + 2 * HOUR),
        ({"verified_at": START - HOUR}, START - HOUR),  # stale by hand
    ],
)
def test_age_counts_from_the_last_time_the_words_were_made_verified_or_changed(moments, fresh):
    one = memory(created_at=START, updated_at=START, decay="1d", confidence=0.5, **moments)

    assert (one.fresh_at, one.stale_at) == (fresh, fresh + 24 * HOUR)
    assert one.effective_confidence(fresh + 24 * HOUR) == 0.25


LIVES = st.fixed_dictionaries(
    {
        "status": st.sampled_from(get_args(Status)),
        "held_for": st.sampled_from(["unmerged_branch", *get_args(HeldFor)]),
        "forgotten_at": st.sampled_from([None, START]),
        "replaced_by": st.sampled_from(["", "other"]),
        "branch": st.sampled_from(["", "acme/api@feature"]),
    }
)


@given(LIVES)
def test_what_is_pending_and_not_forgotten_is_either_staged_or_waiting(fields):
    one = memory(**fields)
    elsewhere, here = standing(one, NOW), standing(one, NOW, one.branch)

    assert one.waiting == (elsewhere == "pending") == (here == "pending")
    assert (one.staged or one.waiting) == (one.status == "pending" and one.forgotten_at is None)
    assert not (one.staged and one.waiting)
    assert (elsewhere == "staged") == (one.staged and bool(one.branch))
    assert here != "staged"


@pytest.mark.parametrize(
    ("fields", "stands"),
    [
        ({"tier": 3, "status": "promoted"}, True),
        ({"tier": 3, "status": "promoted", "forgotten_at": START}, True),
        ({"tier": 3, "status": "pending"}, False),
        ({"tier": 2, "status": "promoted"}, False),
    ],
)
def test_what_stands_curated_is_of_tier_3_and_was_approved(fields, stands):
    assert memory(**fields).stands_curated is stands


@given(st.integers(0, 400), st.sampled_from(["1d", "30d", "none"]), st.none() | st.integers(0, 300))
def test_a_memory_is_stale_exactly_after_its_last_fresh_moment(days, decay, verified):
    one = memory(decay=decay, verified_at=None if verified is None else START + timedelta(days=verified))
    now = START + timedelta(days=days)
    assert (standing(one, now) == "stale") == (one.stale_at is not None and now > one.stale_at)


def test_messages_call_a_memory_by_its_handle_and_without_one_by_the_beginning_of_its_id():
    made = memory(id="01890a5d-ac96-774b-bcce-b302099a8057")

    assert made.called == "01890a5d-ac96"
    assert made.known_as("mem-0007").called == "mem-0007"
