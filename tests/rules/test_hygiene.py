"""What ails a store: repeats, near repeats, recall loops, secrets and texts that say nothing; and what does not."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.model.marks import BEGIN, END
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.scope import Scope
from engram.rules.hygiene import LONGEST, NEAR, Examination, Seen, near
from rules.world import START

KEY = "AKIA" + "IOSFODNN7EXAMPLQ"
GROUND = "We deploy the billing service on Fridays at noon after the nightly build is green"


def memory(text: str, **fields: object) -> Memory:
    values = {"status": "promoted", "owner": "", "created_at": START, "updated_at": START} | fields
    return Memory(id="m", text=text, **values)  # type: ignore[arg-type]


def examined(*memories: Memory | str, **options: object) -> tuple[dict[str, int], Examination]:
    looking = Examination(START + timedelta(days=1))
    for n, one in enumerate(memories, 1):
        looking.look_at(memory(one) if isinstance(one, str) else one, f"mem-{n:04d}", **options)  # type: ignore[arg-type]
    return {one.name: one.number for one in looking.ailments()}, looking


def test_what_is_clean_is_told_nothing_of():
    found, looking = examined(GROUND, "The port of the database is 5432", "Ada leads the team in Oslo")
    assert (found, looking.junk, looking.in_use) == ({}, 0, 3)


def test_the_same_words_are_a_repeat_within_one_place_and_no_junk_in_another():
    found, looking = examined(GROUND, f"  {GROUND.lower()} ", memory(GROUND, scope=Scope("project", "api")))
    assert (found, looking.junk) == ({"repeats": 1, "said elsewhere": 1}, 1)


def test_long_texts_that_only_begin_alike_are_no_repeats_and_the_same_one_is():
    begins = "The protocol of the meeting says this and that. " * 200
    first, second = (f"{begins}{end} " + f"{end} is what came of it. " * 500 for end in ("Peace", "War"))
    assert examined(first, second)[0] == {}
    assert examined(first, second, f"  {second}")[0] == {"repeats": 1}


def test_memories_that_go_by_one_name_are_told_apart():
    looking = Examination(START)
    for text in (GROUND, GROUND, GROUND.replace("nightly ", ""), "ok"):
        looking.look_at(memory(text), "a page")
    found = {one.name: one.number for one in looking.ailments()}
    assert (found, looking.junk) == ({"repeats": 1, "near repeats": 1, "empty words": 1}, 3)


def test_what_another_owner_says_elsewhere_is_their_own_matter():
    assert examined(GROUND, memory(GROUND, owner="ada", scope=Scope("project", "api")))[0] == {}


def test_nearly_the_same_words_are_a_near_repeat_unless_they_contradict():
    found, _ = examined(GROUND, GROUND.replace("nightly ", ""))
    assert found == {"near repeats": 1}
    assert examined("The port is 5432", "The port is 5433")[0] == {}
    assert examined(GROUND, GROUND.replace("We deploy", "We never deploy"))[0] == {}


def test_another_number_day_or_name_is_no_near_repeat_wherever_it_stands():
    for word, other in (("Fridays", "Mondays"), ("noon", "9:30"), ("billing", "Ledger"), ("We", "Ada")):
        other_words = GROUND.replace(word, other)
        ours = GROUND.replace("noon", "8:30") if ":" in other else GROUND.replace("billing", "Billing")
        assert examined(ours, other_words.replace("billing", "Billing"))[0] == {}, other


def test_what_is_said_of_another_thing_is_no_near_repeat_but_another_spelling_is():
    said = (
        "On a time-out {0} is asked once more and may charge twice, so every call of {0} carries a key of its own, "
        "and whoever looks for one that failed finds it in the bucket logs-{0} by the hour of the day"
    )
    auth = said.format("auth")

    assert examined(auth, said.format("profile"))[0] == {}
    assert examined(auth, auth.replace("logs-auth", "logs-auth by name"))[0] == {"near repeats": 1}
    assert examined(f"{GROUND}, 6 times of 6", f"{GROUND}, 21 times of 6")[0] == {}
    assert examined(f"Of 6 runs of 6 we say: {GROUND}", f"Of 21 runs of 6 we say: {GROUND}")[0] == {}
    assert examined(GROUND, GROUND.replace("billing", "biling"))[0] == {"near repeats": 1}
    assert examined(GROUND, f"{GROUND} too")[0] == {"near repeats": 1}


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("billing", "profile", {}),
        ("api", "web", {}),
        ("qa", "ux", {"near repeats": 1}),  # too short to be what a statement is about
        ("gray", "grey", {"near repeats": 1}),
        ("our", "the", {"near repeats": 1}),
    ],
)
def test_two_words_name_two_things_unless_they_are_small_or_spelt_alike(one, other, found):
    first, second = (GROUND.replace("billing", f"{word} billing") for word in (one, other))
    assert examined(first, second)[0] == found


def test_a_short_statement_with_one_other_word_is_no_junk_but_one_that_says_a_word_more_is():
    found, looking = examined("Our main branch is called trunk", "Our main branch is called main")
    assert (found, looking.junk) == ({}, 0)
    found, looking = examined("Our main branch is called trunk", "Our main branch is called trunk now")
    assert (found, looking.junk) == ({"near repeats": 1}, 1)
    assert examined("We spell gray as grey in our docs", "We spell gray as gray in our docs")[0] == {}


def test_a_text_is_compared_word_by_word_up_to_a_length_and_a_longer_one_as_a_whole():
    words = " ".join(f"word{n:04d}" for n in range(890))
    long = f"{words[: LONGEST - 7]} noon "
    assert len(f"{long}x") == LONGEST
    assert examined(words[:7000], f"{words[:7000]} again")[0] == {"near repeats": 1}
    assert examined(f"{long}x", f"{long}y")[0] == {"near repeats": 1}
    assert examined(f"{long}xx", f"{long}yy")[0] == {}


def test_what_holds_a_secret_beside_the_memories_is_told_by_its_name():
    looking = Examination(START)
    looking.look_beside("a session", f"night {KEY}", ["aws-access-key"])
    looking.look_beside("a relation", "", ["aws-access-key"])
    [found] = looking.ailments()
    assert found.examples == ("a session: night [redacted:aws-access-key]", "a relation")


def test_a_proposal_is_no_repeat_of_what_it_would_change():
    proposal = memory(GROUND, status="pending", amends="m-0")
    assert examined(GROUND, proposal, replace(proposal, text=GROUND.replace("nightly ", "")))[0] == {}


def test_the_same_words_in_another_order_are_no_repeat():
    words = GROUND.split()
    assert examined(GROUND, " ".join(words[::-1]))[0] == {}


def test_a_block_that_was_recalled_and_stored_again_is_a_loop():
    block = f"Noted. {BEGIN}\n- {GROUND}\n{END}"
    quoting = f"Here is what I know:\n- mem-0001: {GROUND}\n2. The port of the database is 5432\nand that was it"
    found, looking = examined(
        GROUND, "The port of the database is 5432", block, quoting, "<claude-mem-context> x y"
    )
    assert (found["recall loops"], looking.junk) == (3, 3)


def test_a_list_that_quotes_one_other_memory_is_none():
    assert examined(GROUND, f"Two things to know:\n- {GROUND}\n- and nothing else that is kept")[0] == {}


def test_secrets_are_counted_by_sort_in_every_field_and_whatever_the_standing_and_never_shown():
    secret = memory(f"The key is {KEY}")
    forgotten = replace(memory("Nothing here", summary=f"key {KEY}"), forgotten_at=START)
    looking = Examination(START)
    for n, one in enumerate((secret, forgotten, memory("Plain words"))):
        looking.look_at(one, f"mem-{n}", earlier=("password",) if n == 2 else ())
    [found] = looking.ailments()
    assert (found.name, found.number, looking.secrets["password"]) == ("secrets", 3, 1)
    assert KEY not in repr(found)
    assert looking.in_use == 2


def test_what_says_nothing_is_junk_in_any_script():
    found, looking = examined("ok", "…", "the", "東京に行く", "Привет мир")
    assert (found, looking.junk) == ({"empty words": 3}, 3)


def test_what_is_stale_or_expired_or_drifted_is_told_and_is_no_junk():
    old = memory("Old words", decay="1d", updated_at=START, created_at=START - timedelta(days=9))
    past = memory("Past words", valid_until=START)
    found, looking = examined(old, past, drifted=True)
    assert (found, looking.junk) == ({"drifted": 2, "stale": 1, "expired": 1}, 0)
    assert "stale" not in examined(old, ages=False)[0]


def test_a_memory_with_two_faults_is_one_piece_of_junk():
    _, looking = examined("ok", "ok")
    assert looking.junk == 2


words = st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), min_size=1, max_size=12, unique=True)


@given(st.lists(words, max_size=12))
def test_no_pair_that_shares_enough_words_in_order_is_missed(texts: list[list[str]]):
    seen = [Seen(str(n), "", frozenset(said), tuple(said), " ".join(said)) for n, said in enumerate(texts)]
    found = {newer.name for newer, _ in near(seen)}

    def is_near(one: Seen, other: Seen) -> bool:
        common = len(one.words & other.words)
        pairs = [set(zip(each.said, each.said[1:], strict=False)) for each in (one, other)]
        whole = len(pairs[0] | pairs[1])
        in_order = not whole or len(pairs[0] & pairs[1]) >= 0.6 * whole
        return common >= NEAR * len(one.words | other.words) and in_order

    expected = {one.name for n, one in enumerate(seen) if any(is_near(one, other) for other in seen[:n])}
    assert found == expected


def test_every_memory_is_counted_and_those_in_use_apart():
    gone = [replace(memory("One of three words"), status="rejected"), replace(memory("Two"), replaced_by="x")]
    _, looking = examined("The port of the database is 5432", *gone, "Ada leads the team in Oslo")
    assert (looking.memories, looking.in_use) == (4, 2)


def test_what_came_back_in_no_recall_is_told():
    assert examined("The port of the database is 5432", recalled=False)[0] == {"never recalled": 1}


def test_a_summary_or_a_key_makes_a_short_text_say_something():
    assert examined(memory("ok", summary="the build"), memory("yes", key="deploy-day"))[0] == {}


def test_fifty_of_each_are_named_on_one_short_line():
    long = "Ada leads the team in Oslo and " + "x" * 60
    looking = Examination(START)
    for n in range(70):
        looking.look_at(memory(f"{n} {long}\nand more"), f"mem-{n}", drifted=True)
    [found] = looking.ailments()
    assert (found.number, len(found.examples)) == (70, 50)
    assert found.examples[0] == f"mem-0: {f'0 {long}'[:79]}…"
    line = "Ada leads " + "x" * 70
    looking = Examination(START)
    looking.look_at(memory(line), "mem-1", drifted=True)
    looking.look_at(memory(f"{line}y"), "mem-2", drifted=True)
    assert [each.partition(": ")[2] for each in looking.ailments()[0].examples] == [line, f"{line[:79]}…"]


def test_two_lines_that_are_both_memories_are_a_loop_and_short_ones_do_not_count():
    facts = ("Ada is in Oslo", "The port is 5432")
    assert examined(*facts, "\n".join(facts))[0] == {"recall loops": 1}
    short = ("Ada in Oslo", "Port is 5432")
    assert len(short[1]) == 12
    assert examined(*short, "\n".join(short))[0] == {}
    assert examined(short[1], facts[0], f"{short[1]}\n{facts[0]}")[0] == {"recall loops": 1}


def test_a_block_with_a_mark_is_told_once_though_it_quotes_two():
    facts = ("Ada is in Oslo", "The port is 5432")
    assert examined(*facts, "\n".join((BEGIN, *facts, END)))[0] == {"recall loops": 1}


def test_a_scope_that_is_a_secret_is_one():
    found, looking = examined(memory("The port of the database is 5432", scope=Scope("project", KEY)))
    assert (found, looking.secrets) == ({"secrets": 1}, {"scope": 1})


def seen(name: str, said: str) -> Seen:
    return Seen(name, "", frozenset(said.split()), tuple(said.split()), said)


def test_four_words_of_five_and_three_pairs_of_five_in_order_are_just_enough():
    assert len(list(near([seen("1", "a b c d"), seen("2", "a b c d e")]))) == 1
    assert len(list(near([seen("1", "a b c d e"), seen("2", "e a b c d")]))) == 1
    assert list(near([seen("1", "a b c"), seen("2", "a b c d")])) == []
    assert list(near([seen("1", "a b c d e"), seen("2", "d e a c b")])) == []


def test_a_repeat_is_shown_with_what_it_repeats():
    _, looking = examined(GROUND, GROUND)
    assert looking.ailments()[0].examples[0].startswith("mem-0002 ~ mem-0001: We deploy")


def test_two_texts_without_a_word_that_counts_are_not_compared():
    assert list(near([seen("1", ""), seen("2", "")])) == []
