"""The copy of a memory without its secrets: what it is, what is tied to it, and what becomes of the memory."""

import uuid
from typing import Any

import pytest

from engram.errors import Forbidden, Unconfirmed
from engram.model.memory import Context, Memory
from engram.model.relation import Relation
from engram.model.scope import Scope
from engram.model.session import Session, session_ids
from engram.rules.relations import pair_id
from engram.rules.scrubbing import (
    Clean,
    cleaned,
    cleaned_session,
    erase,
    erase_alone,
    hidden,
    put_copy,
    put_session,
    tell,
)
from rules.world import AGENT, OTHER, PERSON, START, memory, request

KEY = "AKIA" + "IOSFODNN7EXAMPLQ"
SURE = request(confirmed="flag")


def secret(**fields: Any) -> Memory:
    return memory(text=f"The bucket is reached with {KEY}", **({"key": "bucket", "revision": 4} | fields))


def copied(one: Memory) -> Memory:
    copy, _ = cleaned(one)
    assert copy is not None
    return copy


def tie(first: str, second: str, **fields: Any) -> Relation:
    values = {"kind": "related", "owner": PERSON.owner, "created_at": START, "updated_at": START, "revision": 3}
    return Relation(id="rel-1", from_id=first, to_id=second, **(values | fields))


def test_a_copy_is_a_memory_of_its_own_that_claims_nothing_yet():
    copy, removed = cleaned(secret(handle="mem-0007"))

    assert copy.text == "The bucket is reached with [redacted:aws-access-key]"
    assert removed == ("aws-access-key",)
    assert (copy.key, copy.apart, copy.revision, copy.handle) == ("", True, 1, "")
    assert copy.created_at == START


def test_the_id_of_a_copy_is_a_uuid_of_its_own_kind_and_the_same_each_time():
    ids = [copied(secret()).id, copied(secret()).id, copied(secret(id="memory-2")).id]

    assert ids[0] == ids[1] != ids[2]
    for id in ids:
        assert str(uuid.UUID(id)) == id
        assert (uuid.UUID(id).version, uuid.UUID(id).variant) == (8, uuid.RFC_4122)


def test_what_is_clean_stays_and_what_only_was_unclean_earlier_is_copied_as_it_is():
    assert cleaned(memory()) == Clean(memory(), ())
    copy, removed = cleaned(memory(), earlier=["password"])
    assert (copy.text, copy.id == "memory-1", removed) == ("We deploy on Fridays", False, ("password",))
    assert cleaned(secret(), earlier=["password"]).removed == ("aws-access-key",)


def test_of_what_is_nothing_but_a_secret_no_copy_is_left():
    assert cleaned(memory(text=KEY)) == Clean(None, ("aws-access-key",))
    assert cleaned(memory(scope=Scope("project", KEY))) == Clean(None, ("scope",))


def test_everything_that_is_tied_to_a_memory_is_tied_to_its_copy():
    copy = copied(secret())
    ties = [
        tie("memory-1", "b", reason=f"see {KEY}"),
        tie("b", "memory-1", evidence=KEY),
        tie("b", "c", owner=None),
    ]
    proposal = memory("p", "In the vault", amends="memory-1", status="pending")
    old = memory("o", "On a note", replaced_by="memory-1")
    change = put_copy(secret(), copy, SURE, relations=ties, proposals=[proposal], replaced=[old])
    put = {record.id: record for record in change.puts}
    moved = [record for record in change.puts if isinstance(record, Relation)]

    assert put[copy.id] == copy
    assert [(each.from_id, each.to_id) for each in moved] == [(copy.id, "b"), ("b", copy.id), ("b", "c")]
    assert moved[0].id == moved[1].id == pair_id(PERSON.owner, copy.id, "b")
    assert moved[2].id == pair_id("", "b", "c")
    assert [each.revision for each in moved] == [1, 1, 1]
    assert KEY not in repr(change)
    assert put["p"].amends == put["o"].replaced_by == copy.id


def test_a_relation_of_a_copy_keeps_the_name_that_an_agent_gave_its_session():
    named = tie("memory-1", "b", session="ses_6b2f0c1a4ffe" + "Xk3PqLw9ZtYvBn")
    moved = put_copy(secret(), copied(secret()), SURE, relations=[named]).puts[1]

    assert moved.session == named.session


def test_the_memory_is_erased_with_its_ties_and_the_copy_gets_its_place():
    copy = copied(secret())
    change = erase(secret(), copy, SURE, relations=[tie("memory-1", "b")])

    assert set(change.drops) == {("memory", "memory-1"), ("relation", "rel-1")}
    assert set(change.erase) == {"memory-1", "rel-1"}
    [stays] = change.puts
    assert (stays.id, stays.key, stays.apart, stays.revision) == (copy.id, "bucket", False, 2)
    assert change.draft.action == "purge"
    assert KEY not in repr(change.draft)
    assert erase(secret(apart=True), copy, SURE).puts[0].apart is True


def test_a_key_that_holds_a_secret_is_cleaned_and_without_a_copy_nothing_is_put():
    assert KEY not in erase(secret(key=f"for {KEY}"), copied(secret()), SURE).puts[0].key
    assert erase(memory(text=KEY), None, SURE).puts == ()


def test_other_stores_are_told_what_the_copy_became():
    copy = copied(secret())
    [stays] = erase(secret(), copy, SURE).puts
    change = tell(stays, SURE)

    assert {(edit.field, edit.new) for edit in change.draft.payload.edits} == {("key", "bucket"), ("apart", None)}
    assert change.puts[0].revision == stays.revision + 1
    assert change.draft.action == "scrub"


@pytest.mark.parametrize(
    ("asked", "error"),
    [(request(), Unconfirmed), (request(AGENT, confirmed="flag"), Forbidden), (request(OTHER), Forbidden)],
)
def test_only_its_owner_scrubs_a_memory_and_only_by_a_confirmed_word(asked, error):
    with pytest.raises(error):
        put_copy(secret(), copied(secret()), asked)
    with pytest.raises(error):
        erase(secret(), copied(secret()), asked)


def session(**fields: Any) -> Session:
    values = {
        "id": session_ids(PERSON.owner, "night")[0],
        "name": "night",
        "owner": PERSON.owner,
        "started_at": START,
    }
    return Session(**(values | {"context": Context(repo=f"https://x:{KEY}@example.org")} | fields))


def test_a_session_is_copied_to_the_next_of_the_ids_its_name_has_and_after_the_last_to_none():
    one, ids = session(handle="ses-0001", revision=4), session_ids(PERSON.owner, "night")
    for id in ids[1:]:
        one = cleaned_session(one)
        assert (one.id, one.name, one.revision, one.handle, hidden(one)) == (id, "night", 1, "", ())
    assert cleaned_session(one) is None


def test_a_session_with_a_secret_in_its_name_is_copied_to_the_one_it_would_be_begun_as():
    named = session(name=f"night {KEY}", id="whatever it was")
    clean = "night [redacted:aws-access-key]"
    assert (cleaned_session(named).id, cleaned_session(named).name) == (session_ids(PERSON.owner, clean)[0], clean)
    nameless = session(name="", id="night", owner="")
    assert (cleaned_session(nameless).id, cleaned_session(nameless).name) == (session_ids("", "night")[1], "night")


def test_of_a_session_in_a_place_called_by_a_secret_no_copy_is_left():
    assert cleaned_session(session(scope=Scope("project", KEY))) is None


@pytest.mark.parametrize(
    "made", [lambda r: put_session(session(), session(id="x"), r), lambda r: erase_alone(session(), r)]
)
def test_sessions_are_scrubbed_by_their_owner_in_person_who_confirms(made: Any):
    for who, error in ((request(), Unconfirmed), (request(AGENT, confirmed="flag"), Forbidden)):
        with pytest.raises(error):
            made(who)
    with pytest.raises(Forbidden):
        made(request(OTHER, confirmed="flag"))
    assert made(SURE).draft.action in ("scrub", "purge")


@pytest.mark.parametrize(
    "gone", [session(), tie("memory-1", "b", reason=f"see {KEY}")], ids=["session", "relation"]
)
def test_what_is_erased_alone_leaves_no_word_in_history(gone: Any):
    change = erase_alone(gone, SURE)

    assert (change.erase, [id for _, id in change.drops]) == ((gone.id,), [gone.id])
    assert change.draft.payload.edits == ()


def test_what_is_hidden_in_a_record_is_told_by_sort_and_ids_are_no_secrets():
    assert hidden(session()) == ("aws-access-key",)
    assert hidden(tie(f"{KEY}-1", "b", reason=f"because {KEY}", theirs=f"k {KEY}")) == ("aws-access-key",) * 2
    assert hidden(secret(tags=(KEY,))) == ("aws-access-key",) * 2
