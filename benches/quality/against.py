"""Other memory systems on the turns of LoCoMo's report half, with the same texts and our embedder.

What a peer is, how it is installed and what it does not do stands in benches/peers.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from conversations import HALVES, Answer, Locomo, answerable
from scores import Pair, mean
from sets import ANSWERABLE, Question
from stores import Store

from common import HERE, Bar

sys.path.insert(0, str(HERE / "peers"))

from driver import Failed, Peer, peers

MEASURES = ("recall@5", "recall@10", "any@5")
DEEP = 10


def measure(bench: Locomo, half: str, only: str = "") -> dict[str, Any]:
    """Engram's row, then one per peer and mode; a peer that fails says why instead."""
    answers = [answer for answer in bench.answers(half) if answerable(answer.question)]
    questions = [answer.question for answer in answers]
    ours = [list(answer.default.ids[:DEEP]) for answer in answers]
    weak = [list(answer.weak.ids[:DEEP]) for answer in answers]
    rows = [
        _row("Engram", "hybrid", "as it comes: may decline", questions, ours),
        _row("Engram, weak=True", "hybrid", "never declines, as no peer does", questions, weak),
    ]
    chosen = [peer for peer in peers() if only.lower() in peer.name.lower()]
    for peer in chosen:
        try:
            found = _found(peer, bench.stores(half), answers)
        except Failed as failure:
            rows.append({"name": peer.name, "version": peer.version, "does": peer.does, "failed": str(failure)})
            continue
        row = _row(peer.name, peer.does, peer.note, questions, found)
        rows.append({**row, "version": peer.version, "against": _duel(questions, ours, found)})
    return {"half": HALVES[half], "questions": len(questions), "rows": rows, "losses": losses(rows)}


def losses(rows: list[dict[str, Any]]) -> list[str]:
    """Every measure, over all questions or one category, in which a peer is ahead of Engram."""
    ours, found = rows[0], []
    for row in rows[2:]:
        if "failed" in row:
            continue
        for where, scores in {"all": row["all"], **row["by category"]}.items():
            mine = ours["all"] if where == "all" else ours["by category"][where]
            found += [
                f"{row['name']}: {where}, {measure} {theirs:.3f} against {mine[measure]:.3f}"
                for measure, theirs in scores.items()
                if theirs > mine[measure]
            ]
    return found


def _found(peer: Peer, stores: list[Store], answers: list[Answer]) -> list[list[str]]:
    found: list[list[str]] = []
    bar = Bar(peer.name, len(answers))
    for store in stores:
        items = [
            {"id": item.id, "text": item.text, "session": item.group, "created_at": item.at.isoformat()}
            for item in store.corpus.items
        ]
        with tempfile.TemporaryDirectory(prefix="engram-peer-") as folder:
            peer.open(Path(folder))
            try:
                peer.add(items)
                for answer in answers:
                    if answer.store is store:
                        found.append(peer.search(answer.question.text, DEEP)[0])
                        bar.step()
            finally:
                peer.close()
    return found


def _row(name: str, does: str, note: str, questions: list[Question], found: list[list[str]]) -> dict[str, Any]:
    asked = list(zip(questions, found, strict=True))
    return {
        "name": name,
        "does": does,
        "note": note,
        "all": mean((Pair(ids, question.gold) for question, ids in asked), *MEASURES),
        "by category": {
            kind: mean((Pair(ids, question.gold) for question, ids in asked if question.kind == kind), *MEASURES)
            for kind in ANSWERABLE
        },
    }


def _duel(questions: list[Question], ours: list[list[str]], theirs: list[list[str]]) -> dict[str, int]:
    """Of how many questions one has an answer among its first five, and the other has none."""
    only = {"only Engram": 0, "only the peer": 0}
    for question, mine, other in zip(questions, ours, theirs, strict=True):
        here, there = (bool(question.gold.intersection(ids[:5])) for ids in (mine, other))
        only["only Engram"] += here and not there
        only["only the peer"] += there and not here
    return only
