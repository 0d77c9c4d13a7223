"""What the HTTP API is, in OpenAPI 3.1: made from the same signatures that answer."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from engram import __version__
from engram.errors import TABLE, EngramError, Slow, Throttled, TooLarge, Unsupported
from engram.model.event import Event
from engram.model.memory import Memory
from engram.model.record import Record
from engram.model.scope import Scope
from engram.service import OPERATIONS, Operation
from engram.surfaces.schemas import arguments

if TYPE_CHECKING:
    from engram.surfaces.http import Resource

TEXT: Mapping[str, Any] = {"type": "string"}
PLAIN: Mapping[Any, Mapping[str, Any]] = {
    str: TEXT,
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    Scope: TEXT,
    Any: {},
}
ADDED: Mapping[type, Mapping[str, Any]] = {
    Memory: {"handle": TEXT, "standing": TEXT, "stale_at": {"type": ["string", "null"], "format": "date-time"}},
    Event: {
        "purged": PLAIN[bool],
        "edits": {"type": "array", "items": {"type": "object"}},
        "note": {"type": "object"},
    },
}
"""What an answer tells of these beside their fields; see `surfaces.shapes`."""

UPLOADED = ("memory", "name", "revision", "confirm", "token")
"""What stands beside the bytes of an attachment; what they are says the header Content-Type."""

FETCHED = ("memory", "asset")
DIGEST = "^sha-256=:[A-Za-z0-9+/]{43}=:$"
REVISION: Mapping[str, Any] = {"type": "string", "pattern": '^"?[0-9]{1,18}"?$'}

PROBLEM: Mapping[str, Any] = {
    "type": "object",
    "required": ["code", "message", "hint"],
    "properties": {"code": TEXT, "message": TEXT, "hint": TEXT},
}


def describe(resources: Sequence["Resource"]) -> dict[str, Any]:
    """The whole document."""
    parts = _Parts()
    paths: dict[str, Any] = {}
    for each in resources:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, parts)
    for operation, told in _streams(parts):
        method, _, path = operation.route.partition(" ")
        paths.setdefault(path, {})[method.lower()] = told
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Engram",
            "version": __version__,
            "description": "One trustworthy memory for every agent. Errors are {code, message, hint}.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {"Problem": PROBLEM, **parts.schemas},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(resource: "Resource", parts: "_Parts") -> dict[str, Any]:
    operation, schema = resource.operation, resource.arguments.schema
    answered = get_type_hints(operation.function)["return"]
    told: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.group],
        "summary": operation.summary,
        "description": (operation.function.__doc__ or "").strip(),
        "responses": {"200": _response("The answer.", parts.of(answered)), **_problems()},
    }
    if operation.human:
        told["description"] += "\n\nOnly for a person."
    rest = {name: one for name, one in schema["properties"].items() if name not in resource.in_path}
    required = [name for name in schema.get("required", ()) if name in rest]
    placed = [_parameter(name, "path", schema["properties"][name], required=True) for name in resource.in_path]
    if resource.method in ("GET", "DELETE"):
        placed += [_parameter(name, "query", one, required=name in required) for name, one in rest.items()]
    elif rest:
        body = {**schema, "properties": rest} | ({"required": required} if required else {})
        if not required:
            body.pop("required", None)
        told["requestBody"] = {"required": bool(required), "content": {"application/json": {"schema": body}}}
    if "revision" in rest:
        placed.append(_parameter("If-Match", "header", REVISION, required=False))
    return told | ({"parameters": placed} if placed else {})


def _streams(parts: "_Parts") -> Iterator[tuple[Operation, dict[str, Any]]]:
    """The operations whose bodies are bytes: one takes them in, one gives them out."""
    bytes_of = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    for name in ("attach", "fetch"):
        operation = OPERATIONS[name]
        taken = arguments(operation.function, UPLOADED if name == "attach" else FETCHED).schema["properties"]
        placed = [
            _parameter(each, "path" if f"{{{each}}}" in operation.route else "query", one, required=each in FETCHED)
            for each, one in taken.items()
        ]
        told: dict[str, Any] = {
            "operationId": name,
            "tags": [operation.group],
            "summary": operation.summary,
            "description": (operation.function.__doc__ or "").strip(),
            "parameters": placed,
            "responses": {"200": {"description": "The bytes, as a file.", "content": bytes_of}, **_problems()},
        }
        if name == "attach":
            answered = get_type_hints(operation.function)["return"]
            told["responses"]["200"] = _response("The answer.", parts.of(answered))
            told["requestBody"] = {
                "required": True,
                "description": "The file itself. Content-Type says what it is; its bytes must say the same.",
                "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
            }
            placed.append(_parameter("Content-Digest", "header", {**TEXT, "pattern": DIGEST}, required=False))
            placed.append(_parameter("If-Match", "header", REVISION, required=False))
        yield operation, told


def _parameter(name: str, place: str, schema: Mapping[str, Any], *, required: bool) -> dict[str, Any]:
    about = {"description": schema["description"]} if "description" in schema else {}
    plain = {key: value for key, value in schema.items() if key != "description"}
    return {"name": name, "in": place, "required": required, "schema": plain} | about


def _problems() -> dict[str, Any]:
    """Every error there is, by its status; of several with one status, the names of all."""
    said: dict[int, list[str]] = {}
    told_of: tuple[type[EngramError], ...] = (*TABLE, TooLarge, Unsupported, Slow)
    for error in told_of:
        said.setdefault(error.http_status, []).append(error.code)
    reference = {"$ref": "#/components/schemas/Problem"}
    told = {str(status): _response(", ".join(codes), reference) for status, codes in sorted(said.items())}
    wait = {"description": "Seconds until the next request is allowed.", "schema": {"type": "integer"}}
    told[str(Throttled.http_status)]["headers"] = {"Retry-After": wait}
    # Said by the web server, before there is a request that we could answer.
    plain = {"text/plain": {"schema": {"type": "string"}}}
    return {"400": {"description": "What came is no HTTP request.", "content": plain}, **told}


def _response(about: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": schema}}}


class _Parts:
    """The schemas of answers and what they are made of, each once under its name."""

    def __init__(self) -> None:
        self.schemas: dict[str, Any] = {}

    def of(self, kind: Any) -> Mapping[str, Any]:  # noqa: ANN401, PLR0911 - a type; a line for each sort of it
        """The schema of a type."""
        origin, inner = get_origin(kind), get_args(kind)
        if kind in PLAIN:
            return PLAIN[kind]
        if origin is Annotated:
            return self.of(inner[0])
        if origin is Literal:
            return {"enum": list(inner)}
        if origin in (Union, UnionType):
            return {"anyOf": [self.of(part) for part in inner]}
        if origin is tuple and len(inner) == 2 and inner[1] is not Ellipsis:
            return {"type": "array", "prefixItems": [self.of(part) for part in inner]}
        if origin in (tuple, list, Sequence) or getattr(origin, "__name__", "") == "Sequence":
            return {"type": "array", "items": self.of(inner[0])}
        if isinstance(kind, type) and (issubclass(kind, Record) or hasattr(kind, "_fields")):
            return self._named(kind)
        return {"type": "object"}

    def _named(self, kind: type) -> Mapping[str, Any]:
        name = kind.__name__
        if name not in self.schemas:
            self.schemas[name] = {}  # so that what contains itself ends
            hints = get_type_hints(kind)
            fields = [each for each in getattr(kind, "FIELDS", ()) or kind._fields if each in hints]  # type: ignore[attr-defined]
            if kind is Event:
                fields.remove("payload")
            properties = {**{field: self.of(hints[field]) for field in fields}, **ADDED.get(kind, {})}
            self.schemas[name] = {"type": "object", "required": [*properties], "properties": properties}
        return {"$ref": f"#/components/schemas/{name}"}
