"""How well a save finds what it may conflict with or supersede: precision and recall on labelled pairs.

`pairs.tsv` holds pairs of memories in twelve languages: contradictions, updates, paraphrases, pairs about one
subject that both hold, pairs that say the same of two subjects (parallel), and pairs that have nothing in common. A
store keeps the older one of every pair; the newer ones are remembered one by one, and what the save's answer names
is counted: right is the older one of the pair, and only where the two should be looked at together (the first three
classes). All else that is named is a false alarm.

Every second pair is for tuning (`--half tune`); the others are for reporting, and nothing was chosen by them.
"""

import argparse
import csv
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import engram
from engram.model.filter import Filter
from engram.model.query import Query
from engram.model.text import query_terms
from engram.rules.access import access_of

PAIRS = Path(__file__).with_name("pairs.tsv")
ASKED = ("contradiction", "update", "paraphrase")
"""The classes whose pairs somebody should look at."""

QUIET = ("related", "parallel", "unrelated")
MOST = 3


class Pair(NamedTuple):
    """Two memories, the older one first, and what they are to one another."""

    kind: str
    language: str
    old: str
    new: str


class Named(NamedTuple):
    """The texts that were named beside a new one, and whether it has to wait for review because of one of them."""

    texts: Sequence[str]
    held: bool = False


Find = Callable[[engram.Engram, str], Named]
"""Looks for what is known about the same as a new text, or saves it and reads the answer."""


class Tally:
    """What one way of finding named for the pairs of a half."""

    def __init__(self) -> None:
        self.pairs: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.named: Counter[str] = Counter()
        self.held: Counter[str] = Counter()
        self.missed: list[Pair] = []
        self.alarms: list[tuple[Pair, str]] = []

    def add(self, pair: Pair, said: Named) -> None:
        """Count what was named for a pair."""
        named = said.texts
        self.held[pair.kind] += said.held
        self.pairs[pair.kind] += 1
        self.named[pair.kind] += len(named)
        self.found[pair.kind] += pair.old in named
        if pair.kind in ASKED and pair.old not in named:
            self.missed.append(pair)
        self.alarms += [(pair, text) for text in named if text != pair.old or pair.kind not in ASKED]

    def recall(self, *kinds: str) -> float:
        """The share of these pairs that were found."""
        return sum(self.found[kind] for kind in kinds) / (sum(self.pairs[kind] for kind in kinds) or 1)

    def false_holds(self) -> int:
        """How many were held that contradict nothing."""
        return self.held.total() - self.held["contradiction"]

    def precision(self) -> float:
        """The share of what was named that is right."""
        return sum(self.found[kind] for kind in ASKED) / (self.named.total() or 1)


def main() -> None:
    """Measure and print."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--half", choices=("report", "tune"), default="report")
    asked.add_argument("--show", action="store_true", help="list what was missed and what was a false alarm")
    options = asked.parse_args()
    pairs = read()[1 if options.half == "report" else 0 :: 2]
    ways: dict[str, tuple[bool, Find]] = {
        "title words": (False, by_title),
        "ours, words alone": (False, by_saving),
        "ours, words and meaning": (True, by_saving),
    }
    tallies = {name: measured(pairs, find, meaning=meaning) for name, (meaning, find) in ways.items()}
    print(f"\n{len(pairs)} pairs, the half for {'reporting' if options.half == 'report' else 'tuning'}\n")
    for line in table(tallies):
        print(line)
    if options.show:
        for name, tally in tallies.items():
            print(f"\n{name}: missed")
            print(*(f"  {one.kind} {one.language}: {one.old} | {one.new}" for one in tally.missed), sep="\n")
            print(f"{name}: false alarms")
            print(*(f"  {one.kind} {one.language}: {one.new} | {text}" for one, text in tally.alarms), sep="\n")


def read() -> list[Pair]:
    """Every labelled pair."""
    with PAIRS.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)
        return [Pair(*row) for row in rows]


def measured(pairs: Sequence[Pair], find: Find, *, meaning: bool) -> Tally:
    """What a way of finding names, in a store that holds the older one of every pair."""
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        embedder = {} if meaning else {"ENGRAM_EMBEDDER": "none"}
        environment = {"HOME": folder, "ENGRAM_PROJECT": "bench", **embedder}
        with engram.open(Path(folder) / "pairs.db", environment=environment) as memory:
            for pair in pairs:
                memory.remember(pair.old)
            if meaning:
                memory.reembed()
            for number, pair in enumerate(pairs, 1):
                tally.add(pair, find(memory, pair.new))
                if sys.stderr.isatty():
                    print(f"\r{number} of {len(pairs)}", end="", file=sys.stderr)
    return tally


def by_saving(memory: engram.Engram, text: str) -> Named:
    """What the answer to a save names."""
    saved = memory.remember(text)
    memory.forget(saved.memory.id)
    named = [one.text for one in saved.conflicts] + [one.memory.text for one in saved.candidates]
    return Named(named, bool(saved.conflicts))


def by_title(memory: engram.Engram, text: str) -> Named:
    """What a plain full-text search by the words of the title gives, of which at least two must be shared."""
    asked = set(query_terms(text))
    where = Filter(standings=("live",), now=memory.now)
    hits = memory.engine.search(Query(tuple(asked), every=False, where=where, limit=50), access_of(memory.caller))
    shared = [hit.memory.text for hit in hits if len(asked & set(query_terms(hit.memory.text))) >= 2]
    return Named(shared[:MOST])


def table(tallies: dict[str, Tally]) -> list[str]:
    """The figures as a Markdown table."""
    head = ["", *tallies]
    first = next(iter(tallies.values()))
    rows = [head, ["---", *["---:"] * len(tallies)]]
    rows += [
        [f"{kind}s found, of {first.pairs[kind]}", *(f"{one.recall(kind):.0%}" for one in tallies.values())]
        for kind in ASKED
    ]
    rows += [
        [f"{kind} pairs named, of {first.pairs[kind]}", *(f"{one.recall(kind):.0%}" for one in tallies.values())]
        for kind in QUIET
    ]
    rows.append(["**recall**", *(f"**{one.recall(*ASKED):.0%}**" for one in tallies.values())])
    rows.append(["**precision**", *(f"**{one.precision():.0%}**" for one in tallies.values())])
    wrongly = "held for review, rightly / wrongly"
    rows.append([wrongly, *(f"{one.held['contradiction']} / {one.false_holds()}" for one in tallies.values())])
    rows.append(["named in all", *(str(one.named.total()) for one in tallies.values())])
    return ["| " + " | ".join(row) + " |" for row in rows]


if __name__ == "__main__":
    main()
