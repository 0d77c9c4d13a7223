"""The health page: whether the store is whole, what wants a look, and a button that mends each."""

from typing import Any, NamedTuple

from starlette.responses import Response

from engram.errors import EngramError
from engram.model.answers import Report, Trends
from engram.surfaces.paper import count
from engram.surfaces.web.frame import Asked, Page, Tab, address

TABS = (Tab("health", "/health", "Health", "e"),)


class Sign(NamedTuple):
    """One thing that is well or not: what it says, how bad it is, and the way to mend it."""

    name: str
    tone: str  # good, warn, bad or info
    text: str
    link: str = ""  # where to look
    mend: str = ""  # which button mends it
    label: str = ""
    hint: str = ""


def show(asked: Asked) -> Response:
    """The page at once; the check follows, for it reads everything."""
    return asked.show("health.html", title="Health", here="health")


def check(asked: Asked) -> Response:
    """What a check finds."""
    return asked.show("health_signs.html", **_told(asked))


def fix(asked: Asked) -> Response:
    """Do what `doctor --fix`, `reembed` or `conflicts --scan` do."""
    which = asked.said("mend")
    if which == "vectors":
        asked.engram.reembed()
        message = "The missing vectors were made."
    elif which == "scan":
        found = asked.engram.conflicts(scan=True)
        message = f"{count(found.scanned, 'memory', 'memories')} compared, {found.proposed} pairs proposed."
    else:
        asked.engram.doctor(fix=True)
        message = "What can be mended was mended."
    return asked.done("", message, back="/health")


def _told(asked: Asked) -> dict[str, Any]:
    engram = asked.engram
    trends = engram.trends()
    report, refused = None, None
    try:
        report = engram.doctor()
    except EngramError as error:
        refused = error  # on a team's server, a check of the store is its keeper's
    signs = [*(_found(report) if report else ()), *_counts(trends), *_done(trends)]
    return {"at": trends.at, "report": report, "refused": refused, "signs": signs}


MENDS = {"vectors": ("vectors", "Make them")}
COUNTED = {"pending", "stale"}
"""What a check says too, and the counts say with a way to it."""


def _found(report: Report) -> list[Sign]:
    """What the check says, each with its button; and that all is well where it is."""
    tones = {"error": "bad", "warning": "warn", "note": "info"}
    signs = [
        Sign("Whole", "good", "Rows, words, vectors and history agree; the chain of events is intact.")
        if report.healthy
        else Sign("Damaged", "bad", "Something does not fit together.", mend="fix", label="Mend it")
    ]
    for finding in report.findings:
        if finding.code in COUNTED:
            continue
        mend, label = MENDS.get(finding.code, ("fix", "Mend it") if finding.fixable else ("", ""))
        tone = tones.get(finding.severity, "bad")
        signs.append(Sign(finding.code, tone, finding.message, mend=mend, label=label, hint=finding.hint))
    if not any(finding.code == "vectors" for finding in report.findings):
        signs.append(Sign("Vectors", "good", "Every memory that may be found by meaning has its vector."))
    return signs


def _counts(trends: Trends) -> list[Sign]:
    """What wants a look, each with the way to it."""
    waits, stale = trends.standings.get("pending", 0), trends.standings.get("stale", 0)
    found = "Looks at every memory and its nearest."
    rows = [
        ("Waiting", waits, "for review", address("/inbox"), ""),
        ("Stale", stale, "past their freshness", address("/search", standing="stale"), ""),
        ("Said twice", trends.repeated, "with the same text in several places", address("/search"), "scan"),
        ("Never recalled", trends.unused, "of more than a month", address("/search", unused="yes", age="-30"), ""),
    ]
    return [
        Sign(
            name,
            "warn" if number else "good",
            f"{count(number, 'memory', 'memories')} {what}.",
            link if number else "",
            mend,
            "Look for conflicts" if mend else "",
            found if mend else "",
        )
        for name, number, what, link, mend in rows
    ]


def _done(trends: Trends) -> list[Sign]:
    """When a backup and an exchange were last made on this machine."""
    hints = {"backup": "engram backup create FOLDER", "sync": "engram sync --git, or engram remote push"}
    signs = []
    for name, command in hints.items():
        last = trends.done.get(name)
        days = (trends.at - last).days if last else None
        text = "None is known of on this machine." if last is None else f"{last:%Y-%m-%d %H:%M} UTC"
        tone = "info" if name == "sync" and last is None else "warn" if days is None or days > 14 else "good"
        signs.append(Sign(f"Last {name}", tone, text, hint=f"Make one: {command}" if tone != "good" else ""))
    return signs


PAGES = (Page("GET", "/health", show), Page("GET", "/health/check", check), Page("POST", "/health/fix", fix))
