"""Every operation that writes, one after another on one store, with what the store holds after each of them."""

import ast
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from engines.samples import everything
from engram.model.caller import Caller
from engram.model.codec import RECORDS, encode
from engram.model.filter import Access
from engram.model.memory import Memory
from engram.rules.changes import Step, compose
from engram.service import Engram
from rules.world import request

MODEL = (
    "test_killed_work.py::"
    "test_a_change_of_the_model_that_is_killed_leaves_the_old_vectors_whole_until_the_new_ones_are"
)
SYNCED = "test_killed_work.py::test_a_sync_that_is_killed_loses_nothing_and_the_next_one_goes_on"
REPLICA = "test_killed_work.py::test_a_replica_is_accepted_or_dropped_or_not_wherever_that_is_killed"
RESTORE = "../operations/test_backups.py::test_killed_while_it_restores_there_is_the_old_store_or_the_new_one"

ELSEWHERE: Mapping[str, str] = {
    "import": "test_killed_work.py::test_an_import_that_is_killed_is_made_up_for_by_importing_again",
    "reembed": MODEL,
    "sync_git": SYNCED,
    "remote_pull": SYNCED,
    "remote_push": SYNCED,
    "replicas_accept": REPLICA,
    "replicas_drop": REPLICA,
    "backup_restore": RESTORE,
    "reindex": "test_killed_work.py::test_a_reindex_that_is_killed_is_made_up_for_by_the_next_one",
}
"""Operations that need more than a store, and the test that kills them."""


def is_there(test: str) -> bool:
    """Whether there is a test of this suite, or of a file beside it: its file, then its name."""
    name, _, called = test.partition("::")
    code = ast.parse((Path(__file__).parent / name).read_text(encoding="utf-8"))
    return called in {each.name for each in ast.walk(code) if isinstance(each, ast.FunctionDef)}


KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SEEN = (Access(""), Access("alex"), Access("", unowned=True))
"""Who can read what these operations leave behind: the person, another owner, and nobody."""


def records(memory: Engram, types: Iterable[str]) -> dict[str, str]:
    """Every record of some types by its id, in its form at rest."""
    return {
        record.id: json.dumps(encode(record), sort_keys=True)
        for type in types
        for access in SEEN
        for record in everything(memory.engine, type, access)
    }


def state(memory: Engram) -> dict[str, str]:
    """Every record of every type by its id, and every server that is known by its name."""
    found = records(memory, RECORDS)
    return found | {f"remote {each.name}": repr(each) for each in memory.remote_list().remotes}


def last_event(memory: Engram) -> int:
    """The number of the last event, 0 when there is none."""
    return max((each.seq for each in memory.engine.events(newest=True, limit=1)), default=0)


class Noted:
    """A store whose operations are noted as they are acknowledged, where a kill cannot reach."""

    def __init__(self, memory: Engram, acks: str) -> None:
        self._memory = memory
        self._acks = os.open(acks, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        self._note("")

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """An operation that is noted when it is done."""
        asked = getattr(self._memory, name)

        def done(*words: Any, **more: Any) -> Any:
            answer = asked(*words, **more)
            self._note(name)
            return answer

        return done

    def planted(self, text: str, **fields: object) -> Memory:
        """A memory that no operation of today would leave like this: of nobody, or with a secret in it."""
        made = self._memory.remember(f"{text}, as it should be", scope="global").memory
        values = {"id": f"{made.id[:-4]}aaaa", "text": text, "scope": made.scope, "kind": "infra", "owner": ""}
        times = {"created_at": made.created_at, "updated_at": made.updated_at, "status": "promoted", "tier": 1}
        memory = Memory(**{**values, **times, **fields})  # type: ignore[arg-type]
        self._memory.engine.commit(compose("remember", request(Caller(owner="")), [Step(None, memory)]))
        self._note("")
        return memory

    def _note(self, name: str) -> None:
        line = json.dumps([name, last_event(self._memory), state(self._memory)])
        os.writev(self._acks, [line.encode() + b"\n"])


def operate(memory: Noted, folder: Path, round: str) -> None:
    """Do each of them once; a round has names of its own."""
    at = f"in round {round}"
    memory.session_begin(f"s-{round}")
    one = memory.remember(f"The deploy is done by Robin {at}", key=f"deploy-{round}").memory.id
    two = memory.remember(f"The lunch is eaten on the roof {at}").memory.id
    memory.remember(f"The deploy is done by Kim {at}", key=f"deploy-{round}")
    memory.revise(two, text=f"The lunch is eaten in the garden {at}", tag=["food"])
    (folder / "plan.txt").write_text(f"The plan {at}")
    memory.attach(two, str(folder / "plan.txt"))
    memory.attach(one, str(folder / "plan.txt"))
    memory.detach(two, "plan.txt")
    memory.verify(one)
    memory.capture(f"## Key learnings\n\n1. The cache of the builder is cold on Mondays {at}\n")
    memory.harvest(_talk(folder, at))
    tie = memory.relate(one, two, "related", reason="one house").relation.id
    memory.judge(tie, "compatible", reason="both hold")
    three = memory.remember(f"The roof leaks {at}").memory.id
    memory.conflicts(ignore=f"{three}~{two}")
    memory.forget(two, reason="no more lunch")
    memory.restore(two)
    held, bad = (memory.remember(f"{text} {at}", kind="people").memory.id for text in ("Ada leads", "Ben leads"))
    memory.promote(held, confirm=True)
    memory.reject(bad, reason="he does not")
    memory.sync(apply=True)
    memory.settle()
    memory.insights_save(f"Prefers short answers {at}")
    memory.insights_purge(confirm=True)
    for project in ("all", f"old-{round}"):
        memory.remember(f"The port is 8080 {at}", scope=f"project:{project}")
    memory.projects_rename(f"old-{round}", f"new-{round}", apply=True, confirm=True)
    memory.projects_merge(f"new-{round}", "all", apply=True, confirm=True)
    memory.keys_create(f"ci-{round}", owner="alex")
    memory.keys_revoke(memory.keys_list(owner="alex").keys[0].handle, owner="alex")
    memory.planted(f"The bucket is reached with {KEY} {at}")
    memory.scrub(confirm=True)
    memory.planted(f"Nobody owns this {at}", owner=None)
    memory.owners_assign("alex", apply=True)
    memory.workspaces_assign("team", "alex", apply=True)
    memory.remote_add(f"server-{round}", "http://127.0.0.1:9")
    memory.remote_enrol(f"server-{round}", "project:all")
    memory.remote_unenrol(f"server-{round}", "project:all")
    memory.remote_add(f"left-{round}", "http://127.0.0.1:9")
    memory.remote_remove(f"left-{round}")
    memory.purge(memory.remember(f"The quagga is gone {at}").memory.id, confirm=True)
    memory.session_end(f"s-{round}", summary=f"Everything was done {at}")
    memory.undo()


def _talk(folder: Path, at: str) -> str:
    """A transcript in which a person says something worth keeping."""
    name = at.replace(" ", "-")
    row = {"sessionId": name, "uuid": "1", "timestamp": "2026-05-04T10:00:00Z", "cwd": "/x", "type": "user"}
    said = {"role": "user", "content": f"We decided to use the blue queue for every import {at}."}
    (folder / f"{name}.jsonl").write_text(json.dumps({**row, "message": said}) + "\n")
    return str(folder / f"{name}.jsonl")
