"""Put the browser in place that the tests of the page drive: Chromium, as the system's packages have it.

Run as `python tools/browser.py`. Where it is there, nothing is done. Where it is not, it is installed with apt if
that may be done without asking (as root, or in CI); else the tests that need it skip, with this word. In CI a
missing browser is a failure.
"""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL = (("apt-get", "update", "-q"), ("apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium"))


def main() -> int:
    """Look, and install where that is ours to do; the exit code tells whether tests may go on."""
    if found():
        return 0
    if shutil.which("apt-get") and os.geteuid() == 0:
        print("Getting Chromium from the system's packages ...", flush=True)
        for command in INSTALL:
            subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if found():
        return 0
    print("Chromium is not installed, so the tests of the page are skipped. On Debian: apt-get install chromium")
    return 1 if os.environ.get("CI") else 0


def found() -> str:
    """Where the browser is, or nothing."""
    return next((path for name in NAMES if (path := shutil.which(name))), "")


if __name__ == "__main__":
    sys.exit(main())
