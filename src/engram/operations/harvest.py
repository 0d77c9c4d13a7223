"""Proposing what was said in agents' transcripts."""

from engram.errors import Invalid
from engram.model.answers_work import Harvested
from engram.model.limits import check_choice
from engram.operations import parameters as p
from engram.operations.base import Call, each, operation, require_between

MOST_PROPOSED = 5_000


@operation(
    "POST /v1/harvest",
    "engram harvest ~/.claude/projects --dry-run",
    "engram harvest rollout.jsonl --project acme-api",
    writes=True,
    adds=True,
    human=True,
    local=True,
)
def harvest(
    call: Call,
    path: p.Transcripts,
    *,
    harness: p.Harness = "",
    project: p.HarvestProject = "",
    extractor: p.Finder = "rules",
    limit: p.MostProposed = 200,
    again: p.Again = False,
    dry_run: p.DryRun = False,
) -> Harvested:
    """Propose what was said in agents' transcripts.

    Everything waits for review, and one `undo` takes it all back. Only what is new since the last harvest is read,
    and of that only the words of the person and the agent. Secrets are taken out first.
    """
    from engram.operations.harvesting import HARNESSES, Run  # noqa: PLC0415 - start-up

    if harness:
        check_choice("harness", harness, HARNESSES)
    check_choice("extractor", extractor, ("rules", "endpoint"))
    require_between("limit", limit, 1, MOST_PROPOSED)
    tools = call.harvesting
    if extractor == "endpoint" and tools.extractor is None:
        raise Invalid("There is no endpoint to ask.", "Set extractor_url and extractor_model; see `engram config`.")
    model = tools.extractor if extractor == "endpoint" else None
    run = Run(call, tools, model, project=project, limit=limit, again=again, dry_run=dry_run)
    return run.over_all(each(path), harness)
