"""Hunts for inputs that break a parser: `make fuzz TARGET=files SECONDS=60`; keep what it finds in the corpus."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(words: list[str]) -> None:
    """Let atheris look for so many seconds, beginning with what was kept."""
    target, seconds = (*words, *("files", "60")[len(words) :])
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    import atheris  # noqa: PLC0415 - got by `make fuzz` alone

    with atheris.instrument_imports(include=["engram"]):
        from attacks.targets import REFUSALS, TARGETS  # noqa: PLC0415 - watched by atheris from here on

    def look(data: bytes) -> None:
        try:
            TARGETS[target](data)
        except REFUSALS:
            return

    found = ROOT / "build" / "fuzz" / target
    found.mkdir(parents=True, exist_ok=True)
    kept = ROOT / "tests" / "attacks" / "corpus" / target
    dictionary = found.parent / f"{target}.dict"
    dictionary.write_text("\n".join(sorted(_words(kept))), encoding="utf-8")
    bounds = [
        f"-dict={dictionary}",
        f"-max_total_time={seconds}",
        "-max_len=4096",
        "-timeout=10",
        f"-artifact_prefix={found}/",
    ]
    atheris.Setup([sys.argv[0], *bounds, str(found), str(kept)], look)
    atheris.Fuzz()


def _words(folder: Path) -> set[str]:
    """The words of what was kept, as libFuzzer's dictionaries have them: few inputs are right by chance."""
    found = b" ".join(path.read_bytes() for path in folder.iterdir())
    return {f'"{word.decode()}"' for word in re.findall(rb"[A-Za-z0-9_./:-]{2,24}", found)}


if __name__ == "__main__":
    main(sys.argv[1:])
