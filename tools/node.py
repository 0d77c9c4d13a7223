"""Put the npm programs in place that tests drive: the MCP inspector, the conformance suite, axe, a Node for them.

Run as `python tools/node.py`. Names and versions stand in tools/node/package.json; npm gets them from wherever it
is configured to look, and puts them beside the Python packages, into the virtualenv. What is there already is left
as it is. Without npm nothing is done and the tests that need it skip, except in CI, where that is a failure.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

LIST = Path(__file__).resolve().parent / "node" / "package.json"
HOME = Path(sys.prefix) / "node"
INSTALL = ("install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")


def main() -> int:
    """Install what is missing; the exit code tells whether everything is there, or need not be."""
    if not (late := missing()):
        return 0
    npm = shutil.which("npm")
    if npm is None:
        print("npm is not installed, so the tests of the MCP inspector and of conformance are skipped.")
        return 1 if os.environ.get("CI") else 0
    print(f"Getting {', '.join(late)} from npm ...", flush=True)
    HOME.mkdir(exist_ok=True)
    shutil.copyfile(LIST, HOME / "package.json")
    done = subprocess.run([npm, *INSTALL], cwd=HOME, capture_output=True, text=True, check=False)
    if done.returncode or missing():
        said = (done.stderr.strip() or done.stdout.strip() or "no word why").splitlines()
        print(
            f"npm could not: {said[-1]}\nCheck the network, and run it again: python tools/node.py", file=sys.stderr
        )
        return 1 if os.environ.get("CI") else 0
    return 0


def missing() -> list[str]:
    """The packages that are not there in their version."""
    wanted: dict[str, str] = json.loads(LIST.read_text())["dependencies"]
    return [f"{name} {version}" for name, version in wanted.items() if installed(name) != version]


def installed(name: str) -> str:
    """The version of a package that is there, or nothing."""
    try:
        told: dict[str, str] = json.loads((HOME / "node_modules" / name / "package.json").read_text())
    except (OSError, ValueError):
        return ""
    return told["version"]


if __name__ == "__main__":
    sys.exit(main())
