"""The processes that the fault suite starts: each does one thing to one store, for ever or until it is done.

worker.py PLACE FOLDER write NAME          a memory after another; prints each text that was acknowledged
worker.py PLACE FOLDER import FILE         one import
worker.py PLACE FOLDER checkpoint          empties the log of a SQLite file again and again
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import apsw

from faults.harness import opened


def write(place: str, folder: Path, name: str) -> None:
    with opened(place, folder) as memory:
        for n in range(1_000_000):
            text = f"{name} keeps note {n} of the quiet house"
            memory.remember(text)
            print(text, flush=True)


def import_(place: str, folder: Path, path: str) -> None:
    with opened(place, folder) as memory:
        print("begun", flush=True)
        memory.import_(path, trust=True)


def checkpoint(place: str, folder: Path) -> None:
    del folder
    db = apsw.Connection(place)
    db.set_busy_timeout(5000)
    while True:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        print("emptied", flush=True)
        time.sleep(0.001)


if __name__ == "__main__":
    {"write": write, "import": import_, "checkpoint": checkpoint}[sys.argv[3]](
        sys.argv[1], Path(sys.argv[2]), *sys.argv[4:]
    )
