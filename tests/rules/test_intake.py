"""What becomes of a record of another store: taken in as it was, held, proposed, or known already."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from engram.errors import Conflict, Invalid
from engram.model.limits import LIMITS, size
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.relation import Relation
from engram.model.scope import Scope
from engram.model.session import Session
from engram.rules.admission import Known
from engram.rules.intake import Here, Intake, Together, edition, owned, take_in, take_in_relation, take_in_session
from engram.rules.policy import Policy
from engram.rules.relations import pair_id
from engram.rules.routing import MOST_RIVALS
from rules.world import OTHER, PERSON, START, memory, request

EMPTY = Here()
KEY = "AKIA" + "IOSFODNN7EXAMPLQ"


def later(hours: float) -> datetime:
    return START + timedelta(hours=hours)


def taken(
    theirs: Memory, here: Here = EMPTY, *, own: bool = False, trusted: bool = True, now: datetime = START
) -> Intake:
    asked = request(confirmed="import" if trusted else "", now=now)
    return take_in(theirs, here, Policy(), asked, own=own, source="import:old.md")


def put(found: Intake) -> Memory:
    assert found.change is not None
    [record] = found.change.puts
    assert isinstance(record, Memory)
    return record


# --- a person vouches, or nobody ---


def test_what_a_person_vouches_for_is_taken_in_as_it_was():
    theirs = memory(approved_by="robin", replaced_by="x", branch="main", source="web:example.org", actor="robin")
    found = taken(theirs)

    assert (found.outcome, found.redacted) == ("new", ())
    kept = put(found)
    assert (kept.status, kept.approved_by, kept.replaced_by, kept.branch) == ("promoted", "robin", "x", "main")
    assert (kept.source, kept.actor) == ("web:example.org", "robin")
    assert put(taken(memory(source=""))).source == "import:old.md"


def test_what_nobody_vouches_for_waits_and_no_verdict_of_theirs_counts():
    theirs = memory(
        approved_by="robin", replaced_by="x", amends="y", branch="main", verified_at=START, source="web:example.org"
    )
    found = taken(theirs, trusted=False)
    kept = put(found)

    assert (found.outcome, kept.status, kept.held_for) == ("held", "pending", "untrusted_origin")
    assert (kept.approved_by, kept.replaced_by, kept.amends, kept.branch, kept.verified_at) == (
        "",
        "",
        "",
        "",
        None,
    )
    assert (kept.source, kept.learned_by, kept.actor) == ("import:old.md", "import", PERSON.actor)
    assert put(taken(memory(actor="robin"), trusted=False)).actor == "robin"


@pytest.mark.parametrize("trusted", [True, False])
def test_nothing_was_worded_later_than_it_is_taken_in(trusted):
    def kept(worded: datetime | None) -> datetime | None:
        return put(taken(memory(reworded_at=worded), trusted=trusted, now=later(hours=1))).reworded_at

    assert [kept(at) for at in (later(hours=9), START, None)] == [later(hours=1), START, None]


def test_it_belongs_to_who_takes_it_in_and_is_a_first_revision_of_its_own():
    kept = put(taken(memory(owner="kim", revision=7, handle="mem-0042"), own=True))

    assert (kept.owner, kept.revision, kept.handle) == (PERSON.owner, 1, "")
    assert put(taken(memory(revision=7))).revision == 7


def test_the_higher_tier_of_two_systems_holds_and_ours_alone_for_an_export_of_ours():
    assert put(taken(memory(tier=3, approved_by="robin"))).tier == 3
    assert put(taken(memory(tier=3, approved_by="robin"), own=True)).tier == 2


def test_what_is_curated_and_live_there_is_approved_by_who_vouches():
    assert put(taken(memory(kind="identity"))).approved_by == PERSON.name
    assert put(taken(memory(kind="identity", approved_by="robin"))).approved_by == "robin"
    assert put(taken(memory())).approved_by == ""
    assert put(taken(memory(kind="identity", status="pending", held_for="curated_kind"))).approved_by == ""


def test_rivals_of_one_import_are_live_and_say_the_same_at_one_place_under_one_heading():
    together = Together()
    said = [
        memory("a", "The api port is 8080", tags=("net",)),
        memory("b", "The api port is 8081", tags=("net",), status="pending"),
        memory("c", "The api port is 8082"),
        memory("d", "The api port is 8083", tags=("net",), scope=Scope.parse("agent:x")),
        memory("e", "Ports", tags=("net",)),
    ]
    for each in said:
        together.add(each)

    assert list(together.rivals(memory("new", "The api port is 9090", tags=("net",)))) == [said[0]]
    assert list(together.rivals(memory("new", "Hosts", tags=("net",)))) == []


def test_the_newest_rivals_of_one_import_are_compared():
    together = Together()
    said = [memory(f"m{port}", f"The api port is {port}") for port in range(8000, 8001 + MOST_RIVALS)]
    for each in said:
        together.add(each)

    assert list(together.rivals(memory("new", "The api port is 9090"))) == said[1:]


def test_what_says_nothing_of_its_status_is_vouched_for_unless_it_is_against_what_is_here():
    waiting = memory(text="The api port is 9090", status="pending")
    against = Here(known=Known(rivals=(memory("old", "The api port is 8080"),)))

    assert put(taken(waiting)).status == "promoted"
    held = taken(waiting, against)
    assert (held.outcome, put(held).status, put(held).held_for) == ("held", "pending", "untrusted_origin")
    kept = taken(replace(waiting, held_for="conflict"))
    assert (kept.outcome, put(kept).status, put(kept).held_for) == ("new", "pending", "conflict")
    ours = taken(waiting, own=True)
    assert (ours.outcome, put(ours).status, put(ours).held_for) == ("new", "pending", "")


# --- what may not be stored ---


def test_secrets_are_taken_out_and_told_of_and_nothing_but_secrets_is_refused():
    found = taken(memory(text=f"The key is {KEY} for now"))

    assert KEY not in put(found).text
    assert found.redacted == ("aws-access-key",)
    assert found.change.draft.payload.note["redacted"] == ["aws-access-key"]
    with pytest.raises(Invalid, match="Nothing is left"):
        taken(memory(text=KEY))


def test_a_discovery_without_a_citation_and_a_rejected_text_are_refused():
    with pytest.raises(Invalid, match="citation"):
        taken(memory(kind="map"))
    with pytest.raises(Conflict, match="rejected before"):
        taken(memory(), Here(known=Known(twins=(memory("no", status="rejected"),))))


BLOCK = "<engram-memory>\n- recalled\n</engram-memory>\n"


def test_what_was_recalled_is_no_news_but_in_an_export_of_ours_that_a_person_vouches_for():
    theirs = memory(text=f"{BLOCK}We deploy on Fridays")

    assert put(taken(theirs)).text.strip() == "We deploy on Fridays"
    assert put(taken(theirs, own=True, trusted=False)).text.strip() == "We deploy on Fridays"
    assert put(taken(theirs, own=True)).text == theirs.text


# --- what is known ---


def test_the_same_words_under_the_same_id_are_known():
    assert taken(memory(), Here(same=memory())).outcome == "known"
    assert taken(memory(text="we deploy on fridays."), Here(same=memory())).outcome == "known"


def test_an_older_edition_is_known_whatever_it_says_and_a_later_one_is_proposed():
    here = Here(same=memory(updated_at=later(1)), spare="spare")

    assert taken(memory(text="Older words"), here).outcome == "known"
    assert taken(memory(text="Other words", updated_at=later(1)), here).outcome == "proposed"
    later_one = taken(memory(text="Newer words", updated_at=later(2)), here)
    assert (later_one.outcome, later_one.memory) == ("proposed", here.same)
    assert (put(later_one).id, put(later_one).amends, put(later_one).text) == ("spare", "memory-1", "Newer words")


def test_what_is_said_of_a_memory_counts_in_a_later_edition_of_our_own_alone():
    here = Here(same=memory(), spare="spare")
    tagged = memory(tags=("ops",), updated_at=later(1))

    assert taken(tagged, here, own=True).outcome == "proposed"
    assert taken(tagged, here).outcome == "known"
    assert taken(replace(tagged, updated_at=START), here, own=True).outcome == "known"
    assert taken(memory(updated_at=later(1)), here, own=True).outcome == "known"
    assert edition(memory(), own=True) != edition(memory(tags=("ops",)), own=True)
    assert edition(memory(), own=False) == edition(memory(tags=("ops",)), own=False)


def test_what_was_taken_out_then_is_taken_out_again():
    here = Here(same=memory(text="The key is [redacted:aws-access-key] for now"), spare="spare")

    assert taken(memory(text=f"The key is {KEY} for now", updated_at=later(1)), here).outcome == "known"


def test_a_proposal_waits_whoever_vouches_and_is_made_once():
    here = Here(same=memory(), spare="spare")
    theirs = memory(text="Other words", key="deploy", approved_by="robin", replaced_by="x", forgotten_at=START,
                    updated_at=later(1))  # fmt: skip
    waits = put(taken(theirs, here))

    assert (waits.status, waits.held_for, waits.approved_by) == ("pending", "conflict", "")
    assert (waits.key, waits.replaced_by, waits.forgotten_at, waits.apart) == ("", "", None, False)
    assert put(taken(theirs, here, trusted=False)).held_for == "untrusted_origin"
    assert taken(theirs, here._replace(proposed=True)) == Intake("known", here.same)


# --- one key, or one text, on both sides ---


def test_the_same_key_with_the_same_words_is_known_and_with_others_a_proposal():
    here = Here(known=Known(keyed=memory("old", key="deploy")), spare="spare")

    assert taken(memory(key="deploy"), here) == Intake("known", here.known.keyed)
    other = taken(memory(key="deploy", text="Other words"), here)
    assert (other.outcome, put(other).amends) == ("proposed", "old")


def test_two_records_of_one_key_in_their_store_stay_two():
    here = Here(known=Known(keyed=memory("old", key="deploy")), kindred=lambda one: one.id == "old")

    for text in ("We deploy on Fridays", "Other words"):
        found = taken(memory(key="deploy", text=text), here)
        assert (found.outcome, put(found).apart, put(found).key) == ("new", True, "deploy")


def test_the_same_text_is_known_unless_it_is_another_record_of_their_store():
    twin = memory("old")
    here = Here(known=Known(twins=(twin,)))

    assert taken(memory(), here) == Intake("known", twin)
    kindred = taken(memory(), here._replace(kindred=lambda _: True))
    assert (kindred.outcome, put(kindred).apart) == ("new", True)
    assert put(taken(memory(), here._replace(kindred=lambda _: True), own=True)).apart is False


@pytest.mark.parametrize("fields", [{"apart": True}, {"amends": "x"}])
def test_a_twin_that_claims_no_text_is_not_in_the_way(fields: dict[str, Any]):
    found = taken(memory(), Here(known=Known(twins=(memory("old", **fields),))))

    assert (found.outcome, put(found).apart) == ("new", False)


def test_a_twin_that_goes_by_a_key_is_known_to_theirs_and_not_in_the_way_of_ours():
    here = Here(known=Known(twins=(memory("old", key="deploy"),)))

    assert taken(memory(), here).outcome == "known"
    assert taken(memory(), here, own=True).outcome == "new"


@pytest.mark.parametrize("fields", [{"apart": True}, {"amends": "x"}, {"key": "deploy"}])
def test_what_claims_no_text_is_taken_in_beside_its_twin_as_it_is(fields: dict[str, Any]):
    found = taken(memory(**fields), Here(known=Known(twins=(memory("old"),))))

    assert (found.outcome, put(found).apart) == ("new", "apart" in fields)


def test_a_key_that_is_free_here_is_the_newcomers_whoever_says_the_same_without_one():
    for twins in ((), (memory("old"),)):
        [claims] = taken(memory(key="deploy"), Here(known=Known(twins=twins))).change.claims.values()
        assert [claim.split("\x1f")[2:] for claim in claims] == [["key", "deploy"]]


def test_its_own_earlier_record_is_no_twin_that_keeps_it_out():
    here = Here(same=memory(status="rejected"), known=Known(twins=(memory(status="rejected"),)), spare="spare")

    assert taken(memory(text="Other words", updated_at=later(1)), here).outcome == "proposed"


def test_what_they_forgot_claims_nothing_and_what_we_forgot_keeps_its_place():
    assert put(taken(memory(forgotten_at=START))).apart is True
    assert put(taken(memory(forgotten_at=START), own=True)).apart is False
    assert put(taken(memory(kind="prompt"))).apart is True


# --- how old it is ---


def test_what_a_person_vouches_for_is_verified_by_that_where_their_system_knows_no_age():
    now = later(24 * 400)

    aged = put(taken(memory(kind="identity"), now=now))
    assert (aged.decay, aged.verified_at) == ("365d", now)
    assert put(taken(memory(verified_at=START), now=now)).verified_at == START
    assert put(taken(memory(), trusted=False, now=now)).verified_at is None
    assert put(taken(memory(status="pending", held_for="conflict"), now=now)).verified_at is None


def test_the_age_that_a_system_tells_itself_is_kept():
    now = later(24 * 400)

    assert put(taken(memory(kind="identity"), Here(ages=True), now=now)).verified_at is None
    assert put(taken(memory(kind="identity"), own=True, now=now)).decay == "180d"
    assert put(taken(memory(kind="identity", decay="30d"), now=now)).decay == "30d"


# --- sessions and verdicts ---


def test_a_session_is_taken_in_once_as_the_callers_own():
    theirs = Session(id="theirs", owner="kim", started_at=START, revision=4, handle="ses-0001")
    mine = owned(theirs, request())

    assert (mine.name, mine.owner, mine.revision, mine.handle) == ("theirs", PERSON.owner, 1, "")
    assert mine.id != theirs.id
    assert owned(replace(theirs, name="monday"), request()).name == "monday"
    assert take_in_session(mine, None, request()).puts == (mine,)
    assert take_in_session(mine, mine, request()) is None


def verdict(**fields: Any) -> Relation:
    values = {"id": "theirs", "kind": "supersedes", "status": "judged", "created_at": START, "updated_at": START}
    return Relation(from_id="x", to_id="y", **(values | fields))


NEW, OLD = memory("new"), memory("old", "We deploy on Mondays")


def related(
    relation: Relation, first: Memory = NEW, second: Memory = OLD, *, trusted: bool = True, fresh: bool = False
) -> tuple[Relation, list[Memory]]:
    asked = request(confirmed="import" if trusted else "", now=later(5))
    kept, *moved = take_in_relation(relation, first, second, asked, fresh=fresh).puts
    assert isinstance(kept, Relation)
    return kept, [one for one in moved if isinstance(one, Memory)]


def test_whose_verdict_it_was_counts_where_a_person_vouches_for_it():
    theirs = verdict(approved_by="robin")

    assert related(theirs)[0].approved_by == "robin"
    assert related(theirs, trusted=False)[0].approved_by == ""
    assert related(replace(theirs, status="proposed"))[0].approved_by == "robin"


def test_a_verdict_that_a_person_vouches_for_hides_what_is_superseded():
    kept, [moved] = related(verdict(revision=6))

    assert (kept.id, kept.from_id, kept.to_id) == (pair_id(PERSON.owner, "new", "old"), "new", "old")
    assert (kept.status, kept.owner, kept.revision) == ("judged", PERSON.owner, 1)
    assert (moved.replaced_by, moved.revision, moved.updated_at) == ("new", 2, later(5))
    _, [as_it_was] = related(verdict(), fresh=True)
    assert (as_it_was.revision, as_it_was.updated_at) == (1, START)


def test_without_a_persons_word_a_verdict_is_proposed_and_hides_nothing():
    assert related(verdict(), trusted=False)[0].status == "proposed"
    assert related(verdict(), trusted=False)[1] == []
    assert related(verdict(status="ignored"), trusted=False)[0].status == "ignored"
    assert related(verdict(status="ignored"))[0].status == "ignored"
    assert related(verdict(status="proposed"))[1] == []


@pytest.mark.parametrize(
    ("relation", "first", "second"),
    [
        (verdict(kind="conflicts"), NEW, OLD),
        (verdict(), replace(NEW, status="pending"), OLD),
        (verdict(), replace(NEW, forgotten_at=START), OLD),
        (verdict(), replace(NEW, replaced_by="newer"), OLD),
        (verdict(), NEW, replace(OLD, replaced_by="newer")),
        (verdict(), NEW, replace(OLD, owner=OTHER.owner)),
        (verdict(), NEW, replace(OLD, forgotten_at=START)),
    ],
)
def test_what_is_out_of_use_hides_nothing_and_what_is_hidden_or_anothers_is_left_alone(relation, first, second):
    assert related(relation, first, second)[1] == []


def test_a_verdict_says_nothing_private_and_is_about_two():
    kept, _ = related(verdict(reason=f"see {KEY}", evidence=f"{KEY}"))

    assert KEY not in kept.reason + kept.evidence
    with pytest.raises(Invalid, match="same memory"):
        take_in_relation(verdict(), NEW, NEW, request(), fresh=False)


def test_a_reason_that_its_marks_made_too_long_is_cut_between_characters():
    most = LIMITS["reason"]
    secret = "password: " + "k9Qz7T" + " "
    said = "ü" * ((most - len(secret)) // 2)
    kept, _ = related(verdict(reason=secret + said))

    assert kept.reason.startswith("password: [redacted:password] ü")
    assert most - 1 <= size(kept.reason) <= most
    whole, _ = related(verdict(reason="ü" * (most // 2)))
    assert whole.reason == "ü" * (most // 2)
