"""Evidence at every door: an agent's session over MCP, a hook before an edit, the command and its exit code."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from evidence.repos import API, Repo
from surfaces.driving import COMMAND, PATIENCE, Result, at_terminal, environment

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "api")
    made.write("src/api.py", API)
    made.commit()
    return made


def variables(repo: Repo, **more: str) -> dict[str, str]:
    return environment(repo.folder.parent, ENGRAM_EMBEDDER="none", **more)


def run(repo: Repo, *words: str, stdin: bytes = b"", **more: str) -> Result:
    done = subprocess.run(
        [*COMMAND, *words],
        input=stdin,
        capture_output=True,
        check=False,
        cwd=repo.folder,
        env=variables(repo, **more),
        timeout=PATIENCE,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


async def test_an_agent_is_told_when_a_cited_function_changed_between_two_recalls(repo: Repo):
    server = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], "mcp"], env=variables(repo), cwd=repo.folder
    )
    async with Client(server, read_timeout_seconds=PATIENCE) as client:

        async def call(name: str, **said: Any) -> Any:
            return await client.call_tool(name, said)

        saved = await call(
            "remember", text="handler rejects bad requests", kind="finding", cite=["src/api.py:handler"]
        )
        refused = await call("remember", text="It is elsewhere", kind="finding", cite=["../secret.txt"])
        first = await call("recall", question="handler bad requests", kind=["finding"])
        repo.edit("src/api.py", 'raise ValueError("this request is bad")', "return None")
        second = await call("recall", question="handler bad requests", kind=["finding"])
        page = await client.read_resource("memory://cited/src/api.py:9")
        shown = await call("verify", memory=["mem-0001"])
        pinned = await call("verify", memory=["mem-0001"], repin=True)
        third = await call("recall", question="handler bad requests", kind=["finding"])

    assert not saved.is_error
    assert refused.is_error
    assert "outside the repository" in refused.content[0].text
    assert first.structured_content["hits"][0]["evidence"] == "fresh"
    assert "drifted" not in first.content[0].text
    (hit,) = second.structured_content["hits"]
    assert hit["evidence"] == "drifted"
    assert hit["citations_changed"][0]["changed"] == 0.2
    assert "src/api.py:handler is drifted, 20% changed" in second.content[0].text
    assert "handler rejects bad requests [mem-0001, finding; src/api.py:handler is drifted" in page.contents[0].text
    assert '-        raise ValueError("this request is bad")' in shown.content[0].text
    assert "Verified mem-0001" in pinned.content[0].text
    assert "Pinned anew to what is there now: mem-0001." in pinned.content[0].text
    assert "drifted" not in pinned.content[0].text
    assert third.structured_content["hits"][0]["evidence"] == "fresh"


def test_a_hook_tells_what_is_known_about_a_file_before_it_is_edited(repo: Repo):
    run(repo, "remember", "Raise the timeout only with the gateway's", "--kind", "gotcha", "--cite", "src/api.py:3")
    run(repo, "remember", "Retries are five since the outage", "--kind", "gotcha", "--cite", "src/api.py:4")
    run(repo, "judge", "mem-0001~mem-0002", "conflicts")
    repo.edit("src/api.py", "RETRIES = 5", "RETRIES = 6")
    told = {
        "session_id": "s-1",
        "cwd": str(repo.folder),
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "tool_input": {"file_path": str(repo.folder / "src/api.py"), "old_string": "a", "new_string": "b"},
    }

    def hook(agent: str = "claude-code", **more: Any) -> Any:
        return json.loads(
            run(repo, "hook", "pre-edit", "--agent", agent, stdin=json.dumps({**told, **more}).encode()).out
        )

    said = hook()["hookSpecificOutput"]
    assert said["hookEventName"] == "PreToolUse"
    assert "About api.py" in said["additionalContext"]
    assert "only with the gateway's" in said["additionalContext"]
    assert "what it cites is drifted" in said["additionalContext"]
    assert "[mem-0001, gotcha, said, today, conflicts with mem-0002]" in said["additionalContext"]
    assert "conflicts with mem-0002" in run(repo, "cited", "src/api.py").out
    assert hook() == {}, "once a session"
    assert hook(session_id="s-2", tool_input={"file_path": "/etc/passwd"}) == {}
    assert hook(session_id="s-2", tool_input={"command": "ls"}) == {}
    assert hook(session_id="s-2", tool_input=7) == {}
    assert hook("codex", session_id="s-3") == {}, "it takes no such words"
    assert not list(repo.folder.parent.rglob("hooks.log"))


def test_the_command_checks_a_project_for_a_build(repo: Repo):
    run(repo, "remember", "Timeouts are short", "--kind", "finding", "--cite", "src/api.py:3")
    assert run(repo, "evidence", "--fail-on", "drifted,gone").code == 0
    repo.edit("src/api.py", "TIMEOUT = 30", "TIMEOUT = 60")
    failed = run(repo, "evidence", "--fail-on", "drifted,gone")
    told = run(repo, "evidence", "--json").json

    assert failed.code == 11
    assert "mem-0001  drifted  src/api.py:3  100% changed" in failed.out
    assert told["counts"]["drifted"] == 1
    assert told["memories"][0]["evidence"][0]["verdict"] == "drifted"
    assert run(repo, "evidence", "--fail-on", "rotten").code == 2
    assert run(repo, "evidence", "--since", "nope").code == 2


def test_at_a_terminal_it_is_asked_before_anything_is_pinned(repo: Repo):
    run(repo, "remember", "Timeouts are short", "--cite", "src/api.py:3")
    repo.edit("src/api.py", "TIMEOUT = 30", "TIMEOUT = 60")
    more = {"ENGRAM_STORE": str(repo.folder.parent / "store.db"), "HOME": str(repo.folder.parent)}
    left, refused = at_terminal(repo.folder, "verify", "mem-0001", keys={"[y/N]": "\n"}, **more)
    code, agreed = at_terminal(repo.folder, "verify", "mem-0001", keys={"[y/N]": "y\n"}, **more)

    assert "+TIMEOUT = 60" in refused
    assert "Verified" not in refused
    assert left == 6
    assert "Verified" in agreed
    assert code == 0
    assert run(repo, "recall", "timeouts", "--words", "--json").json["hits"][0]["evidence"][0]["verdict"] == "fresh"


def test_at_a_terminal_nobody_is_asked_to_pin_what_is_gone(repo: Repo):
    run(repo, "remember", "Timeouts are short", "--cite", "src/api.py:3")
    (repo.folder / "src/api.py").unlink()
    more = {"ENGRAM_STORE": str(repo.folder.parent / "store.db"), "HOME": str(repo.folder.parent)}
    code, shown = at_terminal(repo.folder, "verify", "mem-0001", keys={}, **more)

    assert "[y/N]" not in shown
    assert "Cite something else" in " ".join(shown.split())
    assert code == 6  # nothing was verified, and a script must see that


def test_what_another_branch_knows_is_said_in_words(repo: Repo):
    repo.git("switch", "-qc", "feature/cache")
    run(repo, "remember", "The cache lives for five minutes")
    repo.git("switch", "-q", "main")
    asked = run(repo, "recall", "cache minutes", "--words").out

    assert "Held back: 1 staged on another branch." in asked
    assert "engram list --standing staged" in asked
    assert "branch      feature/cache" in run(repo, "get", "mem-0001").out


def test_a_profile_of_another_system_tells_the_verdict_too(repo: Repo, tmp_path: Path):
    from engram.interop.records import PROFILE

    tools = {tool.name: tool for tool in PROFILE.tools}
    with repo.open(tmp_path / "store.db") as memory:
        cited = [{"kind": "file", "ref": "src/api.py", "locator": "3"}]
        scope = f"discovery:repo:{memory.home.name}"
        said = {"content": "Timeouts are short", "kind": "fact", "citations": cited, "scope": scope}
        tools["store_discovery"].run(memory, **said)
        repo.edit("src/api.py", "TIMEOUT = 30", "TIMEOUT = 60")
        found = tools["search_discovery"].run(memory, query="timeouts", scope=scope)

    (row,) = (found.structured or json.loads(found.text))["memories"]
    assert row["evidence"] == "drifted"
    assert row["citations"][0]["excerpt"] == "TIMEOUT = 30"
