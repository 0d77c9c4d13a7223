"""The JSON schema of a typed function, and the check of arguments against it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from engram.errors import Invalid
from engram.model.limits import AGO, AHEAD, parse_moment
from engram.model.record import Record

MOST_TOLD = 3
"""How many wrong arguments an error names."""


class Arguments(NamedTuple):
    """The arguments of one function: their model, and the JSON schema a client is shown."""

    model: type[BaseModel]
    schema: dict[str, Any]

    def read(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """The arguments that were given, each of its declared type; what was not given is left out.

        Raises:
            Invalid: naming what is unknown, missing or of the wrong type.
        """
        try:
            checked = self.model.model_validate(dict(given or {}))
        except ValidationError as error:
            raise _invalid(error, self.schema) from None
        return {name: getattr(checked, name) for name in checked.model_fields_set}


@cache
def arguments(
    function: Callable[..., Any],
    names: tuple[str, ...] | None = None,
    *,
    plain: frozenset[str] = frozenset(),
) -> Arguments:
    """What a function takes after its first parameter, or the named part of it; worked out once.

    `plain` names go without their prose. A parameter that is called `from_`, because Python keeps the word, is
    `from` to a client.
    """
    inner = getattr(function, "__wrapped__", function)
    hints = get_type_hints(inner, include_extras=True)
    code = inner.__code__
    all_names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    defaults = _defaults(inner)
    fields: dict[str, Any] = {}
    for name in all_names if names is None else names:
        if name not in all_names:
            raise LookupError(f"{inner.__name__} has no parameter {name}.")
        typed = _typed(name, hints[name], told=name not in plain)
        called = Annotated[typed, Field(alias=name.removesuffix("_"))] if name.endswith("_") else typed
        fields[name] = (called, defaults.get(name, ...))
    model = create_model(inner.__name__, __config__=ConfigDict(extra="forbid"), **fields)
    return Arguments(model, _shown(model, defaults))


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    code = function.__code__
    placed = code.co_varnames[: code.co_argcount]
    said = function.__defaults__ or ()
    return {**dict(zip(placed[len(placed) - len(said) :], said, strict=True)), **(function.__kwdefaults__ or {})}


def _typed(name: str, hint: Any, *, told: bool) -> Any:  # noqa: ANN401 - a type
    """The type a client may give, with its prose where that is told."""
    kind, about = (get_args(hint)[0], get_args(hint)[1]) if get_origin(hint) is Annotated else (hint, "")
    given = _given(kind)
    if datetime in get_args(kind):
        marks = get_args(hint)[2:]
        taken = given | str if AGO in marks or AHEAD in marks else given
        given = Annotated[taken, BeforeValidator(_moments(name, marks))]
    return Annotated[given, Field(description=about)] if about and told else given


def _moments(name: str, marks: tuple[str, ...]) -> Callable[[Any], Any]:
    """Reads a moment as the command line does; what is no text is nobody's to read here."""
    return lambda said: parse_moment(name, said, marks) if isinstance(said, str) else said


def _given(kind: Any) -> Any:  # noqa: ANN401 - a type
    """What JSON can carry of a type: of several, one alone will do too; a record of ours is given by its text."""
    if get_origin(kind) in (Union, UnionType):
        parts = [_given(part) for part in get_args(kind) if not _is_record(part)]
        return Union[tuple(parts)]  # noqa: UP007 - made of parts known at run time only
    if get_origin(kind) is Sequence:
        inner = _given(get_args(kind)[0])
        return list[inner] | str if inner is str else list[inner]  # type: ignore[valid-type] # the same
    return kind


def _is_record(kind: Any) -> bool:  # noqa: ANN401 - a type
    return isinstance(kind, type) and issubclass(kind, Record)


def _shown(model: type[BaseModel], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without what a model does not need: titles, the null of what may be left out, empty defaults."""
    full = model.model_json_schema()
    definitions = full.pop("$defs", {})
    properties = {
        name: _plain(one, definitions) | ({"default": defaults[name]} if _telling(defaults.get(name)) else {})
        for name, one in full.get("properties", {}).items()
    }
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required := full.get("required"):
        schema["required"] = required
    return schema | {"additionalProperties": False}


def _telling(default: Any) -> bool:  # noqa: ANN401 - any default
    return isinstance(default, int | float | str) and bool(default)


def _plain(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: part for name, part in schema.items() if name not in ("title", "default")}
    if "$ref" in kept:
        kept |= definitions[kept.pop("$ref").rpartition("/")[2]]
        kept.pop("title", None)
    choices = [_plain(one, definitions) for one in kept.pop("anyOf", ()) if one.get("type") != "null"]
    if choices:
        # A text or several texts: several is what says it all. A record of ours is given by its text.
        several = [one for one in choices if one.get("type") == "array"] or [
            one
            for one in choices
            if one == {"type": "string"}  # a time or a span: no format says both
        ]
        kept = {**(several or choices)[0], **kept}
    if isinstance(items := kept.get("items"), Mapping):
        kept["items"] = _plain(items, definitions)
    if kept.get("format") == "date-time":
        kept = {**kept, "type": "string"}
    return kept


def _invalid(error: ValidationError, schema: Mapping[str, Any]) -> Invalid:
    told = [_fault(one) for one in error.errors(include_url=False)[:MOST_TOLD]]
    known = ", ".join(schema["properties"])
    return Invalid(
        " ".join(dict.fromkeys(told)), f"The arguments are: {known}." if known else "It takes no arguments."
    )


def _fault(one: Mapping[str, Any]) -> str:
    name = str(one["loc"][0]) if one["loc"] else "The arguments"
    if one["type"] == "extra_forbidden":
        return f"There is no argument {name!r}."
    if one["type"] == "missing":
        return f"{name} is missing."
    return f"{name}: {one['msg'].removeprefix('Input ').removeprefix('Value error, ')}."
