"""Whose word counts between stores: what has to wait, and events in this store's own words."""

from datetime import timedelta

import pytest

from engram.model.event import Edit, Event
from engram.model.limits import print_time
from engram.model.memory import Citation, Context
from engram.model.scope import Scope
from engram.rules import hearing
from engram.rules.hearing import Trust
from engram.rules.joining import join
from engram.rules.merge import states
from rules.histories import changing, making, relation, said, session, telling
from rules.world import START, memory

EVERYBODY = Trust()
WARY = Trust(strangers={"stranger": 0}, owner="alex")


# --- what has to wait ---


def test_the_first_events_of_a_stranger_count_and_the_ones_after_wait():
    trust = Trust(strangers={"stranger": 2})

    counted = [trust.counts(making(memory(), replica="stranger", position=at)) for at in (1, 2, 3)]
    assert counted == [True, True, False]
    assert trust.counts(making(memory(), replica="friend", position=99))


def test_an_event_may_be_dated_a_day_ahead_of_our_clock_and_no_more():
    event = making(memory())

    assert not hearing.is_ahead(event, START - timedelta(days=1))
    assert hearing.unready(event, START - timedelta(days=1)) == ""
    assert hearing.is_ahead(event, START - timedelta(days=1, microseconds=1))
    why = hearing.unready(event, START - timedelta(days=1, microseconds=1))
    assert why == "it is dated 2026-01-01, which has not come yet"


KEY = "AKIA" + "IOSFODNN7EXAMPLQ"


@pytest.mark.parametrize(
    "event",
    [
        making(memory(text=f"Use {KEY}")),
        making(memory(citations=(Citation("message", "m", excerpt=f"Use {KEY}"),))),
        making(session(name=KEY)),
        making(relation(evidence=f"He said {KEY}")),
        said("mine", changing("text", "Use the new key", f"Use {KEY}")),
        said("mine", changing("tags", ["a", KEY])),
        said("mine", changing("pinned", True), note={"reason": f"because of {KEY}"}),
        telling(memory(context=Context(repo=KEY)), "mine"),
    ],
    ids=["text", "excerpt", "session", "evidence", "old words", "tags", "reason", "told whole"],
)
def test_an_event_that_holds_a_secret_waits(event: Event):
    assert hearing.secrets(event) == "it holds a secret (aws-access-key), to be scrubbed where it comes from"
    assert [one.why for one in join({}, [event], {}, EVERYBODY, START).waiting] == [hearing.secrets(event)]


def test_names_that_programs_give_are_no_secrets_and_no_nesting_is_too_deep_to_be_looked_through():
    name = "ses_6b2f0c1a4ffe" + "Xk3PqLw9ZtYvBn"
    deep: object = f"Use {KEY}"
    for _ in range(900):
        deep = [deep]

    cited = (Citation("session", name), Citation("message", name, name))
    assert hearing.secrets(making(memory(session=name, citations=cited), session(id=name, name=name))) == ""
    assert "aws-access-key" in hearing.secrets(said("mine", changing("text", "x"), note={"reason": deep}))


def test_an_event_that_tells_of_more_than_it_says_waits_but_an_erasure_tells_whom_it_frees():
    edit = changing("text", "Other words")

    assert "more than it says" in hearing.unready(said("a", edit, subjects=("memory-2",)), START)
    assert hearing.unready(said("a", edit), START) == ""
    assert hearing.unready(said("a", edit, subjects=("memory-2",), action="purge"), START) == ""


def test_a_stranger_may_make_a_memory_and_weigh_it():
    made = making(memory(), replica="stranger")
    weighed = said("stranger", changing("pinned", new=True), position=2)

    assert hearing.distrusted(made, {}, WARY) == ""
    assert hearing.distrusted(weighed, {"memory-1": [made]}, WARY) == ""
    assert hearing.distrusted(telling(memory(), "stranger"), {}, WARY) == ""
    assert hearing.distrusted(made._replace(payload=None), {}, WARY) == ""


@pytest.mark.parametrize(
    "event",
    [
        said("stranger", subjects=("memory-1",), action="purge"),
        making(relation(), replica="stranger"),
        said("stranger", changing("id", None, "memory-1")),
        said("stranger", changing("status", "promoted")),
        said("stranger", changing("pinned", new=True), changing("visibility", "shared")),
        said("stranger", Edit("relation", "rel-1", "kind", "related", "conflicts")),
    ],
)
def test_a_stranger_neither_erases_nor_judges_nor_decides(event: Event):
    assert "not accepted here" in hearing.distrusted(event, {}, WARY)
    assert hearing.distrusted(event, {}, EVERYBODY) == ""


def test_a_stranger_changes_nothing_that_others_had_a_word_in():
    known = {"memory-1": [making(memory())]}

    assert hearing.distrusted(said("stranger", changing("pinned", new=True)), known, WARY)
    assert hearing.distrusted(telling(memory(), "stranger"), known, WARY)
    assert hearing.distrusted(telling(memory(), "stranger"), {"memory-2": known["memory-1"]}, WARY) == ""


def test_what_a_stranger_makes_is_held_and_belongs_to_who_takes_it_in():
    made = making(memory(owner="mallory", approved_by="mallory"), replica="stranger")
    told = telling(memory(owner="mallory", approved_by="mallory"), "stranger")

    for event in (made, told):
        values = states([hearing.heard(event, WARY)])["memory-1"].values()
        assert (values["held_for"], values["owner"]) == ("untrusted_origin", "alex")
        assert not {"status", "approved_by"} & values.keys()
        assert values["text"] == "We deploy on Fridays"
        trusted = states([hearing.heard(event, EVERYBODY)])["memory-1"].values()
        assert (trusted["owner"], trusted["status"]) == ("mallory", "promoted")


@pytest.mark.parametrize("trust", [WARY, EVERYBODY])
def test_no_words_are_heard_as_younger_than_whoever_says_so(trust: Trust):
    ahead, before = START + timedelta(days=9000), START - timedelta(days=9)
    for by in (making, telling):
        event = by(memory(reworded_at=ahead), replica="stranger")
        fields = states([hearing.heard(event, trust)])["memory-1"].fields
        assert fields["reworded_at"][1] == fields["reworded_at"][0].time[:27]
        known = by(memory(reworded_at=before), replica="stranger")
        assert states([hearing.heard(known, trust)])["memory-1"].values()["reworded_at"] == print_time(before)
    assert hearing.heard(said("stranger", changing("reworded_at", 7)), trust).payload.edits[0].new == 7


@pytest.mark.parametrize("trust", [WARY, EVERYBODY])
def test_who_tells_of_words_to_come_dates_them_no_later_than_the_telling(trust: Trust):
    event = telling(memory(reworded_at=START + timedelta(days=9000)), "stranger", seconds=9000 * 86400)
    fields = states([hearing.heard(event, trust)])["memory-1"].fields
    assert fields["reworded_at"][0].time == event.time
    assert fields["reworded_at"][1] == event.time[:27]


def test_a_strangers_session_is_heard_as_it_is_and_an_edit_makes_nothing_wait():
    begun, told = making(session(), replica="stranger"), telling(session(owner="mallory"), "stranger")
    weighed = said("stranger", changing("pinned", new=True))

    assert "held_for" not in states([hearing.heard(begun, WARY)])["ses-1"].values()
    assert states([hearing.heard(told, WARY)])["ses-1"].values()["owner"] == "mallory"
    assert hearing.heard(weighed, WARY) == weighed
    assert hearing.heard(weighed._replace(payload=None), WARY) == weighed._replace(payload=None)


def test_projects_and_owners_are_heard_by_the_names_they_have_here():
    theirs = memory(scope=Scope.parse("project:theirs@eval"), owner="alexandra")
    trust = Trust(names={"there": {"project:theirs": "project:ours"}}, owners={"there": {"alexandra": "alex"}})

    for event in (making(theirs, replica="there"), telling(theirs, "there")):
        values = states([hearing.heard(event, trust)])["memory-1"].values()
        assert (values["scope"], values["owner"]) == ("project:ours@eval", "alex")
    untouched = making(theirs, replica="elsewhere")
    assert hearing.heard(untouched, trust) == untouched


def test_where_a_server_says_whose_a_record_is_only_they_and_the_server_change_it():
    made = making(memory(owner="alexandra"), replica="there")
    mine = said("here", changing("text", "Mine now"))
    theirs = said("there", changing("text", "Better"))
    told = [made, mine, theirs]

    def mute(owner: str, *vouched: str) -> frozenset[str]:
        return hearing.out_of_turn("memory-1", told, Trust(owner=owner, vouched=vouched))

    assert mute("alex", "there") == {mine.id}
    assert mute("alex") == mute("alexandra", "there") == mute("alex", "there", "here") == frozenset()
    told[1] = mine._replace(action="join")
    assert mute("alex", "there") == frozenset()


@pytest.mark.parametrize(
    ("trust", "scope", "owner"),
    [
        (Trust(names={"there": {"project:theirs": "project:ours"}}), "project:ours", "alexandra"),
        (Trust(owners={"there": {"alexandra": "alex"}}), "project:theirs", "alex"),
        (Trust(bound={"there": "kim"}), "project:theirs", "kim"),
    ],
)
def test_each_name_is_heard_as_ours_by_itself(trust: Trust, scope: str, owner: str):
    event = making(memory(scope=Scope.parse("project:theirs"), owner="alexandra"), replica="there")
    values = states([hearing.heard(event, trust)])["memory-1"].values()

    assert (values["scope"], values["owner"]) == (scope, owner)


def test_a_replica_that_is_bound_to_an_owner_speaks_for_nobody_else():
    trust = Trust(bound={"there": "kim"}, owners={"there": {"alex": "robin"}})

    for event in (making(memory(), replica="there"), telling(memory(), "there")):
        assert states([hearing.heard(event, trust)])["memory-1"].values()["owner"] == "kim"
    nobody = said("there", changing("owner", None, "alex"))
    assert hearing.heard(nobody, trust).payload.edits[0].new is None
    lost = making(memory(), replica="there")._replace(payload=None)
    assert hearing.heard(lost, trust) == lost


def test_a_secret_is_seen_in_records_that_are_told_whole_and_in_what_is_noted_before_and_after():
    def noted(text: str, before: str, after: str) -> Event:
        told = telling(memory(text=text), "mine")
        assert told.payload
        note = {"before": before, **(told.payload.note or {}), "after": after}
        return told._replace(payload=told.payload._replace(note=note))

    secret, plain = f"Use {KEY}", "Use the vault"
    assert hearing.secrets(noted(plain, plain, plain)) == ""
    for texts in ((secret, plain, plain), (plain, secret, plain), (plain, plain, secret)):
        assert "aws-access-key" in hearing.secrets(noted(*texts))


def test_an_event_tells_of_what_it_edits_and_of_what_it_tells_whole():
    assert hearing.told_of(telling(memory(), "mine")) == [memory().id]
    assert hearing.told_of(said("mine", changing("text", "x"))) == ["memory-1"]
    assert hearing.told_of(said("mine", subjects=("memory-1",))._replace(payload=None)) == []


def test_what_a_server_never_told_of_belongs_to_nobody_else():
    trust = EVERYBODY._replace(vouched=frozenset({"server"}))
    events = [said("server", changing("text", "x", id="another")), said("mine", changing("text", "y"))]

    assert hearing.out_of_turn("memory-1", events, trust) == frozenset()


def test_only_when_words_were_worded_is_heard_otherwise_and_an_event_of_nothing_else_too():
    ahead = memory(reworded_at=START + timedelta(days=9000))
    event = said("stranger", changing("reworded_at", print_time(START + timedelta(days=9000))))

    assert hearing.heard(event, EVERYBODY).payload.edits[0].new == event.time[:27]
    values = states([hearing.heard(making(ahead), EVERYBODY)])["memory-1"].values()
    assert (values["text"], values["owner"]) == (ahead.text, ahead.owner)


def test_words_that_are_told_of_later_are_no_younger_than_their_stamp():
    told = telling(memory(reworded_at=START - timedelta(seconds=5)), "stranger", seconds=-10)

    stamp, moment = states([hearing.heard(told, EVERYBODY)])["memory-1"].fields["reworded_at"]
    assert moment == stamp.time[:27] == print_time(START - timedelta(seconds=10))
