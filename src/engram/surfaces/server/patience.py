"""Clients that take their time: how long a request may keep a server waiting before it is given up.

The server itself closes a connection that is idle between requests. It waits for ever for a head that comes a byte
at a time, and for a body that does not go on; a few hundred such clients would be all it ever serves.
"""

import asyncio
from collections.abc import MutableMapping
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from engram.errors import Slow
from engram.surfaces.server.guard import App, refuse


class Patient(H11Protocol):
    """A connection that is closed when a request's head does not come in time."""

    patience = 30
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as its base has it
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take in bytes; what is no whole head yet goes on being waited for."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()  # a head has come: from here on the body is what is waited for
        elif self._waiting is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.patience, self._late)

    def _stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _late(self) -> None:
        self._waiting = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def patient(seconds: int) -> type[Patient]:
    """The protocol of connections whose heads come within so many seconds, or are closed."""
    return type("Patient", (Patient,), {"patience": seconds})


class InTime:
    """An ASGI application that gives up a request whose body does not go on, before another one waits with it."""

    def __init__(self, app: App, seconds: int) -> None:
        self._app, self._seconds = app, seconds

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        """Answer one request, if it comes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        whole = late = begun = False

        async def awaited() -> Any:  # noqa: ANN401 - ASGI
            nonlocal whole, late
            if whole:  # what is waited for now is that the client leaves, and that may take any time
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), self._seconds)
            except TimeoutError:
                late = True
                return {"type": "http.disconnect"}
            whole = message["type"] == "http.disconnect" or not message.get("more_body", False)
            return message

        async def told(message: Any) -> None:  # noqa: ANN401 - ASGI
            nonlocal begun
            if not late or begun:
                begun = True
                await send(message)

        try:
            await self._app(scope, awaited, told)
        finally:
            if late and not begun:
                await refuse(
                    Slow(f"Nothing came for {self._seconds} seconds.", "Send the whole request at once."), send
                )
