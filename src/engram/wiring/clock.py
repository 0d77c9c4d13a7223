"""The wall clock, and ids made of it and of chance."""

import os
import time
from datetime import UTC, datetime


def now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """A UUID of version 7: the time in milliseconds, then chance; so ids sort by age."""
    stamp = time.time_ns() // 1_000_000
    value = (stamp << 80) | int.from_bytes(os.urandom(10))
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
