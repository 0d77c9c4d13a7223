"""The data sets as they are read: texts to be saved, and questions with the ids of what answers them.

Nothing of them is copied anywhere but into the stores under benches/.cache: LoCoMo is CC BY-NC.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ANSWERABLE = tuple(CATEGORIES[number] for number in (1, 2, 3, 4))
CASES = Path(__file__).parent / "cases"

KINDS = {"bug-fix": "bugfix", "configuration": "config"}
"""What DevBench calls a kind that we have by another name."""


class Item(NamedTuple):
    """Something to be saved, at its own time; `group` is the session it belongs to."""

    id: str
    text: str
    at: datetime
    group: str = ""
    kind: str | None = None
    key: str = ""
    summary: str | None = None
    tags: tuple[str, ...] = ()


class Question(NamedTuple):
    """A question, its class, and the ids that answer it: as the data set has them, and as its audit has them."""

    text: str
    kind: str
    gold: frozenset[str]
    corrected: frozenset[str] = frozenset()


class Corpus(NamedTuple):
    """What goes into one store, and what is asked of it at which moment."""

    name: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]
    now: datetime

    @property
    def groups(self) -> dict[str, str]:
        """The session of each item."""
        return {item.id: item.group for item in self.items}


def locomo(data: Path) -> list[Corpus]:
    """The ten conversations, one memory per turn, as "Speaker: text [shared a photo: caption]"."""
    audit = _audit(data)
    return [
        _conversation(number, whole, audit) for number, whole in enumerate(_read(data / "locomo" / "locomo10.json"))
    ]


def whole_sessions(conversation: Corpus) -> Corpus:
    """The same conversation with one memory per session: its turns, line by line."""
    sessions: dict[str, list[Item]] = {}
    for item in conversation.items:
        sessions.setdefault(item.group, []).append(item)
    items = tuple(Item(name, "\n".join(one.text for one in each), each[0].at) for name, each in sessions.items())
    groups = conversation.groups
    questions = tuple(
        question._replace(
            gold=frozenset(groups[id] for id in question.gold),
            corrected=frozenset(groups[id] for id in question.corrected),
        )
        for question in conversation.questions
    )
    return Corpus(f"{conversation.name} by session", items, questions, conversation.now)


def devmembench(data: Path, *, whole: bool) -> Corpus:
    """Sessions of a coding agent: one memory each, or one per message; gold is the session either way."""
    folder = data / "devmembench"
    sessions = sorted(_read(folder / "sessions.json"), key=lambda one: (one["metadata"]["date"], one["sessionId"]))
    items: list[Item] = []
    for session in sessions:
        at = datetime.fromisoformat(session["metadata"]["date"]).replace(tzinfo=UTC) + timedelta(hours=9)
        lines = [f"{message['role']}: {message['content']}" for message in session["messages"]]
        name = session["sessionId"]
        if whole:
            items.append(Item(name, "\n".join(lines), at, name))
            continue
        items += [
            Item(f"{name}:{number}", line, at + timedelta(seconds=number), name)
            for number, line in enumerate(lines, 1)
        ]
    questions = tuple(
        Question(each["question"], each["questionType"], frozenset(each.get("haystackSessionIds") or ()))
        for each in _read(folder / "questions.json")
    )
    return _corpus("devmembench sessions" if whole else "devmembench messages", items, questions)


def devbench(data: Path) -> Corpus:
    """Thirty memories of a developer with kind and tags, but for the tag that names each."""
    raw = _read(data / "devbench" / "devbench_dataset.json")
    items = [
        Item(
            each["id"],
            each["content"],
            datetime.fromisoformat(each["created_at_iso"]),
            kind=KINDS.get(each["memory_type"], each["memory_type"]),
            tags=tuple(tag for tag in each["tags"] if tag != each["id"]),
        )
        for each in raw["memories"]
    ]
    questions = tuple(
        Question(each["question"], each["category"], frozenset(each["expected_tags"])) for each in raw["queries"]
    )
    return _corpus("devbench", sorted(items, key=lambda item: item.at), questions)


def cases() -> Iterator[Corpus]:
    """The labelled cases of this repository, one corpus per class; its README says how they are written."""
    for path in sorted(CASES.glob("*.json")):
        raw = _read(path)
        end = datetime.fromisoformat(raw.get("now", "2026-04-15T10:30:00Z"))
        day = end - timedelta(days=1)
        items = [
            Item(
                each["id"],
                each["text"],
                datetime.fromisoformat(each["created_at"])
                if "created_at" in each
                else day + timedelta(minutes=number),
                each.get("session", ""),
                kind=each.get("kind"),
                key=each.get("key", ""),
                summary=each.get("summary"),
                tags=tuple(each.get("tags", ())),
            )
            for number, each in enumerate(raw["memories"])
        ]
        questions = tuple(
            Question(each["question"], raw["class"], frozenset(each["gold"])) for each in raw["cases"]
        )
        yield Corpus(f"cases {raw['class']}", tuple(sorted(items, key=lambda item: item.at)), questions, end)


def _corpus(name: str, items: list[Item], questions: tuple[Question, ...]) -> Corpus:
    return Corpus(name, tuple(items), questions, items[-1].at + timedelta(days=1))


def _conversation(number: int, whole: dict[str, Any], audit: dict[str, frozenset[str]]) -> Corpus:
    items = list(_turns(whole["conversation"]))
    known = {item.id for item in items}
    questions = []
    for at, each in enumerate(whole["qa"]):
        # Nine references are malformed, and a few name turns that are not there.
        gold = _references(each.get("evidence", ())) & known
        corrected = audit.get(f"locomo_{number}_qa{at}", frozenset()) & known
        questions.append(Question(each["question"], CATEGORIES[each["category"]], gold, corrected or gold))
    return _corpus(f"locomo {number}", items, tuple(questions))


def _turns(conversation: dict[str, Any]) -> Iterator[Item]:
    count = 0
    for number in range(1, len(conversation)):
        session = f"session_{number}"
        for turn in conversation.get(session, ()):
            count += 1
            said = datetime.strptime(conversation[f"{session}_date_time"], "%I:%M %p on %d %B, %Y").replace(
                tzinfo=UTC
            )
            photo = f" [shared a photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            text = f"{turn['speaker']}: {turn['text']}{photo}"
            yield Item(turn["dia_id"], text, said + timedelta(seconds=count), session)


def _audit(data: Path) -> dict[str, frozenset[str]]:
    path = data / "locomo" / "audit_errors.json"
    return {each["question_id"]: _references(each["correct_evidence"]) for each in _read(path)}


def _references(evidence: Any) -> frozenset[str]:  # noqa: ANN401 - a list of strings, if it is well formed
    return frozenset(re.findall(r"D\d+:\d+", " ".join(evidence)))


def _read(path: Path) -> Any:  # noqa: ANN401 - JSON
    return json.loads(path.read_text())
