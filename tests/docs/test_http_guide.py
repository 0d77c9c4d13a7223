"""The page on HTTP, run: each request is sent as it stands there, and its answer says what the page says."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from docs.test_team_guide import shown
from surfaces.mcp_clients import serving

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "http.md"


def requests_of() -> list[tuple[str, Any]]:
    """Each command that asks, and what the page tells of its answer."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n((?:(?!```).*\n)+)```\n```json\n((?:(?!```).*\n)+)```$", text, re.MULTILINE)
    return [
        (command, json.loads(told))
        for commands, answers in blocks
        for command, told in zip(commands.splitlines(), answers.splitlines(), strict=True)
    ]


def test_the_requests_of_the_page_are_answered_as_it_says(tmp_path: Path):
    asked = requests_of()
    assert len(asked) == 7
    with serving(tmp_path) as served:
        variables = {**os.environ, "URL": f"http://127.0.0.1:{served.port}", "TOKEN": served.token}
        for command, told in asked:
            done = subprocess.run(
                ["bash", "-c", f"""ask() {{ curl -s -H "Authorization: Bearer $TOKEN" "$@"; }}; {command}"""],
                env=variables,
                capture_output=True,
                check=True,
            )
            assert shown(told, json.loads(done.stdout)) == told, command
