"""The observation tools about judgments, projects and the store as a whole."""

from collections import Counter, defaultdict
from typing import Annotated, Any

from engram.interop import observations_parameters as p
from engram.interop import observations_words as words
from engram.interop.observations_finding import owned
from engram.interop.tools import Answer, Asks, Refused, Shelf
from engram.model.change import Finding

TOOLS = Shelf()

PAGE = 1000


# judgments


@TOOLS.tool(writes=True, idempotent=True)
def mem_judge(
    asks: Asks,
    *,
    judgment_id: Annotated[str, "The judgment_id of a candidate that mem_save gave."],
    relation: p.Verb,
    reason: Annotated[str, "Why."] = "",
    evidence: Annotated[str, "What shows it, word for word."] = "",
    confidence: p.Confidence = None,
    session_id: p.Session = "",
) -> Answer:
    """Say how what was just saved bears on a candidate.

    supersedes puts the candidate out of use. Ask the person first where you are less than 0.7 sure, or where an
    architecture, a policy or a decision is superseded or contradicted. Judging again changes the verdict.
    """
    words.require_said(judgment_id=judgment_id)
    judged = asks.ask(
        "judge",
        judgment_id,
        _verdict(relation),
        reason=reason,
        evidence=evidence,
        confidence=confidence,
        session=session_id,
    )
    return words.told({"relation": words.relation_row(judged.relation)} | _hint(judged.hint))


@TOOLS.tool(writes=True, idempotent=True)
def mem_compare(
    asks: Asks,
    *,
    memory_id_a: p.Id,
    memory_id_b: p.Id,
    relation: p.Verb,
    confidence: p.Sure,
    reasoning: Annotated[str, "Why, in a sentence or two."],
    model: Annotated[str, "The model that judged."] = "",
) -> Answer:
    """Say how one memory bears on another, by their numbers: the first on the second."""
    pair = [owned(asks, memory_id_a).id, owned(asks, memory_id_b).id]
    judged = asks.ask("relate", *pair, _verdict(relation), reason=reasoning, confidence=confidence, model=model)
    return words.told({"sync_id": judged.relation.id} | _hint(judged.hint))


def _verdict(verb: str) -> str:
    if verb not in words.VERBS:
        raise Refused(f"relation cannot be {verb!r}.", "Use one of: " + ", ".join(words.VERBS) + ".")
    return words.VERBS[verb]


def _hint(hint: str) -> dict[str, str]:
    return {"hint": hint} if hint else {}


# projects


@TOOLS.tool()
def mem_current_project(asks: Asks) -> Answer:
    """Which project this is. It never fails: where several could be meant, it lists them."""
    body: dict[str, Any] = {"project": "", "project_source": "", "project_path": asks.folder}
    more: dict[str, Any] = {}
    try:
        place = words.current(asks)
        body |= {"project": place.name, "project_source": place.source}
        choices = words.known_projects(asks)
        if not place.name:
            more["warning"] = words.NO_PROJECT
    except Refused as error:
        body["project_source"] = "ambiguous"
        choices = list(error.details["available_projects"])  # type: ignore[call-overload] # ours, a list of names
        more = {"warning": error.message, "error_hint": error.hint}
    return words.told(body | {"cwd": asks.folder, "available_projects": choices} | more)


@TOOLS.tool()
def mem_list_projects(asks: Asks) -> Answer:
    """The projects that hold something, the fullest first."""
    prompts: Counter[str] = Counter()
    folders: defaultdict[str, set[str]] = defaultdict(set)
    page = asks.ask("list", kind=("prompt",), everywhere=True, limit=PAGE)
    prompts.update(memory.scope.name for memory in page.memories)
    while page.next:
        page = asks.ask("list", kind=("prompt",), everywhere=True, limit=PAGE, after=page.next)
        prompts.update(memory.scope.name for memory in page.memories)
    for session in asks.ask("session_list", everywhere=True, limit=PAGE).sessions:
        folders[session.scope.name].add(session.context.base_dir)
    rows = [
        {
            "name": project.name,
            "observation_count": project.memories - prompts[project.name],
            "session_count": project.sessions,
            "prompt_count": prompts[project.name],
            "directories": sorted(folders[project.name] - {""}),
        }
        for project in asks.ask("projects_list").projects
    ]
    rows.sort(key=lambda row: (-int(row["observation_count"]), str(row["name"])))
    return words.told({"projects": rows, "count": len(rows)})


@TOOLS.tool(writes=True, destructive=True)
def mem_merge_projects(
    asks: Asks,
    *,
    from_: Annotated[str, "The projects to merge, separated by commas."],
    to: Annotated[str, "The project that would hold everything."],
) -> Answer:
    """Merging projects is a person's act: this is refused, and says how it is done."""
    del asks
    sources = " ".join(name.strip() for name in from_.split(",") if name.strip())
    raise Refused(
        "Only a person merges projects.",
        f"Ask the person to run: engram projects merge {sources} {to.strip()}",
        error_code="forbidden",
    )


# the store


@TOOLS.tool()
def mem_stats(
    asks: Asks, *, project: Annotated[str, "Accepted; the numbers are of the whole store."] = ""
) -> Answer:
    """How much is remembered."""
    try:
        place = words.place_of(asks, project)
    except Refused:
        place = words.ALL
    stats = asks.ask("stats")
    projects = asks.ask("projects_list").projects
    prompts = stats.kinds.get("prompt", 0)
    numbers: dict[str, Any] = {
        "total_sessions": sum(one.sessions for one in projects),
        "total_observations": sum(stats.kinds.values()) - prompts,
        "total_prompts": prompts,
        "projects": [one.name for one in projects],
    }
    lines = [
        f"Sessions: {numbers['total_sessions']}",
        f"Observations: {numbers['total_observations']}",
        f"Prompts: {prompts}",
        f"Projects: {', '.join(numbers['projects']) or 'none'}",
        *(f"{count} {words.STATES.get(stands, stands)}" for stands, count in stats.standings.items()),
    ]
    return words.enveloped(asks, place, lines, **numbers)


@TOOLS.tool()
def mem_doctor(
    asks: Asks,
    *,
    project: Annotated[str, "Accepted; the whole store is checked."] = "",
    check: Annotated[str, "Only this check."] = "",
) -> Answer:
    """Check the store; nothing is changed."""
    report = asks.ask("doctor")
    findings = [finding for finding in report.findings if check in ("", finding.code)]
    counts = Counter(finding.severity for finding in findings)
    status = next((word for word in ("error", "warning") if counts[word]), "ok")
    body = {
        "status": status,
        "project": project,
        "summary": {"total": len(findings), **{word: counts[word] for word in ("error", "warning", "note")}},
        "checks": [_check(finding) for finding in findings],
    }
    if status == "error":
        raise Refused("The store is not well.", "Ask the person to run: engram doctor", whole=body)
    return words.told(body)


def _check(finding: Finding) -> dict[str, Any]:
    return {
        "check_id": finding.code,
        "result": {"error": "error", "warning": "warning"}.get(finding.severity, "ok"),
        "severity": finding.severity,
        "reason_code": finding.code,
        "evidence": finding.message,
        "safe_next_step": finding.hint,
        "requires_confirmation": finding.fixable,
    }
