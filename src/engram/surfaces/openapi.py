"""What the HTTP API is, in OpenAPI 3.1: made from the same signatures that answer."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from engram import __version__
from engram.errors import TABLE, Throttled
from engram.model.event import Event
from engram.model.memory import Memory
from engram.model.record import Record
from engram.model.scope import Scope

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
        placed.append(_parameter("If-Match", "header", {**TEXT, "pattern": '^"?[0-9]{1,18}"?$'}, required=False))
    return told | ({"parameters": placed} if placed else {})


def _parameter(name: str, place: str, schema: Mapping[str, Any], *, required: bool) -> dict[str, Any]:
    about = {"description": schema["description"]} if "description" in schema else {}
    plain = {key: value for key, value in schema.items() if key != "description"}
    return {"name": name, "in": place, "required": required, "schema": plain} | about


def _problems() -> dict[str, Any]:
    """Every error there is, by its status; of several with one status, the names of all."""
    said: dict[int, list[str]] = {}
    for error in TABLE:
        said.setdefault(error.http_status, []).append(error.code)
    reference = {"$ref": "#/components/schemas/Problem"}
    told = {str(status): _response(", ".join(codes), reference) for status, codes in sorted(said.items())}
    wait = {"description": "Seconds until the next request is allowed.", "schema": {"type": "integer"}}
    told[str(Throttled.http_status)]["headers"] = {"Retry-After": wait}
    return told


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
