"""What a question says about time, and all that only looks like it."""

import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engram.recall.timewords import NOTHING, TimeAsked, asked

NOW = datetime(2026, 4, 15, 10, 30, tzinfo=UTC)
"""A Wednesday in the second quarter, in the sixteenth week."""


def moment(text: str) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


DATES = [
    # days
    ("What did we decide today?", "2026-04-15", "2026-04-16"),
    ("today", "2026-04-15", "2026-04-16"),
    ("What has been merged today?", "2026-04-15", "2026-04-16"),
    ("What broke yesterday?", "2026-04-14", "2026-04-15"),
    ("What do you know about yesterday's outage?", "2026-04-14", "2026-04-15"),
    ("the day before yesterday", "2026-04-13", "2026-04-14"),
    ("what did I say this morning", "2026-04-15", "2026-04-16"),
    ("What did we plan for tonight?", "2026-04-15", "2026-04-16"),
    ("Why did last night's build fail?", "2026-04-14T12:00", "2026-04-15T12:00"),
    ("What did we agree on last Monday?", "2026-04-13", "2026-04-14"),
    ("What did we agree on last Wednesday?", "2026-04-08", "2026-04-09"),
    ("What did we agree on Monday?", "2026-04-13", "2026-04-14"),
    ("What was decided on Wednesday?", "2026-04-08", "2026-04-09"),
    ("What changed since Sunday?", "2026-04-12", ""),
    ("this Tuesday", "2026-04-14", "2026-04-15"),
    ("3 days ago", "2026-04-12", "2026-04-13"),
    ("a day ago", "2026-04-14", "2026-04-15"),
    ("What broke 2 hours ago?", "2026-04-15T07:30", "2026-04-15T09:30"),
    # weeks, months, quarters, years: those of the calendar
    ("this week", "2026-04-13", "2026-04-20"),
    ("What happened last week?", "2026-04-06", "2026-04-13"),
    ("LAST WEEK'S INCIDENT", "2026-04-06", "2026-04-13"),
    ("the week before last", "2026-03-30", "2026-04-06"),
    ("last weekend", "2026-04-11", "2026-04-13"),
    ("this weekend", "2026-04-18", "2026-04-20"),
    ("What went wrong over the weekend?", "2026-04-11", "2026-04-13"),
    ("this month", "2026-04-01", "2026-05-01"),
    ("last month", "2026-03-01", "2026-04-01"),
    ("last quarter", "2026-01-01", "2026-04-01"),
    ("this quarter", "2026-04-01", "2026-07-01"),
    ("this year's goals", "2026-01-01", "2027-01-01"),
    ("last year", "2025-01-01", "2026-01-01"),
    ("two weeks ago", "2026-03-30", "2026-04-06"),
    ("a month ago", "2026-03-01", "2026-04-01"),
    ("14 months ago", "2025-02-01", "2025-03-01"),
    ("3 years ago", "2023-01-01", "2024-01-01"),
    ("more than two weeks ago", "", "2026-03-30"),
    ("less than 3 days ago", "2026-04-12", ""),
    # spans up to now
    ("in the last 3 days", "2026-04-12", "2026-04-16"),
    ("over the past two weeks", "2026-04-01", "2026-04-16"),
    ("in the past month", "2026-03-15", "2026-04-16"),
    ("the past week", "2026-04-08", "2026-04-16"),
    ("within the last 24 hours", "2026-04-14T10:30", "2026-04-16"),
    ("in the last few days", "2026-04-10", "2026-04-16"),
    # months by name
    ("What did we ship in May?", "2025-05-01", "2025-06-01"),
    ("in april", "2026-04-01", "2026-05-01"),
    ("in March", "2026-03-01", "2026-04-01"),
    ("in May 2023", "2023-05-01", "2023-06-01"),
    ("May 2023", "2023-05-01", "2023-06-01"),
    ("Sept. 2024", "2024-09-01", "2024-10-01"),
    ("during December", "2025-12-01", "2026-01-01"),
    ("last May", "2025-05-01", "2025-06-01"),
    ("last April", "2025-04-01", "2025-05-01"),
    ("this March", "2026-03-01", "2026-04-01"),
    ("in early May 2023", "2023-05-01", "2023-05-11"),
    ("mid-May 2023", "2023-05-11", "2023-05-21"),
    ("at the end of February 2024", "2024-02-20", "2024-03-01"),
    ("in the second week of November", "2025-11-01", "2025-12-01"),
    # days of a month
    ("What was said on 8 May, 2023?", "2023-05-08", "2023-05-09"),
    ("May 8", "2025-05-08", "2025-05-09"),
    ("8 May", "2025-05-08", "2025-05-09"),
    ("on 8 may", "2025-05-08", "2025-05-09"),
    ("the 8th of May 2023", "2023-05-08", "2023-05-09"),
    ("December 1,2023", "2023-12-01", "2023-12-02"),
    ("April 15", "2026-04-15", "2026-04-16"),
    ("April 16", "2025-04-16", "2025-04-17"),
    ("May 3-5, 2023", "2023-05-03", "2023-05-06"),
    ("the week of 10 May 2023", "2023-05-08", "2023-05-15"),
    ("the week before August 3, 2023", "2023-07-27", "2023-08-03"),
    ("around 8 May 2023", "2023-05-05", "2023-05-12"),
    ("on Friday, 3 April 2026", "2026-04-03", "2026-04-04"),
    # leap days and month ends
    ("29 February", "2024-02-29", "2024-03-01"),
    ("2024-02-29", "2024-02-29", "2024-03-01"),
    ("February 2024", "2024-02-01", "2024-03-01"),
    ("31 December 2025", "2025-12-31", "2026-01-01"),
    ("Q4 2025", "2025-10-01", "2026-01-01"),
    # numbers
    ("2023-05-08", "2023-05-08", "2023-05-09"),
    ("2023-05-08T12:00:00Z", "2023-05-08", "2023-05-09"),
    ("2023/05/08", "2023-05-08", "2023-05-09"),
    ("5/13/2023", "2023-05-13", "2023-05-14"),
    ("2023-05", "2023-05-01", "2023-06-01"),
    ("in 2022", "2022-01-01", "2023-01-01"),
    ("the year 2022", "2022-01-01", "2023-01-01"),
    ("at the end of 2025", "2025-09-01", "2026-01-01"),
    ("Q2 2025", "2025-04-01", "2025-07-01"),
    ("2025-Q2", "2025-04-01", "2025-07-01"),
    ("in Q3", "2025-07-01", "2025-10-01"),
    ("the second quarter of 2025", "2025-04-01", "2025-07-01"),
    ("H1 2025", "2025-01-01", "2025-07-01"),
    ("2025-W14", "2025-03-31", "2025-04-07"),
    # bounds
    ("What changed since June?", "2025-06-01", ""),
    ("since last Friday", "2026-04-10", ""),
    ("before June 2023", "", "2023-06-01"),
    ("before the end of May 2023", "", "2023-06-01"),
    ("until May 2023", "", "2023-06-01"),
    ("by 7 November, 2022", "", "2022-11-08"),
    ("after 2023-05-08", "2023-05-09", ""),
    ("from June 2023 onwards", "2023-06-01", ""),
    ("since 2024-01-01 but before 2024-03-01", "2024-01-01", "2024-03-01"),
    ("between 2023-05-08 and 2023-06-01", "2023-05-08", "2023-06-02"),
    ("between May and July 2023", "2023-05-01", "2023-08-01"),
    ("between May 2023 and July", "2023-05-01", "2023-08-01"),
    ("between November and February", "2025-11-01", "2026-03-01"),
    ("between 3 and 5 May 2023", "2023-05-03", "2023-05-06"),
    ("from 2021 to 2023", "2021-01-01", "2024-01-01"),
    ("in May or June", "2025-05-01", "2025-07-01"),
    # German
    ("Was haben wir heute gemacht?", "2026-04-15", "2026-04-16"),
    ("gestern Abend", "2026-04-14", "2026-04-15"),
    ("vorgestern", "2026-04-13", "2026-04-14"),
    ("Was war letzte Woche los?", "2026-04-06", "2026-04-13"),
    ("seit letzter Woche", "2026-04-06", ""),
    ("vorletzte Woche", "2026-03-30", "2026-04-06"),
    ("letztes Wochenende", "2026-04-11", "2026-04-13"),
    ("diesen Monat", "2026-04-01", "2026-05-01"),
    ("im letzten Quartal", "2026-01-01", "2026-04-01"),
    ("letztes Jahr", "2025-01-01", "2026-01-01"),
    ("vor drei Tagen", "2026-04-12", "2026-04-13"),
    ("vor einem Jahr", "2025-01-01", "2026-01-01"),
    ("in den letzten 3 Tagen", "2026-04-12", "2026-04-16"),
    ("seit zwei Wochen", "2026-04-01", "2026-04-16"),
    ("Was haben wir am Montag beschlossen?", "2026-04-13", "2026-04-14"),
    ("letzten Montag", "2026-04-13", "2026-04-14"),
    ("im März", "2026-03-01", "2026-04-01"),
    ("im Ma\u0308rz 2024", "2024-03-01", "2024-04-01"),
    ("Ende Mai", "2025-05-21", "2025-06-01"),
    ("am 8. Mai 2023", "2023-05-08", "2023-05-09"),
    ("08.05.2023", "2023-05-08", "2023-05-09"),
    ("vor dem 8. Mai 2023", "", "2023-05-08"),
    ("seit Juni", "2025-06-01", ""),
    ("bis Juni 2023", "", "2023-07-01"),
    ("im Jahr 2022", "2022-01-01", "2023-01-01"),
    ("im zweiten Quartal 2025", "2025-04-01", "2025-07-01"),
    ("KW 14", "2026-03-30", "2026-04-06"),
    ("zwischen Mai und Juli 2023", "2023-05-01", "2023-08-01"),
    ("vom 3. Mai bis zum 5. Juni 2023", "2023-05-03", "2023-06-06"),
]


@pytest.mark.parametrize(("question", "since", "until"), DATES, ids=[case[0] for case in DATES])
def test_a_date_is_read_as_a_half_open_interval_of_utc(question, since, until):
    found = asked(question, NOW)

    assert (moment(since), moment(until), "") == found[:3]
    assert found.said


ORDERS = [
    ("What is the latest decision on caching?", "newest", "the latest"),
    ("latest decision on caching", "newest", "latest"),
    ("our most recent incident", "newest", "our most recent"),
    ("Which key did we rotate most recently?", "newest", "most recently"),
    ("the newest note on retries", "newest", "the newest"),
    ("When was the last time we rotated keys?", "newest", "the last time"),
    ("What came out of our last retro?", "newest", "our last retro"),
    ("Which database do we currently use?", "newest", "currently"),
    ("What is the current status of the webhook?", "newest", "the current"),
    ("Which port is it on now?", "newest", "now"),
    ("Where do we stand right now with the import?", "newest", "right now"),
    ("What did we change recently?", "newest", "recently"),
    ("Was ist die neueste Entscheidung?", "newest", "die neueste"),
    ("Wann haben wir zuletzt deployt?", "newest", "zuletzt"),
    ("Welche Datenbank nutzen wir derzeit?", "newest", "derzeit"),
    ("What did we originally choose?", "oldest", "originally"),
    ("What was the original port?", "oldest", "the original"),
    ("When did we first use Redis?", "oldest", "first"),
    ("When was the flag first introduced?", "oldest", "first"),
    ("our earliest note on sharding", "oldest", "our earliest"),
    ("Which queue did we use initially?", "oldest", "initially"),
    ("Which queue did we use at first?", "oldest", "at first"),
    ("Welchen Port hatten wir ursprünglich?", "oldest", "ursprünglich"),
    ("Wann kam das zum ersten Mal vor?", "oldest", "zum ersten Mal"),
]


@pytest.mark.parametrize(("question", "order", "said"), ORDERS, ids=[case[0] for case in ORDERS])
def test_the_newest_or_the_oldest_is_asked_for(question, order, said):
    assert TimeAsked(None, None, order, said) == asked(question, NOW)


SILENT = [
    "",
    " \n",
    "Which port does the API listen on?",
    # words that are something else
    "first name",
    "the user's last name",
    "last call function",
    "What is the first argument of main?",
    "Which step comes first?",
    "When did the first build step fail?",
    "What did she prepare for the first time?",
    "last time zone",
    "the :latest tag",
    "Do we pin the latest tag?",
    "at the latest",
    "auto.offset.reset earliest",
    "Which cache is least recently used?",
    "most recently used first",
    "What is the current directory?",
    "What does now do?",
    "until now",
    "Which prefix is used now vs originally?",
    # months that are verbs and names
    "It may fail",
    "may 8",
    "retry 3 may fail",
    "the march of progress",
    "march forward",
    "Mark and April reviewed it",
    "What did May say about caching?",
    "before June left the team",
    "in April's review",
    "the difference between April and June",
    "in dec or oct notation",
    "the august assembly",
    # habits and the future
    "Which database do we use today?",
    "Do we deploy on Friday?",
    "What runs on Mondays?",
    "What happens every year in May?",
    "Was nutzen wir heute?",
    "Deployen wir am Freitag?",
    "What is due next week?",
    "tomorrow",
    "in three days",
    "this Friday",
    "this December",
    # counts
    "port 2022",
    "after 2000 requests",
    "in 2048 bits",
    "in 2022 lines",
    "nach 2000 Anfragen",
    "We keep logs of the last 30 days",
    "30 days",
    # parts of something longer
    '"last week"',
    "`today`",
    "last_week",
    "today()",
    "--since",
    "/var/log/2023-05-08/app.log",
    "backup_2023-05-08.tar.gz",
    "API version 2022-11-28",
    "CVE-2023-1234",
    # no such day, or none that counts
    "30 February 2023",
    "31 June",
    "2023-02-29",
    "2023-13-01",
    "0000-05-08",
    "9999-12-31",
    "12 May 1815",
    "99999 days ago",
    "999999 years ago",
    "999999999999 days ago",
    "0 days ago",
    "in the last 999999 years",
    "KW 60",
    "in Q5",
    # unclear
    "5/8/2023",
    "before the migration",
    "two weeks before August 11, 2023",
    "in 2021 and 2023",
    "not in May 2023",
    "last week or in January 2024?",
    "between June 2023 and May 2023",
    "the June release",
    "a few days ago",
    "2024",
]


@pytest.mark.parametrize("question", SILENT)
def test_what_only_looks_like_time_says_nothing(question):
    assert asked(question, NOW) == NOTHING


def test_an_interval_and_an_order_go_together():
    found = asked("What was the latest decision in May?", NOW)

    assert found == TimeAsked(moment("2025-05-01"), moment("2025-06-01"), "newest", "the latest, in May")


def test_the_first_day_of_the_week_is_monday():
    for day in range(13, 20):
        assert asked("this week", datetime(2026, 4, day, 23, 59, tzinfo=UTC))[:2] == (
            moment("2026-04-13"),
            moment("2026-04-20"),
        )
    assert asked("last week", datetime(2026, 4, 20, tzinfo=UTC)).since == moment("2026-04-13")


@pytest.mark.parametrize(
    ("now", "question", "since"),
    [
        ("2026-03-31", "in the last month", "2026-02-28"),
        ("2024-03-31", "in the last month", "2024-02-29"),
        ("2024-02-29", "in the past year", "2023-02-28"),
        ("2026-01-01", "last month", "2025-12-01"),
        ("2026-01-01", "yesterday", "2025-12-31"),
        ("2026-01-01", "last quarter", "2025-10-01"),
        ("2026-05-31", "in May", "2026-05-01"),
        ("2026-05-01", "in May", "2026-05-01"),
        ("2026-04-30", "in May", "2025-05-01"),
        ("2026-04-18", "over the weekend", "2026-04-18"),
        ("2026-04-19", "last weekend", "2026-04-11"),
    ],
)
def test_an_interval_begins_on_a_day_that_exists_and_has_come(now, question, since):
    assert moment(since) == asked(question, datetime.fromisoformat(now).replace(tzinfo=UTC)).since


def test_the_day_is_that_of_utc_wherever_the_clock_stands():
    tokyo = timezone(timedelta(hours=9))

    assert asked("today", datetime(2026, 4, 15, 3, tzinfo=tokyo)).since == moment("2026-04-14")
    assert asked("today", datetime(2026, 4, 15, 3)) == asked("today", datetime(2026, 4, 15, 3, tzinfo=UTC))  # noqa: DTZ001


def test_only_the_beginning_of_a_question_is_read_and_no_word_in_half():
    assert asked("last week " + "x" * 1000, NOW).said == "last week"
    assert asked("word " * 200 + "last week", NOW) == NOTHING
    assert asked("x" * 489 + " last weekend and more", NOW) == NOTHING


@pytest.mark.parametrize(
    "piece",
    ["x", "8 ", "in ", "may 8 and ", "2023-05-08 ", "when did it ", "last week of ", '"', " ", "between May and "],
)
def test_a_megabyte_is_answered_at_once(piece):
    question = piece * (1_000_000 // len(piece))
    asked(question, NOW)
    started = time.process_time()
    asked(question, NOW)

    assert time.process_time() - started < 0.1


WORDS = (
    "in on since before between and from to last this next may May 8 31 2023 0 99999 9999 2023-05-08 week weeks"
    " days ago today first the latest early Monday KW Q2 H1 / - . , ' 's \u017f \u0131 \u0130 \u0660 ² vor seit am"
    " im Ende Mai letzte Woche zwei Tagen heute bis und augu\u017ft f\u0130rst last-week \0 \ud800"
)
anything = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join))
moments = st.datetimes(datetime(1970, 1, 1), datetime(2199, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001


@given(anything, moments)
@example("augu\u017ft 8", NOW)
@example("8 Apr\u0130l", NOW)
@example("\u0661 May", NOW)
def test_every_text_is_read_and_every_interval_has_an_inside(text, now):
    found = asked(text, now)

    assert (found == NOTHING) == (not found.said)
    assert found.since is None or found.since.tzinfo is UTC
    assert found.until is None or found.until.tzinfo is UTC
    if found.since and found.until:
        assert found.since < found.until


@pytest.mark.parametrize("now", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_the_ends_of_time_are_no_fault(now):
    for question, *_ in DATES:
        found = asked(question, now)
        if found.since and found.until:
            assert found.since < found.until, question


def test_nothing_is_compiled_for_a_question_without_time():
    check = (
        "import datetime, engram.recall.timewords as words, engram.recall.timewords_lexicon as lexicon;"
        "words.asked('Which port does the API listen on?', datetime.datetime.now(datetime.UTC));"
        "print(lexicon.compiled.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "0"
