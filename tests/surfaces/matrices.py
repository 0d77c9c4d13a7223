"""Who may do what to which row, as a grid, and how each cell of it is asked over HTTP and MCP.

Nothing here is worked out by our own code: the grid is the promise, written by hand. A letter says what a caller is
to a row: `.` for whom it is absent, `r` reads it, `j` also decides about it (a reviewer), `o` owns it.
"""

import http.client
import json
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from surfaces.driving import PATIENCE

ABSENT, READS, JUDGES, OWNS = ".", "r", "j", "o"
NOBODYS = "01900000-0000-7000-8000-000000000000"
"""An id that no row has."""

PENDING = {"pending api", "waiting"}
FORGOTTEN = {"forgotten"}
IDLE = 2.0
"""Seconds after which a connection is not used again."""


class Row(NamedTuple):
    """One row: who saves it, with what. Its word is in no other row."""

    owner: str
    word: str
    said: Mapping[str, Any] = {}

    @property
    def body(self) -> dict[str, Any]:
        """What its owner sends."""
        return {"text": f"The quokka is called {self.word}", "dedupe": "create", **self.said}


SHARED: Mapping[str, Any] = {"visibility": "shared"}

ROWS: Mapping[str, Row] = {
    "private": Row("ada", "aldera"),
    "shared": Row("ada", "belvoro", SHARED),
    "private api": Row("ada", "cintaru", {"scope": "project:api"}),
    "shared api": Row("ada", "dromeda", {"scope": "project:api", **SHARED}),
    "shared web": Row("ada", "elvinta", {"scope": "project:web", **SHARED}),
    "private agent": Row("ada", "fenwick", {"scope": "agent:builder"}),
    "shared agent": Row("ada", "gorvath", {"scope": "agent:builder", **SHARED}),
    "pending api": Row("ada", "hestrix", {"scope": "project:api", "kind": "identity", **SHARED}),
    "waiting": Row("ada", "ivorine", {"kind": "identity"}),
    "forgotten": Row("ada", "jaspero", SHARED),
    "web of ben": Row("ben", "kestrel", {"scope": "project:web", **SHARED}),
    "of ben": Row("ben", "lomburg"),
    "of robot": Row("robot", "mirelda", SHARED),
    "unowned": Row("", "nostrad"),
    "unowned shared": Row("", "ostrava", SHARED),
    "anonymous": Row("", "pelluci"),
    "other org": Row("eve", "quillon", SHARED),
}

GRID = """
                  private shared private-api shared-api shared-web private-agent shared-agent pending-api
ada               o       o      o           o          o          o             o            o
ada's builder     o       o      o           o          o          o             o            o
read key of ada   o       o      o           o          o          o             o            o
write key of ada  o       o      o           o          o          o             o            o
ada only reading  o       o      o           o          o          o             o            o
ben               .       r      .           r          r          .             .            r
wil               .       r      .           r          r          .             .            r
cyd               .       r      .           j          r          .             .            j
mia               .       r      .           j          r          .             .            j
gus               .       j      .           .          j          .             .            .
dan               .       r      .           .          r          .             .            .
dan's builder     .       r      .           .          r          .             r            .
dan's other       .       r      .           .          r          .             .            .
robot             .       r      .           .          r          .             .            .
eve               .       .      .           .          .          .             .            .
nobody            .       r      .           r          r          .             .            r

                  waiting forgotten web-of-ben of-ben of-robot unowned unowned-shared anonymous other-org
ada               o       o         r          .      r        .       .              .         .
ada's builder     o       o         r          .      r        .       .              .         .
read key of ada   o       o         r          .      r        .       .              .         .
write key of ada  o       o         r          .      r        .       .              .         .
ada only reading  o       o         r          .      r        .       .              .         .
ben               .       r         o          o      r        .       .              .         .
wil               .       r         r          .      r        .       .              .         .
cyd               .       r         r          .      r        .       .              .         .
mia               .       r         r          .      r        .       .              .         .
gus               .       j         j          .      j        .       .              .         .
dan               .       r         r          .      r        .       .              .         .
dan's builder     .       r         r          .      r        .       .              .         .
dan's other       .       r         r          .      r        .       .              .         .
robot             .       r         r          .      o        .       .              .         .
eve               .       .         .          .      .        .       .              .         o
nobody            .       r         r          .      r        .       .              o         .
"""
"""Ada owns most; ben reads the project api, wil writes there, cyd reviews, mia is its admin; gus is an admin of the
org and no member of api; dan is of the org alone; eve is of another org; nobody speaks with authentication off, at
the machine itself, where no project has members."""


def read_grid(text: str) -> dict[tuple[str, str], str]:
    """The grid as cells: caller and row → letter."""
    cells: dict[tuple[str, str], str] = {}
    rows: list[str] = []
    for line in filter(None, map(str.rstrip, text.splitlines())):
        if line.startswith(" "):
            rows = [name.replace("-", " ") for name in line.split()]
            continue
        caller, letters = line[:17].strip(), line[17:].split()
        assert len(letters) == len(rows), line
        cells |= {(caller, row): letter for row, letter in zip(rows, letters, strict=True)}
    return cells


CELLS = read_grid(GRID)
CALLERS = tuple(dict.fromkeys(caller for caller, _ in CELLS))
AGENTS = {"ada's builder", "read key of ada", "write key of ada", "dan's builder", "dan's other", "robot"}
"""Who is no person: what is a person's to decide is refused whatever row is named."""

ONLY_READING = {"read key of ada", "ada only reading"}
OWNER = {
    "ada's builder": "ada",
    "read key of ada": "ada",
    "write key of ada": "ada",
    "ada only reading": "ada",
    "dan's builder": "dan",
    "dan's other": "dan",
}
"""Caller → whose rows are its own; itself unless told."""


class Deed(NamedTuple):
    """What is asked about one row: how, and the status for each letter. `{row}` and `{own}` are ids."""

    method: str
    path: str
    body: Mapping[str, Any] | None
    statuses: tuple[int, int, int, int]  # for . r j o
    human: bool = False
    pending: int = 0  # for j and o where the row waits for review
    forgotten: int = 0  # for j and o where it is forgotten
    spares: str = ""  # letters for which it is not asked here, because it would change the row
    firm: int = 0  # for an agent of the owner, where a person wrote the row and it is not forgotten
    away: int = 0  # for an agent of the owner, where a person forgot the row

    @property
    def writes(self) -> bool:
        """Whether credentials for reading are refused."""
        return self.method != "GET"

    def status(self, caller: str, row: str, letter: str) -> int:
        """What the promise says of this cell."""
        if (self.human and caller in AGENTS) or (self.writes and caller in ONLY_READING):
            return 403
        known = row not in FORGOTTEN
        if letter == OWNS and caller in AGENTS and not known and self.away:
            return self.away
        if self.firm and letter == OWNS and known and caller in AGENTS and ROWS[row].owner not in AGENTS:
            return self.firm
        told = self.statuses[".rjo".index(letter)]
        if told < 400 or told in (409, 428):
            told = (self.pending if row in PENDING else self.forgotten if row in FORGOTTEN else 0) or told
        return told


MEMORY = "/v1/memories/{row}"
DEEDS: Mapping[str, Deed] = {
    "get": Deed("GET", MEMORY, None, (404, 200, 200, 200)),
    "timeline": Deed("GET", f"{MEMORY}/timeline", None, (404, 200, 200, 200)),
    "related": Deed("GET", f"{MEMORY}/related", None, (404, 200, 200, 200)),
    "assets": Deed("GET", f"{MEMORY}/assets", None, (404, 200, 200, 200)),
    "fetch": Deed("GET", f"{MEMORY}/assets/plan.txt", None, (404, 404, 404, 404)),
    "detach": Deed("DELETE", f"{MEMORY}/assets/plan.txt", None, (404, 404, 404, 404)),
    "history": Deed("GET", "/v1/history?memory={row}", None, (404, 200, 200, 200)),
    "revise": Deed("PATCH", MEMORY, {"importance": 6}, (404, 403, 403, 200), forgotten=409),
    "unshare": Deed("PATCH", MEMORY, {"visibility": "private"}, (404, 403, 403, 200), spares=OWNS),
    "verify": Deed("POST", f"{MEMORY}/verify", {}, (404, 403, 200, 200), pending=409, forgotten=409),
    "promote": Deed("POST", f"{MEMORY}/promote", {}, (404, 403, 409, 409), human=True, pending=428),
    "reword": Deed(
        "POST", f"{MEMORY}/promote", {"text": "Reworded"}, (404, 403, 403, 409), human=True, pending=428
    ),
    "reject": Deed("POST", f"{MEMORY}/reject", {}, (404, 403, 409, 409), human=True, spares="pending jo"),
    "relate": Deed(
        "POST", "/v1/relations", {"memory": "{row}", "other": "{own}", "kind": "related"}, (404, 200, 200, 200)
    ),
    "judge": Deed("POST", "/v1/relations/{row}~{own}/judge", {"kind": "compatible"}, (404, 200, 200, 200)),
    "supersede": Deed(
        "POST",
        "/v1/relations",
        {"memory": "{own}", "other": "{row}", "kind": "supersedes"},
        (404, 403, 403, 200),
        spares=OWNS,
    ),
    "replace": Deed(
        "POST", "/v1/memories", {"text": "A newer name", "replaces": "{row}"}, (404, 403, 403, 200), spares=OWNS
    ),
    "purge": Deed("DELETE", MEMORY, None, (404, 403, 403, 428), human=True),
    "forget": Deed("POST", f"{MEMORY}/forget", {}, (404, 403, 403, 200), forgotten=409, firm=403),
    "restore": Deed("POST", f"{MEMORY}/restore", {}, (404, 403, 403, 200), firm=409, away=403),
}
"""Every operation that names a memory. An owner forgets and restores, one after the other; who may not forget has
nothing to restore."""

TOOLS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "get": ("get", {"memory": "{row}"}),
    "revise": ("revise", {"memory": "{row}", "pinned": False}),
    "verify": ("verify", {"memory": "{row}"}),
    "relate": ("relate", {"memory": "{row}", "other": "{own}", "kind": "related"}),
    "judge": ("judge", {"relation": "{row}~{own}", "kind": "related"}),
    "supersede": ("relate", {"memory": "{own}", "other": "{row}", "kind": "supersedes"}),
    "forget": ("forget", {"memory": "{row}"}),
}
"""The same over MCP, for those that have a tool."""

CODES = {403: "forbidden", 404: "not_found", 409: "conflict", 422: "invalid", 428: "unconfirmed"}


def filled(value: Any, **names: str) -> Any:
    """A path or body with the ids put in."""
    if isinstance(value, str):
        for name, said in names.items():
            value = value.replace("{" + name + "}", said)
        return value
    return {key: filled(one, **names) for key, one in value.items()} if isinstance(value, Mapping) else value


class Reply(NamedTuple):
    """What came back."""

    status: int
    body: Any
    raw: str


class Wire:
    """One caller's connection, kept open: thousands of cells are asked over a few of them."""

    def __init__(self, port: int, token: str, headers: Mapping[str, str]) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._headers = {"authorization": f"Bearer {token}", **headers}
        self._asked = 0.0

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """One request, with a JSON body or none."""
        return self.send(method, path, None if body is None else json.dumps(body).encode(), **headers)

    def send(self, method: str, path: str, body: bytes | None, **headers: str) -> Reply:
        """One request, with these bytes."""
        said = {**self._headers, **headers}
        if time.monotonic() - self._asked > IDLE:
            self._connection.close()  # it opens again by itself; the server has let go of it, or is about to
        self._asked = time.monotonic()
        self._connection.request(method, path, body, said)
        answer = self._connection.getresponse()
        raw = answer.read().decode()
        plain = answer.headers.get_content_type() != "application/json"
        return Reply(answer.status, raw if plain else json.loads(raw), raw)

    def tool(self, name: str, arguments: Mapping[str, Any]) -> Reply:
        """One call of a tool over MCP; its status is that of the same error over HTTP."""
        result = self.message("tools/call", name, {"name": name, "arguments": arguments})["result"]
        code = (result.get("structuredContent") or {}).get("code") if result.get("isError") else None
        status = next((one for one, said in CODES.items() if said == code), 200 if code is None else 500)
        return Reply(status, result, json.dumps(result))

    def page(self, uri: str) -> str:
        """What a resource over MCP says, or the error that is told in its place."""
        return json.dumps(self.message("resources/read", uri, {"uri": uri}))

    def message(self, method: str, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """One message over MCP, and what came back."""
        version = "2026-07-28"
        meta = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": version,
            "mcp-method": method,
            "mcp-name": name,
        }
        answer = self.ask("POST", "/mcp", asked, **headers)
        lines = [line[5:] for line in answer.raw.splitlines() if line.startswith("data:")]
        told: dict[str, Any] = answer.body if isinstance(answer.body, dict) else json.loads(lines[-1])
        assert answer.status == 200 or "error" in told, answer
        return told
