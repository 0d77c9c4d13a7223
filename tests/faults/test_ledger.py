"""The page of faults is whole: whatever this suite does to a store tells the ledger that the page is made of."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.harness import LEDGER, tell

HERE = Path(__file__).parent

SILENT = {
    "test_every_fault_of_this_suite_tells_the_ledger": "of the ledger itself",
    "test_the_power_cut_of_this_suite_drops_what_is_not_synced": "of the oracle",
    "test_every_operation_that_writes_is_among_those_that_are_killed": "of the list of operations",
    "test_a_server_that_could_open_too_few_files_does_not_start": "told by the command that may open no more",
    "test_a_server_takes_the_open_files_that_it_may_have": "no fault: what a server asks for",
    "test_every_command_is_killed_somewhere_or_is_known_to_write_nothing": "of the list of commands",
    "test_a_rescue_says_how_to_go_on_and_that_works": "no fault: what a rescue answers",
    "test_a_whole_store_is_rescued_whole_and_what_was_purged_is_not": "no fault: what a rescue brings",
    "test_what_was_purged_while_another_process_was_reading_is_not_rescued_from_the_log": "no fault: who reads",
    "test_an_empty_file_gives_an_export_without_memories": "told by the file of no length",
    "test_a_store_that_is_kept_nowhere_has_nothing_to_rescue": "no fault: a refusal",
    "test_of_a_database_only_the_part_of_the_org_is_rescued": "no fault: who may read",
    "test_a_server_that_does_not_wait_for_its_disk_is_named": "no fault yet: how a server is set up",
    "test_a_database_that_does_not_answer_is_told": "no fault: a refusal",
}
"""Tests without a row of their own, and why."""


def silent() -> Iterator[str]:
    """The tests of this suite that tell the ledger nothing."""
    for path in HERE.glob("test_*.py"):
        for test in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
                calls = [each.func for each in ast.walk(test) if isinstance(each, ast.Call)]
                if not any(isinstance(each, ast.Name) and each.id == "tell" for each in calls):
                    yield test.name


def test_a_fault_that_the_page_does_not_tell_of_fails_until_the_page_is_written_anew(monkeypatch, tmp_path):
    monkeypatch.delenv(LEDGER, raising=False)
    tell("the cache folder deleted under a server", "files", 1)
    for fault, engine in (("the cache folder deleted under a server", "sqlite"), ("the moon falls down", "files")):
        with pytest.raises(AssertionError, match="run make faults"):
            tell(fault, engine, 1)
    with pytest.raises(AssertionError, match="run make faults"):
        tell("the cache folder deleted under a server", "files", 1, simulated=True)
    monkeypatch.setenv(LEDGER, str(tmp_path / "ledger"))
    tell("the moon falls down", "files", 1)


def test_every_fault_of_this_suite_tells_the_ledger():
    assert set(silent()) == SILENT.keys()
