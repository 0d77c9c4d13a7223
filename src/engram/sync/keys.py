"""Who signs and whose signature counts: an Ed25519 key for each store, and how a key is shown to a person."""

import os
from shlex import quote

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from engram.drafts import private_folder, whole_file
from engram.errors import Corrupt, Unavailable
from engram.model.hashing import sha256


class Key:
    """A store's own key, in a private file that is made on first use; without a path it is kept nowhere."""

    def __init__(self, path: str = "") -> None:
        """Load or make it.

        Raises:
            Corrupt: when others may read it, or it is none.
            Unavailable: when it cannot be written.
        """
        raw = _load(path) if path else None
        self._key = Ed25519PrivateKey.from_private_bytes(raw) if raw else Ed25519PrivateKey.generate()
        if path and raw is None:
            _keep(path, self._key.private_bytes_raw())
        self.public = self._key.public_key().public_bytes_raw().hex()

    def sign(self, content: bytes) -> str:
        """The signature, in hexadecimal."""
        return self._key.sign(content).hex()


def verifies(public: str, content: bytes, signature: str) -> bool:
    """Whether a signature over some content was made with the key of this public half."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(bytes.fromhex(signature), content)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(public: str) -> str:
    """What two people compare: a short hash of the public key, in groups of four."""
    digits = sha256(bytes.fromhex(public)).hexdigest()[:20]
    return "-".join(digits[at : at + 4] for at in range(0, 20, 4))


def _load(path: str) -> bytes | None:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            loose = os.fstat(file.fileno()).st_mode & 0o077
            raw = file.read(100)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be read: {error.strerror}.", "Fix its permissions, then sync again."
        ) from None
    if loose:
        raise Corrupt(f"{path} can be read by others.", f"Make it private: chmod 600 {quote(path)}")
    if len(raw) != 32:
        raise Corrupt(f"{path} holds no key.", "Restore it, or remove it: others then have to accept a new one.")
    return raw


def _keep(path: str, raw: bytes) -> None:
    try:
        private_folder(os.path.dirname(path))
        with whole_file(path) as file:
            file.write(raw)
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be written: {error.strerror}.",
            "Fix the permissions or the disk, then sync again.",
        ) from None
