"""Every argument of every operation that writes, with something else in it: what each is asked beside that."""

import inspect
import json
import typing
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NamedTuple

from engram.service import OPERATIONS, Engram


class Argument(NamedTuple):
    """An argument that takes any text: of which operation, and whether it takes several."""

    operation: str
    name: str
    several: bool

    def given(self, text: str) -> str | list[str]:
        """The text as it is given."""
        return [text] if self.several else text


def writing() -> Iterator[Argument]:
    """Every argument that takes text of every operation that writes."""
    for name, operation in OPERATIONS.items():
        for each in inspect.signature(operation.function).parameters.values() if operation.writes else ():
            types = list(_types(each.annotation))
            if str in types:
                yield Argument(name, each.name, several=False)
            elif any(typing.get_args(one)[:1] and str in _types(typing.get_args(one)[0]) for one in types):
                yield Argument(name, each.name, several=True)


def _types(annotation: Any) -> Iterator[Any]:
    """What an argument may be: the members of its union."""
    said = typing.get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
    whole = isinstance(said, UnionType) or typing.get_origin(said) is typing.Union
    yield from (one for one in typing.get_args(said) if one is not NoneType) if whole else (said,)


class Asking:
    """A store with something for each operation to be done to; each is asked of something of its own."""

    def __init__(self, memory: Engram, folder: Path) -> None:
        self._memory, self._folder, self._number = memory, folder, count(1)
        (folder / "plan.txt").write_text("The plan")
        (folder / "notes.md").write_text("# Conventions\n\n- We write tests first\n")
        said = {"role": "user", "content": "We decided to use the blue queue for every import."}
        row = {"sessionId": "s", "uuid": "1", "timestamp": "2026-05-04T10:00:00Z", "cwd": "/x", "type": "user"}
        (folder / "talk.jsonl").write_text(json.dumps({**row, "message": said}) + "\n")

    def beside(self, operation: str) -> dict[str, Any]:
        """What an operation is asked beside the one argument, so that nothing else keeps it from writing."""
        asked: Mapping[str, Callable[[], dict[str, Any]]] = {
            "attach": lambda: {"memory": self._one(), "file": str(self._folder / "plan.txt")},
            "detach": lambda: {"memory": self._attached(), "asset": "plan.txt"},
            "session_end": lambda: {"session": self._session(), "summary": f"Done in night {next(self._number)}"},
            "relate": lambda: {"memory": self._one(), "other": self._one(), "kind": "related"},
            "judge": lambda: {"relation": self._tie(), "kind": "compatible"},
            "remember": lambda: {"text": f"The deploy takes {next(self._number)} minutes"},
            "revise": lambda: {"memory": self._one(), "text": f"The supper is at {next(self._number)}"},
            **{name: lambda: {"memory": self._one()} for name in ("verify", "forget")},
            "restore": lambda: {"memory": self._forgotten()},
            "capture": lambda: {"text": learned(f"The cache of builder {next(self._number)} is cold")},
            "purge": lambda: {"memory": self._one(), "confirm": True},
            "promote": lambda: {"memory": self._waiting(), "confirm": True},
            "reject": lambda: {"memory": self._waiting()},
            "undo": lambda: {"event": self._event()},
            "import": lambda: {"path": str(self._folder / "notes.md")},
            "insights_save": lambda: {"text": f"Prefers answers of {next(self._number)} lines"},
            "insights_purge": lambda: {"category": self._noticed(), "confirm": True},
            "keys_create": lambda: {"name": f"ci-{next(self._number)}", "owner": "alex"},
            "keys_revoke": lambda: {"key": self._key(), "owner": "alex"},
            "owners_assign": lambda: {"to": self._somebody(), "source": "anonymous", "apply": True},
            "workspaces_assign": lambda: {"workspace": "team", "owner": self._owner(), "apply": True},
            "projects_merge": lambda: {
                "source": self._project(),
                "into": self._project(),
                "apply": True,
                "confirm": True,
            },
            "projects_rename": lambda: {
                "project": self._project(),
                "name": f"new-{next(self._number)}",
                "apply": True,
                "confirm": True,
            },
            "remote_add": lambda: {"name": f"server-{next(self._number)}", "url": "http://127.0.0.1:9"},
            **{
                f"remote_{name}": lambda: {"name": self._remote(), "scope": "project:within"}
                for name in ("enrol", "unenrol")
            },
            "harvest": lambda: {"path": str(self._folder / "talk.jsonl"), "again": True},
        }
        return asked.get(operation, dict)()

    def _one(self) -> str:
        """A memory like no other where it holds."""
        number = next(self._number)
        return self._memory.remember(f"The lunch is at {number}", scope=f"project:of-{number}").memory.id

    def _project(self) -> str:
        return self._memory.get(self._one()).memories[0].scope.name

    def _noticed(self) -> str:
        self._memory.insights_save(f"Prefers answers of {next(self._number)} words", category="workflow")
        return "workflow"

    def _somebody(self) -> str:
        self._one()
        return "alex"

    def _owner(self) -> str:
        self._memory.owners_assign(self._somebody(), source="anonymous", apply=True)
        return "alex"

    def _attached(self) -> str:
        one = self._one()
        self._memory.attach(one, str(self._folder / "plan.txt"))
        return one

    def _session(self) -> str:
        return self._memory.session_begin(f"night-{next(self._number)}").session.name

    def _tie(self) -> str:
        return self._memory.relate(self._one(), self._one(), "related").relation.id

    def _forgotten(self) -> str:
        one = self._one()
        self._memory.forget(one)
        return one

    def _waiting(self) -> str:
        number = next(self._number)
        said = self._memory.remember(f"Person {number} leads", kind="people", scope=f"project:of-{number}")
        return said.memory.id

    def _event(self) -> int:
        self._one()
        return self._memory.history(limit=1).events[0].seq

    def _key(self) -> str:
        self._memory.keys_create(f"ci-{next(self._number)}", owner="alex")
        return self._memory.keys_list(owner="alex").keys[0].handle

    def _remote(self) -> str:
        name = f"server-{next(self._number)}"
        self._memory.remote_add(name, "http://127.0.0.1:9")
        self._memory.remote_enrol(name, "project:within")
        return name


def learned(text: str) -> str:
    """What a capture takes up, in the words it looks for."""
    return f"## Key learnings\n\n1. {text} on every Monday morning\n"
