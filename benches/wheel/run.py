"""From nothing to a memory that answers: the built wheel in a fresh virtualenv, each step with its time.

    python benches/wheel/run.py [--write]

Builds the wheel, installs it with its default requirements alone, and then, with nothing but that: the version,
the tour, a save, a recall by meaning, an MCP client that connects and asks for the same, and a check of the store.
Then the same wheel through pipx and through uv, where a save and a recall are all that is done. Fails where a step
does. Beside it stand the size and the number of packages that other memories bring, where
another bench has made their virtualenvs. `--write` puts the tables into docs/benchmarks.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "peers"))

from driver import CACHE, peers

from common import DOCS, Bar, dated, machine, table, write_between

ROOT = Path(__file__).resolve().parents[2]
INSTALLERS = ("pipx==1.18.4", "uv==0.13.8")
TEXT, QUESTION = "The staging database listens on port 5433", "how do I connect to the pre-production db?"

CLIENT = """
import asyncio, sys
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

async def main():
    async with Client(stdio_client(StdioServerParameters(command=sys.argv[1], args=["mcp"]))) as client:
        tools = (await client.list_tools()).tools
        told = await client.call_tool("recall", {"question": sys.argv[2]})
        assert not told.is_error and sys.argv[3] in str(told), told
        print(len(tools))

asyncio.run(main())
"""


class Step(NamedTuple):
    """One step of a newcomer, and the seconds it took."""

    what: str
    seconds: float


class Weight(NamedTuple):
    """What a memory brings to a machine: its packages, itself included, and the megabytes of itself and of all."""

    name: str
    packages: int
    own: float
    megabytes: float


def main() -> None:
    """Take all steps, print them and the weights, and keep them."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--write", action="store_true", help="also write docs/benchmarks.md")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="engram-wheel-") as place:
        folder = Path(place)
        wheel, built = _built(folder)
        steps = [built, *_steps(folder, wheel), *_as_a_tool(folder, wheel)]
        size = wheel.stat().st_size / 1e6
        weights = [_weight("engram", "", folder / "venv"), *_others()]
    told = "\n\n".join(
        (
            f"The wheel has {size:.1f} MB, the embedding model included.",
            table(["step", "seconds"], [(step.what, f"{step.seconds:.2f}") for step in steps]),
            table(
                ["memory", "packages", "MB of its own", "MB with all it requires"],
                [(w.name, w.packages, f"{w.own:.1f}", f"{w.megabytes:.0f}") for w in weights],
            ),
        )
    )
    print(told)
    dated(
        "wheel",
        {
            "machine": machine(),
            "wheel_megabytes": round(size, 1),
            "steps": [step._asdict() for step in steps],
            "weights": [weight._asdict() for weight in weights],
        },
    )
    if asked.write:
        write_between(DOCS / "benchmarks.md", "wheel", told)


def _built(folder: Path) -> tuple[Path, Step]:
    begun = time.monotonic()
    _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel, Step("build the wheel", time.monotonic() - begun)


def _steps(folder: Path, wheel: Path) -> Iterator[Step]:
    """What a newcomer does, in a home of its own."""
    home = folder / "venv"
    python, engram = home / "bin" / "python", home / "bin" / "engram"
    variables = {**_clean(), "HOME": str(folder)}
    journey: list[tuple[str, Sequence[str], str]] = [
        ("pip install, with what it requires", [str(python), "-m", "pip", "install", "-q", str(wheel)], ""),
        ("engram --version, the first start", [str(engram), "--version"], "engram "),
        ("engram demo, a tour of sixteen commands", [str(engram), "demo", "--json"], '"commands": 16'),
        ("engram remember", [str(engram), "remember", TEXT], "Remembered"),
        ("engram recall by meaning, the first", [str(engram), "recall", QUESTION], TEXT),
        ("engram recall by meaning, the second", [str(engram), "recall", QUESTION], TEXT),
        (
            "an MCP client connects, lists the tools and recalls",
            [str(python), "-c", CLIENT, str(engram), QUESTION, TEXT],
            "",
        ),
        ("engram doctor", [str(engram), "doctor"], "Healthy"),
    ]
    bar = Bar("the steps of a newcomer", len(journey) + 1)
    begun = time.monotonic()
    venv.create(home, with_pip=True)
    yield Step("make a virtualenv", time.monotonic() - begun)
    bar.step()
    for what, command, expected in journey:
        begun = time.monotonic()
        said = _run(command, cwd=folder, variables=variables)
        yield Step(what, time.monotonic() - begun)
        if expected not in said:
            raise SystemExit(f"{what}: expected {expected!r}, and it said:\n{said}")
        bar.step()


def _as_a_tool(folder: Path, wheel: Path) -> Iterator[Step]:
    """The same wheel as a command of its own, by each of the two installers that make one."""
    installers = folder / "installers" / "bin"
    venv.create(installers.parent, with_pip=True)
    _run([str(installers / "pip"), "install", "-q", *INSTALLERS], cwd=folder)
    for name, install in (("pipx", ["pipx", "install", "--quiet"]), ("uv", ["uv", "tool", "install", "--quiet"])):
        home = folder / name
        variables = {
            **_clean(),
            "HOME": str(home),
            "PIPX_HOME": str(home / "tools"),
            "PIPX_BIN_DIR": str(home / "bin"),
            "UV_TOOL_DIR": str(home / "tools"),
            "UV_TOOL_BIN_DIR": str(home / "bin"),
            "UV_CACHE_DIR": str(home / "cache"),
        }
        home.mkdir()
        begun = time.monotonic()
        _run([str(installers / install[0]), *install[1:], str(wheel)], cwd=home, variables=variables)
        yield Step(f"{' '.join(install[:-1])}, with what it requires", time.monotonic() - begun)
        engram = str(home / "bin" / "engram")
        begun = time.monotonic()
        _run([engram, "remember", TEXT], cwd=home, variables=variables)
        said = _run([engram, "recall", QUESTION], cwd=home, variables=variables)
        yield Step(f"engram remember and recall, as {name} installed it", time.monotonic() - begun)
        if TEXT not in said:
            raise SystemExit(f"Installed by {name}, it recalled:\n{said}")


def _clean() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ENGRAM_", "PYTHON", "VIRTUAL_", "XDG_"))
    }


def _run(command: Sequence[str], *, cwd: Path, variables: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:4])} … failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _others() -> Iterator[Weight]:
    """The peers that other benches have installed here, each package once."""
    packages = {peer.package.name: peer.package for peer in peers()}
    for package in packages.values():
        home = package.home(CACHE)
        if home.is_dir():
            yield _weight(package.name, package.version, home)


def _weight(name: str, version: str, home: Path) -> Weight:
    """A virtualenv without its installer, or a folder of node modules."""
    modules, told = home / "node_modules", f"{name} {version}".strip().replace("engram", "Engram")
    if modules.is_dir():
        count = len([*modules.glob("[!.@]*/package.json"), *modules.glob("@*/*/package.json")])
        return Weight(told, count, _megabytes(modules / name), _megabytes(modules))
    (packages,) = home.glob("lib/python3*/site-packages")
    listed = json.loads(_run([str(home / "bin" / "python"), "-m", "pip", "list", "--format", "json"], cwd=home))
    names = [one["name"] for one in listed if one["name"] not in ("pip", "setuptools", "wheel")]
    whole = _megabytes(packages) - _megabytes(packages / "pip") - _megabytes(packages / "setuptools")
    return Weight(told, len(names), _own(packages, name), whole)


def _own(packages: Path, name: str) -> float:
    """The megabytes that one distribution says it installed, as its record lists them."""
    (record,) = packages.glob(f"{name.replace('-', '_')}-*.dist-info/RECORD")
    return sum(int(line.rpartition(",")[2] or 0) for line in record.read_text().splitlines()) / 1e6


def _megabytes(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


if __name__ == "__main__":
    main()
