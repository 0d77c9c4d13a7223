"""The command `engram serve`: this memory over HTTP, for one machine or for a team."""

import asyncio
import contextlib
import logging
import os
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from engram import __version__
from engram.config import Settings, data_folder, read
from engram.errors import EngramError, Invalid, Unavailable
from engram.interop.tools import Profile
from engram.model.scope import GLOBAL, Scope
from engram.surfaces.guard import LINK, LOOPBACK, MOST_BYTES, PAGES, Guard, token_at
from engram.surfaces.mcp.command import profile
from engram.surfaces.mcp.holding import Held, leave
from engram.surfaces.parsing import listed, valued

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.requests import Request

    from engram.model.caller import Caller
    from engram.service import Engram
    from engram.surfaces.guard import App
    from engram.surfaces.http import Opens
    from engram.surfaces.telling import Counting, Metrics
    from engram.surfaces.web.app import Entrance
    from engram.wiring.orgs import Orgs

PORT = 7437
LARGEST_HEAD = 256 * 1024
"""Bytes of a request's head: more than any that is let in, so that what is too long is told so by the guard."""

FLAGS = ("--migrate", "--no-open", "--link")
OPTIONS = ("--host", "--port", "--project", "--profile", "--store", "--oidc-issuer", "--audience", "--url")


def run(words: list[str], *, json: bool = False) -> int:
    """Usage: engram serve [OPTIONS]

    Serve this memory over HTTP, to this machine or to a team, until it is stopped (Ctrl-C). At one port: the page
    at /web, the operations under /v1 (described at /openapi.json) and MCP at /mcp; and, for whoever watches over
    it, /healthz, /readyz and /metrics.

    Examples:
      engram serve
          For yourself, at http://127.0.0.1:7437. Prints where its token lies, and a link to its page.

      engram serve --oidc-issuer https://id.example.org --audience engram
          For a team, tried out on this machine: whoever has a token of that provider, with memories of their own.

      export ENGRAM_STORE=postgres://engram@db.example.org/engram
      engram migrate
      engram serve --host 0.0.0.0 --oidc-issuer https://id.example.org --audience engram --url https://memory.example.org
          For a team, in earnest: a database that was made ready, and a proxy with TLS before this port.

    Safe unless you say otherwise:
      It listens to this machine alone. Another address is refused without --oidc-issuer.
      Memories are for those with credentials. Without --oidc-issuer that is the token in the file that is printed,
      and everybody who has it is the same person. With it, it is a token of that provider or a key made by
      `engram keys create`; they alone, and no argument, decide who reads and writes what.
      Pages of other sites are refused. So is what is too large or too slow, and what one member of a team asks
      beyond 600 requests a minute (requests_per_minute).
      A start never changes the form of a database, unless you say --migrate: an older one is refused.
      Logs and counters have no word of a memory.

    Where it listens:
      --host HOST      127.0.0.1 unless said. Another address than this machine's needs --oidc-issuer and --url.
      --port N         7437 unless said; 0 takes a free one.
      --url URL        The address by which others reach it, where something stands before it.

    Who may ask:
      --oidc-issuer U  The OpenID provider whose tokens are accepted: its issuer, as it calls itself.
      --audience NAME  What tokens must be meant for; this server's own address is accepted too.

    What it serves:
      --store PATH     This store instead of the configured one.
      --migrate        First bring the database up to date, as `engram migrate` does, but make no index of vectors.
      --project NAME   Where memories land and are looked for; all that holds everywhere (global) unless said, for a
                       server has many clients and no folder of theirs.
      --profile NAME   Serve the tools of another system: observations, records, memory-v1, keyed; native adds ours.

    At the terminal:
      --no-open        Print the link to the page, and open no browser.
      --link           Start nothing: get a new link to the page of the server that runs at this port.
      --json           Tell in JSON where it listens.

    The provider, the audience and the address can stand in engram.toml or the environment instead, beside what has
    no option: orgs, workspaces, who is a member of what, and limits. See `engram config` and docs/guides/server.md.
    """  # noqa: D415 - it is the command's help
    asked = _read(words)
    if asked.link:
        return _show_link(asked, json=json)
    if asked.migrate:
        _bring_up_to_date(asked)
    home = Scope("project", asked.project) if asked.project else GLOBAL
    return _serve_team(asked, home, json=json) if asked.issuer else _serve_machine(asked, home, json=json)


def _bring_up_to_date(asked: "Asked") -> None:
    """Take the steps that a database lacks. Several servers that start at once take turns."""
    from engram.wiring.stores import migrate  # noqa: PLC0415 - for this alone

    def step(done: int, total: int, what: str) -> None:
        print(f"Migrating, step {done + 1} of {total}: {what}", file=sys.stderr)

    named = {"ENGRAM_STORE": asked.store} if asked.store else {}
    migrate(step, {**os.environ, **named}, indexes=False)


def _serve_machine(asked: "Asked", home: Scope, *, json: bool) -> int:
    from engram.surfaces.telling import to_stream  # noqa: PLC0415 - for servers only

    to_stream(requests=False)
    token_file = os.path.join(data_folder(os.environ), "token")
    token = token_at(token_file)
    held = Held(asked.store, home=home)
    listening = _bound(asked.host, asked.port)
    address = _address(listening)
    try:
        app, link = application(held, token, asked.profiles, listening.getsockname()[1])
        _announce(
            {"url": f"{address}/mcp", "token_file": token_file, "page": f"{address}{link}"},
            [
                f"Serving {address}/mcp",
                f"Token: {token_file}",
                f"Memories land in: {held.home}",
                f"Page (this link works once): {address}{link}",
            ],
            json=json,
        )
        if asked.opens and not json:
            open_page(f"{address}{link}")
        _listen(app, listening, asked.settings.get("slow_seconds"))
    finally:
        listening.close()
    leave(held)
    return 0


def _serve_team(asked: "Asked", home: Scope, *, json: bool) -> int:
    from engram.surfaces.telling import to_stream  # noqa: PLC0415 - for servers only
    from engram.wiring.orgs import Orgs  # noqa: PLC0415 - the same

    listening = _bound(asked.host, asked.port)
    try:
        url = asked.url or _address(listening)
        look = partial(_warn_of_unseen, workspaces=bool(asked.settings.get("workspaces_claim")))
        orgs = Orgs(asked.store, home=home, met=look)
        to_stream()
        look(orgs.org, orgs.engram(orgs.org))  # the others are not known before somebody comes from one
        app = team(orgs, asked, url)
        if user := orgs.unbound():
            logging.getLogger("engram.serve").warning(
                "this server's user of the database is a superuser, whom row-level security does not hold: serve as"
                " one who is not, see docs/guides/deploy.md",
                extra={"fields": {"user": user}},
            )
        _announce(
            {"url": f"{url}/mcp", "issuer": asked.issuer, "page": f"{url}{PAGES}"},
            [
                f"Serving {url}/mcp",
                f"Tokens by: {asked.issuer}",
                f"Memories land in: {home}",
                f"Page: {url}{PAGES}",
            ],
            json=json,
        )
        _listen(app, listening, asked.settings.get("slow_seconds"))
        orgs.close()
    finally:
        listening.close()
    return 0


def _warn_of_unseen(org: str, engram: "Engram", *, workspaces: bool) -> None:
    """Tell the log where something that is shared in an org is shown to nobody, by how workspaces are set."""
    if not any(bool(place.workspace) != workspaces for place in engram.places()):
        return
    told = (
        "workspaces are on, and nobody is shown what lies in none: engram workspaces assign moves it into one"
        if workspaces
        else "workspaces are off, and nobody is shown what lies in one: set workspaces_claim"
    )
    logging.getLogger("engram.serve").warning(told, extra={"fields": {"org": org}})


def _show_link(asked: "Asked", *, json: bool) -> int:
    """Get a link from the server that runs, as whoever may read its token."""
    from http.client import HTTPConnection, HTTPException  # noqa: PLC0415 - for this alone
    from json import loads  # noqa: PLC0415 - the same

    token = token_at(os.path.join(data_folder(os.environ), "token"))
    connection = HTTPConnection(asked.host, asked.port, timeout=10)
    try:
        connection.request("POST", LINK, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        told = loads(answer.read(65536))
        link = f"http://{connection.host}:{asked.port}{told['path']}"
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        raise Unavailable(
            f"No engram serves a page at port {asked.port} of {asked.host}.", "Start one: engram serve."
        ) from None
    finally:
        connection.close()
    _announce({"page": link}, [f"Page (this link works once): {link}"], json=json, runs=False)
    if asked.opens and not json:
        open_page(link)
    return 0


def open_page(link: str) -> None:
    """Open a link, where somebody sits at a terminal on a machine with a screen."""
    screen = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    if screen and sys.stdout.isatty():
        import webbrowser  # noqa: PLC0415 - for this alone

        webbrowser.open(link)


def _announce(told: dict[str, str], lines: list[str], *, json: bool, runs: bool = True) -> None:
    if json:
        import json as form  # noqa: PLC0415 - for machines only

        print(form.dumps(told), flush=True)
    else:
        print(*lines, *(["Stop with Ctrl-C."] if runs else []), sep="\n", flush=True)


class Asked:
    """What a command line and the settings ask for."""

    def __init__(self, settings: Settings) -> None:
        self.host, self.port, self.project, self.store = "127.0.0.1", PORT, "", ""
        self.profiles: list[Profile] = []
        self.opens, self.link, self.migrate = True, False, False
        self.settings = settings
        self.issuer = str(settings.get("oidc_issuer"))
        self.audience = str(settings.get("oidc_audience"))
        self.url = str(settings.get("public_url")).rstrip("/")

    def check(self) -> None:
        """Refuse what would serve the wrong people, or nobody.

        Raises:
            Invalid: saying which option is missing.
        """
        if not self.issuer and self.host not in LOOPBACK:
            raise Invalid(
                f"{self.host} is not this machine, and without identity nobody else is served.",
                f"Use one of: {', '.join(LOOPBACK)}; or say who vouches for callers: --oidc-issuer URL.",
            )
        if self.issuer:
            from engram.surfaces.fetching import checked_url  # noqa: PLC0415 - for a team's server only

            checked_url(self.issuer, "oidc_issuer")
        if self.issuer and self.host not in LOOPBACK and not self.url:
            raise Invalid("A team's server needs its address.", "Say how others reach it: --url https://….")
        if self.issuer and not self.audience and not self.url:
            raise Invalid("Tokens must be meant for this server.", "Say how they call it: --audience NAME.")


def _read(words: list[str]) -> Asked:
    from engram.wiring.places import working_folder  # noqa: PLC0415 - for this command only

    asked = Asked(read(os.environ, working_folder()))
    asked.opens, asked.link, asked.migrate = "--no-open" not in words, "--link" in words, "--migrate" in words
    said = valued("serve", [word for word in words if word not in FLAGS], OPTIONS)
    for name, values in said.items():
        if values and name not in ("--profile", "--port"):
            setattr(asked, {"--oidc-issuer": "issuer"}.get(name, name[2:]), values[-1])
    asked.profiles = [profile(each) for each in listed(said["--profile"])]
    for port in said["--port"]:
        if not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise Invalid(f"{port!r} is no port.", "Give a number from 0 to 65535.")
        asked.port = int(port)
    asked.check()
    return asked


def application(held: Held, token: str, profiles: list[Profile], port: int) -> "tuple[Counting, str]":
    """The whole application for one machine: the page, /v1, MCP, signs of life, and the guard before all.

    Also the path of a link to the page, which works once.
    """
    from engram.surfaces.http_assets import is_upload  # noqa: PLC0415 - heavy; for servers only
    from engram.surfaces.mcp.server import build  # noqa: PLC0415 - the same
    from engram.surfaces.telling import Counting, Metrics  # noqa: PLC0415 - the same
    from engram.surfaces.web import local  # noqa: PLC0415 - the same
    from engram.wiring import sight_from  # noqa: PLC0415 - the same
    from engram.wiring.places import seat_of  # noqa: PLC0415 - the same

    # Agents work elsewhere; the person at the page sits in the folder that the server was started in.
    sight, seat, metrics = sight_from(), seat_of(held.engram()), Metrics()
    entrance = local.entrance(lambda: held.engram().for_person("web").looking_from(*sight).standing_in(seat), port)
    app = _served(
        build(held.engram, profiles),
        _speaker(held),
        metrics,
        lambda: held.engram().probe(),
        entrance,
    )
    return Counting(Guard(app, token, longer=is_upload), metrics), local.link_of(entrance.visits)


def team(orgs: "Orgs", asked: Asked, url: str) -> "Counting":
    """The whole application for a team: the same, for whoever the provider vouches for.

    Raises:
        Invalid: when a setting cannot be what it says.
    """
    from engram.model.grants import Grants  # noqa: PLC0415 - heavy; for servers only
    from engram.surfaces.http_assets import is_upload  # noqa: PLC0415 - the same
    from engram.surfaces.identity import Claims, Identity  # noqa: PLC0415 - the same
    from engram.surfaces.issuer import BadToken, Issuer  # noqa: PLC0415 - the same
    from engram.surfaces.limits import Limits  # noqa: PLC0415 - the same
    from engram.surfaces.mcp.server import build  # noqa: PLC0415 - the same
    from engram.surfaces.team import Door  # noqa: PLC0415 - the same
    from engram.surfaces.telling import CALLER, Counting, Metrics  # noqa: PLC0415 - the same
    from engram.surfaces.web import signing  # noqa: PLC0415 - the same

    get, metrics = asked.settings.get, Metrics()
    issuer = Issuer(asked.issuer, [asked.audience, url, f"{url}/mcp", f"{url}/v1"])
    issuer.check()

    def opens_key(key: str) -> "Caller":
        found = orgs.opened_by(key)
        if found is None:
            raise BadToken("key")
        return found

    def speaks(request: "Request") -> "Engram":
        caller: Caller = request.scope[CALLER]
        return orgs.engram(caller.org).speaking_for(caller, "http")

    def speaks_to_agent(request: "Request") -> "Engram":
        caller: Caller = request.scope[CALLER]
        agent = caller._replace(human=False, agent=caller.agent or "agent")
        return orgs.engram(caller.org).speaking_for(agent, "elicitation")

    def ready() -> None:
        orgs.check()
        issuer.ready()

    claims = Claims(*(get(name) for name in ("org_claim", "groups_claim", "workspaces_claim", "person_claim")))
    identity = Identity(
        issuer,
        opens_key,
        claims._replace(scope=get("required_scope")),
        orgs.org,
        Grants.read(get("grants")),
        orgs.serves,
    )
    server = build(lambda: orgs.engram(orgs.org), asked.profiles, speaks=speaks_to_agent, page=f"{url}{PAGES}")
    limits = Limits(get("requests_per_minute"))
    entrance = signing.entrance(
        identity,
        signing.Client(get("oidc_client"), os.environ.get("ENGRAM_OIDC_SECRET", ""), url.rstrip("/")),
        lambda caller: orgs.engram(caller.org).speaking_for(caller, "web"),
        limits,
    )
    app = _served(server, speaks, metrics, ready, entrance, alone=True)
    return Counting(Door(app, identity, url, limits, is_upload), metrics)


def _served(
    server: "Server[Any]",
    speaks: "Opens",
    metrics: "Metrics",
    ready: Callable[[], object],
    entrance: "Entrance",
    *,
    alone: bool = False,
) -> "App":
    """What stands behind a guard. With `alone`, requests of MCP stand for themselves: none joins another's."""
    from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415 - heavy; for servers only
    from starlette.exceptions import HTTPException  # noqa: PLC0415 - the same
    from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse  # noqa: PLC0415 - the same
    from starlette.routing import Mount, Route  # noqa: PLC0415 - the same

    from engram.surfaces import http  # noqa: PLC0415 - the same
    from engram.surfaces.telling import note  # noqa: PLC0415 - the same
    from engram.surfaces.web import app as web  # noqa: PLC0415 - the same

    def health(request: "Request") -> JSONResponse:
        del request
        return JSONResponse({"status": "ok", "version": __version__})

    def readiness(request: "Request") -> JSONResponse:
        try:
            ready()
        except EngramError as error:
            note(request.scope, error)
            return JSONResponse(error.body(), Unavailable.http_status)
        return JSONResponse({"status": "ready"})

    def counters(request: "Request") -> PlainTextResponse:
        del request
        return PlainTextResponse(metrics.text(), media_type="text/plain; version=0.0.4")

    def to_the_page(request: "Request") -> RedirectResponse:
        del request
        return RedirectResponse(f"{PAGES}/", 307)

    routes = [
        Route("/", to_the_page),
        Mount(PAGES, web.application(entrance)),
        Route("/health", health),
        Route("/healthz", health),
        Route("/readyz", readiness),
        Route("/metrics", counters),
        Route("/openapi.json", http.openapi),
    ]
    app = server.streamable_http_app(
        # The guard has checked host and origin already, by the stricter rule.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        custom_starlette_routes=cast("list[Route]", routes),
        stateless_http=alone,
    )
    app.add_exception_handler(HTTPException, http.unrouted)
    return _counted(_mounted(http.BASE, http.application(speaks), app))


def _counted(app: "App") -> "App":
    """The guard goes by what a request says of its length; a body that says nothing is counted as it comes."""
    from mcp.server.transport_security import RequestBodyLimitMiddleware  # noqa: PLC0415 - heavy; for servers only

    from engram.surfaces.http_assets import is_upload  # noqa: PLC0415 - the same

    counted = RequestBodyLimitMiddleware(app, MOST_BYTES)

    async def served(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        await (app if is_upload(scope) else counted)(scope, receive, send)  # an upload counts itself

    return served


def _mounted(base: str, inner: "App", outer: "App") -> "App":
    """One application under a path, another everywhere else; a library's own mount lets no line break through."""

    async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        if scope["type"] == "http" and scope["path"].startswith(f"{base}/"):
            await inner({**scope, "root_path": scope.get("root_path", "") + base}, receive, send)
        else:
            await outer(scope, receive, send)

    return app


def _speaker(held: Held) -> "Opens":
    """Who a request speaks for: the person whose token it carries, unless it says which agent it is."""

    def opens(request: "Request") -> "Engram":
        agent = request.headers.get("engram-agent", "")
        return held.engram().for_agent(agent) if agent else held.engram().for_person("http")

    return opens


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, for asyncio sends at once only where it sees TCP: else each answer waits 40 ms to be acknowledged.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # from here on nobody is turned away: whoever reads the address too early only waits
    except OSError as error:
        listening.close()
        raise Unavailable(
            f"Port {port} of {host} cannot be had: {error.strerror}.", "Stop what holds it, or use --port 0."
        ) from None
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _listen(app: "App", listening: socket.socket, patience: int) -> None:
    import uvicorn  # noqa: PLC0415 - heavy; for servers only

    from engram.surfaces.serve_patience import InTime, patient  # noqa: PLC0415 - the same

    config = uvicorn.Config(
        InTime(app, patience),
        log_level="warning",
        log_config=None,
        access_log=False,
        server_header=False,
        http=patient(patience),
        h11_max_incomplete_event_size=LARGEST_HEAD,
        timeout_graceful_shutdown=2,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    server = uvicorn.Server(config)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    print("Stopped.", file=sys.stderr)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a line of the log tells a person something: that the stop cut a request short does not."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))
