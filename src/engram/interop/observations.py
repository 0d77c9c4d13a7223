"""The profile `observations`: the mem_* tools of a store of sessions and observations, over our operations."""

from engram.interop import observations_finding as finding
from engram.interop import observations_saving as saving
from engram.interop import observations_sessions as sessions
from engram.interop import observations_store as store
from engram.interop import prompts
from engram.interop.observations_words import failed
from engram.interop.tools import Profile

ORDER = (
    *("mem_save", "mem_search", "mem_context", "mem_get_observation", "mem_session_summary", "mem_save_prompt"),
    *("mem_judge", "mem_compare", "mem_current_project", "mem_list_projects", "mem_update", "mem_delete"),
    *("mem_timeline", "mem_session_start", "mem_session_end", "mem_capture_passive", "mem_suggest_topic_key"),
    *("mem_review", "mem_pin", "mem_unpin", "mem_stats", "mem_doctor", "mem_merge_projects"),
)
"""The order a client sees: what every session needs comes first."""

ADMIN = frozenset({"mem_delete", "mem_stats", "mem_timeline", "mem_merge_projects"})
"""What a client of that system leaves to a person or a script when it asks for the tools of an agent."""

INSTRUCTIONS = {
    "mem_context mem_search": "Start with mem_context; mem_search before you ask the person or guess.",
    "mem_save": (
        "mem_save decisions, fixes, conventions and discoveries as they come up, without being asked: one thing"
        " each, with its reason. Curated types wait until the person approves."
    ),
    "mem_save mem_judge": "Where a save lists candidates, judge each with mem_judge.",
    "mem_session_summary": "Before you end, mem_session_summary; the person still gets their answer last.",
}

PROMPTS = (
    prompts.session_start("mem_search", "mem_save", shown=finding.numbered),
    prompts.save_well(
        "mem_save",
        "Give it a title that can be searched for and a type (decision, bugfix, pattern, discovery, …), and a topic"
        " that goes on a topic_key, so that the next word about it revises the same memory.",
    ),
    prompts.session_summary("mem_session_summary"),
)

PROFILE = Profile(
    "observations",
    "Sessions and observations: save, search, timeline, judge, by the mem_* names and whole-number ids.",
    tuple(
        sorted(
            (*saving.TOOLS, *finding.TOOLS, *sessions.TOOLS, *store.TOOLS), key=lambda tool: ORDER.index(tool.name)
        )
    ),
    failed,
    prompts=PROMPTS,
    instructions=INSTRUCTIONS,
    groups={"agent": frozenset(ORDER) - ADMIN, "admin": ADMIN},
    settled=saving.settled,
)
