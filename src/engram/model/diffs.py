"""Two versions of a file, as a unified diff."""

from collections.abc import Iterator

NOWHERE = "/dev/null"
"""What stands for a file that is not there."""


def unified(name: str, before: str | None, after: str | None) -> Iterator[str]:
    """The lines of the diff, without their ends; None is no file."""
    from difflib import unified_diff  # noqa: PLC0415 - start-up

    old, new = ((text or "").splitlines(keepends=True) for text in (before, after))
    names = [name if text is not None else NOWHERE for text in (before, after)]
    for line in unified_diff(old, new, names[0], names[1]):
        yield line.rstrip("\r\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"
