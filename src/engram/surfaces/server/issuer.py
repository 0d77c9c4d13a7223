"""Who vouches for callers: an OpenID provider, its keys, and the check of a token by them."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from typing import Any, NamedTuple

import jwt

from engram.errors import Invalid, Unauthenticated, Unavailable
from engram.surfaces.server.fetching import Unfit, checked_url, discovery_of, document, trouble_with

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a key pair: what can be checked without knowing a secret. `none` and HMAC are not among them."""

TYPES = ("", "jwt", "at+jwt", "application/at+jwt")
LARGEST_TOKEN = 16 * 1024
LEEWAY = 30.0
"""Seconds by which two clocks may differ."""

FRESH = 600.0
"""Seconds that keys are used without asking again."""

STALE = 3600.0
"""Seconds that they are used while the provider does not answer."""

PAUSE = 10.0
"""Seconds between two looks for a key nobody knows: bad tokens must not become requests to the provider."""

PATIENCE = 5.0
"""Seconds that a caller waits while another asks the provider, where it needs what that one will learn."""

log = logging.getLogger("engram.issuer")

REASONS: tuple[tuple[type[jwt.PyJWTError], str], ...] = (
    (jwt.ExpiredSignatureError, "expired"),
    (jwt.ImmatureSignatureError, "not valid yet"),
    (jwt.InvalidIssuedAtError, "not valid yet"),
    (jwt.InvalidAudienceError, "audience"),
    (jwt.InvalidIssuerError, "issuer"),
    (jwt.MissingRequiredClaimError, "claim missing"),
    (jwt.InvalidSignatureError, "signature"),
)
"""What was wrong with a token, for whoever runs the server; all else is malformed."""

RENAME = "Set oidc_issuer to what it calls itself, letter by letter."

UNREACHED = (OSError, HTTPException, ValueError, KeyError, TypeError)
"""What is raised where a provider does not answer as one."""

Fetch = Callable[[str], Mapping[str, Any]]


class Keys(NamedTuple):
    """The provider's keys by name, and when they were got."""

    by_name: Mapping[str, Any]
    at: float


SEND = "Get a token from the provider, and send it: Authorization: Bearer TOKEN."


class BadToken(Unauthenticated):
    """Credentials that open nothing here. What it says never tells why; `why` does, for the server's own log."""

    def __init__(self, why: str) -> None:
        super().__init__("These credentials open nothing here.", SEND)
        self.why = why


class NoToken(Unauthenticated):
    """A request without credentials: nothing is wrong with any, and nothing is told by saying so."""

    why = "none given"

    def __init__(self) -> None:
        super().__init__("No credentials were sent.", SEND)


class Misnamed(Exception):
    """The provider calls itself otherwise than the setting does."""


class Issuer:
    """Checks tokens of one provider for one audience. Safe to use from several threads."""

    def __init__(self, url: str, audiences: Sequence[str], fetch: Fetch | None = None) -> None:
        """Stand ready; the provider is first asked when a token comes.

        Raises:
            Invalid: when the address is none that can be trusted.
        """
        self.url, self._audiences = checked_url(url, "oidc_issuer"), [one for one in audiences if one]
        self._fetch = fetch or document
        self._keys: Keys | None = None
        self._trouble = trouble_with(url, TimeoutError())  # while another asks for the first time
        self._looked = float("-inf")
        self._lock = threading.Lock()

    def claims(self, token: str) -> Mapping[str, Any]:
        """What the provider says about who holds this token.

        Raises:
            Unauthenticated: when it is no token of this provider for this audience, now.
            Unavailable: when the provider's keys cannot be had.
        """
        if len(token) > LARGEST_TOKEN:
            raise BadToken("too long")
        try:
            head = jwt.get_unverified_header(token)
            if head.get("alg") not in ALGORITHMS or "crit" in head:
                raise BadToken("algorithm")
            if str(head.get("typ", "")).lower() not in TYPES:
                raise BadToken("type")
            key = self._key(str(head.get("kid", "")), head["alg"])
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key=key,
                algorithms=[head["alg"]],
                audience=self._audiences,
                issuer=self.url,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            raise BadToken(next((why for kind, why in REASONS if isinstance(error, kind)), "malformed")) from None
        if "cnf" in claims:  # bound to a key whose possession nobody proves here
            raise BadToken("bound to a key")
        return claims

    def check(self) -> None:
        """Look, before anybody is served, whether this is the provider that is meant; one that is down may be.

        Raises:
            Invalid: when it calls itself otherwise: none of its tokens would ever be accepted.
        """
        try:
            self._endpoints()
        except Misnamed as error:
            raise Invalid(str(error), RENAME) from None
        except UNREACHED as error:
            self._note(error)

    def ready(self) -> None:
        """Look whether tokens could be checked.

        Raises:
            Unavailable: when the provider's keys cannot be had.
        """
        self._known(time.monotonic())

    def _key(self, name: str, algorithm: str) -> Any:  # noqa: ANN401 - a public key, as the library has it
        """The key of this name; one that is new to us is asked for, not more often than every pause."""
        now = time.monotonic()
        keys = self._known(now)
        if (found := _fitting(keys, name, algorithm)) is None:
            found = _fitting(self._renewed(keys, now, PATIENCE), name, algorithm)
        if found is None:
            raise BadToken("unknown key")
        return found

    def _known(self, now: float) -> Keys:
        keys = self._keys
        if keys is not None and now - keys.at < FRESH:
            return keys
        # Keys that still serve are not held up by a provider that hangs.
        serve = keys is not None and now - keys.at <= STALE
        return self._renewed(keys, now, 0.0 if serve else PATIENCE)

    def _renewed(self, known: Keys | None, now: float, patience: float) -> Keys:
        """The keys as the provider tells them now; those known while another asks for longer than one waits."""
        if not self._lock.acquire(timeout=patience):
            return self._usable(known, now)
        try:
            if self._keys is not known and self._keys is not None:
                return self._keys  # another thread was faster
            if now - self._looked < PAUSE:
                return self._usable(known, now)
            self._looked = now
            try:
                self._keys = Keys(self._got(), now)
            except Misnamed as error:
                log.warning("the identity provider is another one", extra={"fields": {"why": str(error)}})
                self._trouble = str(error), RENAME
                return self._usable(known, now)
            except UNREACHED as error:
                self._note(error)
                return self._usable(known, now)
            return self._keys
        finally:
            self._lock.release()

    def _note(self, error: Exception) -> None:
        """Keep what is wrong with the provider for who asks next, and tell whoever runs the server."""
        self._trouble = trouble_with(self.url, error)
        came = str(error) if isinstance(error, Unfit) else type(error).__name__
        fields = {"why": came, "address": discovery_of(self.url)}
        log.warning("the identity provider does not answer", extra={"fields": fields})

    def _usable(self, keys: Keys | None, now: float) -> Keys:
        if keys is None or now - keys.at > STALE:
            raise Unavailable(*self._trouble)
        return keys

    def _got(self) -> Mapping[str, Any]:
        told = self._endpoints()
        keys: dict[str, Any] = {}
        try:
            address = checked_url(str(told["jwks_uri"]), "jwks_uri")
        except Invalid as error:
            raise Unfit(error.message.rstrip(".")) from None
        for row in self._fetch(address)["keys"]:
            if not isinstance(row, dict):
                raise Unfit(f"{address} answers with a key that is not an object")
            if row.get("use", "sig") == "sig" and row.get("kty") in ("RSA", "EC", "OKP"):
                try:
                    keys[str(row.get("kid", ""))] = jwt.PyJWK(row)
                except jwt.PyJWTError:
                    continue  # of a sort this program does not know
        return keys

    def _endpoints(self) -> Mapping[str, Any]:
        """The provider's discovery document, if it speaks for the issuer that is meant."""
        told = self._fetch(discovery_of(self.url))
        if (named := told.get("issuer")) != self.url:
            raise Misnamed(f"The identity provider calls itself {str(named)[:200]!r}; oidc_issuer is {self.url!r}.")
        return told


def _fitting(keys: Keys, name: str, algorithm: str) -> Any:  # noqa: ANN401 - a public key, as the library has it
    key = keys.by_name.get(name)
    if key is None and not name and len(keys.by_name) == 1:
        key = next(iter(keys.by_name.values()))
    said = key and key._jwk_data.get("alg", algorithm)  # noqa: SLF001 - what the provider said of it
    return key.key if key and said == algorithm else None
