"""Tokens by themselves: what a provider's keys vouch for, and everything that only looks like it."""

import base64
import hashlib
import hmac
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from attacks.ledger import tried
from engram.errors import Forbidden, Invalid, Throttled, Unauthenticated, Unavailable
from engram.model.caller import Caller
from engram.model.grants import Grants
from engram.surfaces.server import fetching
from engram.surfaces.server import issuer as issuing
from engram.surfaces.server.fetching import checked_url
from engram.surfaces.server.identity import Claims, Denied, Identity
from engram.surfaces.server.issuer import BadToken, Issuer, NoToken

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "server.md"
ISSUER, AUDIENCE = "https://id.example.org", "https://memory.example.org"
KEYS = {name: rsa.generate_private_key(public_exponent=65537, key_size=2048) for name in ("one", "two")}


def as_jwk(name: str, **more: Any) -> dict[str, Any]:
    algorithm = jwt.get_algorithm_by_name("RS256")
    return {**algorithm.to_jwk(KEYS[name].public_key(), as_dict=True), "kid": name, "use": "sig", **more}


class Provider:
    """What the provider would answer, and how often it was asked."""

    def __init__(self, *names: str) -> None:
        self.names, self.up, self.asked, self.issuer = list(names), True, 0, ISSUER
        self.more: list[Any] = []
        self.keys = f"{ISSUER}/keys"
        self.reached, self.hangs = threading.Event(), threading.Event()
        self.hangs.set()

    def __call__(self, url: str) -> Mapping[str, Any]:
        self.asked += 1
        if not self.hangs.is_set():
            self.reached.set()
            self.hangs.wait(30)
        if not self.up:
            raise OSError("down")
        if url.endswith("openid-configuration"):
            return {"issuer": self.issuer, "jwks_uri": self.keys}
        return {"keys": [*(as_jwk(name) for name in self.names), *self.more]}


def claims(**more: Any) -> dict[str, Any]:
    now = int(time.time())
    return {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "iat": now, "exp": now + 300, **more}


def signed(key: str = "one", head: dict[str, Any] | None = None, **more: Any) -> str:
    said = {name: value for name, value in claims(**more).items() if value is not None}
    return jwt.encode(said, KEYS[key], "RS256", headers={"kid": key, **(head or {})})


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def by_public_key() -> str:
    """Signed with the provider's public key as if it were a secret: the oldest trick there is."""
    told = f"{part({'alg': 'HS256', 'kid': 'one'})}.{part(claims())}"
    secret = json.dumps(as_jwk("one")).encode()
    signature = hmac.new(secret, told.encode(), hashlib.sha256).digest()
    return f"{told}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


@pytest.fixture
def provider() -> Provider:
    return Provider("one")


@pytest.fixture
def issuer(provider: Provider) -> Issuer:
    return Issuer(ISSUER, [AUDIENCE], provider)


def test_a_good_token_says_who_holds_it_and_its_keys_are_got_once(issuer: Issuer, provider: Provider):
    for _ in range(3):
        assert issuer.claims(signed())["sub"] == "ada"
    assert provider.asked == 2


@pytest.mark.parametrize(
    "made",
    [
        lambda: "",
        lambda: "a.b",
        lambda: "....",
        lambda: "\ud800",
        lambda: signed(exp=int(time.time()) - 60),
        lambda: signed(nbf=int(time.time()) + 60),
        lambda: signed(iat=int(time.time()) + 600),
        lambda: signed(exp=None),
        lambda: signed(aud=None),
        lambda: signed(sub=None),
        lambda: signed(sub=7),
        lambda: signed(iss=None),
        lambda: signed(aud="https://elsewhere.example.org"),
        lambda: signed(aud=["https://elsewhere.example.org"]),
        lambda: signed(iss="https://evil.example.org"),
        lambda: signed(iss=f"{ISSUER}/"),
        lambda: signed(exp="tomorrow"),
        lambda: signed(head={"typ": "logout+jwt"}),
        lambda: signed(head={"crit": ["exp"]}),
        lambda: signed(cnf={"jkt": "thumb"}),
        lambda: signed("two"),
        lambda: signed("two", head={"kid": "one"}),
        lambda: signed(head={"jku": "https://evil.example.org/keys", "kid": "theirs"}),
        lambda: f"{part({'alg': 'none'})}.{part(claims())}.",
        lambda: f"{part({'alg': 'NONE', 'kid': 'one'})}.{part(claims())}.",
        lambda: signed().rpartition(".")[0] + ".",
        by_public_key,
        lambda: signed(padding="x" * 100_000),
        lambda: f"{part({'alg': 'RS256', 'kid': 'one'})}.{'[' * 4000}.x",
    ],
)
def test_what_is_no_token_of_this_provider_for_this_server_now_opens_nothing(
    issuer: Issuer, made: Callable[[], str]
):
    with pytest.raises(Unauthenticated) as refused:
        issuer.claims(made())
    assert refused.value.body() == BadToken("any").body()
    tried("Expired, early, unsigned, wrongly signed tokens, or for another", "HTTP", refused.value.http_status)


def test_clocks_may_differ_by_half_a_minute(issuer: Issuer):
    assert issuer.claims(signed(exp=int(time.time()) - 20))["sub"] == "ada"
    assert issuer.claims(signed(nbf=int(time.time()) + 20))["sub"] == "ada"


def test_one_of_several_audiences_is_enough(issuer: Issuer):
    assert issuer.claims(signed(aud=["https://elsewhere.example.org", AUDIENCE]))["sub"] == "ada"


def test_a_new_key_is_learnt_when_a_token_comes_that_needs_it(
    issuer: Issuer, provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    issuer.claims(signed())
    provider.names = ["one", "two"]
    with pytest.raises(Unauthenticated):  # it was asked a moment ago
        issuer.claims(signed("two"))
    monkeypatch.setattr(issuing, "PAUSE", 0.0)
    assert issuer.claims(signed("two"))["sub"] == "ada"
    provider.names = ["two"]
    monkeypatch.setattr(issuing, "FRESH", 0.0)
    with pytest.raises(Unauthenticated):  # the old one is gone
        issuer.claims(signed("one"))


def test_tokens_with_unknown_keys_are_no_way_to_ask_the_provider_without_end(issuer: Issuer, provider: Provider):
    for at in range(50):
        with pytest.raises(Unauthenticated):
            issuer.claims(signed(head={"kid": f"key-{at}"}))
    assert provider.asked == 2


def test_a_provider_that_is_down_is_unavailable_until_its_keys_are_known(
    issuer: Issuer, provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(issuing, "PAUSE", 0.0)
    provider.up = False
    with pytest.raises(Unavailable):
        issuer.claims(signed())
    with pytest.raises(Unavailable):
        issuer.ready()
    provider.up = True
    issuer.claims(signed())
    provider.up = False
    monkeypatch.setattr(issuing, "FRESH", 0.0)
    assert issuer.claims(signed())["sub"] == "ada"  # by the keys of before
    monkeypatch.setattr(issuing, "STALE", -1.0)
    with pytest.raises(Unavailable):
        issuer.claims(signed())


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: signed(exp=int(time.time()) - 60), "expired"),
        (lambda: signed(nbf=int(time.time()) + 60), "not valid yet"),
        (lambda: signed(aud="https://elsewhere.example.org"), "audience"),
        (lambda: signed(aud=None), "claim missing"),
        (lambda: signed(iss=f"{ISSUER}/"), "issuer"),
        (lambda: signed("two", head={"kid": "one"}), "signature"),
        (lambda: signed("two"), "unknown key"),
        (by_public_key, "algorithm"),
        (lambda: "nonsense", "malformed"),
    ],
)
def test_who_runs_the_server_learns_what_was_wrong_with_a_token(issuer: Issuer, made: Callable[[], str], why: str):
    with pytest.raises(BadToken) as refused:
        issuer.claims(made())
    assert refused.value.why == why


@pytest.mark.parametrize("named", [f"{ISSUER}/", "https://evil.example.org", None])
def test_a_provider_by_another_name_is_told_at_the_start_with_both_names(
    issuer: Issuer, provider: Provider, named: str
):
    issuer.check()
    provider.issuer = named
    with pytest.raises(Invalid) as refused:
        issuer.check()
    assert f"calls itself {str(named)!r}; oidc_issuer is {ISSUER!r}" in refused.value.message


def test_a_provider_that_is_down_keeps_no_server_from_starting(issuer: Issuer, provider: Provider):
    provider.up = False
    issuer.check()
    assert provider.asked == 1


@pytest.mark.parametrize(
    ("answer", "came"),
    [
        (b"HTTP/1.1 404 Not Found\r\n\r\nnothing here", "status 404 and no JSON"),
        (b"HTTP/1.1 404 Not Found\r\n\r\n{}", "status 404"),
        (b"HTTP/1.1 200 OK\r\n\r\n[]", "status 200 and JSON that is not an object"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000, "status 200 and no JSON"),
    ],
)
def test_a_provider_that_answers_with_something_else_is_told_by_its_address_and_what_came(
    answer: bytes, came: str, caplog: pytest.LogCaptureFixture
):
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as one:
        for _ in range(2):
            one.submit(say, listening, answer)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/realm"
        wrong = Issuer(url, [AUDIENCE])
        wrong.check()
        for _ in range(2):  # the second time nobody is asked
            with pytest.raises(Unavailable) as refused:
                wrong.ready()
            assert refused.value.message == (
                "The identity provider does not answer as one:"
                f" {url}/.well-known/openid-configuration answers with {came}."
            )
            assert "oidc_issuer" in refused.value.hint
    fields = [record.__dict__["fields"] for record in caplog.records]
    assert [came in each["why"] for each in fields] == [True, True]


@pytest.mark.parametrize("address", ["http://id.example.org/keys", f"{ISSUER}/keys?version=1", "https://[", ""])
def test_a_provider_whose_keys_lie_where_nobody_is_trusted_is_told_so_and_no_caller_is_blamed(
    issuer: Issuer, provider: Provider, address: str
):
    provider.keys = address
    for _ in range(2):
        with pytest.raises(Unavailable, match=re.escape(f"jwks_uri cannot be {address!r}")):
            issuer.claims(signed())


def test_a_provider_whose_key_is_no_key_is_told_so(issuer: Issuer, provider: Provider):
    provider.more = ["one"]
    with pytest.raises(Unavailable, match="a key that is not an object"):
        issuer.claims(signed())


def say(listening: socket.socket, answer: bytes) -> None:
    """Answer one request, whatever it asks."""
    connection, _ = listening.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(answer)


def test_every_word_by_which_the_log_says_why_stands_in_the_guide():
    said = "".join(file.read_text("utf-8") for file in Path(issuing.__file__).parent.rglob("*.py"))
    words = {*re.findall(r"(?:BadToken|Denied)\(\"([^\"]+)\"\)", said), NoToken.why, "malformed"}
    words |= {why for _, why in issuing.REASONS} | {Forbidden.code, Throttled.code}

    assert {"none given", "workspace", "key"} < words
    assert not [word for word in sorted(words) if f"`{word}`" not in GUIDE.read_text("utf-8")]


def test_a_provider_that_is_away_is_told_with_where_it_is_asked(issuer: Issuer, provider: Provider):
    provider.up = False
    with pytest.raises(Unavailable) as refused:
        issuer.ready()
    assert refused.value.hint == f"Try again soon: it is asked at {ISSUER}/.well-known/openid-configuration."


def test_a_provider_that_changed_its_name_is_told_with_both_names(issuer: Issuer, provider: Provider):
    provider.issuer = "https://evil.example.org"
    with pytest.raises(Unavailable, match=r"calls itself 'https://evil\.example\.org'"):
        issuer.ready()


def test_a_provider_that_hangs_holds_up_nobody_whose_key_is_known(
    issuer: Issuer, provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    issuer.claims(signed())
    monkeypatch.setattr(issuing, "FRESH", 0.0)
    monkeypatch.setattr(issuing, "PAUSE", 0.0)
    monkeypatch.setattr(issuing, "PATIENCE", 0.1)
    provider.hangs.clear()
    with ThreadPoolExecutor(1) as one:
        first = one.submit(issuer.claims, signed())  # it asks, for the keys are no longer fresh
        assert provider.reached.wait(10)
        assert [issuer.claims(signed())["sub"] for _ in range(3)] == ["ada"] * 3
        with pytest.raises(Unauthenticated):  # nobody can say yet whose that is
            issuer.claims(signed("two"))
        assert not first.done()
        provider.names = ["one", "two"]
        provider.hangs.set()
        assert first.result()["sub"] == issuer.claims(signed("two"))["sub"] == "ada"


def test_a_document_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fetching, "LONGEST", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as one:
        one.submit(drip, listening)
        began = time.monotonic()
        with pytest.raises((OSError, HTTPException, ValueError)):
            fetching.document(f"http://127.0.0.1:{listening.getsockname()[1]}/keys")
        assert time.monotonic() - began < 5


def drip(listening: socket.socket) -> None:
    """Answer without an end, a letter at a time, until nobody listens."""
    connection, _ = listening.accept()
    with connection, suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n{")
        while True:
            connection.sendall(b" ")
            time.sleep(0.05)


def test_a_document_that_speaks_for_another_issuer_is_not_believed(issuer: Issuer, provider: Provider):
    provider.issuer = "https://evil.example.org"
    with pytest.raises(Unavailable):
        issuer.claims(signed())


def test_a_key_for_another_purpose_or_algorithm_is_not_used(provider: Provider):
    provider.names = []
    provider.more = [as_jwk("one", use="enc")]
    with pytest.raises(Unauthenticated):
        Issuer(ISSUER, [AUDIENCE], provider).claims(signed())
    provider.more = [as_jwk("one", alg="PS256"), {"kty": "oct", "k": "AA", "kid": "s"}, {"kty": "RSA", "kid": "b"}]
    with pytest.raises(Unauthenticated):
        Issuer(ISSUER, [AUDIENCE], provider).claims(signed())


def test_an_elliptic_key_serves_as_well(provider: Provider):
    key = ec.generate_private_key(ec.SECP256R1())
    row = jwt.get_algorithm_by_name("ES256").to_jwk(key.public_key(), as_dict=True)
    provider.more = [{**row, "kid": "curve"}]
    token = jwt.encode(claims(), key, "ES256", headers={"kid": "curve"})
    assert Issuer(ISSUER, [AUDIENCE], provider).claims(token)["sub"] == "ada"


@pytest.mark.parametrize(
    "url",
    [
        *("", "id.example.org", "http://id.example.org", "https://u:p@id.example.org", "https://x/?q", "file:///x"),
        *("https://[", "https://id.example.org:65536", "https://:443"),
    ],
)
def test_an_issuer_has_an_address_that_can_be_trusted(url: str):
    with pytest.raises(Invalid):
        checked_url(url, "oidc_issuer")


# Who a token speaks for


def identity(issuer: Issuer, grants: dict[str, Any] | None = None, **more: Any) -> Identity:
    def opens_key(key: str) -> Caller:
        del key
        raise BadToken("key")

    return Identity(issuer, opens_key, Claims(**more), "home", Grants.read(grants or {}))


@pytest.mark.parametrize(
    ("told", "actor"),
    [
        ({}, "ada"),
        ({"email": "a@example.org"}, "a@example.org"),
        ({"email": "a@example.org", "preferred_username": "al"}, "a@example.org"),
        ({"email": "a@example.org", "email_verified": False, "preferred_username": "al"}, "al"),
        ({"preferred_username": "al"}, "al"),
        ({"username": "al"}, "al"),
        ({"email": 7, "preferred_username": ""}, "ada"),
        ({"email": "x" * 300}, "ada"),
        ({"email": "a\x1b[2J@example.org"}, "ada"),
    ],
)
def test_an_actor_is_an_address_a_user_name_or_the_subject(issuer: Issuer, told: dict[str, Any], actor: str):
    caller = identity(issuer).caller(signed(**told), {})
    assert (caller.owner, caller.actor, caller.org) == ("ada", actor, "home")


@pytest.mark.parametrize(
    ("told", "person"),
    [
        ({}, True),
        ({"client_id": "app"}, True),
        ({"client_id": "ada"}, False),
        ({"azp": "ada"}, False),
        ({"gty": "client-credentials"}, False),
        ({"idtyp": "app"}, False),
        ({"preferred_username": "service-account-ci"}, False),
    ],
)
def test_a_program_with_a_token_of_its_own_is_no_person(issuer: Issuer, told: dict[str, Any], person: bool):
    caller = identity(issuer).caller(signed(**told), {})
    assert (caller.human, caller.alone) == (person, not person)


def test_a_claim_may_say_who_is_a_person(issuer: Issuer):
    who = identity(issuer, person="amr")
    assert who.caller(signed(amr=["pwd"]), {}).human
    assert not who.caller(signed(), {}).human


def test_an_agent_that_speaks_for_a_person_says_so(issuer: Issuer):
    caller = identity(issuer).caller(signed(), {"engram-agent": "builder"})
    assert (caller.human, caller.agent, caller.alone) == (False, "builder", False)
    for name in ("a@b", " x", "y" * 300):
        with pytest.raises(Invalid):
            identity(issuer).caller(signed(), {"engram-agent": name})


GRANTS = {"project:api": {"writer": ["ada"], "reader": ["ada@example.org"], "admin": ["group:core"]}}


@pytest.mark.parametrize(
    ("told", "role"),
    [
        ({}, "writer"),
        ({"sub": "bob"}, ""),
        ({"sub": "bob", "email": "ada@example.org", "email_verified": True}, "reader"),
        ({"sub": "bob", "email": "ada@example.org", "email_verified": "true"}, ""),
        ({"sub": "bob", "email": "ada@example.org"}, ""),
        ({"sub": "bob", "groups": ["core"]}, "admin"),
        ({"sub": "bob", "groups": "other core"}, "admin"),
        ({"sub": "bob", "groups": {"core": True}}, ""),
        ({"sub": "group:core"}, ""),
        ({"sub": "bob", "preferred_username": "ada"}, ""),
    ],
)
def test_grants_go_by_subject_group_and_verified_address(issuer: Issuer, told: dict[str, Any], role: str):
    assert identity(issuer, GRANTS).caller(signed(**told), {}).grants == (("project:api", role),)


def test_an_org_comes_from_its_claim_or_not_at_all(issuer: Issuer):
    who = identity(issuer, org="org")
    assert who.caller(signed(org="acme"), {}).org == "acme"
    for told in ({}, {"org": ""}, {"org": 7}, {"org": "x" * 300}, {"org": "a\x00b"}):
        with pytest.raises(Denied):
            who.caller(signed(**told), {})
    with pytest.raises(Denied):
        who._replace(serves=lambda org: org == "home").caller(signed(org="acme"), {})


def test_scopes_narrow_what_a_token_opens(issuer: Issuer):
    who = identity(issuer)
    assert not who.caller(signed(scope="openid engram:read"), {}).writes
    assert who.caller(signed(scope="engram:read engram:write"), {}).writes
    assert who.caller(signed(scope="openid"), {}).writes  # a provider without such scopes
    with pytest.raises(Denied):
        identity(issuer, scope="engram:read").caller(signed(scope="openid"), {})
