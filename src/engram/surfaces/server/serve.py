"""The command `engram serve`: this memory over HTTP, for one machine or for a team."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from engram.config import Settings, data_folder, read
from engram.errors import Invalid, Unavailable
from engram.interop.tools import Profile
from engram.model.scope import GLOBAL, Scope
from engram.surfaces.mcp.command import profile
from engram.surfaces.mcp.holding import Held, leave
from engram.surfaces.parsing import listed, valued
from engram.surfaces.server.guard import LINK, LOOPBACK, PAGES, token_at

if TYPE_CHECKING:
    from engram.service import Engram
    from engram.surfaces.server.guard import App

PORT = 7437
LARGEST_HEAD = 256 * 1024
"""Bytes of a request's head: more than any that is let in, so that what is too long is told so by the guard."""

FEWEST_FILES, ENOUGH_FILES = 64, 4096
"""Open files without which no server starts, and how many it takes if it may: each who asks at once needs one."""

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
      --host HOST      Default: 127.0.0.1. Any address beyond this machine needs --oidc-issuer and --url.
      --port N         Default: 7437; 0 takes a free one.
      --url URL        The address by which others reach it, where something stands before it.

    Who may ask:
      --oidc-issuer U  The OpenID provider whose tokens are accepted: its issuer, as it calls itself.
      --audience NAME  What tokens must be meant for; this server's own address is accepted too.

    What it serves:
      --store PATH     This store instead of the configured one.
      --migrate        First bring the database up to date, as `engram migrate` does, but make no index of vectors.
      --project NAME   The project memories are saved to and looked for in. Default: global, since a server has many
                       clients and no folder of theirs.
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
    _take_enough_files()
    if asked.migrate:
        _bring_up_to_date(asked)
    return (_serve_team if asked.issuer else _serve_machine)(asked, json=json)


def _take_enough_files() -> None:
    """Let this process open as many files as a server needs, where the system leaves that to the process.

    Raises:
        Unavailable: when it may open too few: a server that cannot take a connection would only seem to serve.
    """
    try:
        import resource  # noqa: PLC0415 - not on Windows, which has no such limit
    except ImportError:
        return
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now == resource.RLIM_INFINITY or now >= ENOUGH_FILES:
        return
    wanted = ENOUGH_FILES if most == resource.RLIM_INFINITY else min(ENOUGH_FILES, most)
    if wanted < FEWEST_FILES:
        raise Unavailable(
            f"A server needs {FEWEST_FILES} open files, and this process may have {wanted}.",
            "Let it open more: ulimit -n 1024.",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _bring_up_to_date(asked: "Asked") -> None:
    """Take the steps that a database lacks. Several servers that start at once take turns."""
    from engram.wiring.stores import migrate  # noqa: PLC0415 - for this alone

    def step(done: int, total: int, what: str) -> None:
        print(f"Migrating, step {done + 1} of {total}: {what}", file=sys.stderr)

    named = {"ENGRAM_STORE": asked.store} if asked.store else {}
    migrate(step, {**os.environ, **named}, indexes=False)


def _serve_machine(asked: "Asked", *, json: bool) -> int:
    from engram.surfaces.server.apps import for_machine  # noqa: PLC0415 - heavy; for servers only
    from engram.surfaces.server.telling import to_stream  # noqa: PLC0415 - the same

    to_stream(requests=False)
    token_file = os.path.join(data_folder(os.environ), "token")
    token = token_at(token_file)
    held = Held(asked.store, home=asked.home)
    listening = _bound(asked.host, asked.port)
    address = _address(listening)
    try:
        app, link = for_machine(held, _at_the_page(held), token, asked.profiles, listening.getsockname()[1])
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


def _at_the_page(held: Held) -> "Callable[[], Engram]":
    """The memory of the person at the page, who sits in the folder that the server was started in."""
    from engram.wiring import sight_from_here  # noqa: PLC0415 - for servers only
    from engram.wiring.places import seat_of  # noqa: PLC0415 - the same

    sight, seat = sight_from_here(), seat_of(held.engram())
    return lambda: held.engram().for_person("web").in_working_tree(*sight).standing_in(seat)


def _serve_team(asked: "Asked", *, json: bool) -> int:
    from engram.surfaces.server.apps import for_team  # noqa: PLC0415 - heavy; for servers only
    from engram.surfaces.server.telling import to_stream  # noqa: PLC0415 - the same
    from engram.wiring.orgs import Orgs  # noqa: PLC0415 - the same

    listening = _bound(asked.host, asked.port)
    try:
        url = asked.url or _address(listening)
        look = partial(_warn_of_unseen, workspaces=bool(asked.settings.get("workspaces_claim")))
        orgs = Orgs(asked.store, home=asked.home, met=look)
        to_stream()
        look(orgs.org, orgs.engram(orgs.org))  # the others are not known before somebody comes from one
        app = for_team(orgs, asked, url)
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
                f"Memories land in: {asked.home}",
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
        link = f"{_web_address(asked.host, asked.port)}{told['path']}"
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
        self.url = str(settings.get("public_url"))

    @property
    def home(self) -> Scope:
        """Where memories land: a server has many clients, and no folder of theirs."""
        return Scope("project", self.project) if self.project else GLOBAL

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
            from engram.surfaces.server.fetching import checked_url  # noqa: PLC0415 - for a team's server only

            checked_url(self.issuer, "oidc_issuer")
        if self.issuer and self.url and not self.url.startswith(("https://", "http://")):
            raise Invalid(f"This server's address cannot be {self.url!r}.", "Say it whole: --url https://….")
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
            raise Invalid(f"{port!r} is not a port.", "Give a number from 0 to 65535.")
        asked.port = int(port)
    asked.url = asked.url.rstrip("/")
    asked.check()
    return asked


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
            f"Port {port} of {host} cannot be used: {error.strerror}.", "Stop what holds it, or use --port 0."
        ) from None
    return listening


def _address(listening: socket.socket) -> str:
    return _web_address(*listening.getsockname()[:2])


def _web_address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _listen(app: "App", listening: socket.socket, patience: int) -> None:
    import uvicorn  # noqa: PLC0415 - heavy; for servers only

    from engram.surfaces.server.patience import InTime, patient  # noqa: PLC0415 - the same

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
    signal.signal(signal.SIGTERM, _end)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt as stop:
        if stop.args:  # nobody sits there to be told
            return
    print("Stopped.", file=sys.stderr)


def _end(number: int, frame: object) -> None:
    """Told to stop by a supervisor, a server closes its store too: uvicorn raises again what stopped it."""
    del frame
    raise KeyboardInterrupt(number)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a line of the log tells a person something: that the stop cut a request short does not."""
    from asyncio import CancelledError  # noqa: PLC0415 - start-up

    return not (record.exc_info and isinstance(record.exc_info[1], CancelledError))
