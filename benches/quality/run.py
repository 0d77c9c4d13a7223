"""How well recall finds what was saved, on public data sets and cases of our own, all through the public API.

    python benches/quality/run.py --data FOLDER            # everything; an hour the first time, less from then on
    python benches/quality/run.py --data FOLDER --only locomo,cases --half even
    python benches/quality/run.py --data FOLDER --only none --write      # the page anew from the last results

The folder holds locomo/, devmembench/ and devbench/ as their makers publish them. Whole runs are kept as
benches/results/quality-DATE.json, part by part; `--write` puts the tables into docs/benchmarks.md and draws the
plots.
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ablation
import abstention
import conversations
import developers
import pages

import engram
from common import CACHE, RESULTS, dated, machine
from engram.inference.models import DEFAULT
from engram.recall import pipeline

PARTS = ("locomo", "devmembench", "devbench", "cases", "abstention", "ablation", "peers")
MISSES = CACHE / "misses-even.json"


def main() -> None:
    """Run what is asked for, print it, and keep it."""
    chosen = _options()
    halves = ["even", "odd"] if chosen.half == "both" else [chosen.half]
    whole = chosen.half == "both" and not chosen.conversations and not chosen.peer
    bench = conversations.Locomo(chosen.data, chosen.conversations or 5)
    results, source = _last(), _source()
    try:
        for part in chosen.only:
            print(f"{part} ...", file=sys.stderr, flush=True)
            found = {"source": source, **_part(part, bench, halves, chosen)}
            results[part] = found
            print(pages.section(part, found) + "\n", flush=True)
            if whole:
                dated("quality", {"machine": machine(), "embedder": DEFAULT, **results})
    finally:
        bench.close()
    if older := [part for part, found in results.items() if found["source"] != source]:
        print(f"measured with another state of the program: {', '.join(older)}", file=sys.stderr)
    if chosen.write:
        pages.write(results)


def _part(part: str, bench: conversations.Locomo, halves: list[str], chosen: argparse.Namespace) -> dict[str, Any]:
    def peers() -> dict[str, Any]:
        import against  # noqa: PLC0415 - benches/peers is needed for this part only

        half = "odd" if "odd" in halves else halves[0]
        return {half: against.measure(bench, half, chosen.peer)}

    def locomo() -> dict[str, Any]:
        if "even" in halves:
            MISSES.parent.mkdir(exist_ok=True)
            MISSES.write_text(json.dumps(conversations.misses(bench, "even"), indent=1, ensure_ascii=False))
        return {half: conversations.measure(bench, half) for half in halves}

    run: dict[str, Callable[[], dict[str, Any]]] = {
        "locomo": locomo,
        "devmembench": lambda: developers.sessions(chosen.data),
        "devbench": lambda: developers.notes(chosen.data),
        "cases": developers.labelled,
        "abstention": lambda: {
            "threshold": pipeline.RELEVANT,
            **{half: abstention.measure(bench, half) for half in halves},
        },
        "ablation": lambda: {"rows": ablation.measure(bench, halves)},
        "peers": peers,
    }
    return run[part]()


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(description="How well recall finds what was saved.")
    options.add_argument(
        "--data", type=Path, required=True, help="the folder with locomo, devmembench and devbench"
    )
    options.add_argument("--only", default=",".join(PARTS), help="parts, with commas between, or none: %(default)s")
    options.add_argument(
        "--half", choices=("even", "odd", "both"), default="both", help="of LoCoMo's conversations"
    )
    options.add_argument("--conversations", type=int, default=0, metavar="N", help="of each half the first N only")
    options.add_argument("--peer", default="", help="only peers whose name contains this")
    options.add_argument("--write", action="store_true", help="put tables and plots into docs")
    chosen = options.parse_args()
    chosen.only = [part for part in chosen.only.split(",") if part and part != "none"]
    if unknown := set(chosen.only) - set(PARTS):
        options.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    return chosen


def _last() -> dict[str, Any]:
    """The parts of the newest results, so that one part can be run anew beside the others."""
    files = sorted(RESULTS.glob("quality-*.json"))
    kept = json.loads(files[-1].read_text()) if files else {}
    return {part: kept[part] for part in PARTS if part in kept}


def _source() -> str:
    """Which state of the program was measured."""
    digest = hashlib.sha256()
    for folder, _, names in sorted(os.walk(Path(engram.__file__).parent)):
        for name in sorted(names):
            if name.endswith(".py"):
                digest.update(Path(folder, name).read_bytes())
    return digest.hexdigest()[:12]


if __name__ == "__main__":
    main()
