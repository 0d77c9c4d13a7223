"""Cover density, beside the database that made it known."""

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.servers import database_url
from engram.interop.keyed_rank import asked_words, cover_density

WORDS = st.lists(st.sampled_from(("alpha", "beta", "gamma", "delta")), max_size=24)
ASKED = st.lists(st.sampled_from(("alpha", "beta", "gamma")), min_size=1, max_size=3, unique=True)


@pytest.fixture(scope="module")
def db():
    with psycopg.connect(database_url(), autocommit=True) as connection:
        yield connection


@settings(max_examples=150, deadline=None)
@given(words=WORDS, asked=ASKED)
def test_it_is_what_postgresql_reckons(db, words, asked):
    sql = "SELECT ts_rank_cd(to_tsvector('simple', %s), to_tsquery('simple', %s))"
    ((wanted,),) = db.execute(sql, [" ".join(words), " & ".join(asked)])

    assert cover_density(asked_words(" ".join(asked)), words) == pytest.approx(wanted, abs=1e-6)


def test_words_that_stand_together_count_more_than_words_apart():
    near, far = "We deploy on Fridays", "We deploy whenever somebody has the time, but never on Fridays"
    asked = asked_words("deploy fridays")

    assert cover_density(asked, near.split()) > cover_density(asked, far.split()) > 0
    assert cover_density(asked, ["deploy"]) == 0
    assert asked_words("when do we deploy?") == [frozenset({"deploy"})]
