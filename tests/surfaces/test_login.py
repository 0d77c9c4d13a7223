"""Signing in from a terminal, with a real provider: a code, a browser, and tokens that are renewed."""

import json
import re
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from surfaces.driving import COMMAND, PATIENCE, child, environment
from surfaces.identities import provider
from surfaces.teams import Team, running


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("login")
    settings = 'oidc_audience = "https://memory.example.org"\n'
    with (
        provider({"ada": {}}, tmp_path_factory.mktemp("provider")) as known,
        running(folder, known, settings) as (port, log),
    ):
        yield Team(port, known, {}, folder, log)


def url_of(team: Team) -> str:
    return f"http://127.0.0.1:{team.port}"


def signed_in(team: Team, folder: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "login", url_of(team), "--client", "app"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment(folder),
    )
    try:
        assert process.stderr
        shown = process.stderr.readline().decode()
        where = re.search(r"http\S+", shown)
        assert where, shown
        team.provider.agree(where.group(), "ada")
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, b"Signed in" in out) == (0, True), err
    finally:
        process.kill()


def test_a_person_signs_in_and_the_token_opens_the_server_and_is_renewed(served: Team, tmp_path: Path):
    signed_in(served, tmp_path)
    first = child(tmp_path, "login", url_of(served), "--token")
    file = tmp_path / ".local" / "share" / "engram" / "logins.json"

    assert served.ask(first.out.strip(), "GET", "/v1/stats").status == 200
    assert child(tmp_path, "login", url_of(served), "--token").out == first.out
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    kept = json.loads(file.read_text())
    kept[url_of(served)]["expires"] = 0
    file.write_text(json.dumps(kept))
    renewed = child(tmp_path, "login", url_of(served), "--token")
    assert renewed.code == 0, renewed.err
    assert renewed.out != first.out
    assert served.ask(renewed.out.strip(), "GET", "/v1/stats").status == 200

    assert child(tmp_path, "login", url_of(served), "--forget").code == 0
    assert child(tmp_path, "login", url_of(served), "--token").code == 3


def test_what_is_no_server_is_told_so_and_nothing_is_kept(served: Team, tmp_path: Path):
    assert child(tmp_path, "login", "http://127.0.0.1:9").code == 7
    assert child(tmp_path, "login", served.provider.issuer).code == 7
    assert child(tmp_path, "login", "http://memory.example.org").code == 2
    assert child(tmp_path, "login").code == 2
    assert child(tmp_path, "login", url_of(served), "--client", "nobody").code == 9
    assert not (tmp_path / ".local" / "share" / "engram" / "logins.json").exists()


def test_a_file_that_others_may_read_is_not_used(tmp_path: Path):
    file = tmp_path / ".local" / "share" / "engram" / "logins.json"
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    file.chmod(0o644)
    done = child(tmp_path, "login", "https://memory.example.org", "--token")
    assert (done.code, "chmod 600" in done.err) == (8, True)
