"""What `make build` makes is whole, holds nothing else, and works from where it was installed."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODEL = "engram/inference/models/snowflake-arctic-embed-s"
TEXT = "The staging database listens on port 5433"


def run(*words: str, folder: Path, **variables: str) -> str:
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, cwd=folder, env={**os.environ, **variables}, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    (words,) = re.findall(r"-m (hatchling build .*)", (ROOT / "Makefile").read_text())
    run(sys.executable, "-m", *words.split(), "-d", str(folder), folder=ROOT)
    (made,) = folder.glob("*.whl")
    return made


def of_ours() -> set[str]:
    """The files of the package here, but for the model and for what Python leaves there."""
    files = {each for each in (ROOT / "src" / "engram").rglob("*") if each.is_file()}
    names = {str(each.relative_to(ROOT / "src")) for each in files if each.parent.name != "__pycache__"}
    return {name for name in names if "/models/" not in name}


def test_a_wheel_holds_the_whole_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert archive.testzip() is None
    besides = {name for name in names if not name.startswith("engram/")}
    about = f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"
    model = {f"{MODEL}/{name}" for name in ("model.onnx", "tokenizer.json", "LICENSE", "NOTICE")}

    assert names - besides == of_ours() | model
    assert {"engram/py.typed", "engram/surfaces/web/templates/frame.html"} < names
    assert besides == {
        *(f"{about}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")),
        f"{about.removesuffix('dist-info')}data/data/share/man/man1/engram.1",
    }


def test_what_is_not_of_the_source_has_its_bytes_in_a_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist() if not name.endswith(".py")}
    for name, content in held.items():
        if name.startswith("engram/"):
            assert content == (ROOT / "src" / name).read_bytes(), name
        elif name.endswith("engram.1"):
            assert content == (ROOT / "docs" / "reference" / "engram.1").read_bytes()
        elif name.endswith("licenses/LICENSE"):
            assert content == (ROOT / "LICENSE").read_bytes()
        elif name.endswith("entry_points.txt"):
            assert "engram = engram.surfaces.cli:main" in content.decode().splitlines()


def test_a_wheel_that_was_installed_remembers_and_recalls(wheel, tmp_path):
    place, home = tmp_path / "there", tmp_path / "home"
    home.mkdir()
    pip = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile", "--target", str(place))
    run(sys.executable, *pip, str(wheel), folder=tmp_path)
    variables = {"PYTHONPATH": str(place), "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    variables |= {"ENGRAM_STORE": str(home / "kept" / "engram.db"), "ENGRAM_EMBEDDER": "none"}
    engram = (sys.executable, "-P", "-m", "engram")

    imported = run(
        sys.executable, "-P", "-c", "import engram; print(engram.__file__)", folder=tmp_path, **variables
    )
    assert Path(imported.strip()).is_relative_to(place)
    assert run(*engram, "--version", folder=tmp_path, **variables).startswith(f"engram {wheel.name.split('-')[1]}")
    run(*engram, "remember", TEXT, folder=tmp_path, **variables)
    assert TEXT in run(*engram, "recall", "the port of the staging database", folder=tmp_path, **variables)
    command = (sys.executable, "-P", str(place / "bin" / "engram"))
    assert TEXT in run(*command, "list", folder=tmp_path, **variables)
    assert (place / "share" / "man" / "man1" / "engram.1").is_file()
