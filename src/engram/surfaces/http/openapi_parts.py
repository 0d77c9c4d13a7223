"""Pieces of the description of the HTTP API: parameters, answers, and every error there is."""

from collections.abc import Mapping
from typing import Any

from engram.errors import TABLE, EngramError, NotFound, Slow, Throttled, TooLarge, Unsupported
from engram.surfaces.server.guard import Misdirected

TEXT: Mapping[str, Any] = {"type": "string"}

BYTES: Mapping[str, Any] = {"type": "string", "format": "binary"}

PROBLEM: Mapping[str, Any] = {
    "type": "object",
    "required": ["code", "message", "hint"],
    "properties": {"code": TEXT, "message": TEXT, "hint": TEXT},
    "example": NotFound("There is no memory 'mem-0404'.", "See what there is: engram list.").body(),
}


def parameter(name: str, place: str, schema: Mapping[str, Any], *, required: bool) -> dict[str, Any]:
    """A parameter in the address, the query or a header."""
    about = {"description": schema["description"]} if "description" in schema else {}
    plain = {key: value for key, value in schema.items() if key != "description"}
    return {"name": name, "in": place, "required": required, "schema": plain} | about


def problems() -> dict[str, Any]:
    """Every error there is, by its status; of several with one status, the names of all."""
    said: dict[int, list[str]] = {}
    told_of: tuple[type[EngramError], ...] = (*TABLE, TooLarge, Unsupported, Slow, Misdirected)
    for error in told_of:
        said.setdefault(error.http_status, []).append(error.code)
    reference = {"$ref": "#/components/schemas/Problem"}
    told = {str(status): response(", ".join(codes), reference) for status, codes in sorted(said.items())}
    told["405"] = response("invalid: this address is not asked that way.", reference)
    told["405"]["headers"] = {"Allow": {"description": "How it is asked.", "schema": TEXT}}
    wait = {"description": "Seconds until the next request is allowed.", "schema": {"type": "integer"}}
    told[str(Throttled.http_status)]["headers"] = {"Retry-After": wait}
    # Said by the web server, before there is a request that we could answer.
    plain = {"text/plain": {"schema": {"type": "string"}}}
    return {"400": {"description": "What came is not an HTTP request.", "content": plain}, **told}


def response(about: str, schema: Mapping[str, Any], example: object = None) -> dict[str, Any]:
    """An answer in JSON."""
    return {"description": about, "content": {"application/json": {"schema": schema} | example_of(example)}}


def example_of(value: object) -> dict[str, Any]:
    """What an example adds to a description; nothing where there is none."""
    return {} if value is None else {"example": value}
