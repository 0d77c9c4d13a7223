"""What the HTTP API is, in OpenAPI 3.1: made from the same signatures that answer."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from inspect import getdoc
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from engram import __version__
from engram.model.event import Event
from engram.model.memory import Memory
from engram.model.record import Record
from engram.model.scope import Scope
from engram.service import OPERATIONS, Operation
from engram.surfaces.http.openapi_examples import answered, asked
from engram.surfaces.http.openapi_exchange import exchange
from engram.surfaces.http.openapi_parts import BYTES, PROBLEM, TEXT, example_of, parameter, problems, response
from engram.surfaces.schemas import arguments

if TYPE_CHECKING:
    from engram.surfaces.http.routes import Resource

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


def describe(resources: Sequence["Resource"]) -> dict[str, Any]:
    """The whole document."""
    parts = _Parts()
    paths: dict[str, Any] = {}
    for each in resources:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, parts)
    for operation, told in _streams(parts):
        method, _, path = operation.route.partition(" ")
        paths.setdefault(path, {})[method.lower()] = told
    paths |= exchange()
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
    said = asked(operation)
    told: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.group],
        "summary": operation.summary,
        "description": getdoc(operation.function) or "",
        "responses": {"200": _answer(operation, parts), **problems()},
    }
    if operation.human:
        told["description"] += "\n\nOnly for a person."
    rest = {name: one for name, one in schema["properties"].items() if name not in resource.in_path}
    required = [name for name in schema.get("required", ()) if name in rest]
    placed = [_in_path(name, schema["properties"][name], said.get(name)) for name in resource.in_path]
    if resource.method in ("GET", "DELETE"):
        placed += [
            parameter(name, "query", one, required=name in required) | example_of(said.get(name))
            for name, one in rest.items()
        ]
    elif rest:
        body = {**schema, "properties": rest} | ({"required": required} if required else {})
        if not required:
            body.pop("required", None)
        sent = {name: value for name, value in said.items() if name in rest} or None
        content = {"application/json": {"schema": body} | example_of(sent)}
        told["requestBody"] = {"required": bool(required), "content": content}
    if "revision" in rest:
        placed.append(parameter("If-Match", "header", REVISION, required=False))
    return told | ({"parameters": placed} if placed else {})


def _streams(parts: "_Parts") -> Iterator[tuple[Operation, dict[str, Any]]]:
    """The operations whose bodies are bytes: one takes them in, one gives them out."""
    bytes_of = {"application/octet-stream": {"schema": BYTES}}
    for name in ("attach", "fetch"):
        operation = OPERATIONS[name]
        taken = arguments(operation.function, UPLOADED if name == "attach" else FETCHED).schema["properties"]
        placed = [
            parameter(each, "path" if f"{{{each}}}" in operation.route else "query", one, required=each in FETCHED)
            for each, one in taken.items()
        ]
        told: dict[str, Any] = {
            "operationId": name,
            "tags": [operation.group],
            "summary": operation.summary,
            "description": getdoc(operation.function) or "",
            "parameters": placed,
            "responses": {"200": {"description": "The bytes, as a file.", "content": bytes_of}, **problems()},
        }
        if name == "attach":
            told["responses"]["200"] = _answer(operation, parts)
            told["requestBody"] = {
                "required": True,
                "description": "The file itself. Content-Type says what it is; its bytes must say the same.",
                "content": {"*/*": {"schema": BYTES}},
            }
            placed.append(parameter("Content-Digest", "header", {**TEXT, "pattern": DIGEST}, required=False))
            placed.append(parameter("If-Match", "header", REVISION, required=False))
        yield operation, told


def _in_path(name: str, schema: Mapping[str, Any], example: object) -> dict[str, Any]:
    """A parameter in the address: of several that may be named elsewhere, it has one."""
    if schema.get("type") == "array":
        schema = {**schema["items"], "description": schema.get("description", "")}
    example = example[0] if isinstance(example, list) else example
    return parameter(name, "path", schema, required=True) | example_of(example)


def _answer(operation: Operation, parts: "_Parts") -> dict[str, Any]:
    kind = get_type_hints(operation.function)["return"]
    told = response("The answer.", parts.of(kind), answered(kind))
    if get_type_hints(kind).get("memory") is Memory or operation.name == "get":
        told["headers"] = {"ETag": {"description": "The revision of the memory, for If-Match.", "schema": TEXT}}
    return told


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
