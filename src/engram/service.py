"""Engram: one caller on one engine, and the list of everything that can be asked."""

from collections.abc import Callable
from copy import copy
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from engram.errors import Invalid, Unavailable
from engram.model.caller import Caller
from engram.model.scope import Scope
from engram.operations import history as chronicle
from engram.operations import memories, recalls, reviews, upkeep
from engram.operations.base import OPERATIONS, Call, Operation
from engram.ports import Clock, Engine, NewId
from engram.rules.access import access_of
from engram.rules.admission import Policy

P = ParamSpec("P")
R = TypeVar("R")


class _Bound(Generic[P, R]):
    """An operation as a method: the call is made when it is asked, the signature stays the operation's."""

    def __init__(self, function: Callable[Concatenate[Call, P], R]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, engram: "Engram", owner: type["Engram"]) -> Callable[P, R]:
        function = self._function

        def ask(*args: P.args, **kwargs: P.kwargs) -> R:
            return function(engram.call(), *args, **kwargs)

        ask.__doc__ = self.__doc__
        return ask


class Engram:
    """A memory as one caller sees it. Safe to use from several threads; use `with` or close it when done."""

    def __init__(
        self,
        engine: Engine,
        *,
        caller: Caller,
        clock: Clock,
        new_id: NewId,
        policy: Policy,
        home: Scope,
        budget: int = 1500,
        store: str = "",
        channel: str = "api",
    ) -> None:
        self.engine = engine
        self.caller = caller
        self.home = home
        self.store = store
        self._clock, self._new_id, self._policy = clock, new_id, policy
        self._budget, self._channel = budget, channel
        self._closed = False

    remember = _Bound(memories.remember)
    get = _Bound(memories.get)
    list = _Bound(memories.list_memories)
    revise = _Bound(memories.revise)
    verify = _Bound(memories.verify)
    forget = _Bound(memories.forget)
    restore = _Bound(memories.restore)
    purge = _Bound(memories.purge)
    recall = _Bound(recalls.recall)
    context = _Bound(recalls.context)
    review = _Bound(reviews.review)
    promote = _Bound(reviews.promote)
    reject = _Bound(reviews.reject)
    history = _Bound(chronicle.history)
    undo = _Bound(chronicle.undo)
    stats = _Bound(upkeep.stats)
    doctor = _Bound(upkeep.doctor)
    kinds = _Bound(upkeep.kinds)
    export = _Bound(upkeep.export)
    import_ = _Bound(upkeep.import_memories)

    def call(self) -> Call:
        """One asking: this caller, now.

        Raises:
            Unavailable: after close().
        """
        if self._closed:
            raise Unavailable("This memory was closed.", "Open it again with engram.open().")
        return Call(
            engine=self.engine,
            caller=self.caller,
            access=access_of(self.caller),
            now=self._clock(),
            new_id=self._new_id,
            policy=self._policy,
            home=self.home,
            budget=self._budget,
            store=self.store,
            channel=self._channel,
        )

    def confirming_by(self, channel: str) -> "Engram":
        """The same memory, with confirmations recorded as given through another channel."""
        other = copy(self)
        other._channel = channel  # noqa: SLF001 - a copy of our own
        return other

    def ask(self, name: str, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - surfaces go by name
        """Carry out an operation by its name.

        Raises:
            Invalid: when there is none of that name.
        """
        if name not in OPERATIONS:
            raise Invalid(f"There is no operation {name!r}.", "Use one of: " + ", ".join(OPERATIONS) + ".")
        return OPERATIONS[name].function(self.call(), *args, **kwargs)

    def close(self) -> None:
        """Let go of the store. Nothing that was acknowledged depends on it."""
        self._closed = True
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def listed() -> list[Operation]:
    """Every operation in the order a newcomer meets them: that of the methods above."""
    order = list(vars(Engram))
    return sorted(
        OPERATIONS.values(), key=lambda each: order.index({"import": "import_"}.get(each.name, each.name))
    )


__all__ = ["OPERATIONS", "Engram", "Operation", "listed"]
