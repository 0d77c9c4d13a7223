"""What passive capture reads out of a text, and the key a topic gets."""

import time

import pytest

from engram.model.limits import LIMITS, LONGEST_SHOWN, check_text, size
from engram.recall.brief import Section, brief
from engram.rules.capture import (
    MOST_ITEMS,
    Learned,
    learned,
    learnings,
    suggested_key,
    summary_of,
    without_recalled,
)
from rules.world import START, memory

LIST = "- The cache must be warm before the first request\n- Retries need a jitter of their own\n"
ITEMS = ["The cache must be warm before the first request", "Retries need a jitter of their own"]


@pytest.mark.parametrize(
    "heading",
    [
        "## Key Learnings:",
        "### Learnings",
        "## key learning",
        "##   Learning :",
        "## Aprendizajes",
        "### Aprendizajes Clave:",
        "## APRENDIZAJES CLAVE",
    ],
)
def test_a_heading_in_any_of_its_forms_begins_a_section(heading: str):
    assert learnings(f"Done.\n\n{heading}\n\n{LIST}") == ITEMS


@pytest.mark.parametrize(
    "heading",
    [
        "# Key Learnings",
        "#### Key Learnings",
        "**Key Learnings**",
        "## Lessons Learned",
        "## Key learnings of today",
    ],
)
def test_other_headings_do_not(heading: str):
    assert learnings(f"{heading}\n{LIST}") == []


def test_a_section_ends_at_the_next_heading_and_the_last_section_with_items_counts():
    text = (
        f"## Learnings\n{LIST}\n## Key Learnings\n- too short\n\n# Next\n- This one stands under another heading\n"
    )

    assert learnings(text) == ITEMS


def test_numbered_items_go_before_bullets():
    text = "## Learnings\n- A bullet of some length\n1. The first numbered item counts\n2) So does the second one"

    assert learnings(text) == ["The first numbered item counts", "So does the second one"]


def test_marks_of_emphasis_and_code_are_taken_off_and_space_is_joined():
    text = "## Learnings\n- **Always**  run `make check`   before *every* commit"

    assert learnings(text) == ["Always run make check before every commit"]


def test_items_of_few_words_or_bytes_are_left_out_but_scripts_without_spaces_are_not():
    text = (
        "## Learnings\n- one two three fourteen\n- supercalifragilisticexpialidocious\n- 缓存必须在部署之前清空\n"
    )

    assert learnings(text) == ["one two three fourteen", "缓存必须在部署之前清空"]


def test_an_item_of_just_enough_bytes_and_words_counts():
    assert learnings("## Learnings\n- aaaa bbbb cccc ddddd\n- aaaa bbbb cccc dddd") == ["aaaa bbbb cccc ddddd"]


def test_an_item_counts_once():
    assert learnings(f"## Learnings\n{LIST}{LIST}") == ITEMS


def test_what_a_section_lists_beside_its_items_is_told():
    assert learned(f"## Learnings\n{LIST}- too short") == Learned(ITEMS, ["too short"])
    many = [f"Number {n} of the things that were learned" for n in range(MOST_ITEMS + 2)]
    assert learned("## Learnings\n- " + "\n- ".join(many)) == Learned(many[:MOST_ITEMS], [], 2)
    assert learned("## Learnings\n- " + "\n- ".join(many[:MOST_ITEMS])).beyond == 0


def test_where_nothing_says_enough_the_last_section_that_lists_something_is_told():
    assert learned("## Learnings\n- one\n## Learnings\n- two\n") == Learned([], ["two"])
    assert learned("## Learnings\n- one\n## Learnings\nNothing.\n") == Learned([], ["one"])
    assert learned("Nothing.") == Learned([], [])


def test_what_was_recalled_is_never_captured_again():
    recalled = f"<engram-memory>\n## Key Learnings\n{LIST}</engram-memory>\n"

    assert learnings(recalled) == []
    assert learnings(f"{recalled}## Learnings\n- Something that is really new today") == [
        "Something that is really new today"
    ]


@pytest.mark.parametrize("reader", ["alex", "kim"])
@pytest.mark.parametrize("origin", ["said", "inferred"])
def test_a_line_copied_out_of_a_brief_is_not_captured_whosever_word_it_is(reader: str, origin: str):
    one = memory(
        "id-1", "We deploy on Fridays", kind="convention", origin=origin, handle="mem-0001", actor="A, [b]"
    )
    told = brief([Section("Recent", [one])], budget=4000, now=START, reader=reader).text.splitlines()
    (copied,) = [line for line in told if line.startswith("- ")]

    assert learnings(f"## Learnings\n{copied}\n{LIST}") == ITEMS


def test_a_recalled_block_that_is_not_closed_goes_to_the_end():
    assert without_recalled("Mine.\n<engram-memory>\nTheirs.") == "Mine.\n"


def test_a_block_that_an_agent_has_escaped_is_known_too():
    assert without_recalled("Mine.\n&lt;engram-memory&gt;\nTheirs.\n&lt;/engram-memory&gt;").strip() == "Mine."


def test_a_sentence_that_names_the_mark_is_a_sentence():
    said = "A block begins with <engram-memory> and ends with </engram-memory>."

    assert without_recalled(said) == said


LONG = "Force pushes to the main branch are allowed for everybody except the interns"


def test_an_item_that_is_short_enough_to_be_shown_gets_no_summary():
    assert summary_of(LONG) == ""
    assert summary_of("x" * LONGEST_SHOWN) == ""


@pytest.mark.parametrize(
    ("item", "summary"),
    [
        (f"{LONG}. {LONG} of Acme. {LONG}, and more", f"{LONG}. {LONG} of Acme."),
        (f"{LONG} (e.g. in May), {LONG} vs. all. " + "word " * 60, f"{LONG} (e.g. in May), {LONG} vs. all."),
        ("Beware. " + "word " * 60, "Beware. " + "word " * 45 + "word…"),
        ("x" * 59 + ". " + "word " * 60, "x" * 59 + "."),
        ("x" * 300, "x" * LONGEST_SHOWN + "…"),
        ("漢" * 100 + "。" + "字" * 200, "漢" * 100 + "。"),
        ("漢" * 300, "漢" * 169 + "…"),
    ],
)
def test_a_long_item_is_summed_up_by_its_first_sentences_and_never_cut_within_a_character(item: str, summary: str):
    assert summary_of(item) == summary
    check_text("summary", summary)


@pytest.mark.parametrize(
    ("summary", "kind", "key"),
    [
        ("JWT auth middleware", "architecture", "architecture/jwt-auth-middleware"),
        ("Fix the login crash", "", "bug/fix-the-login-crash"),
        ("Bug: login", "bugfix", "bug/login"),
        ("Bug", "bugfix", "bug/general"),
        ("Naming of branches", "convention", "pattern/naming-of-branches"),
        ("Session of today", "session_summary", "session/of-today"),
        ("Tea at four", "manual", "topic/tea-at-four"),
        ("Tea at four", "habit", "habit/tea-at-four"),
        ("Tea at four", " BugFix ", "bug/tea-at-four"),
        ("Tea at four", "fact", "topic/tea-at-four"),
    ],
)
def test_a_topic_gets_a_key_of_its_family(summary: str, kind: str, key: str):
    assert suggested_key("", summary, kind) == key


def test_a_list_of_very_many_items_is_read_in_time_in_proportion():
    slight = "".join(f"- item {n}\n" for n in range(20_000))
    told = "".join(f"- Worker {n} needs a restart\n" for n in range(20_000))
    began = time.process_time()

    found = learned(f"## Key learnings\n{slight}{told}")

    assert (len(found.items), len(found.slight), found.beyond) == (MOST_ITEMS, 20_000, 20_000 - MOST_ITEMS)
    assert time.process_time() - began < 3


def test_a_text_alone_is_named_by_its_first_words():
    assert suggested_key("We chose Postgres over MySQL because of row security and more", "", "") == (
        "decision/we-chose-postgres-over-mysql-because-of-row"
    )


def test_topics_in_other_scripts_get_keys_of_their_own_and_the_same_one_again():
    first, second = suggested_key("", "缓存策略", "decision"), suggested_key("", "部署策略", "decision")

    assert first.startswith("decision/general-u-")
    assert first != second
    assert suggested_key("", "缓存策略", "decision") == first


@pytest.mark.parametrize("kind", ["", "decision", "日本語" * 30, "k" * 200])
def test_a_suggested_key_can_be_kept_whatever_it_is_made_of(kind: str):
    key = suggested_key("", "ä" * 500, kind)

    assert size(key) <= LIMITS["key"]
    check_text("key", key)


def test_a_key_outlives_the_version_that_suggested_it():
    assert suggested_key("", "Straße der Köche", "decision") == "decision/stra-e-der-k-che-u-eb5b7a4c2a5d"
    assert suggested_key("", " STRAßE  der KÖCHE", "decision") == "decision/stra-e-der-k-che-u-eb5b7a4c2a5d"
