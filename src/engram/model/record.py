"""What a record is: named fields, frozen, compared by value, checked when made; lighter to load than dataclasses.

The standard library's dataclasses bring `inspect` and generate four functions for every class, which would be a
quarter of the time `engram recall` takes to start. This base does what our records need with what is loaded anyway.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, Self, TypeVar, dataclass_transform

from engram.errors import Invalid

R = TypeVar("R", bound="Record")

NONE: Mapping[Any, Any] = MappingProxyType({})
"""Nothing said, where a mapping may be: one that nobody can fill."""


@dataclass_transform(frozen_default=True)
class Record:
    """Base of every record: subclasses annotate their fields, give defaults, and may define checks.

    `CHECKS` says what a field must be by itself, and an Invalid of theirs names it. Only fields that are given are
    asked: a default fits, and records are read by the dozen for every question. `_check` says what the fields must
    be together.
    Fields named in `UNCOMPARED` say where a record was found, not what it is: they are part of no equality.
    """

    UNCOMPARED: ClassVar[frozenset[str]] = frozenset()
    CHECKS: ClassVar[dict[str, Callable[..., object]]] = {}
    FIELDS: ClassVar[tuple[str, ...]] = ()
    KNOWN: ClassVar[frozenset[str]] = frozenset()
    DEFAULTS: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        del kw_only  # for type checkers: a field without a default may follow one with
        cls.FIELDS = tuple(cls.__annotations__)
        cls.KNOWN = frozenset(cls.FIELDS)
        cls.DEFAULTS = {name: cls.__dict__[name] for name in cls.FIELDS if name in cls.__dict__}

    def __init__(self, *values: Any, **named: Any) -> None:  # noqa: ANN401 - typed by the subclass's fields
        if len(values) > len(self.FIELDS):
            raise TypeError(f"{type(self).__name__} has {len(self.FIELDS)} fields, not {len(values)}.")
        self._fill(dict(zip(self.FIELDS, values, strict=False)) | named if values else named)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """The record with these fields: what the constructor makes of them by name, in less time.

        Raises:
            TypeError: when one is missing or unknown.
        """
        made = cls.__new__(cls)
        made._fill(values)  # noqa: SLF001 - of its own class
        return made

    def _fill(self, values: dict[str, Any]) -> None:
        mine = self.__dict__
        mine.update(self.DEFAULTS)
        mine.update(values)
        if len(mine) != len(self.FIELDS) or not self.KNOWN.issuperset(values):
            self._complain(mine)
        checks = self.CHECKS
        name = ""
        try:
            for name, value in values.items():
                if name in checks:
                    checks[name](value)
        except Invalid as error:
            error.field = error.field or name
            raise
        self._check()

    def _check(self) -> None:
        """Raise Invalid when the fields make no sense together."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"A {type(self).__name__} cannot be changed; replace() makes another one.")

    __delattr__ = __setattr__  # type: ignore[assignment] # the same refusal

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(tuple(self._compared().values()))

    def __repr__(self) -> str:
        said = (f"{name}={self.__dict__[name]!r}" for name in self.FIELDS if self._differs(name))
        return f"{type(self).__name__}({', '.join(said)})"

    def _differs(self, name: str) -> bool:
        return name not in self.DEFAULTS or self.__dict__[name] != self.DEFAULTS[name]

    def _compared(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.FIELDS if name not in self.UNCOMPARED}

    def _complain(self, given: dict[str, Any]) -> NoReturn:
        missing = [name for name in self.FIELDS if name not in given]
        unknown = [name for name in given if name not in self.FIELDS]
        raise TypeError(f"{type(self).__name__} misses {missing} and does not know {unknown}.")

    def known_as(self, handle: str) -> Self:
        """Set the store-local handle in place, and return the record itself.

        Nothing else changes a record once it is made, and the handle is part of no equality. Call it only on a
        record you have just made or read: whoever else holds it would see the handle change.
        """
        self.__dict__["handle"] = handle
        return self


def replace(record: R, **changes: Any) -> R:  # noqa: ANN401 - any field of the record
    """The record with some fields changed, checked anew."""
    return type(record)(**{**record.__dict__, **changes})
