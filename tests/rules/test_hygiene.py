"""What ails a store: repeats, near repeats, recall loops, secrets and texts that say nothing; and what does not."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from engram.model.marks import BEGIN, END
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.scope import Scope
from engram.rules.hygiene import NEAR, Examination, Seen, near
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


def test_the_same_words_are_a_repeat_within_one_place_alone():
    found, looking = examined(GROUND, f"  {GROUND.lower()} ", memory(GROUND, scope=Scope("project", "api")))
    assert (found, looking.junk) == ({"repeats": 1}, 1)


def test_nearly_the_same_words_are_a_near_repeat_unless_they_contradict():
    found, _ = examined(GROUND, GROUND.replace("nightly ", ""))
    assert found == {"near repeats": 1}
    assert examined("The port is 5432", "The port is 5433")[0] == {}


def test_another_number_day_or_name_is_no_near_repeat_wherever_it_stands():
    for word, other in (("Fridays", "Mondays"), ("noon", "9:30"), ("billing", "Ledger"), ("We", "Ada")):
        other_words = GROUND.replace(word, other)
        ours = GROUND.replace("noon", "8:30") if ":" in other else GROUND.replace("billing", "Billing")
        assert examined(ours, other_words.replace("billing", "Billing"))[0] == {}, other


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
