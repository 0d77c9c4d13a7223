"""When a new memory is suspected to be at odds with a known one, why, and when it is not."""

import pytest

from engram.model.scope import Scope
from engram.rules.suspicions import clashing, is_brief, is_statement, suspicion, topic
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
        ("Use Redis for the queue", "Use RabbitMQ for the queue", "Redis → RabbitMQ"),
        ("We use Redis for the queue", "Use RabbitMQ for the queue", "Redis → RabbitMQ"),
        ("Use Redis for the queue", "We use RabbitMQ for the queue", "Redis → RabbitMQ"),
        ("Workers run in eu-west-1", "Workers run in us-east-2", "eu-west-1 → us-east-2"),
        ("The workers start in eu-west-1", "The workers start in us-east-1", "eu-west-1 → us-east-1"),
        ("Deploy on Fridays", "Deploy on Mondays", "Fridays → Mondays"),
        ("Ada owns the parser", "Bob owns the parser", "Ada → Bob"),
        ("Ada owns the parser", "Ada owns the lexer", "parser → lexer"),
        ("Ada leitet das Lager", "Mara leitet das Lager", "Ada → Mara"),
        ("Ada leads", "Bob leads", "Ada → Bob"),
        ("The jobs of the shop wait in Redis", "The jobs of the shop wait in RabbitMQ", "Redis → RabbitMQ"),
        ("Caching is enabled", "Caching is disabled", "value: enabled → disabled"),
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
        ("The basket is cached", "The profile is cached"),
        ("Ada likes tea", "Bob likes tea"),
        ("We use pnpm", "We use ruff"),
        ("We use pnpm", "Use ruff"),
        ("Deploy on Fridays", "Ship by Fridays"),
        ("Deploy on Fridays", "Deploy late on Mondays"),
        ("It is to be on the Redis of the queue", "It is to be on the Rabbit of the queue"),
        ("Use Redis for the queue", "Use it for the queue"),
        ("Use it for the queue", "Use Redis for the queue"),
        ("Parser", "Lexer"),
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
    assert is_statement(memory(" ".join(f"word{'abcdefghijklmn'[n]}" for n in range(8))))
    assert not is_statement(memory(" ".join(f"word{'abcdefghijklmn'[n]}" for n in range(9))))


def test_a_sentence_of_many_small_words_is_a_statement_up_to_a_length():
    small = "the gateway" + " of the" * 7 + " tokens"

    assert small.count(" ") == 16
    assert is_statement(memory(small))
    assert not is_statement(memory(f"{small} is"))


def test_a_script_without_spaces_may_say_more_in_a_sentence():
    signs = "测试服务器端口数据库密码部署缓存队列日志监控备份网关证"

    assert len(topic(memory(signs[:25]))) == 24
    assert is_statement(memory(signs[:25]))
    assert not is_statement(memory(signs[:26]))


def test_the_first_sentence_says_what_a_text_is_about_where_it_says_something():
    assert topic(memory("\n  Deployments follow reviews. Lunch comes later.")) == (
        "deployment",
        "follow",
        "review",
    )
    assert "lunch" in topic(memory("Reviews first. Lunch comes later"))
    assert topic(memory("Gateway tokens expire\nafter breakfast")) == ("gateway", "token", "expir")
    assert "lunch" not in topic(memory("Gateways keep tokens. Lunch comes later"))


def test_single_letters_are_no_topic_and_short_names_are():
    assert topic(memory("Go x v2")) == ("go", "v2")


def test_one_common_word_is_enough_only_where_it_is_all_that_either_says():
    assert against("Backups", "The backups, weekly, 3") is None
    assert against("Backups: 3", "The backups are 4") is not None
    assert against("Nightly backups", "Backups are 4 and fine") is None


def test_half_of_the_words_are_enough_beside_another_value_and_more_are_needed_without():
    old = "The gateway keeps tokens for 3 days"

    assert against(old, "Gateway tokens live 4 weeks in memory").why == "3 → 4"
    assert against("The gateway keeps tokens for days", "Gateway tokens live weeks in memory") is None


def test_the_score_is_what_is_shared_and_how_near_it_is():
    old, new = "The gateway validates tokens", "The gateway validates cookies"

    assert against(old, new).score == 0.67
    assert against(old, new, 0.5).score == 0.58
    assert against(old, "The gateway validates tokens twice").score == 0.95


def test_common_words_count_a_little_where_meaning_is_near():
    old, new = "The gateway validates JSON tokens", "The gateway compresses answers"

    assert against(old, new) is None
    assert against(old, new, 0.8) is None
    assert against(old, new, 0.86) is not None
    assert against("Sessions expire at dawn", "Logins stay valid", 0.86) is None
    assert against("Sessions expire at dawn", "Logins stay valid", 0.88) is not None


def test_the_reason_names_three_words_at_most_as_the_new_one_writes_them():
    said = against("Gateway tokens rotate nightly", "Tokens of the Gateway rotate nightly everywhere")

    assert said.why == "both about Tokens, Gateway, rotate"
    titled = suspicion(
        memory("Long story", summary="Gateway tokens"), memory("x", "old", summary="The gateway token")
    )
    assert titled.why == "both about Gateway, tokens"
    assert against("测试服务器的端口", "测试服务器的端口很多").why == "about the same"


def test_values_are_compared_only_where_both_give_as_many():
    assert "→" not in against("Gateway tokens last 3 days", "Gateway tokens last 3 or 4 days").why
    assert "→" not in against("Gateway tokens last 3 days", "The gateway tokens last some 3 days").why
    assert against("Ports of the gateway: 80, 443", "Gateway ports are 80, 8443").why == "443 → 8443"


def test_a_few_pairs_of_characters_in_common_are_a_coincidence():
    assert against("服务器很慢", "服务器已经重启了") is None
    assert against("测试服务器很慢", "测试服务器已经好了") is not None


def test_a_word_and_a_pair_of_characters_are_two_words():
    assert against("Gateway 服务", "Gateway 服务 ok yes").why == "both about Gateway"


def test_two_words_of_five_are_just_enough_beside_another_value():
    assert against("Gateway tokens rotate nightly everywhere: 3", "Gateway tokens expire quickly somewhere: 4")
    assert not against("Gateway tokens rotate nightly everywhere", "Gateway tokens expire quickly somewhere")


def test_a_single_word_is_a_statement():
    assert is_statement(memory("Backups"))


def test_a_subject_that_only_one_of_the_two_says_more_exactly_is_the_same():
    assert against("Staging gateway keeps tokens", "The gateway keeps tokens") is not None
    assert against("The gateway keeps tokens", "Staging gateway keeps tokens") is not None
    assert against("The proxy keeps tokens nightly", "The gateway keeps tokens nightly") is None


def test_two_telling_words_are_brief_however_many_small_ones_stand_between_and_three_are_not():
    assert is_brief(memory("Use RabbitMQ for the queue"))
    assert not is_brief(memory("Use RabbitMQ for the queue of mails"))


def test_what_says_one_thing_differently_is_at_odds_and_what_is_merely_alike_is_not():
    said = ("We deploy on Wednesdays", "Node 18 is required", "Feature flags are stored in Redis")
    other = ("We deploy on Fridays", "Node 20 is required", "Feature flags live in Postgres, not in Redis")
    pairs = clashing([memory(text, text) for text in (*said, *other)])

    assert [(one.text, another.text) for one, another in pairs] == list(zip(said, other, strict=True))[:2]


def test_what_differs_in_one_word_from_many_is_one_of_a_list():
    days = [memory(f"We deploy on {day}", day) for day in ("Mondays", "Tuesdays", "Fridays")]

    assert len(clashing(days)) == 3
    assert clashing([*days, memory("We deploy on Sundays", "Sundays")]) == []


def test_only_what_holds_in_one_place_is_at_odds_and_a_proposal_with_what_it_amends_is_not():
    here, there = (
        memory("Node 18 is required", "a"),
        memory("Node 20 is required", "b", scope=Scope.parse("agent:x")),
    )

    assert clashing([here, there]) == []
    assert clashing([here, memory("Node 20 is required", "b", amends="a")]) == []
    assert clashing([memory("Node 20 is required", "b", amends="a"), here]) == []


def test_the_first_forty_are_compared():
    others = [memory(f"{letter * 5} {letter * 6} {letter * 7}", letter) for letter in map(chr, range(0x430, 0x44F))]
    pair = [memory("Node 18 is required", "a"), memory("Node 20 is required", "b")]

    assert len(clashing([*others, *pair])) == 1
    assert clashing([*others, *(memory(f"{text.text} x", f"{text.id}x") for text in others), *pair]) == []


def test_two_words_of_five_and_another_number_are_enough_to_be_at_odds():
    one, other = memory("Alpha beta gamma delta omega 18", "a"), memory("Alpha beta kappa sigma theta 20", "b")

    assert clashing([one, other]) == [(one, other)]
    assert clashing([one, memory("Alpha theta kappa sigma lambda 20", "b")]) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The release train leaves at 10:00", "The release train leaves at 11:00"),
        ("We deploy on Wednesdays", "We deploy on Fridays"),
        ("Use Redis for the queue", "Use RabbitMQ for the queue"),
    ],
)
@pytest.mark.parametrize(
    "titles", [("", ""), ("Habit", "Habit"), ("Habit", "Habit of ours"), ("", "Habit"), ("One", "Other")]
)
def test_titles_hide_nothing_that_the_texts_say_differently(old, new, titles):
    one, other = (memory(text, id, summary=title) for text, id, title in zip((new, old), "ab", titles, strict=True))

    assert suspicion(one, other) is not None
    assert clashing([one, other]) == [(one, other)]


TITLES = ("Deploy on Fridays", "Deploy on Mondays")


def titled(titles: tuple[str, str], said: tuple[str, str], near: float | None = None):
    old, new = (
        memory(text, id, summary=title) for text, id, title in zip(said, ("old", "new"), titles, strict=True)
    )
    return suspicion(new, old, near)


def test_titles_that_differ_in_a_word_are_the_reason_whatever_the_texts_share():
    train = ("The release train leaves the station after lunch", "The release train leaves the station quickly")

    assert titled(TITLES, train).why == "Fridays → Mondays"


def test_texts_that_share_enough_are_suspected_under_titles_that_share_nothing():
    flags = ("Feature flags are stored in Redis", "Feature flags live in Postgres, not in Redis")

    assert titled(("Habit", "Custom"), flags).why == "about the same"


def test_titles_that_share_enough_are_what_the_score_is_of():
    flags = ("Feature flags are stored in Redis", "Feature flags live in Postgres, not in Redis")
    tokens = ("The gateway validates JSON tokens", "The gateway compresses answers")

    assert titled(("Flags of features", "Flags of features"), flags).score == 0.95
    assert titled(("Flags of features", "Flags of features"), flags).score > against(*flags).score
    assert against(*tokens, 0.86) is not None
    assert titled(("Habit", "Custom"), tokens, 0.86) is None
