"""The health page: whether the store is whole, what wants a look, and a button that mends each."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from starlette.responses import Response

from engram.errors import EngramError, Invalid
from engram.model.answers_look import Trends
from engram.model.answers_store import Hygiene, HygieneRow, Report
from engram.service import Engram
from engram.surfaces.paper import count
from engram.surfaces.render_assets import bytes_in_words
from engram.surfaces.web.frame import Asked, Page, Tab, address

TABS = (Tab("health", "/health", "Health", "e"),)

SOON = 5_000
"""Memories up to which junk is looked for at once; it takes a while to compare each with every other."""

COUNTED_THEM = "engram-counted"
"""What the page hears when the counts are there: only then is the store checked, which takes longer."""

LONG = 14
"""Days after which a backup is an old one."""


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
    """The page at once; what is counted and checked follows, each part when it is known."""
    return asked.show("health.html", title="Health", here="health")


def counts(asked: Asked) -> Response:
    """What wants a look, by number, and when a backup and an exchange were last made."""
    trends = asked.engram.trends()
    signs = [*_counted(trends), *_done(trends, keeps=not asked.engram.caller.owner)]
    answer = asked.show("health_signs.html", at=trends.at, signs=signs, soon=trends.memories <= SOON)
    answer.headers["HX-Trigger"] = COUNTED_THEM
    return answer


def check(asked: Asked) -> Response:
    """What a check of the store finds."""
    try:
        report = asked.engram.doctor()
    except EngramError as error:  # on a team's server, a check of the store is its keeper's
        return asked.show("health_check.html", report=None, refused=error, signs=())
    return asked.show("health_check.html", at=report.at, report=report, refused=None, signs=_found(report))


def junk(asked: Asked) -> Response:
    """What nobody would miss, and what else ails single memories."""
    found = asked.engram.hygiene()
    rows = [(row, _way(row)) for row in found.rows]
    return asked.show("health_junk.html", at=found.at, found=found, rows=rows, tone=_junk_tone(found))


def fix(asked: Asked) -> Response:
    """Do what `doctor --fix`, `reembed`, `conflicts --scan` or `backup create` do."""
    mend = MENDS.get(asked.said("mend"))
    if mend is None:
        raise Invalid("There is no such button.", "Load the page again.")
    return asked.done("", mend(asked.engram), back="/health")


def _mended(engram: Engram) -> str:
    report = engram.doctor(fix=True)
    return "What can be mended was mended." if report.healthy else "Not all of it could be mended."


def _scanned(engram: Engram) -> str:
    found = engram.conflicts(scan=True)
    return f"{count(found.scanned, 'memory', 'memories')} compared, {count(found.proposed, 'pair')} proposed."


def _embedded(engram: Engram) -> str:
    engram.reembed()
    return "The missing vectors were made."


def _copied(engram: Engram) -> str:
    made = engram.backup_create()
    return f"A backup was made: {made.path}, {bytes_in_words(made.bytes)}."


MENDS: Mapping[str, Callable[[Engram], str]] = {
    "fix": _mended,
    "scan": _scanned,
    "vectors": _embedded,
    "backup": _copied,
}
"""What each button does: an operation that commands have too."""

BUTTONS = {"vectors": ("vectors", "Make them"), "conflict": ("scan", "Look for more")}
"""The button of a finding, by its code; what is fixable has one in any case."""

NAMES = {"conflict": "Conflicts", "repeat": "Repeats"}
LINKS = {"conflict": address("/graph", question="conflicts")}
COUNTED = {"pending", "stale"}
"""What a check says too, and the counts say with a way to it."""


def _found(report: Report) -> list[Sign]:
    """What the check says, each with its button; and that all is well where it is."""
    tones = {"error": "bad", "warning": "warn", "note": "info"}
    signs = [
        Sign("Whole", "good", "Rows, words, vectors and history agree; the chain of events is intact.")
        if report.healthy
        else Sign("Not whole", "bad", "Something does not fit together.", mend="fix", label="Mend it")
    ]
    for finding in report.findings:
        if finding.code in COUNTED:
            continue
        mend, label = BUTTONS.get(finding.code, ("fix", "Mend it") if finding.fixable else ("", ""))
        link = LINKS.get(finding.code, "")
        hint = "" if link or mend else finding.hint
        tone = tones.get(finding.severity, "bad")
        name = NAMES.get(finding.code, finding.code.replace("_", " ").capitalize())
        signs.append(Sign(name, tone, finding.message, link, mend, label, hint))
    known = {finding.code for finding in report.findings}
    if "vectors" not in known:
        signs.append(Sign("Vectors", "good", "Every memory that may be found by meaning has its vector."))
    if "conflict" not in known and report.healthy:
        none = "No two memories are known that may not both hold."
        signs.append(Sign("Conflicts", "good", none, mend="scan", label="Look for some"))
    return signs


def _counted(trends: Trends) -> list[Sign]:
    """What wants a look, each with the way to it."""
    waits, stale = trends.standings.get("pending", 0), trends.standings.get("stale", 0)
    rows = [
        ("Waiting", waits, "for review", "Nothing waits for review.", address("/inbox")),
        ("Stale", stale, "past their freshness", "Nothing is past its freshness.", _search(standing="stale")),
        ("Said twice", trends.repeated, "with the same text elsewhere", "Nothing is said twice.", ""),
        ("Never recalled", trends.unused, "older than a month", "All that is old was recalled.", UNUSED),
    ]
    return [
        Sign(
            name,
            "warn" if number else "good",
            f"{count(number, 'memory', 'memories')} {what}." if number else well,
            link if number else "",
        )
        for name, number, what, well, link in rows
    ]


def _search(**said: str) -> str:
    return address("/search", **said)


SYNC = "By a repository or a server: engram sync --git, engram remote push."
UNUSED = _search(unused="yes", age="-30")


def _done(trends: Trends, *, keeps: bool) -> list[Sign]:
    """When a backup and an exchange were last made on this machine; whoever keeps the store makes one here."""
    signs = []
    for name in ("backup", "sync"):
        last = trends.done.get(name)
        old = last is None or (trends.at - last).days > LONG
        text = "None is known of on this machine." if last is None else f"{last:%Y-%m-%d %H:%M} UTC"
        tone = "info" if name == "sync" and last is None else "warn" if old else "good"
        mend, label = ("backup", "Make a backup") if name == "backup" and keeps else ("", "")
        signs.append(Sign(f"Last {name}", tone, text, "", mend, label, SYNC if name == "sync" and old else ""))
    return signs


def _way(row: HygieneRow) -> str:
    """Where the memories that something ails are listed, if they are."""
    ways = {"stale": _search(standing="stale"), "expired": _search(standing="expired"), "never recalled": UNUSED}
    return {**ways, "drifted": address("/files")}.get(row.name, "")


def _junk_tone(found: Hygiene) -> str:
    return "bad" if found.secrets else "warn" if found.junk else "good"


PAGES = (
    Page("GET", "/health", show),
    Page("GET", "/health/counts", counts),
    Page("GET", "/health/check", check),
    Page("GET", "/health/junk", junk),
    Page("POST", "/health/fix", fix),
)
