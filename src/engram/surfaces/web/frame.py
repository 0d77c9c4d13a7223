"""What every page stands in: a request with its memory, templates, and headers that keep a page harmless."""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from engram.errors import EngramError, Invalid
from engram.model.memory import Memory, is_hearsay, standing, voice
from engram.model.scope import LEVELS
from engram.service import Engram
from engram.surfaces.render.assets import assets_edited, bytes_in_words, moved
from engram.surfaces.render.paper import ago, count, moment
from engram.surfaces.render.steps import act, field_named, said, worded
from engram.surfaces.server.guard import PAGES
from engram.surfaces.web.leading import led, marked_pair
from engram.surfaces.web.visits import Visit
from engram.surfaces.web.wording import compared, marked, short, shown, sides

BASE = PAGES

HERE = os.path.dirname(__file__)
STATIC = os.path.join(HERE, "static")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",  # without any, a browser would not say where a form comes from
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


LONGEST_NUMBER = 18
"""Figures of a number that a form or an address may say."""

DONE = "engram-done"
"""What a page hears when something was done, so that lists and counts look again."""


class Tab(NamedTuple):
    """A page that the navigation names, and the letter that goes there after `g`."""

    name: str
    path: str
    label: str
    key: str


class Page(NamedTuple):
    """A handler at a path: it gets one request and answers it, in a thread of its own."""

    method: str
    path: str
    answer: "Callable[[Asked], Response]"


class Look(NamedTuple):
    """What all pages of one server share: the navigation, and how somebody leaves."""

    tabs: Sequence[Tab]
    signs_out: bool = False  # on a team's server, where somebody is signed in


class Asked(NamedTuple):
    """One request of somebody who came in: their memory, and what they said. Operations decide everything else."""

    engram: Engram
    visit: Visit
    look: Look
    path: Mapping[str, str]
    query: Mapping[str, Sequence[str]]
    form: Mapping[str, Sequence[str]]
    part: bool  # asked for by htmx, which puts the answer into the page

    def said(self, name: str, default: str = "") -> str:
        """What the address or the form says by this name."""
        return (self.form.get(name) or self.query.get(name) or [default])[-1]

    def number(self, name: str) -> int | None:
        """The whole number that the address or the form says by this name; None where it says none.

        Raises:
            Invalid: when it is beyond all that is counted here.
        """
        said = self.said(name)
        if len(said) > LONGEST_NUMBER and said.isdecimal():
            raise Invalid(f"{name} cannot be {said[:LONGEST_NUMBER]}….", "Give a number that something could have.")
        return int(said) if said.isdecimal() else None

    def project(self, name: str) -> str:
        """The scope that a field for a project says: its bare name will do."""
        text = self.said(name).strip()
        head, colon, _ = text.partition(":")
        return text if not text or colon or head.rpartition("/")[2] in LEVELS else f"project:{text}"

    def each(self, name: str) -> list[str]:
        """All that the address or the form says by this name, without what is empty."""
        return [value for value in (*self.query.get(name, ()), *self.form.get(name, ())) if value]

    def decides(self, memory: Memory) -> bool:
        """Whether a verdict on a memory may be this person's: its owner's, or a reviewer's of its project."""
        caller = self.engram.caller
        return caller.writes and caller.may_judge(memory)

    def owns(self, memory: Memory) -> bool:
        """Whether a memory is this person's own."""
        return self.engram.caller.owns(memory)

    def voice(self, memory: Memory) -> str:
        """Whose word a memory is, with the name behind it where it is not this person's own."""
        return voice(memory, self.engram.caller.owner)

    def show(self, template: str, *, at: datetime | None = None, status: int = 200, **values: Any) -> Response:  # noqa: ANN401 - whatever the template names
        """A template as the answer. `at` is the moment by which ages are told."""
        return HTMLResponse(self.render(template, at=at, **values), status, HEADERS)

    def render(self, template: str, *, at: datetime | None = None, **values: Any) -> str:  # noqa: ANN401 - the same
        """The text of a template, with what every page has at hand."""
        common = {
            "asked": self,
            "at": at or self.engram.now,
            "csrf": self.visit.csrf,
            "look": self.look,
            "me": self.engram.caller,
            "view": self.engram.view,
        }
        return templates().get_template(template).render({**common, **values})

    def done(
        self,
        body: str,
        message: str,
        event: int | str = 0,
        *,
        back: str = "",
        took_back: Sequence[str] = (),
        again: bool = False,
        now: Memory | None = None,
        came: Memory | None = None,
        hint: str = "",
    ) -> Response:
        """The answer to something that was done: a piece of page, and a word with its undo and what to do next.

        `now` is the memory it was about: what this tab asks for next is meant at the revision it has brought about.
        `came` is one that may be on the page again: whoever took something back stands at it.

        Where it `took_back` events of this tab, the key of undo has no more to do with them. `again` says that the
        word offers to do them again instead of an undo; that is none for the key either.
        A browser without scripts is sent `back` to a page instead, which says it there.
        """
        if not self.part:
            there = address(back or "/inbox", done=message, hint=hint, event=event or "")
            return RedirectResponse(there, 303, HEADERS)
        offer = "Do it again" if again else ""
        toast = self.word(message, event, again=offer, took_back=took_back, now=now, came=came, hint=hint)
        return HTMLResponse(body + toast, headers={**HEADERS, "HX-Trigger": DONE})

    def word(self, message: str, event: int | str = 0, *, again: str = "", **more: Any) -> str:  # noqa: ANN401 - the same
        """A word in the corner of the page, with an undo of an event, or with what does it again."""
        more = {"tone": "good", "confirm": "", "took_back": (), "now": None, "came": None, **more}
        return self.render("toast.html", message=message, event=event, again=again, **more)

    def refused(self, error: EngramError) -> Response:
        """An error as a page of its own, or as a word in the page that is there."""
        if not self.part:
            return self.show(
                "error.html", status=error.http_status, error=error, title="That did not work", here=""
            )
        return noted(error)


def noted(error: EngramError, assured: str = "") -> Response:
    """An error as a word in the page that is there, which stays as it is; `assured` stands before what to do."""
    said = {"message": error.message, "hint": f"{assured} {error.hint}".strip(), "tone": "bad"}
    toast = (
        templates().get_template("toast.html").render(**said, event=0, again="", took_back=(), now=None, came=None)
    )
    return HTMLResponse(toast, error.http_status, {**HEADERS, "HX-Reswap": "none"})


def address(path: str, **said: object) -> str:
    """The address of a page, with what is not empty said in it."""
    query = urlencode({name: value for name, value in said.items() if value not in ("", None, [])}, doseq=True)
    return BASE + quote(path) + (f"?{query}" if query else "")


def gone(cards: Iterable[str]) -> str:
    """What takes cards off the page, by their ids in it."""
    return "".join(f'<hx-partial hx-target="[id=\'{each}\']" hx-swap="delete"></hx-partial>' for each in cards)


@lru_cache(maxsize=1)
def templates() -> Environment:
    """The templates, with what they are written in: everything is escaped unless it was made here."""
    made = Environment(
        loader=FileSystemLoader(os.path.join(HERE, "templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        ago=ago,
        moment=moment,
        marked=marked,
        shown=shown,
        said=said,
        short=short,
        led=led,
        marked_pair=marked_pair,
        zip=zip,
    )
    made.globals.update(
        address=address,
        static=static,
        compared=compared,
        sides=sides,
        worded=worded,
        act=act,
        field_named=field_named,
        count=count,
        standing=standing,
        is_hearsay=is_hearsay,
        BASE=BASE,
        moved=moved,
        assets_edited=assets_edited,
        bytes_in_words=bytes_in_words,
    )
    return made


@lru_cache(maxsize=64)
def static(name: str) -> str:
    """The address of a file that pages load; it changes with the file, so that it may be kept for good."""
    with open(os.path.join(STATIC, name), "rb") as file:
        stamp = hashlib.sha256(file.read()).hexdigest()[:12]
    return f"{BASE}/static/{name}?v={stamp}"
