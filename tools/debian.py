"""Put the programs in place that tests drive and no Python package brings: Chromium, strace and the shells.

Run as `python tools/debian.py`. Where they are there, nothing is done. What is not there is installed with apt if
that may be done without asking (as root, or in CI); else the tests that need it skip, with this word. In CI a
missing program is a failure.
"""

import os
import shutil
import subprocess
import sys

PROGRAMS = {
    "chromium": ("chromium", "chromium-browser", "google-chrome"),
    "strace": ("strace",),
    "zsh": ("zsh",),
    "fish": ("fish",),
}
"""Package → what its program may be called."""

OPTIONS = ("-y", "-q", "--no-install-recommends")


def main() -> int:
    """Look, and install where that is ours to do; the exit code tells whether tests may go on."""
    if missing() and shutil.which("apt-get") and os.geteuid() == 0:
        print(f"Getting {' and '.join(missing())} from the system's packages ...", flush=True)
        for command in (["apt-get", "update", "-q"], ["apt-get", "install", *OPTIONS, *missing()]):
            subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    for name in missing():
        print(f"{name} is not installed, so the tests that need it are skipped. On Debian: apt-get install {name}")
    return 1 if missing() and os.environ.get("CI") else 0


def missing() -> list[str]:
    """The packages whose programs are not here."""
    return [package for package in PROGRAMS if not found(package)]


def found(package: str) -> str:
    """Where the program of a package is; nothing where it is not here."""
    return next(filter(None, map(shutil.which, PROGRAMS[package])), "")


if __name__ == "__main__":
    sys.exit(main())
