"""When a new memory is suspected to be at odds with a known one, why, and when it is not."""

import pytest

from engram.model.scope import Scope
from engram.rules.candidates import is_statement, suspicion, topic
from rules.world import memory as made


def memory(text: str, id: str = "new", **fields: object):
    return made(id, text, **fields)


def against(old: str, new: str, near: float | None = None):
    return suspicion(memory(new), memory(old, "old"), near)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("The staging database is Postgres 14", "We upgraded the staging database to Postgres 16", "14 → 16"),
        ("The API listens on port 8080", "The API listens on port 9090", "number: 8080 → 9090"),
        ("Feature flags are stored in Redis", "Feature flags live in Postgres, not in Redis", "both about Feature"),
        ("Der Dienst läuft auf Port 8080", "Der Dienst läuft auf Port 9090", "8080 → 9090"),
        ("测试服务器的端口是8080", "测试服务器的端口是9000", "8080 → 9000"),
        ("Only editors may delete comments", "Every guest may delete comments", "both about may"),
        ("Guests may delete comments", "Nobody may delete comments", "both about may"),
        (
            "Backups of the ledger are stored in Oslo",
            "The ledger stores backups in Bergen",
            "both about ledger",
        ),
        ("Deploying to staging needs a ticket", "Deployments to staging need no ticket", "both about staging"),
    ],
)
def test_the_same_subject_said_otherwise_is_suspected_with_its_reason(old, new, why):
    found = against(old, new)

    assert found is not None
    assert why in found.why
    assert 0 < found.score <= 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The gateway validates JSON web tokens", "The gateway compresses responses with brotli"),
        ("The garden sprinklers run at dawn", "Parser errors carry a line number"),
        ("Das Lager hat zwei Tore", "Das Lager wird nachts bewacht"),
        ("The search box is cached at the edge", "The basket is cached at the edge"),
        ("Mara reviews pull requests on Mondays", "Piet reviews pull requests on Mondays"),
        ("Le panier est testé dans le navigateur", "Le paiement est testé dans le navigateur"),
        ("", "The lobby has plants"),
    ],
)
def test_another_thing_about_a_subject_or_another_subject_is_not_suspected(old, new):
    assert against(old or "🙂", new) is None


def test_the_same_key_elsewhere_is_suspected_whatever_is_said():
    found = suspicion(memory("Cookies it is", key="auth"), memory("Tokens", "old", key="auth", scope=Scope()))

    assert found is not None
    assert found.why == "the same key, auth"


def test_near_in_meaning_is_suspected_without_a_word_in_common():
    old, new = "Sessions expire after a quarter of an hour", "Logins stay valid all day"

    assert against(old, new) is None
    assert against(old, new, 0.7) is None
    found = against(old, new, 0.95)
    assert found is not None
    assert found.why == "near in meaning"


def test_neither_itself_nor_the_same_text_nor_what_it_amends_is_suspected():
    text = "The staging database is Postgres 14"
    other = memory("The staging database is Postgres 16", "old")

    assert suspicion(other, other) is None
    assert against(text, text) is None
    assert suspicion(memory(text, amends="old"), other) is None


def test_values_small_words_and_chores_are_no_topic():
    assert topic(memory("Use the new port 8080 for the gateway")) == ("gateway", "port")
    assert topic(memory("Die Werkstatt ist nach Bonn umgezogen")) == ("werkstatt", "umgezogen", "bonn")


def test_a_summary_says_what_a_memory_is_about():
    assert topic(memory("Long story. Many words.", summary="Auth middleware")) == ("middlewar", "auth")


def test_a_long_story_is_not_looked_up_by_its_words():
    assert is_statement(memory("The gateway validates tokens"))
    assert is_statement(memory("本番データベースのポートは5432です"))
    assert not is_statement(memory("🙂"))
    assert not is_statement(memory(" ".join(f"word{'abcdefghijklmn'[n]}" for n in range(14))))
