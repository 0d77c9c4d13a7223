"""One process of a fault probe, in the virtualenv of the system that is probed.

keeper.py SYSTEM HOME FOLDER write ACKS NAME COUNT     keep so many texts; those acknowledged are noted in ACKS
keeper.py SYSTEM HOME FOLDER tell                      every text, and what the system's own check says, as JSON
"""

import importlib
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "peers"))

from serve import Adapter

SYSTEMS = {
    "Engram": ("peer_engram", "Engram"),
    "server-memory": ("peer_server_memory", "ServerMemory"),
    "mcp-memory-service": ("peer_mcp_memory_service", "Service"),
}


def write(system: Adapter, acks: str, name: str, count: str) -> None:
    """Keep texts, and note each that was acknowledged, or why one was not."""
    noted = os.open(acks, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    for n in range(int(count)):
        text = f"{name} keeps note {n} of the quiet house"
        item = {"id": text, "text": text, "session": "probe", "created_at": "2026-01-01T00:00:00Z"}
        try:
            system.add([item])
        except Exception as error:  # noqa: BLE001 - whatever it is, it was not acknowledged
            text = f"refused: {error}".replace("\n", " ")
        os.writev(noted, [f"{text}\n".encode()])


def tell(system: Adapter) -> dict[str, object]:
    """What it has, and what it says of itself."""
    return {"texts": system.everything(), "check": system.check()}


def main() -> None:
    """Do what the words ask for; an error is an answer too."""
    which, home, folder, verb, *words = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # libraries print
    module, name = SYSTEMS[which]
    try:
        system: Adapter = getattr(importlib.import_module(module), name)()
        system.open(folder, "semantic", home)
        answer = tell(system) if verb == "tell" else write(system, *words)
    except Exception as error:  # noqa: BLE001 - a system that says what is wrong
        answer = {"error": str(error)[:300]}
    print(json.dumps(answer), file=answers, flush=True)
    os._exit(0)  # servers that it started end with their input


if __name__ == "__main__":
    main()
