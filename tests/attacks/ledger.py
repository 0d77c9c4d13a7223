"""What is attacked, at which doors, and the tests that say what comes of it: the table of docs/security.md."""

from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "security.md"
BEGIN, END = "<!-- attacks: written by tests/attacks -->", "<!-- end of attacks -->"

POISONING, MATRIX = "attacks/test_attacks_poisoning.py", "surfaces/test_matrix.py"
TEAM, ISSUER, GUARD = "surfaces/test_team.py", "surfaces/test_issuer.py", "surfaces/test_guard.py"


class Attack(NamedTuple):
    """One way to do harm, the doors it is tried at, what holds there, and the test of it: a file and a function."""

    name: str
    doors: str
    holds: str
    file: str
    test: str


ATTACKS = tuple(
    Attack(*row)
    for row in (
        (
            "A tool's output or a web page that carries instructions",
            "CLI, hook, recall",
            "waits for a person (`untrusted_origin`); told to no agent",
            POISONING,
            "test_what_a_tool_or_a_page_said_waits_whatever_its_kind",
        ),
        (
            "Repeating, revising or routing it until it counts",
            "CLI as an agent",
            "still waits; promoting is refused",
            POISONING,
            "test_what_waits_is_not_promoted_by_repeating_revising_or_routing_it",
        ),
        (
            "An imported file that carries instructions",
            "import",
            "everything in it waits",
            POISONING,
            "test_a_file_that_is_imported_brings_nothing_into_use",
        ),
        (
            "The same, after an export and a trusted import",
            "export, import",
            "its label comes back with it",
            POISONING,
            "test_the_label_comes_back_after_leaving_and_returning",
        ),
        (
            "A transcript in which a tool spoke",
            "harvest",
            "what tools said is not read",
            POISONING,
            "test_what_tools_said_in_a_transcript_is_not_read",
        ),
        (
            "A memory from a machine nobody accepted",
            "sync",
            "waits for a person",
            "sync/test_strangers.py",
            "test_what_a_stranger_remembers_waits_for_review",
        ),
        (
            "The file an agent reads at its start",
            "views",
            "has only what is live",
            POISONING,
            "test_a_view_for_agents_has_only_what_is_live",
        ),
        (
            "A memory that ends the recalled block or opens another",
            "context, hook",
            "stays one line within the block",
            POISONING,
            "test_no_memory_ends_its_block_or_opens_another",
        ),
        (
            "A recalled block that is saved again",
            "remember, capture, hook",
            "left out by its marks",
            POISONING,
            "test_what_was_recalled_is_not_taken_up_again",
        ),
        (
            "Another's row, by 16 callers, 17 rows and 17 deeds",
            "HTTP",
            "absent, to the byte; or forbidden",
            MATRIX,
            "test_every_cell_of_the_grid_holds_over_http",
        ),
        ("The same", "MCP", "absent or forbidden", MATRIX, "test_every_cell_of_the_grid_holds_over_mcp"),
        (
            "Counting what may not be read",
            "HTTP, MCP",
            "in no answer and in no count",
            MATRIX,
            "test_what_is_absent_is_in_no_answer_and_in_no_count",
        ),
        (
            "Another's row by id form, prefix, cursor, scope, event or injection",
            "HTTP",
            "not told",
            MATRIX,
            "test_no_name_and_no_filter_reaches_what_is_anothers",
        ),
        (
            "A tenant, owner or role in an argument",
            "HTTP, MCP",
            "refused as unknown",
            MATRIX,
            "test_who_one_is_cannot_be_said_by_an_argument",
        ),
        (
            "Telling what is there by the time an answer takes",
            "HTTP",
            "no difference beyond noise",
            MATRIX,
            "test_what_may_not_be_read_takes_as_long_as_what_is_not_there",
        ),
        (
            "Another workspace of one's own",
            "HTTP, MCP",
            "absent; history and undo keep to it too",
            MATRIX,
            "test_a_workspace_bounds_every_read_and_write",
        ),
        (
            "Undoing what another did",
            "HTTP",
            "forbidden or absent",
            MATRIX,
            "test_nobody_takes_back_what_another_did",
        ),
        (
            "Erasing what one only reviewed",
            "HTTP",
            "absent",
            MATRIX,
            "test_a_reviewer_erases_nothing_by_having_judged_it",
        ),
        (
            "Unsigned, cut, swapped, foreign and 100 KB tokens",
            "HTTP, MCP",
            "401, the same bytes for every reason",
            TEAM,
            "test_a_refusal_never_says_why",
        ),
        (
            "Expired, early, `alg: none`, HMAC by a public key, wrong audience",
            "the check of tokens",
            "one and the same refusal",
            ISSUER,
            "test_what_is_no_token_of_this_provider_for_this_server_now_opens_nothing",
        ),
        (
            "The provider's keys are away",
            "HTTP",
            "503, and nobody is let in",
            TEAM,
            "test_without_the_provider_nobody_is_let_in_and_nothing_else_is_said",
        ),
        (
            "Tokens with unknown keys, to make us ask the provider",
            "the check of tokens",
            "asked once a while",
            ISSUER,
            "test_tokens_with_unknown_keys_are_no_way_to_ask_the_provider_without_end",
        ),
        (
            "A DNS name that leads to this machine",
            "HTTP, MCP",
            "421",
            GUARD,
            "test_a_request_for_another_host_is_misdirected",
        ),
        (
            "A page of another site, even with the token",
            "HTTP, MCP",
            "403",
            GUARD,
            "test_a_page_of_another_site_is_refused_even_with_the_token",
        ),
        (
            "Made-up requests of every operation, right and wrong",
            "HTTP",
            "no 5xx, no undocumented status",
            "surfaces/test_openapi.py",
            "test_no_request_breaks_the_server_and_every_answer_is_as_documented",
        ),
        (
            "Links that lead out of a folder",
            "import",
            "not followed",
            POISONING,
            "test_a_link_out_of_a_folder_is_not_followed",
        ),
        (
            "The same",
            "plain files",
            "not followed",
            "engines/test_files_format.py",
            "test_a_link_that_leads_out_of_the_store_is_never_followed",
        ),
        (
            "An archive that unfolds without end",
            "import",
            "refused",
            POISONING,
            "test_an_archive_that_unfolds_without_end_is_refused",
        ),
        (
            "A document of nested references",
            "plain files",
            "refused",
            POISONING,
            "test_a_document_of_nested_references_is_refused",
        ),
        (
            "A chunk of history that nobody we know signed",
            "sync",
            "skipped",
            "sync/test_bad_chunks.py",
            "test_a_chunk_signed_by_nobody_we_know_is_skipped_even_when_its_name_fits",
        ),
        (
            "Texts that make a pattern slow",
            "every pattern of the source",
            "time in proportion, or the text is bounded",
            "attacks/test_attacks_patterns.py",
            "test_every_pattern_takes_time_in_proportion",
        ),
        (
            "Bytes that are no files, rows, chunks or hooks of ours",
            "every parser",
            "a plain error",
            "attacks/test_attacks_fuzzing.py",
            "test_a_parser_answers_or_refuses",
        ),
        (
            "Credentials in what is saved, asked or told to a hook",
            "CLI, hook; SQLite and files",
            "in no file and no log",
            "attacks/test_attacks_secrets.py",
            "test_a_credential_is_in_no_file_whichever_way_it_came",
        ),
        (
            "Memory texts and tokens in the server's log",
            "HTTP",
            "not there",
            TEAM,
            "test_the_log_has_every_request_and_nothing_of_a_memory",
        ),
    )
)


def table() -> str:
    """The table as it stands in the page."""
    rows = [f"| {one.name} | {one.doors} | {one.holds} | `{one.file}` |" for one in ATTACKS]
    return "\n".join(
        [BEGIN, "", "| attack | tried at | outcome | test |", "| --- | --- | --- | --- |", *rows, "", END]
    )


def written(page: str) -> str:
    """The page with the table as it is now."""
    head, _, rest = page.partition(BEGIN)
    return head + table() + rest.partition(END)[2]
