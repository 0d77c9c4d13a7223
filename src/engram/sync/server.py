"""The way to a server that keeps chunks: what it has, one file up, one file down. See `docs/sync.md`."""

import functools
import json
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote, urlencode

from engram.errors import Forbidden, Invalid, NotFound, Unauthenticated, Unavailable
from engram.model.memory import Asset
from engram.model.scope import Scope
from engram.sync import chunks
from engram.sync.chunks import digest
from engram.transport import LARGEST, NOTHING, Answer, Web

TIMEOUT = 60.0
FILE = "application/octet-stream"


class Listed(NamedTuple):
    """One file that a server has, the mark to go on after, and the hash of its content."""

    name: str
    at: int
    sha256: str


class Server:
    """One scope on a server. Every call stands alone, so that what was broken off can go on anywhere."""

    def __init__(
        self, url: str, scope: str, token: str, *, private: bool = False, timeout: float = TIMEOUT
    ) -> None:
        """Check the address; nothing is asked yet. Private memories of a scope lie apart from the shared ones.

        A scope with a workspace is asked for in that workspace.

        Raises:
            Invalid: when it is none, or would send memories over the network in the clear.
        """
        secret = "the token of the remote"  # noqa: S105 - what it is called, not what it is
        workspace = Scope.parse(scope).workspace
        web = functools.partial(
            Web,
            key=token,
            timeout=timeout,
            setting="the address of a team's server",
            secret=secret,
            called="The remote",
            example="https://memory.example.com",
            headers=(("Engram-Workspace", workspace),) if workspace else (),
        )
        self._web = web(url, "/sync")
        base = url.rstrip("/").removesuffix("/sync")
        self._memories = web(base, "/memories")
        self._scope, self._private = scope, private
        self._address = base.removesuffix("/v1")
        self.shown = self._web.shown

    def listed(self, after: int = 0) -> Iterator[Listed]:
        """Every file that came after a mark, in the order in which the server stored them.

        Raises:
            Unavailable, Unauthenticated, Forbidden: when the server does not tell.
        """
        while True:
            body = self._done(self._web.ask("GET", "/files", query=self._query(after=str(after)))).body
            try:
                told = json.loads(body)
                files = [Listed(str(one["name"]), int(one["at"]), str(one["sha256"])) for one in told["files"]]
                more = bool(told["more"])
            except (ValueError, KeyError, TypeError):
                raise Unavailable(f"{self.shown} does not serve chunks.", "Check the remote's address.") from None
            yield from files
            if not (more and files):
                return
            after = files[-1].at

    def get(self, name: str) -> bytes:
        """The content of a file.

        Raises:
            NotFound: when it is not there any more.
            Unavailable, Unauthenticated, Forbidden: when the server does not give it.
        """
        most = chunks.LARGEST_FILE
        asked = self._web.ask("GET", self._path(name), query=self._query(), kind=FILE, largest=most)
        return self._done(asked).body

    def put(self, name: str, content: bytes) -> None:
        """Store a file; it counts as stored when the server says so by its hash, and not before.

        Raises:
            Unavailable, Unauthenticated, Forbidden: when it did not.
        """
        answer = self._done(self._web.ask("PUT", self._path(name), content, query=self._query(), kind=FILE))
        try:
            stored = json.loads(answer.body)["stored"]
        except (ValueError, KeyError, TypeError):
            stored = ""
        if stored != digest(content):
            raise Unavailable(f"{self.shown} did not confirm {name[:20]}.", "Push again: what was confirmed stays.")

    # attachments, which lie beside the memories that name them

    def lacks(self, memory: str) -> frozenset[str] | None:
        """The hashes that a memory names there and whose bytes are not there; None where there is no such memory.

        A server that keeps chunks alone has no memories.

        Raises:
            Unavailable, Unauthenticated, Forbidden: when the server does not tell.
        """
        answer = self._memories.ask("GET", f"/{quote(memory)}/assets")
        if _has_not(answer):
            return None
        try:
            rows = json.loads(self._done(answer).body)["assets"]
            return frozenset(str(row["sha256"]) for row in rows if not row["here"])
        except (ValueError, KeyError, TypeError):
            return None

    def give(self, memory: str, asset: Asset, content: bytes) -> None:
        """Send the bytes of an attachment that a memory names there.

        Raises:
            Invalid: when the server refuses them.
            Unavailable, Unauthenticated, Forbidden, NotFound: when it takes nothing.
        """
        query, path = urlencode({"name": asset.name}), f"/{quote(memory)}/assets"
        answer = self._memories.ask("POST", path, content, query=query, kind=asset.media_type or FILE)
        if answer.status == 415:
            raise Invalid(self._memories.said(answer.body) or "its type is not taken there")
        self._done(answer)

    def bytes_of(self, memory: str, asset: Asset) -> bytes | None:
        """The bytes of an attachment; None where the server has them not.

        Raises:
            Unavailable, Unauthenticated, Forbidden: when the server does not give them.
        """
        path = f"/{quote(memory)}/assets/{asset.sha256}"
        answer = self._memories.ask("GET", path, kind=FILE, largest=max(asset.size, LARGEST))
        return None if _has_not(answer) else self._done(answer).body

    def _path(self, name: str) -> str:
        return f"/files/{quote(name)}"

    def _query(self, **more: str) -> str:
        return urlencode({"scope": self._scope, **({"private": "true"} if self._private else {}), **more})

    def _done(self, answer: Answer) -> Answer:
        status, shown = answer.status, self.shown
        if status == NOTHING:
            raise Unavailable(f"{shown} cannot be reached: {answer.why}.", "Try again: what was confirmed stays.")
        if status == 401:
            raise Unauthenticated(
                f"{shown} wants a token, or another one.",
                f"Sign in: engram login {self._address}, or see engram remote add --help.",
            )
        if status == 403:
            said = self._web.said(answer.body) or "it does not say why"
            several = " If you have several workspaces, name one: WORKSPACE/project:NAME."
            raise Forbidden(
                f"{shown} refuses {self._scope}: {said}.",
                f"Ask whoever runs it.{several if b'orkspace' in answer.body else ''}",
            )
        if status == 404:
            raise NotFound(f"{shown} does not have that.", "Check the remote's address.")
        if status in (400, 409, 413, 422):
            raise Invalid(
                f"{shown} refuses it: {self._web.said(answer.body) or status}.", "Upgrade Engram, or ask."
            )
        if not 200 <= status < 300:
            said = self._web.said(answer.body) or f"it answers {status}"
            raise Unavailable(f"{shown} cannot be used: {said}.", "Try again: what was confirmed stays.")
        return answer


def _has_not(answer: Answer) -> bool:
    """Whether a server says, in whatever way, that it has nothing there: now, and with this token."""
    return 400 <= answer.status < 500 and answer.status not in (401, 429)
