"""Signing in from a terminal, with a real provider: a code, a browser, and tokens that are renewed."""

import json
import re
import stat
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engram.surfaces.commands.login import token_for
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


def signed_in(team: Team, folder: Path) -> str:
    """Sign in as Ada; what the command says in the end."""
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
        return out.decode()
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


def test_several_programs_that_need_a_new_token_at_once_get_it_and_stay_signed_in(served: Team, tmp_path: Path):
    signed_in(served, tmp_path)
    file, home = tmp_path / ".local" / "share" / "engram" / "logins.json", {"HOME": str(tmp_path)}
    for _ in range(2):  # a provider that took the second use of an old word for a theft would have ended it all
        kept = json.loads(file.read_text())
        kept[url_of(served)]["expires"] = 0
        file.write_text(json.dumps(kept))
        with ThreadPoolExecutor(6) as programs:
            given = {*programs.map(lambda _: token_for(url_of(served), home), range(6))}
        (token,) = given

        assert served.ask(token, "GET", "/v1/stats").status == 200


def test_what_is_no_server_is_told_so_and_nothing_is_kept(served: Team, tmp_path: Path):
    assert child(tmp_path, "login", "http://127.0.0.1:9").code == 7
    assert child(tmp_path, "login", served.provider.issuer).code == 7
    assert child(tmp_path, "login", "http://memory.example.org").code == 2
    assert child(tmp_path, "login", "https://[").code == 2
    assert child(tmp_path, "login").code == 2
    assert child(tmp_path, "login", url_of(served), "--client", "nobody").code == 9
    assert not (tmp_path / ".local" / "share" / "engram" / "logins.json").exists()


def test_a_server_whose_provider_is_none_is_told_apart_from_what_is_no_server(served: Team, tmp_path: Path):
    wrong = served.provider._replace(port=served.port)  # it answers, and is no provider
    with running(tmp_path, wrong, 'oidc_audience = "https://memory.example.org"\n') as (port, _):
        done = child(tmp_path, "login", f"http://127.0.0.1:{port}", "--json")
        nowhere = child(tmp_path, "login", url_of(served) + "/else", "--json")

    assert (done.code, nowhere.code) == (7, 7)
    assert done.error["message"].startswith(
        f"The identity provider does not answer as one: {wrong.issuer}/.well-known/openid-configuration answers"
    )
    assert "is not a server to sign in to" in nowhere.error["message"]


@contextmanager
def a_server(**device: object) -> Iterator[str]:
    """A server that is its own provider, and answers a terminal that would sign in with this."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if "oauth-protected" in self.path:
                self._say({"resource": f"{url}/mcp", "authorization_servers": [url]})
            else:
                self._say({"issuer": url, "token_endpoint": url, "device_authorization_endpoint": f"{url}/device"})

        def do_POST(self) -> None:
            self._say(device if self.path == "/device" else {"error": "access_denied"})

        def _say(self, told: object) -> None:
            body = json.dumps(told).encode()
            self.send_response(200 if "error" not in str(told) else 400)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield url
        server.shutdown()


@pytest.mark.parametrize(
    "lacking",
    [
        {"verification_uri": None},
        {"user_code": None},
        {"device_code": None},
        {"interval": "soon"},
        {"expires_in": []},
    ],
)
def test_a_provider_that_leaves_out_what_a_sign_in_takes_is_told_so(tmp_path: Path, lacking: dict[str, object]):
    whole = {"verification_uri": "https://id.example.org/device", "user_code": "AB-CD", "device_code": "x"}
    with a_server(**{name: value for name, value in {**whole, **lacking}.items() if value is not None}) as url:
        done = child(tmp_path, "login", url, "--json")

    assert done.code == 7
    assert done.error["message"].endswith(f"{url}/device answers without what signing in takes.")


def test_what_a_provider_says_steers_no_terminal(tmp_path: Path):
    link = f"https://id.example.org/{'device' * 60}"
    with a_server(
        verification_uri=f"\x1b[2J{link}", user_code="AB\x1b[31m-CD", device_code="x", interval=-1
    ) as url:
        done = child(tmp_path, "login", url)

    assert (done.code, "\x1b" in done.err, link in done.err) == (9, False, True), done.err


def test_a_file_that_others_may_read_is_not_used(tmp_path: Path):
    home = tmp_path / "Ada's home"
    file = home / ".local" / "share" / "engram" / "logins.json"
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    file.chmod(0o644)
    token = ("login", "https://memory.example.org", "--token", "--json")
    refused = child(home, *token)
    assert refused.code == 8
    subprocess.run(["sh", "-c", refused.error["hint"].partition(": ")[2]], check=True)
    assert child(home, *token).code == 3
    file.write_text("{")
    subprocess.run(["sh", "-c", child(home, *token).error["hint"].partition(": ")[2]], check=True)
    assert not file.exists()


def test_who_signed_in_is_told_and_exchanges_with_the_server_without_another_token(served: Team, tmp_path: Path):
    shown = signed_in(served, tmp_path)
    added = child(tmp_path, "remote", "add", "team", url_of(served) + "/v1")
    child(tmp_path, "remote", "enrol", "team", "project:api")
    child(tmp_path, "remember", "We deploy on Fridays", "--scope", "project:api", "--visibility", "shared")
    pushed = child(tmp_path, "remote", "push", "team")

    assert f"Signed in to {url_of(served)} as ada" in shown
    assert f"engram remote add team {url_of(served)}" in shown
    assert (added.code, "could not" in added.out) == (0, False), added
    assert pushed.code == 0, pushed.err
    child(tmp_path, "login", url_of(served), "--forget")
    refused = child(tmp_path, "remote", "push", "team")
    assert refused.code == 9
    assert f"engram login {url_of(served)}," in refused.err


def test_a_remote_is_not_noted_with_a_token_that_its_server_refuses(served: Team, tmp_path: Path):
    tokens = {"ENGRAM_REMOTE_TOKEN_TEAM": "wrong", "ENGRAM_REMOTE_TOKEN_FAR": "x"}
    wrong = child(tmp_path, "remote", "add", "team", url_of(served), **tokens)
    listed = child(tmp_path, "remote", "list")
    silent = child(tmp_path, "remote", "add", "far", "http://127.0.0.1:9", **tokens)

    assert (wrong.code, url_of(served) in listed.out) == (9, False)
    assert (silent.code, "could not be tried" in silent.out) == (0, True)


def test_the_tokens_of_a_login_go_to_that_server_alone(served: Team, tmp_path: Path):
    signed_in(served, tmp_path)
    home = {"HOME": str(tmp_path)}

    assert token_for(url_of(served), home) == token_for(url_of(served) + "/v1", home) != ""
    assert token_for(url_of(served) + ".example.org", home) == ""
    assert token_for("https://memory.example.org", home) == ""
