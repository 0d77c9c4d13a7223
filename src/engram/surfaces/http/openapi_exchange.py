"""The files by which stores exchange memories, in the description of the HTTP API.

They are no operations: `engram remote push` and `pull` speak them. See `surfaces.http.sync_files`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from engram.surfaces.http.openapi_parts import BYTES, TEXT, example_of, parameter, problems, response

REPLICA = "^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$"
FILE = r"^([0-9a-f]{64}\.(jsonl|payload)|[0-9A-Za-z][0-9A-Za-z_-]{0,99}\.json)$"
LISTED: Mapping[str, Any] = {
    "type": "object",
    "required": ["files", "more"],
    "properties": {
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "at", "sha256"],
                "properties": {"name": TEXT, "at": {"type": "integer"}, "sha256": TEXT},
            },
        },
        "more": {"type": "boolean"},
    },
}
LISTED_SO: Mapping[str, Any] = {
    "files": [{"name": f"0195562e/{'5d' * 32}.jsonl", "at": 4, "sha256": "5d" * 32}],
    "more": False,
}


STORED: Mapping[str, Any] = {"type": "object", "required": ["stored"], "properties": {"stored": TEXT}}
CONTENT: Mapping[str, Any] = {"application/octet-stream": {"schema": BYTES}}

SCOPE: Mapping[str, Any] = {**TEXT, "description": "Whose memories."}
PRIVATE: Mapping[str, Any] = {"type": "boolean", "description": "Your own private part."}
AFTER: Mapping[str, Any] = {"type": "integer", "minimum": 0, "description": "Only what came after this mark."}
ONE: Mapping[str, Mapping[str, Any]] = {
    "replica": {**TEXT, "pattern": REPLICA, "description": "A replica, or `replicas` for cards."},
    "name": {**TEXT, "pattern": FILE, "description": "A chunk, its payloads, or the card of a replica."},
}


def exchange() -> dict[str, Any]:
    """The paths."""
    one = [parameter(name, "path", schema, required=True) for name, schema in ONE.items()]
    got = {"description": "The file.", "content": CONTENT}
    kept = response("The hash of what is kept.", STORED, {"stored": "5d" * 32})
    listed = response("What is kept.", LISTED, LISTED_SO)
    after = parameter("after", "query", AFTER, required=False)
    put = _operation("sync_file_keep", "Keep one file, and take in what it says.", one, {"201": kept})
    return {
        "/v1/sync/files": {
            "get": _operation("sync_files", "List the files that are kept of a scope.", [after], {"200": listed})
        },
        "/v1/sync/files/{replica}/{name}": {
            "get": _operation("sync_file", "Get one file.", one, {"200": got}),
            "put": {**put, "requestBody": {"required": True, "content": CONTENT}},
        },
    }


def _operation(id: str, summary: str, placed: Sequence[Any], answers: Mapping[str, Any]) -> dict[str, Any]:
    scope = parameter("scope", "query", SCOPE, required=True) | example_of("project:github.com/acme/api")
    return {
        "operationId": id,
        "tags": ["sync"],
        "summary": summary,
        "description": "See docs/sync.md for what lies in these files.",
        "parameters": [*placed, scope, parameter("private", "query", PRIVATE, required=False)],
        "responses": {**answers, **problems()},
    }
