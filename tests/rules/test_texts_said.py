"""Which texts a record says, and which of them are names that programs gave."""

import pytest

from engram.rules.saying import UNSAID, Said, texts, told_by
from rules import histories
from rules.world import memory


def said(field: str, value: object) -> set[Said]:
    return set(texts(field, value))


def test_a_text_says_itself_and_what_is_no_text_says_nothing():
    assert said("text", "We deploy on Fridays") == {Said("We deploy on Fridays", given=False)}
    assert said("confidence", 0.5) == said("valid_until", None) == set()


def test_every_text_of_a_list_and_of_an_object_is_said():
    assert said("tags", ["a", ["b", "c"]]) == {Said(each, given=False) for each in "abc"}
    assert said("context", {"repo": "r", "tool": "t"}) == {Said("r", given=False), Said("t", given=False)}
    assert said("note", [{"one": ["a"]}, {"two": {"three": "b"}}, "c"]) == {
        Said(each, given=False) for each in "abc"
    }


@pytest.mark.parametrize("field", sorted(UNSAID))
def test_what_nobody_words_says_nothing_and_what_stands_beside_it_does(field: str):
    assert said(field, "made here") == set()
    assert said("note", {"before": "a", field: "made here", "after": "b"}) == {
        Said(each, given=False) for each in "ab"
    }


def test_a_name_that_a_program_gave_is_told_apart_however_deep_it_stands():
    assert said("session", "ses_1") == {Said("ses_1", given=True)}
    assert said("note", {"session": ["ses_1"], "text": "a"}) == {Said("ses_1", given=True), Said("a", given=False)}


@pytest.mark.parametrize("kind", ["session", "message"])
def test_a_citation_of_a_talk_names_what_a_program_gave_and_quotes_what_was_said(kind: str):
    cited = {"kind": kind, "ref": "msg_1", "excerpt": "so it was"}

    assert said("citations", [cited]) == {
        Said(kind, given=True),
        Said("msg_1", given=True),
        Said("so it was", given=False),
    }
    assert Said("src/api.py", given=False) in said("citations", [{"kind": "file", "ref": "src/api.py"}])


def test_what_is_nested_deeper_than_calls_could_go_is_said():
    deep: object = "at the bottom"
    for _ in range(100_000):
        deep = [deep]

    assert said("text", deep) == {Said("at the bottom", given=False)}


def test_an_event_tells_old_and_new_words_of_records_and_the_words_of_its_notes():
    edit = histories.changing("text", "new words", "old words")
    told = set(told_by(histories.said("mine", edit, note={"reason": "because"})))

    assert told == {(id, Said(text, given=False)) for id, text in [
        ("memory-1", "old words"), ("memory-1", "new words"), ("", "because"),
    ]}  # fmt: skip
    assert list(told_by(histories.said("mine", edit)._replace(payload=None))) == []


def test_an_event_tells_what_records_say_that_it_tells_whole_and_the_notes_around_them():
    event = histories.telling(memory(summary="in short"), "mine")
    note = {"before": "one", **event.payload.note, "after": "two"}
    told = set(told_by(event._replace(payload=event.payload._replace(note=note))))

    assert {("memory-1", Said("in short", given=False)), ("", Said("one", given=False))} <= told
    assert ("", Said("two", given=False)) in told
    assert ("", Said("in short", given=False)) not in told
