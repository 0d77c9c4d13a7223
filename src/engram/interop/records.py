"""The `records` profile: store_memory, search_memory and their kin, for agents that know them.

Records live under scope labels (`records_rows` has their meaning); deleting and archiving hide, a person erases.
Missing and foreign records are never told apart: whoever may not change a record is told there is none.
"""

from engram.interop import prompts
from engram.interop import records_ending as ending
from engram.interop import records_finding as finding
from engram.interop import records_storing as storing
from engram.interop.records_checks import failed
from engram.interop.tools import Profile

ORDER = (
    *("store_memory", "schedule_memory", "search_memory", "list_memory", "get_memory", "update_memory"),
    *("delete_memory", "delete_all", "set_visibility", "store_discovery", "search_discovery", "list_scheduled"),
    *("supersede_memory", "archive_memory", "restore_memory", "related_memories", "list_tags", "store_rule"),
    "list_rules",
)
"""The order a client sees."""

INSTRUCTIONS = {
    "search_memory": "search_memory before you ask the person or guess.",
    "store_memory": (
        "store_memory decisions, preferences, conventions and gotchas as they come up: one short statement each,"
        " with its reason."
    ),
    "store_discovery": "What you found out about a codebase goes to store_discovery, with its sources.",
    "store_rule": "A rule waits until the person approves.",
}

PROMPTS = (
    prompts.session_start("search_memory", "store_memory"),
    prompts.save_well(
        "store_memory",
        "Say who said it (source user-said or agent-inferred) and what it is (category decision, preference,"
        " convention or gotcha); give it a short summary.",
    ),
)

PROFILE = Profile(
    "records",
    "store_memory, search_memory, store_discovery and their kin: records under scope labels.",
    tuple(sorted((*storing.TOOLS, *finding.TOOLS, *ending.TOOLS), key=lambda tool: ORDER.index(tool.name))),
    failed,
    prompts=PROMPTS,
    instructions=INSTRUCTIONS,
    settled=storing.settled,
)
