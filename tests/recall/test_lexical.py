"""Recall by words: any string is a question, and what is written otherwise is found all the same."""
# ruff: noqa: RUF001 - marks of other scripts are the subject here, not typing errors

import time
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.samples import MINE, START, change, memory
from engram.engines.ram import RamEngine
from engram.engines.sqlite import SqliteEngine
from engram.errors import Invalid
from engram.model.filter import ANYTHING, Access
from engram.model.query import Census
from engram.model.text import query_terms
from engram.recall.lexical import COMMON, LARGE, MOST_TERMS, read
from engram.recall.pipeline import Question, recall
from engram.rules.access import access_of
from recall.embedders import Concepts
from rules.world import PERSON, World

MIB = 1024 * 1024


@pytest.fixture(params=["ram", "sqlite"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """The same store twice: what is found must not depend on the engine."""
    engine = (
        SqliteEngine(tmp_path / "store.db", new_replica=lambda: "replica") if request.param == "sqlite" else None
    )
    world = World(engine=engine)
    yield world
    world.close()


def found(world: World, question: str, **said: object) -> list[str]:
    answer = world.person.recall(question, words=True, **({"limit": 20} | said))
    return [hit.memory.text for hit in answer.hits]


def say(world: World, *said: str) -> None:
    for text in said:
        world.person.remember(text)


DEPLOY = "We deploy the api on Fridays"
OTHERS = (
    "The harbour opens at dawn",
    "Lunch is served in the canteen",
    "Nadia keeps bees on the roof",
    "The printer needs magenta ink",
)


# --- any string is a question ---


@pytest.mark.parametrize(
    "question",
    [
        "deploy AND NOT api",
        "deploy OR",
        "AND deploy",
        "NOT deploy",
        "NEAR(deploy api, 3)",
        "text:deploy",
        "{text summary}: deploy",
        "deploy*",
        "^deploy",
        "-deploy",
        "+deploy -api",
        "(deploy",
        "deploy)",
        '"deploy',
        'deploy"',
        'deploy "" api',
        "deploy'; DROP TABLE memory; --",
        "deploy \\ % _ ? [a-z]",
        "deploy\tapi\r\nfridays",
        "deploy 🚀🚀",
        "deploy 👩‍👩‍👧‍👦 ❤️",
        "deploy \u202eipa\u202c",
        "deploy مرحبا שלום",
        "ｄｅｐｌｏｙ",
        "dépløy",
        "DEPLOY",
    ],
)
def test_operators_quotes_and_other_signs_are_text_like_any_other(world: World, question: str):
    say(world, DEPLOY, *OTHERS)

    assert found(world, question)[:1] == [DEPLOY]


@pytest.mark.parametrize(
    "question", ["?!…", "...", '""', "'", "*", "()", "🚀", "👩‍👩‍👧", "\u200b", "\u202e", "—", "<>", "%%"]
)
def test_a_question_without_a_word_is_told_so(world: World, question: str):
    say(world, DEPLOY, "The rocket 🚀 flies")
    answer = world.person.recall(question, words=True)

    assert answer.hits == ()
    assert answer.hint == "There is no word to look for in that question."


def test_stop_words_alone_are_looked_for_as_they_stand(world: World):
    say(world, "To be or not to be", "We deploy the api on Fridays", *OTHERS)

    assert found(world, "to be or not to be")[0] == "To be or not to be"
    assert found(world, "or not")[0] == "To be or not to be"


def test_stop_words_beside_other_words_find_nothing_by_themselves(world: World):
    say(world, "What is the use of it all", DEPLOY)

    assert found(world, "what is the api of it all") == [DEPLOY]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("اجتماع الفريق يوم الأحد", "الفريق"),
        ("اجتماع الفريق يوم الأحد", "\u202bالفريق\u202c"),
        ("הפגישה של הצוות ביום ראשון", "הצוות"),
        ("Сервер базы данных стоит в Риге", "сервер"),
        ("Ο διακομιστής βρίσκεται στην Αθήνα", "διακομιστης"),
        ("सर्वर मुंबई में है", "सर्वर"),
        ("เซิร์ฟเวอร์อยู่ที่กรุงเทพ", "กรุงเทพ"),
    ],
)
def test_every_script_is_found_by_its_words(world: World, text: str, question: str):
    say(world, text, DEPLOY)

    assert found(world, question) == [text]


@pytest.mark.parametrize("question", ["a\0deploy", "deploy\0", "\ud800 deploy", "deploy \udfff", "\x1b[31mdeploy"])
def test_what_is_no_text_is_refused_by_the_name_of_the_question(world: World, question: str):
    say(world, DEPLOY)

    with pytest.raises(Invalid, match="question"):
        world.person.recall(question, words=True)


@settings(max_examples=150)
@given(st.text(max_size=80))
def test_any_string_is_read_as_words(question: str):
    engine = RamEngine("replica")
    engine.commit(change(memory("id-1", "We deploy the api on Fridays")))
    words = read(engine, question, MINE)

    assert len(words.terms) <= MOST_TERMS
    assert set(words.variants) <= set(words.terms)


@settings(max_examples=60)
@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=60))
def test_any_text_without_control_characters_is_answered(question: str):
    world = World()
    say(world, DEPLOY)
    if question.strip():
        answer = world.person.recall(question, words=True, weak=True)
        assert answer.query == question
        assert {hit.memory.text for hit in answer.hits} <= {DEPLOY}


@pytest.mark.parametrize("filling", ["deploy ", "".join(f"word{n} " for n in range(90_000))], ids=["same", "other"])
def test_a_question_of_a_megabyte_is_answered_soon(world: World, filling: str):
    say(world, DEPLOY, *OTHERS)
    question = ("deploy " + filling * (MIB // len(filling) + 1))[:MIB]
    begun = time.process_time()

    assert found(world, question, weak=True)[:1] == [DEPLOY]
    assert time.process_time() - begun < 5


def test_a_question_of_more_than_a_megabyte_is_refused(world: World):
    with pytest.raises(Invalid, match="1,048,576"):
        world.person.recall("x" * (MIB + 1), words=True)


# --- all words before some ---


def test_a_memory_with_all_the_words_comes_before_those_with_some(world: World):
    some = "The backup of the backup of the backup is a backup"
    every = "After the upgrade of the cluster, and never on a weekend, somebody has to look at the backup once more"
    say(world, some, every, "The cluster has three nodes", *OTHERS)

    assert found(world, "backup upgrade cluster")[0] == every


def test_some_of_the_words_are_enough_and_that_is_told(world: World):
    say(world, DEPLOY, *OTHERS)
    answer = world.person.recall("zeppelin deploy", words=True)

    assert [hit.memory.text for hit in answer.hits] == [DEPLOY]
    assert answer.relaxed
    assert not world.person.recall("deploy fridays", words=True).relaxed


def test_a_rare_word_counts_more_than_a_common_one(world: World):
    say(
        world,
        *(f"The service {name} is up" for name in ("alpha", "beta", "gamma", "delta")),
        "Zanzibar is an island",
    )

    assert found(world, "service zanzibar")[0] == "Zanzibar is an island"


# --- identifiers ---


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        (
            "The helper load_user_settings reads the file",
            ["load_user_settings", "user settings", "LOAD_USER_SETTINGS"],
        ),
        ("The helper loadUserSettings reads the file", ["loadUserSettings", "user settings", "loadusersettings"]),
        ("HTTPServerError is raised by it", ["HTTPServerError", "server error", "http"]),
        ("See src/engram/recall/weigh.py for it", ["src/engram/recall/weigh.py", "weigh.py", "recall", "weigh"]),
        ("The file C:/tools/run-all.bat starts it", ["run-all.bat", "tools", "run all"]),
        ("We need sqlite 3.51.3 or newer", ["3.51.3", "sqlite 3.51.3", "SQLite"]),
        ("Upgrade to v2.0.0-rc1 first", ["v2.0.0-rc1", "rc1"]),
        ("rustc says E0308 there", ["E0308", "e0308"]),
        ("The browser shows ERR_CONNECTION_REFUSED", ["ERR_CONNECTION_REFUSED", "connection refused"]),
        ("Windows answers 0x80070005", ["0x80070005"]),
        ("It is written in C++ and C#", ["C++", "c#"]),
        ("Mail ops@example.org about it", ["ops@example.org", "example.org"]),
        ("Call std::vector::push_back here", ["std::vector::push_back", "push_back", "vector"]),
        ("The flag --dry-run is safe", ["--dry-run", "dry-run", "dry run"]),
        ("It listens on 10.0.0.7:5432", ["10.0.0.7:5432", "10.0.0.7", "5432"]),
        ("Issue PROJ-1234 has the story", ["PROJ-1234", "proj-1234", "1234"]),
    ],
)
def test_an_identifier_is_found_whole_and_in_parts(world: World, text: str, questions: Sequence[str]):
    say(world, text, *OTHERS)

    for question in questions:
        assert found(world, question) == [text], question


@pytest.mark.parametrize(
    ("whole", "parts", "question"),
    [
        ("The call load_user is slow", "The user will load it, slow", "load_user"),
        ("The call loadUser is slow", "The user will load it, slow", "loadUser"),
        ("The file recall/weigh.py is long", "The recall and weigh of py is long", "recall/weigh.py"),
        ("Needs 3.51.3 at least", "Needs 51 of 3 and 3 at least", "3.51.3"),
    ],
)
def test_an_identifier_as_a_whole_comes_before_its_parts(world: World, whole: str, parts: str, question: str):
    say(world, parts, whole, *OTHERS)

    assert found(world, question)[0] == whole


# --- typing errors and half words ---


@pytest.mark.parametrize(
    ("kind", "typed"),
    [
        ("a letter less", "kuberntes"),
        ("a letter more", "kubbernetes"),
        ("another letter", "kubernates"),
        ("two letters swapped", "kubenretes"),
        ("the first letter", "jubernetes"),
        ("the last letter", "kubernetex"),
    ],
)
def test_one_typing_error_is_forgiven(world: World, kind: str, typed: str):
    say(world, "The kubernetes cluster is in Riga", *OTHERS)

    assert found(world, f"{typed} cluster in Oslo")[:1] == ["The kubernetes cluster is in Riga"], kind
    assert found(world, f"where is {typed}?") == ["The kubernetes cluster is in Riga"], kind


def test_words_that_are_known_by_another_spelling_alone_are_told_as_they_were_typed(world: World):
    world.person.remember("The harbour stays short of berths")

    def guessed(question: str) -> tuple[str, ...]:
        return read(world.engine, question, access_of(PERSON)).guessed

    assert guessed("any Sports?") == ("Sports",)
    assert guessed("shirt, sports") == ("shirt", "sports")
    assert guessed("sports in the harbour") == ()  # one of its words is known
    assert guessed("harbours") == guessed("harb") == guessed("zeppelin") == guessed("?!") == ()


def test_two_typing_errors_in_one_word_are_another_word(world: World):
    say(world, "The harbour of Rotterdam", *OTHERS[1:])

    assert found(world, "what of hadbiur, then?") == []


def test_a_word_that_somebody_wrote_is_not_taken_for_a_typing_error(world: World):
    say(world, "The cart is full", "The card is empty", *OTHERS)

    assert found(world, "which cart is it?") == ["The cart is full"]


def test_the_word_as_it_is_typed_comes_before_one_that_only_looks_like_it(world: World):
    say(world, "The marina lies at the river", "The marine lies at the river", *OTHERS)

    assert found(world, "the marine")[0] == "The marine lies at the river"


@pytest.mark.parametrize("typed", ["kub", "kube", "kuber", "kubernete"])
def test_the_last_word_may_be_half_typed(world: World, typed: str):
    say(world, "The kubernetes cluster is in Riga", *OTHERS)

    assert found(world, typed) == ["The kubernetes cluster is in Riga"]
    assert found(world, f"where is our {typed}") == ["The kubernetes cluster is in Riga"]


RUSSIAN = "Сервер базы данных стоит в Риге"
GREEK = "Ο διακομιστής βρίσκεται στην Αθήνα"
HEBREW = "הפגישה של הצוות ביום ראשון"
HINDI = "हमारा कार्यालय मुंबई में है"


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        (RUSSIAN, "сервре"),  # two letters swapped
        (RUSSIAN, "сервера"),  # a letter more
        (RUSSIAN, "севрер"),
        (RUSSIAN, "даных"),  # a letter less
        (RUSSIAN, "дамных"),  # another letter
        (GREEK, "διακομηστής"),
        (GREEK, "Αθίνα"),
        (HEBREW, "הפגישא"),
        (HINDI, "कार्यालव"),
    ],
)
def test_a_typing_error_is_forgiven_in_every_alphabet(world: World, text: str, typed: str):
    say(world, text, *OTHERS)

    assert found(world, f"{typed}?") == [text]


@pytest.mark.parametrize(
    ("text", "typed"),
    [(RUSSIAN, "серв"), (RUSSIAN, "где дан"), (GREEK, "διακ"), (HEBREW, "הפגי"), (HINDI, "कार्")],
)
def test_the_last_word_may_be_half_typed_in_every_alphabet(world: World, text: str, typed: str):
    say(world, text, *OTHERS)

    assert found(world, typed) == [text]
    assert found(world, f"{typed}?") == []


def test_a_longest_word_of_another_alphabet_is_looked_for_like_any_other(world: World):
    say(world, RUSSIAN, *OTHERS)

    assert found(world, "абвгдежзик" * 6) == []


def test_a_short_word_that_is_finished_is_no_beginning(world: World):
    say(world, "The kubernetes cluster is in Riga", *OTHERS)

    assert found(world, "kube is what?") == []
    assert found(world, "kube ") == []


# --- German ---

GERMAN = (
    "Die Straßenbeleuchtung wird nachts um elf abgeschaltet",
    "Der Server steht in Frankfurt und wird von der Technik betreut",
    "Das Team trifft sich am Montag in der Kantine",
    "Wir nutzen PostgreSQL für die Abrechnung",
)


@pytest.mark.parametrize(
    "question",
    [
        "Wird der Hund gefüttert?",
        "Wer ist die Königin von England?",
        "Wie hoch ist der Eiffelturm, und wer hat ihn für uns gebaut?",
        "Was kostet das in der Schweiz?",
        "Fuer wen sind die Blumen?",
    ],
)
def test_a_german_question_is_not_answered_by_its_small_words(world: World, question: str):
    say(world, *GERMAN)

    assert found(world, question) == []


def test_a_german_question_is_answered_by_its_other_words(world: World):
    say(world, *GERMAN)

    assert found(world, "Wo steht der Server?") == [GERMAN[1]]
    assert found(world, "Wann trifft sich das Team?") == [GERMAN[2]]
    assert found(world, "und wir")[0] == GERMAN[3], "small words alone are looked for as they stand"


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("The certificate is kept as der beside the pem", "der certificate"),
        ("Everything here is under the mit licence", "mit licence"),
        ("Set the cache dir by hand", "cache dir"),
        ("What is der to a German is the to us", "what is der?"),
    ],
)
def test_a_small_word_of_german_is_a_word_like_any_other_elsewhere(world: World, text: str, question: str):
    say(world, text, *OTHERS)

    assert set(query_terms(question)) == set(read(world.engine, question, MINE).terms)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Die Größenprüfung läuft nachts", "Groessenpruefung"),
        ("Die Größenprüfung läuft nachts", "groessenpruef"),
        ("Frau Müller leitet die Küche", "Mueller"),
        ("Prüfung der Größen vor dem Versand", "Groessenpruefung"),
    ],
)
def test_umlauts_may_be_written_with_an_e(world: World, text: str, question: str):
    say(world, text, *OTHERS)

    assert found(world, question)[:1] == [text]
    assert found(world, f"{question} Zeppelin Ballon")[:1] == [text]


# --- compounds ---


@pytest.mark.parametrize("piece", ["rosenscher", "ploymen", "bernete", "OSENSCH"])
def test_the_middle_of_a_longer_word_finds_it_where_nothing_else_does(world: World, piece: str):
    world.person.remember("The Rosenschere hangs beside the redeployments")
    world.person.remember("Kubernetes runs in Frankfurt")
    hits = world.person.recall(piece).hits

    assert len(hits) == 1
    assert world.person.recall("qqqzzz").hits == ()


def test_a_middle_is_not_looked_for_beside_a_word_that_somebody_wrote(world: World):
    world.person.remember("Redeployments are on Fridays")
    world.person.remember("Lunch is on Fridays too")

    assert world.person.recall("ploymen").hits
    assert len(world.person.recall("ploymen fridays").hits) == 2


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Die Datenbankverbindung bricht nachts ab", "Verbindung"),
        ("Die Datenbankverbindung bricht nachts ab", "welche Datenbank?"),
        ("Die Datenbankverbindungen brechen nachts ab", "Verbindungen"),
        ("Der Versicherungsvertrag liegt im Tresor", "Vertrag"),
        ("Der Versicherungsvertrag liegt im Tresor", "Versicherung"),
        ("Die Überwachungskamera ist defekt", "Kamera"),
        ("Die Überwachungskamera ist defekt", "Überwachung"),
        ("Die Straßenbeleuchtung fällt aus", "Beleuchtung"),
        ("Die Größenänderung schlägt fehl", "Änderung"),
        ("Der Rechnungslauf beginnt um sechs", "Rechnung"),
    ],
)
def test_a_part_finds_the_compound(world: World, text: str, question: str):
    say(world, text, *OTHERS)

    assert found(world, question) == [text]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Die Verbindung zur Datenbank bricht ab", "Datenbankverbindung"),
        ("Der Vertrag über die Versicherung liegt im Tresor", "Versicherungsvertrag"),
        ("Die Kamera dient der Überwachung", "Überwachungskamera"),
        ("Das Passwort des Administrators ist neu", "Administratorpasswort"),
        ("Die Beleuchtung der Straßen fällt aus", "Straßenbeleuchtung"),
    ],
)
def test_a_compound_finds_its_parts(world: World, text: str, question: str):
    say(world, text, *OTHERS)

    assert found(world, question) == [text]


def test_a_compound_of_which_only_one_part_is_known_is_not_taken_apart(world: World):
    say(world, "The ware house is closed", *OTHERS)

    assert found(world, "doghouse?") == []


# --- scripts without spaces ---


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("数据库端口是5432", "端口"),
        ("数据库端口是5432", "数据库的端口是什么"),
        ("我们每周五部署服务", "部署"),
        ("認証トークンの有効期限は一時間です", "有効期限"),
        ("認証トークンの有効期限は一時間です", "トークン"),
        ("배포는 매주 금요일에 한다", "금요일"),
        ("데이터베이스 포트는 5432이다", "데이터베이스"),
    ],
)
def test_chinese_japanese_and_korean_are_found_within_a_line(world: World, text: str, question: str):
    say(world, text, "今天天气很好", "会議室は三階です", "회의실은 삼층에 있다")

    assert found(world, question)[0] == text


def test_a_pair_of_characters_counts_more_than_the_two_apart(world: World):
    say(world, "口在端上", "数据库端口是5432")

    assert found(world, "端口")[0] == "数据库端口是5432"


# --- quotes ---


@pytest.mark.parametrize("marks", ['""', "“”", "„“", "«»", "「」"])
def test_a_quoted_phrase_must_be_there_in_a_row(world: World, marks: str):
    say(world, "We roll back at once", "Back then we had to roll dice", "To roll is to turn", *OTHERS)

    assert found(world, f"{marks[0]}roll back{marks[1]}") == ["We roll back at once"]


def test_other_words_beside_a_phrase_only_order_what_has_it(world: World):
    say(world, "We roll back at once", "We roll back on Friday", "Friday is free", *OTHERS)

    assert found(world, 'Friday "roll back"') == ["We roll back on Friday", "We roll back at once"]


def test_a_phrase_that_nobody_wrote_finds_nothing(world: World):
    say(world, DEPLOY, *OTHERS)
    answer = world.person.recall('"api deploy"', words=True, weak=True)

    assert answer.hits == ()
    assert answer.hint


def test_a_phrase_may_hold_stop_words(world: World):
    say(world, "It is up to us", "Us it is, up there, to be sure")

    assert found(world, '"up to us"') == ["It is up to us"]


def test_in_a_full_question_a_quotation_counts_more_and_is_no_condition(world: World):
    say(world, "We roll back at once", "To go back, somebody has to roll it by hand", *OTHERS)
    answer = found(world, 'why do we say "roll back"?')

    assert answer[0] == "We roll back at once"
    assert len(answer) == 2


def test_two_phrases_must_both_be_there(world: World):
    say(world, "Roll back, then ring the bell", "Roll back and sleep", "Ring the bell")

    assert found(world, '"roll back" "ring the bell"') == ["Roll back, then ring the bell"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("数据库端口是5432", '"端口"'),
        ("认证令牌一小时后过期", '"令牌一小时"'),
        ("See src/engram/recall/weigh.py for it", '"weigh.py"'),
        ("The helper load_user_settings reads it", '"user settings"'),
        ("The user_authentication is on", '"authentication"'),
        ("Authentication middleware is on", '"authentication middleware"'),
        ("The flag is --dry-run", '"dry-run"'),
    ],
)
def test_a_phrase_is_found_within_an_identifier_or_a_line_without_spaces(world: World, text: str, question: str):
    say(world, text, "今天天气很好", *OTHERS)

    assert found(world, question) == [text]


def test_a_phrase_must_be_there_whatever_it_means():
    car = {"automobile": 0, "car": 0, "red": 1}
    world = World(embedder=Concepts(car))
    say(world, "The red car is fast", "An automobile, red as wine", "A car is red")

    def by_meaning(question: str) -> list[str]:
        answer = world.person.recall(question, weak=True)
        assert answer.by_meaning
        return [hit.memory.text for hit in answer.hits]

    assert set(by_meaning("red automobile")) == {
        "The red car is fast",
        "An automobile, red as wine",
        "A car is red",
    }
    assert by_meaning('"red car"') == ["The red car is fast"]


# --- fields ---


def test_a_word_counts_most_in_the_key_then_in_the_summary_the_tags_and_the_text(world: World):
    world.person.remember("One thing about it", key="zanzibar")
    world.person.remember("Two thing about it", summary="zanzibar")
    world.person.remember("Six thing about it", tag=["zanzibar"])
    world.person.remember("Ten zanzibar about it")
    answer = world.person.recall("zanzibar", words=True)
    by_words = sorted(answer.hits, key=lambda hit: -hit.reasons["words"])

    assert [hit.memory.text[:3] for hit in by_words] == ["One", "Two", "Six", "Ten"]
    assert len({hit.reasons["words"] for hit in by_words}) == 4


def test_the_kind_is_a_word_too(world: World):
    world.person.remember("Something went wrong there", kind="gotcha")
    say(world, *OTHERS)

    assert found(world, "gotcha") == ["Something went wrong there"]


# --- what others wrote ---


def test_what_others_wrote_in_private_changes_no_answer(world: World):
    say(world, DEPLOY, "The kubernetes cluster is in Riga")
    asked = ("What does Zebulon say of deploys", "where is kubernetas?", "zanzibr api", "cluster")

    def told() -> list[tuple[object, ...]]:
        answers = [world.person.recall(question, words=True) for question in asked]
        return [([hit.memory.id for hit in one.hits], one.hint, one.relaxed, one.weak) for one in answers]

    before = told()
    for text in ("Zebulon says that deploys are kubernetas", "The zanzibr of Zanzibar", "Our cluster is a cluster"):
        world.other.remember(text)

    assert told() == before


# --- large stores ---


class Counted:
    """An engine that only knows how many memories carry a term."""

    def __init__(self, total: int, **carriers: int) -> None:
        self.total, self.carriers = total, carriers
        self.asked: list[str] = []

    def census(self, terms: Sequence[str], access: Access) -> Census:
        assert access == MINE
        self.asked += terms
        return Census(self.total, {term: self.carriers.get(term, 0) for term in terms})

    def containing(self, piece: str, access: Access) -> list[str]:
        assert access == MINE
        self.asked.append(piece)
        return []


def test_very_common_words_of_a_large_store_are_not_looked_for_where_a_rarer_one_is():
    often = int(COMMON * 5000) + 1

    assert read(Counted(5000, api=often, zanzibar=3), "api zanzibar", MINE).terms == ("zanzibar",)
    assert read(Counted(5000, api=often, server=often), "api server", MINE).terms == ("api", "server")
    assert read(Counted(5000, api=often - 1, zanzibar=3), "api zanzibar", MINE).terms == ("api", "zanzibar")


def test_a_common_word_stays_where_nobody_wrote_the_rarer_one():
    assert read(Counted(5000, api=4000), "api 0815", MINE).terms == ("api", "0815")


def test_in_a_small_store_every_word_counts():
    assert read(Counted(LARGE, api=LARGE, zanzibar=1), "api zanzibar", MINE).terms == ("api", "zanzibar")


def test_other_spellings_are_looked_for_only_where_a_word_is_unknown():
    engine = Counted(10, deploy=3, api=2)
    read(engine, "deploy the api?", MINE)

    assert engine.asked == ["deploy", "api"]


def test_a_question_of_many_unknown_words_asks_for_a_bounded_number_of_spellings():
    engine = Counted(10)
    read(engine, " ".join(f"{''.join(word)}wort" for word in permutations("abcd", 4)), MINE)

    assert len(engine.asked) < 5000


def test_very_common_words_of_a_large_store_do_not_decide(tmp_path: Path):
    engine = SqliteEngine(tmp_path / "store.db", new_replica=lambda: "replica")
    said = [memory(f"id-{n:05}", f"The common service number {n} runs in the common cluster") for n in range(1100)]
    said += [memory("id-answer", "Zanzibar is where it runs"), memory("id-decoy", "common common common service")]
    engine.commit(change(*said))
    asked = Question("common service zanzibar", ANYTHING, MINE, now=START, limit=5)
    hits = recall(engine, asked).hits
    engine.close()

    assert [hit.memory.id for hit in hits] == ["id-answer"]
