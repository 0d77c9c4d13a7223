"""Credentials in every write path: nothing of them is in any file afterwards, whatever was asked."""

import json
from pathlib import Path

import pytest

from surfaces.driving import Driver

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SAID = f"The token is {SECRET} for now"


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("store", ["sqlite", "files"])
def test_a_credential_is_in_no_file_whichever_way_it_came(engram: Driver, store: str):
    if store == "files":
        engram.set(ENGRAM_STORE=f"files:{engram.folder / 'plain'}")
    one = engram.remember("The deploy is on Fridays")["memory"]["handle"]
    two = engram.remember("The deploy takes an hour")["memory"]["handle"]
    hook = json.dumps(
        {"session_id": "s", "cwd": str(engram.folder), "prompt": SAID, "last_assistant_message": SAID}
    )
    learned = f"## Key learnings\n\n1. {SAID}, which everybody should know"
    (engram.folder / "notes").mkdir()
    for words, stdin in (
        (("remember", SAID), ""),
        (("remember", "With a summary", "--summary", SAID), ""),
        (("remember", "With a tag", "--tag", SECRET), ""),
        (("remember", "With a key", "--key", SECRET), ""),
        (("remember", "With a source", "--source", SAID), ""),
        (("remember", "With a citation", "--cite", f"https://example.org/?token={SECRET}"), ""),
        (("remember", "With a session", "--session", SECRET), ""),
        (("remember", "In a scope", "--scope", f"project:{SECRET}"), ""),
        (("remember", "With a retry", "--token", SECRET), ""),
        (("revise", one, "--text", SAID), ""),
        (("relate", one, two, "related", "--reason", SAID), ""),
        (("forget", one, "--reason", SAID), ""),
        (("capture", learned), ""),
        (("session", "begin", "s-9"), ""),
        (("session", "end", "s-9", "--summary", SAID), ""),
        (("recall", SAID), ""),
        (("hook", "prompt-submit"), hook),
        (("hook", "subagent-stop"), hook),
        (("hook", "stop"), hook),
        (("hook", "session-end"), "{" + SAID),
        (("get", SECRET), ""),
        (("nonsense", SAID), ""),
    ):
        engram(*words, stdin=stdin.encode())

    assert engram("list", "--everywhere", "--standing", "all").out
    assert SECRET.encode() not in everything(engram.folder)
    assert SECRET not in engram("history", "--limit", "100", "--json").out
