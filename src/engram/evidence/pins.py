"""What a pin says: the blob and the commit that a citation was made at, as far as it names them."""

import re
from typing import NamedTuple

SHORT = 40
"""Hexadecimal digits of a commit in a pin beside a blob: enough to name it, and two SHA-256 names would not fit."""

HASH = re.compile(r"[0-9a-f]{7,64}")


class Pin(NamedTuple):
    """A pin as it was read; what is no name of an object is left out."""

    blob: str = ""
    commit: str = ""


def read_pin(text: str) -> Pin:
    """What a pin names: `BLOB@COMMIT`, `@COMMIT`, or one hash, which may be either."""
    first, at, second = text.strip().lower().removeprefix("sha1:").removeprefix("sha256:").partition("@")
    blob = first if HASH.fullmatch(first) else ""
    commit = second if at and HASH.fullmatch(second) else ""
    return Pin(blob, commit) if at else Pin(blob, blob)


def write_pin(blob: str, commit: str) -> str:
    """The pin of a file: its blob, and the commit that the working tree stood on, where there is one."""
    return f"{blob}@{commit[:SHORT]}" if commit else blob
