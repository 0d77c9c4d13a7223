"""The processes that engine tests start: each writes to one store, and may kill itself at a named point.

children.py crash STORE ACKS RUN OPERATION POINT HIT   kill -9 at the n-th time the operation is at the point
children.py churn STORE ACKS RUN [COUNT]               all operations, for ever or so many: killed from outside
children.py stumble STORE ACKS RUN COUNT               so many operations, whatever is refused; prints that
children.py write STORE NAME COUNT                     so many new memories; prints their handles
children.py count STORE NAME COUNT                     so many increments of the memory "counter"
children.py pairs STORE COUNT                          so many Changes of two memories at once
children.py open STORE                                 make or migrate the store
children.py embed STORE ID VECTOR MODEL                a new memory with a vector, given in hex
children.py fork STORE WHOSE                           a forked process writes after its parent closed the store
children.py migrate STORE N                            make or migrate it; kill -9 at the n-th statement
children.py vectors STORE MODEL N                      all that lack get vectors; kill -9 at the n-th statement
children.py batches STORE MODEL ACKS                   vectors, five memories at a time: killed from outside
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import apsw

from engram.model.record import replace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engines.samples import EAST, MINE, NORTH, Story, change, everything, memory, rows
from engines.stores import open_any
from engram.engines.sqlite import SqliteEngine
from engram.errors import Conflict, EngramError
from engram.model.change import Change, Commit
from engram.model.codec import encode
from engram.model.query import Space
from engram.ports import Engine

OPERATIONS = ("new", "revise", "repeat", "forget", "purge", "promote")


class Witness:
    """An engine that notes every Change before and after it is committed, where a kill cannot reach."""

    def __init__(self, engine: Engine, acks: str) -> None:
        self._engine = engine
        self._acks = os.open(acks, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        self.scan, self.get = engine.scan, engine.get

    def commit(self, asked: Change) -> Commit:
        states = {record.id: encode(record) for record in asked.puts} | {id: None for _, id in asked.drops}
        self._note("begun", states)
        done = self._engine.commit(asked)
        self._note("done", states)
        return done

    def _note(self, word: str, states: dict) -> None:
        # By a call that no engine makes, so that whoever lets an engine's calls fail leaves this one alone.
        os.writev(self._acks, [(json.dumps([word, states]) + "\n").encode()])


def perform(story: Story, operation: str, n: int, arm: Callable[[bool], None]) -> None:
    """One operation of a kind, on a memory made for it; armed while the operation itself runs."""
    text = f"The quagga{story.request().fresh} {operation} number is {n}"
    key = f"key-{story.request().fresh}" if operation == "revise" else ""
    arm(operation == "new")
    made = story.remember(text, key=key, kind="identity" if operation == "promote" else "decision")
    arm(True)
    match operation:
        case "revise":
            story.remember(f"{text} and an aardwolf", key=key)
        case "repeat":
            story.remember(text)
        case "forget":
            story.forget(made)
        case "purge":
            story.purge(made)
        case "promote":
            story.promote(made)
    arm(False)


def crash(*arguments: str) -> None:
    store, acks, run, operation, point, hit = arguments
    left, armed = int(hit), False

    def arm(value: bool) -> None:
        nonlocal armed
        armed = value

    def trace(at: str) -> None:
        nonlocal left
        left -= armed and at == point
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    engine = open_any(Path(store), "child", trace=trace)
    story = Story(Witness(engine, acks), name=f"run{run}", start=int(run) * 1000)
    for n in range(int(hit)):
        perform(story, operation, n, arm)


def churn(store: str, acks: str, run: str, count: str = "10000") -> None:
    engine = open_any(Path(store), "child")
    story = Story(Witness(engine, acks), name=f"run{run}", start=int(run) * 100_000)
    for n in range(int(count)):
        perform(story, OPERATIONS[n % len(OPERATIONS)], n, lambda _: None)


def stumble(store: str, acks: str, run: str, count: str) -> None:
    engine, refused = None, []
    for n in range(int(count)):
        try:
            engine = engine or open_any(Path(store), "child")
            story = Story(Witness(engine, acks), name=f"run{run}", start=int(run) * 100_000 + n * 10)
            perform(story, OPERATIONS[n % len(OPERATIONS)], n, lambda _: None)
        except EngramError as error:
            refused.append(str(error))
    os.writev(1, [json.dumps(refused).encode()])


def write(store: str, name: str, count: str) -> None:
    engine = open_any(Path(store), name)
    story = Story(engine, name=name)
    print(json.dumps([story.remember(f"{name} says {n}").handle for n in range(int(count))]))


def count(store: str, name: str, count: str) -> None:
    engine = open_any(Path(store), name)
    tries = 0
    for n in range(int(count)):
        while True:
            tries += 1
            old = engine.get("memory", ["counter"], MINE)["counter"]
            new = replace(old, seen=old.seen + 1, revision=old.revision + 1)
            try:
                engine.commit(change(new, batch=f"{name}-{n}"))
                break
            except Conflict:
                continue
    print(tries)


def pairs(store: str, count: str) -> None:
    engine = open_any(Path(store), "pairs")
    for n in range(1, int(count) + 1):
        both = [memory(f"pair-{side}", f"zebra round{n}", seen=n, revision=n) for side in ("left", "right")]
        engine.commit(change(*both, batch=f"b{n}"))


def embed(store: str, id: str, vector: str, model: str) -> None:
    engine = SqliteEngine(Path(store), new_replica=lambda: "child")
    made, numbers = memory(id, f"text of {id}"), bytes.fromhex(vector)
    engine.commit(change(made, batch=id))
    engine.put_vectors(Space(model, len(numbers) // 4), rows((made, numbers)))


def dying(at: str) -> Callable[..., bool]:
    """What SQLite asks before each statement: the n-th is never begun."""
    left = int(at)

    def before(*_: object) -> bool:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    return before


def migrate(store: str, at: str) -> None:
    before = dying(at)
    apsw.connection_hooks.append(lambda db: db.set_exec_trace(before))
    SqliteEngine(Path(store), new_replica=lambda: "child")


def vectors(store: str, model: str, at: str) -> None:
    engine, space = SqliteEngine(Path(store), new_replica=lambda: "child"), Space(model, 4)
    lacking = engine.lacking(space, MINE)
    engine._connection().set_exec_trace(dying(at))
    engine.put_vectors(space, rows(*((each, EAST + NORTH) for each in lacking)))
    os.kill(os.getpid(), signal.SIGKILL)


def batches(store: str, model: str, acks: str) -> None:
    engine, space = open_any(Path(store), "child"), Space(model, 4)
    file = os.open(acks, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    while batch := engine.lacking(space, MINE, limit=5):
        engine.put_vectors(space, rows(*((each, EAST + NORTH) for each in batch)))
        os.writev(file, ["".join(f"{each.id}\n" for each in batch).encode()])


def open_store(store: str) -> None:
    open_any(Path(store), "child").close()


def fork(store: str, whose: str) -> None:
    """The forked process goes on with its parent's engine, or opens one of its own."""
    engine = open_any(Path(store), "parent")
    engine.commit(change(memory("parent"), batch="parent"))
    (ready, at_it), (begin, over) = os.pipe(), os.pipe()
    if not (pid := os.fork()):
        engine = engine if whose == "parents" else open_any(Path(store), "forked")
        assert len(everything(engine)) == 1
        os.close(over)
        os.write(at_it, b".")
        os.read(begin, 1)
        engine.commit(change(memory("forked", "The forked one speaks"), batch="forked"))
        engine.close()
        os._exit(0)
    os.read(ready, 1)
    engine.close()
    engine = open_any(Path(store), "parent")
    engine.commit(change(memory("again", "The parent speaks again"), batch="again"))
    engine.close()
    os.close(over)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def limit(size: int) -> None:
    """Let no file grow beyond this size: what a full disk is to a process."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def fill(store: str, size: str) -> None:
    engine = open_any(Path(store), "child")
    limit(int(size))
    story, kept, error = Story(engine, name="fill", start=10), [], ""
    for n in range(200):
        try:
            kept.append(story.remember(f"{n} " + "words fill the disk " * 400).id)
        except EngramError as refused:
            error = type(refused).__name__
            break
    readable = len(everything(engine))
    limit(resource.RLIM_INFINITY)
    kept.append(story.remember("there is room again").id)
    print(json.dumps([kept, error, readable]))


def attempt(store: str, user: str, size: str) -> None:
    if int(size):
        limit(int(size))
    if int(user):
        os.setuid(int(user))
    try:
        engine = SqliteEngine(Path(store), new_replica=lambda: "child")
        engine.commit(change(memory("attempt", "may I?"), batch="attempt"))
        print(json.dumps(["kept"]))
    except EngramError as refused:
        print(json.dumps([type(refused).__name__, refused.message, refused.hint]))


if __name__ == "__main__":
    commands = (crash, churn, stumble, write, count, pairs, fill, attempt, embed, fork, migrate, vectors, batches)
    {**{each.__name__: each for each in commands}, "open": open_store}[sys.argv[1]](*sys.argv[2:])
