"""SHA-256 without loading OpenSSL, which costs a start more than everything else we import from outside."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # CPython 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256  # CPython 3.11
        except ImportError:  # another Python
            from hashlib import sha256

__all__ = ["sha256"]
