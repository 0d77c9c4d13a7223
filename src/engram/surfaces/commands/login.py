"""`engram login`: let a person sign in to a team's server from a terminal, and keep what it gives fresh."""

import base64
import json as form
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.client import HTTPException
from shlex import quote
from typing import Any
from urllib.parse import urlsplit

from engram.config import data_folder
from engram.drafts import one_at_a_time, whole_file
from engram.errors import Corrupt, Invalid, NotFound, Unauthenticated, Unavailable
from engram.surfaces.server.fetching import Unfit, checked_url, discovery_of, document, exchange, trouble_with

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
METADATA = "/.well-known/oauth-protected-resource/mcp"
SCOPE = "openid offline_access engram:read engram:write"
MARGIN = 60
"""Seconds before its end at which a token is renewed."""

TURN = 30.0
"""Seconds to wait for another program of this person that renews a token."""

LONGEST_LINK = 2000

PAUSE = 5
"""Seconds between two looks whether the person is done, where the provider says nothing."""


def run(words: list[str], *, json: bool = False) -> int:
    """Usage: engram login URL [--client ID] [--token | --forget] [--json]

    Sign in to a team's server, or print a token for it. It shows an address and a code: open the address in any
    browser, sign in with your provider and enter the code. The tokens are kept in a file that only you can read;
    engram remote uses them too, for a remote at that address.

    Options:
      --client ID  How the provider knows this program. Default: engram.
      --token      Print a token for that server, renewed where it is about to end. For scripts, and for agents that
                   take a command for their credentials.
      --forget     Forget the tokens for that server.
      --json       Answer in JSON, for machines.

    Examples:
      engram login https://memory.example.org
      engram login https://memory.example.org --token
    """  # noqa: D415 - it is the command's help
    url, client, act = _read(words)
    kept = _kept(os.environ)
    if act == "--forget":
        kept.drop(url)
        told, said = {"url": url, "forgotten": True}, f"✓ Signed out of {url}."
    elif act == "--token":
        token = _fresh(url, kept)
        told, said = {"url": url, "token": token}, token
    else:
        kept.put(url, known := _signed_in(url, client))
        who = _who(known["access"])
        told = {"url": url, "signed_in": True, "as": who}
        said = f"✓ Signed in to {url}{' as ' if who else ''}{who}.\n  {_next_step(url)}"
    print(form.dumps(told) if json else said)
    return 0


def token_for(url: str, environment: Mapping[str, str]) -> str:
    """A token for an address of a server that the person signed in to; "" where nobody did.

    Raises:
        Unauthenticated: when it ended and cannot be renewed.
    """
    kept = _kept(environment)
    server = kept.server_of(url)
    return _fresh(server, kept) if server else ""


def _kept(environment: Mapping[str, str]) -> "_Kept":
    return _Kept(os.path.join(data_folder(environment), "logins.json"))


def _next_step(url: str) -> str:
    return f"Exchange memories with it: engram remote add team {url}, then engram remote enrol team SCOPE."


def _who(token: str) -> str:
    """Whom a token names, by its own words; "" where they cannot be read. Nothing is decided by it."""
    try:
        words = token.split(".")[1]
        told = form.loads(base64.urlsafe_b64decode(words + "=" * (-len(words) % 4)))
        names = [told.get(name) for name in ("email", "preferred_username", "sub")]
    except (IndexError, ValueError, AttributeError):
        return ""
    if told.get("email_verified") is False:
        names = names[1:]
    return _printable(next((str(name) for name in names if name), ""))


def _read(words: list[str]) -> tuple[str, str, str]:
    url, client, act = "", "engram", ""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("--token", "--forget"):
            act = word
        elif word == "--client" and rest:
            client = rest.pop(0)
        elif word.startswith("-") or url:
            raise Invalid(f"login takes no {word!r}.", "See engram login --help.")
        else:
            url = checked_url(word.rstrip("/"), "The address")
    if not url:
        raise Invalid("Which server?", "Give its address: engram login https://memory.example.org.")
    return url, client, act


def _signed_in(url: str, client: str) -> Mapping[str, Any]:
    """What is kept of a person who has signed in.

    Raises:
        Unauthenticated: when they refused, or took too long.
        Unavailable: when the server or its provider cannot be used so.
    """
    provider = _provider_of(url)
    if not (device := provider.get("device_authorization_endpoint")):
        raise Unavailable("The provider cannot sign in by a code.", "Get a token in another way.")
    asked = {"client_id": client, "scope": SCOPE, "resource": f"{url}/mcp"}
    status, told = _asked(str(device), asked)
    if status != 200:
        raise Unauthenticated(f"The provider refused: {_why(told)}.", "Check how it knows us: --client ID.")
    try:
        where = _printable(str(told.get("verification_uri_complete") or told["verification_uri"]), LONGEST_LINK)
        code, name = _printable(str(told["user_code"])), str(told["device_code"])
        pause, patience = max(int(told.get("interval", PAUSE)), 1), int(told.get("expires_in", 600))
        token = str(provider["token_endpoint"])
    except (KeyError, ValueError, TypeError):
        unfit = Unfit(f"{device} answers without what signing in takes")
        raise Unavailable(*trouble_with(str(provider["issuer"]), unfit)) from None
    print(f"Open {where}\nand enter the code {code}", file=sys.stderr, flush=True)
    asking = {"grant_type": DEVICE, "client_id": client, "device_code": name, "resource": asked["resource"]}
    given = _waited(token, asking, pause, patience)
    return _known(given, {"token_endpoint": token, "client": client, "resource": f"{url}/mcp"})


def _provider_of(url: str) -> Mapping[str, Any]:
    """The discovery document of whoever gives tokens for a server."""
    try:
        resource = document(url + METADATA)
        _expect(url, resource.get("resource"), f"{url}/mcp")
        issuer = checked_url(str(resource["authorization_servers"][0]), "The provider")
    except (OSError, HTTPException, ValueError, TypeError, KeyError, IndexError):
        raise Unavailable(
            f"{url} is not a server to sign in to, or does not answer.", "Check the address."
        ) from None
    try:
        told = document(discovery_of(issuer))
        _expect(issuer, told.get("issuer"), issuer)
    except (OSError, HTTPException, ValueError) as error:
        raise Unavailable(*trouble_with(issuer, error)) from None
    for name in ("token_endpoint", "device_authorization_endpoint"):
        checked_url(str(told.get(name, issuer)), "The provider")
    return told


def _expect(url: str, told: object, wanted: str) -> None:
    """A document must speak of what was asked for, and of nothing else."""
    if told != wanted:
        raise Unfit(f"{url} calls itself {_printable(str(told))!r}")


def _waited(url: str, asked: Mapping[str, str], pause: int, patience: int) -> Mapping[str, Any]:
    """What the provider gives once the person is done."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        time.sleep(pause)
        status, told = _asked(url, asked)
        if status == 200:
            return told
        if told.get("error") == "slow_down":
            pause += PAUSE
        elif told.get("error") != "authorization_pending":
            raise Unauthenticated(f"The provider refused: {_why(told)}.", "Try again: engram login URL.")
    raise Unauthenticated("Nobody signed in in time.", "Try again: engram login URL.")


def _fresh(url: str, kept: "_Kept") -> str:
    """A token that is good for a while.

    Raises:
        NotFound: when nobody signed in.
        Unauthenticated: when it ended and cannot be renewed.
    """
    known = _signed_in_to(url, kept)
    if _lasts(known):
        return str(known["access"])
    with kept.alone():
        known = _signed_in_to(url, kept)  # another may have renewed it meanwhile
        return str(known["access"]) if _lasts(known) else _renewed(url, known, kept)


def _signed_in_to(url: str, kept: "_Kept") -> Mapping[str, Any]:
    if (known := kept.get(url)) is None:
        raise NotFound(f"Nobody is signed in to {url}.", f"Sign in: engram login {url}.")
    return known


def _lasts(known: Mapping[str, Any]) -> bool:
    return float(known["expires"]) - MARGIN > time.time()


def _renewed(url: str, known: Mapping[str, Any], kept: "_Kept") -> str:
    """A new token for the old one.

    Only one may ask at a time: a provider that gives a new word for the next renewal takes the second use of the
    old one for a theft, and ends the sign-in.
    """
    again = f"Sign in again: engram login {url}."
    if not known.get("refresh"):
        raise Unauthenticated("The token has expired.", again)
    asked = {
        "grant_type": "refresh_token",
        "refresh_token": known["refresh"],
        "client_id": known["client"],
        "resource": known["resource"],
    }
    status, told = _asked(known["token_endpoint"], asked)
    if status != 200:
        raise Unauthenticated(f"The token could not be renewed: {_why(told)}.", again)
    kept.keep(url, renewed := _known(told, known))
    return str(renewed["access"])


def _known(given: Mapping[str, Any], before: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return {
            **{name: before[name] for name in ("token_endpoint", "client", "resource")},
            "access": str(given["access_token"]),
            "expires": time.time() + float(given.get("expires_in", 300)),
            "refresh": str(given.get("refresh_token", before.get("refresh", ""))),
        }
    except (KeyError, ValueError, TypeError):
        raise Unavailable("The provider gave no token.", "Try again.") from None


def _asked(url: str, said: Mapping[str, str]) -> tuple[int, Mapping[str, Any]]:
    try:
        return exchange(url, said)
    except (OSError, HTTPException, ValueError, TypeError):
        raise Unavailable(f"{urlsplit(url).netloc} does not answer.", "Try again soon.") from None


def _why(told: Mapping[str, Any]) -> str:
    said = str(told.get("error_description") or told.get("error") or "no word why")
    return _printable(said).rstrip(".")


def _printable(said: str, most: int = 200) -> str:
    """Foreign words without anything that steers a terminal."""
    return "".join(letter for letter in said if letter.isprintable())[:most]


class _Kept:
    """The tokens of this person, by server: a file of their own, replaced whole."""

    def __init__(self, path: str) -> None:
        self._path = path

    def get(self, url: str) -> Mapping[str, Any] | None:
        found = self._all().get(url)
        return found if isinstance(found, dict) else None

    def server_of(self, url: str) -> str:
        """The server that an address belongs to, of those with a token; "" where it is another's."""
        return next((known for known in self._all() if f"{url}/".startswith(f"{known}/")), "")

    def put(self, url: str, known: Mapping[str, Any]) -> None:
        with self.alone():
            self.keep(url, known)

    def keep(self, url: str, known: Mapping[str, Any]) -> None:
        """Write tokens down; for who has the file alone."""
        self._write({**self._all(), url: known})

    def drop(self, url: str) -> None:
        with self.alone():
            self._write({name: known for name, known in self._all().items() if name != url})

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Have the file alone: what others write between a look at it and a change would be lost.

        Raises:
            Unavailable: when another does not let go.
        """
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        with ExitStack() as held:
            try:
                held.enter_context(one_at_a_time(f"{self._path}.lock", TURN))
            except TimeoutError:
                raise Unavailable("Another program is renewing a token.", "Try again soon.") from None
            except OSError as error:
                where = os.path.dirname(self._path)
                raise Unavailable(
                    f"{where} cannot be written: {error.strerror}.",
                    "Fix the permissions or the disk, then try again.",
                ) from None
            yield

    def _all(self) -> dict[str, Any]:
        try:
            handle = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise Corrupt(
                f"{self._path} cannot be used: {error.strerror}.", f"Remove it: rm {quote(self._path)}"
            ) from None
        with os.fdopen(handle, encoding="utf-8") as file:
            if os.fstat(handle).st_mode & 0o077:
                raise Corrupt(f"Others may read {self._path}.", f"Close it: chmod 600 {quote(self._path)}")
            try:
                told = form.load(file)
            except ValueError:
                raise Corrupt(f"{self._path} cannot be read.", f"Remove it: rm {quote(self._path)}") from None
        return told if isinstance(told, dict) else {}

    def _write(self, told: Mapping[str, Any]) -> None:
        with whole_file(self._path) as file:
            file.write(form.dumps(told).encode())
