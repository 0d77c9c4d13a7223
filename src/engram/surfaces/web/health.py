"""The health page: whether the store is whole, what wants a look, and a button that mends each."""

import re
from contextlib import suppress
from datetime import timedelta
from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

from starlette.responses import Response

from engram.errors import EngramError, Invalid, Unavailable
from engram.model.answers_look import Trends
from engram.model.answers_store import Hygiene, HygieneRow, Report
from engram.model.answers_sync import RemoteRow
from engram.model.caller import Caller
from engram.surfaces.render.paper import ago, count
from engram.surfaces.web.frame import Asked, Page, Tab, address
from engram.surfaces.web.mends import MENDS

TABS = (Tab("health", "/health", "Health", "e"),)

SOON = 5_000
"""Memories up to which junk is looked for at once; it takes a while to compare each with every other."""

COUNTED_THEM = "engram-counted"
"""What the page hears when the counts are there: only then is the store checked, which takes longer."""

LONG = 14
"""Days after which a backup is an old one."""

AN_HOUR = timedelta(hours=1)
"""For how long a check is believed: damage writes no event."""


class Checked(NamedTuple):
    """A check of the store: after which event it was made, and for whom; it reads everything."""

    last: int
    caller: Caller
    report: Report


_CHECKED: WeakKeyDictionary[object, Checked] = WeakKeyDictionary()
"""The last check of each engine."""

_ONE = Lock()

FIGURE = re.compile(r"(\d[\d,]*(?: or more)?) (.*)")


class Sign(NamedTuple):
    """One thing that is well or not: what it says, how bad it is, and the way to mend it."""

    name: str
    tone: str  # good, warn, bad or info
    text: str
    link: str = ""  # where to look
    mend: str = ""  # which button mends it
    label: str = ""
    hint: str = ""

    @property
    def parts(self) -> tuple[str, str]:
        """The number that the text begins with, which is shown large, and the rest of it."""
        found = FIGURE.fullmatch(self.text)
        return (found[1], found[2]) if found else ("", self.text)


def show(asked: Asked) -> Response:
    """The page at once; what is counted and checked follows, each part when it is known."""
    return asked.show("health.html", title="Health", here="health")


def counts(asked: Asked) -> Response:
    """What wants a look, by number, and when a backup and an exchange were last made."""
    trends = asked.engram.trends()
    signs = [*_counted(trends), *_done(trends, asked)]
    answer = asked.show("health_signs.html", at=trends.at, signs=signs, soon=trends.memories <= SOON)
    answer.headers["HX-Trigger"] = COUNTED_THEM
    return answer


def check(asked: Asked) -> Response:
    """What a check of the store finds, or found since the last event."""
    try:
        report = _checked(asked, anew=asked.said("anew") == "yes")
    except EngramError as error:  # on a team's server, a check of the store is its keeper's
        return asked.show("health_check.html", report=None, refused=error, signs=())
    return asked.show("health_check.html", report=report, refused=None, signs=_found(report))


def _checked(asked: Asked, *, anew: bool) -> Report:
    """The last check, where it was theirs, nothing was written since, it is not old, and they ask for no other.

    One is made at a time: whoever asks while it goes on waits for it.
    """
    asking = asked.engram.now
    with _ONE:
        newest = asked.engram.history(limit=1).events
        last = newest[0].seq if newest else 0
        known = _CHECKED.get(asked.engram.engine)
        fits = known is not None and (known.last, known.caller) == (last, asked.engram.caller)
        if known is None or not fits or asking - known.report.at > AN_HOUR or (anew and known.report.at < asking):
            known = Checked(last, asked.engram.caller, asked.engram.doctor())
            _CHECKED[asked.engram.engine] = known
    return known.report


def junk(asked: Asked) -> Response:
    """What nobody would miss, and what else ails single memories."""
    found = asked.engram.hygiene()
    rows = [(row, _way(row)) for row in found.rows]
    tone = _junk_tone(found)
    return asked.show("health_junk.html", at=found.at, found=found, rows=rows, tone=tone, keeps=_keeps(asked))


def secrets(asked: Asked) -> Response:
    """What a scrub would take out, before anything is."""
    found = asked.engram.scrub(dry_run=True)
    return asked.show("health_secrets.html", at=found.at, found=found)


def fix(asked: Asked) -> Response:
    """Press one of the buttons; what it mends is checked anew."""
    mend = MENDS.get(asked.said("mend"))
    if mend is None:
        raise Invalid("There is no such button.", "Load the page again.")
    _CHECKED.pop(asked.engram.engine, None)
    done = mend(asked.engram)
    return asked.done("", done.said, done.batch, back="/health")


BUTTONS = {"vectors": ("vectors", "Make them"), "conflict": ("scan", "Look for more")}
"""The button of a finding, by its code; what is fixable has one in any case."""

NAMES = {"conflict": "Conflicts", "repeat": "Repeats"}
LINKS = {"conflict": address("/conflicts")}
COUNTED = {"pending", "stale"}
"""What a check says too, and the counts say with a way to it."""


def _found(report: Report) -> list[Sign]:
    """What the check says beside that the store is whole, each with its button."""
    tones = {"error": "bad", "warning": "warn", "note": "info"}
    signs = []
    for finding in report.findings:
        if finding.code in COUNTED:
            continue
        mend, label = BUTTONS.get(finding.code, ("fix", "Mend it") if finding.fixable else ("", ""))
        link = LINKS.get(finding.code, "")
        hint = "" if link or mend else finding.hint
        tone = tones.get(finding.severity, "bad")
        name = NAMES.get(finding.code, finding.code.replace("_", " ").capitalize())
        signs.append(Sign(name, tone, finding.message, link, mend, label, hint))
    if report.healthy and not any(finding.code == "conflict" for finding in report.findings):
        none = "0 pairs of memories are known that may not both hold."
        signs.append(Sign("Conflicts", "good", none, mend="scan", label="Look for some"))
    return signs


def _counted(trends: Trends) -> list[Sign]:
    """What wants a look, each with the way to it."""
    waits, stale = trends.standings.get("pending", 0), trends.standings.get("stale", 0)
    rows = [
        ("Waiting", waits, "for review", address("/inbox")),
        ("Stale", stale, f"past {'its' if stale == 1 else 'their'} freshness", _search(standing="stale")),
        ("Said twice", trends.repeated, "with the same text elsewhere", "#sign-junk"),
        ("Never recalled", trends.unused, "older than a month and never in an answer", UNUSED),
    ]
    return [
        Sign(
            name,
            "warn" if number else "good",
            f"{count(number, 'memory', 'memories')} {what}.",
            link if number else "",
        )
        for name, number, what, link in rows
    ]


def _search(**said: str) -> str:
    return address("/search", **said)


UNUSED = _search(unused="yes", age="-30")


def _done(trends: Trends, asked: Asked) -> list[Sign]:
    """When a backup and an exchange were last made on this machine; whoever keeps the store makes one here."""
    keeps = _keeps(asked)
    remotes = _remotes(asked) if keeps else ()
    backup, sync = (trends.done.get(name) for name in ("backup", "sync"))
    told = [
        f"{ago(last, trends.at).capitalize()}, {last:%Y-%m-%d %H:%M} UTC." if last else f"None {known}."
        for last, known in ((backup, "was made on this machine yet"), (sync, "from this machine yet"))
    ]
    tones = ["warn" if last is None or (trends.at - last).days > LONG else "good" for last in (backup, sync)]
    return [
        Sign("Last backup", tones[0], told[0], mend="backup" if keeps else "", label="Make a backup"),
        Sign(
            "Last sync",
            tones[1] if sync or remotes else "info",
            told[1],
            mend="sync" if remotes else "",
            label="Sync now",
            hint="" if sync or remotes or not keeps else SHARED,
        ),
    ]


def _remotes(asked: Asked) -> tuple[RemoteRow, ...]:
    """The servers this store exchanges with; none where it has no place for keys."""
    with suppress(Unavailable):
        return asked.engram.remote_list().remotes
    return ()


SHARED = "Other machines get them by a repository or a server: engram sync --git, or engram remote add."


def _keeps(asked: Asked) -> bool:
    """Whether the store is this person's own to look after, and not a team's."""
    return not asked.engram.caller.owner


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
    Page("GET", "/health/secrets", secrets),
    Page("POST", "/health/fix", fix),
)
