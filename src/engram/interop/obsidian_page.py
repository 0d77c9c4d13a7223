"""One page of a vault that stands for a memory: written so that it can be read, and read back as it was written.

Properties, text, relations and sources are there for a person, who may change them. What they do not say is found
by reading the page that was written: whatever comes back otherwise is kept in one more property, with a mark of
what was read, so that it counts only for as long as nobody changed what stands there for a person.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from engram.interop.peers.reading import Row, mapping, parsed
from engram.model.codec import Document, decode, encode
from engram.model.hashing import sha256
from engram.model.limits import print_time
from engram.model.memory import Citation, Memory, standing
from engram.model.relation import Relation
from engram.model.scalars import print_value
from engram.model.scope import GLOBAL

ID, SEAL, REST = "engram_id", "engram_sha256", "engram_rest"
TIMES = {"created_at": "created", "updated_at": "updated", "verified_at": "verified"}
"""Fields whose property has another name."""

_SHOWN = (
    *("kind", "scope", "key", "summary", "tags", "origin", "source", "confidence", "importance", "pinned"),
    *("actor", "visibility", "session", "created_at", "updated_at", "verified_at", "valid_from", "valid_until"),
    *("decay",),
)
_DATED = frozenset({*TIMES, "valid_from", "valid_until"})
_STAYS = frozenset({"id", "owner", "revision", "assets"})
"""What a page does not carry: whose it is and how often it changed is each store's own, and files are not text."""

_A_PERSONS = (
    *("text", "kind", "scope", "key", "summary", "tags", "citations", "importance", "pinned", "visibility"),
    *("valid_from", "valid_until", "decay"),
)
"""What a person may want to say otherwise."""

CARRIED = frozenset({*Memory.DEFAULTS, "context", "created_at"} - _STAYS)
_TIES, _SOURCES = "## Relations", "## Sources"
_TIE = re.compile(r"- ([^\[\]\n]+) \[\[([^\[\]|#^\n]++)[^\[\]\n]*\]\](?:: (.*))?")
_SOURCE = re.compile(r"- ([a-z]+): (`++) ?(.+?) ?\2(?: (?!pinned )(\S.*?))?(?: pinned (\S+))?")
_LONGEST_LINE = 4096

Page = Mapping[str, Any]


class Link(NamedTuple):
    """A relation of a page's memory to another, and the page where that one lies."""

    relation: Relation
    to: str


# writing


def write(memory: Memory, links: Sequence[Link], replaced_by: str, now: datetime) -> str:
    """The page of a memory, with its relations to others; `replaced_by` is the page of what took its place."""
    body = _body(memory, links, replaced_by)
    said = _properties(memory, now)
    properties = said | {ID: memory.id, SEAL: seal(body), REST: _rest(memory, links, said, body)}
    front = "".join(f"{name}: {print_value(value)}\n" for name, value in properties.items())
    return f"---\n{front}---\n{body}"


def seal(body: str) -> str:
    """The checksum of what stands below the properties."""
    return sha256(body.encode()).hexdigest()[:32]


def _body(memory: Memory, links: Sequence[Link], replaced_by: str) -> str:
    parts = [memory.text.rstrip("\n")]
    ties = [f"- {_word(each.relation)} [[{each.to}]]{_why(each.relation)}" for each in links]
    ties += [f"- replaced by [[{replaced_by}]]"] if replaced_by else []
    if ties:
        parts.append("\n".join([_TIES, "", *ties]))
    if memory.citations:
        parts.append("\n".join([_SOURCES, "", *map(_source, memory.citations)]))
    return "\n\n".join(parts) + "\n"


def _word(relation: Relation) -> str:
    return relation.kind if relation.status == "judged" else f"{relation.kind} ({relation.status})"


def _why(relation: Relation) -> str:
    reason = " ".join(relation.reason.split())
    return f": {reason}" if reason else ""


def _source(cited: Citation) -> str:
    ticks = "`" * (max((len(run) for run in re.findall("`+", cited.ref)), default=0) + 1)
    ref = f"{ticks}{cited.ref}{ticks}" if ticks == "`" else f"{ticks} {cited.ref} {ticks}"
    locator = f" {cited.locator}" if cited.locator else ""
    return f"- {cited.kind}: {ref}{locator}" + (f" pinned {cited.pin}" if cited.pin else "")


def _properties(memory: Memory, now: datetime) -> dict[str, Any]:
    """What is known of a memory, as Obsidian lists it; what is not said is left out."""
    document = encode(memory)
    said: dict[str, Any] = {"kind": memory.kind, "scope": str(memory.scope), "standing": standing(memory, now)}
    for name in _SHOWN:
        value = document.get(name, getattr(memory, name))
        if name not in said and value not in (None, "", [], ()):
            said[TIMES.get(name, name)] = value
    if memory.tags:
        said["tags"] = [re.sub(r"\s+", "-", tag) for tag in memory.tags]
    return said


def _rest(memory: Memory, links: Sequence[Link], said: Page, body: str) -> str:
    """What a reader of the page would not come to know, as JSON, with a mark of all that was read."""
    heard, whole = _heard(said, body), {k: v for k, v in encode(memory).items() if k not in _STAYS}
    fields = {
        name: [_mark(heard.get(name)), whole.get(name)]
        for name in sorted({*heard, *whole})
        if heard.get(name) != whole.get(name)
    }
    ties = [[_mark([_word(one.relation), _why(one.relation)]), _travelling(one.relation)] for one in links]
    rest = {"read": _mark(heard)} | ({"fields": fields} if fields else {}) | ({"relations": ties} if ties else {})
    return json.dumps(rest, ensure_ascii=False, separators=(",", ":"))


def _travelling(relation: Relation) -> Document:
    return {k: v for k, v in encode(relation).items() if k not in ("id", "from_id", "owner", "revision")}


def _mark(value: object) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


# reading


def is_ours(said: Page) -> bool:
    """Whether the properties of a page are those of a memory of ours."""
    return isinstance(said.get(ID), str) and isinstance(said.get(SEAL), str)


def was_changed(said: Page, body: str, new: Page, now: str) -> bool:
    """Whether a person changed a page, and it says otherwise than the one that would be written in its place."""
    heard = _heard(said, body)
    if _kept(said).read == _mark(heard):
        return False
    instead = _heard(new, now)
    return any(heard.get(name) != instead.get(name) for name in _A_PERSONS)


def was_reworded(said: Page, body: str) -> bool:
    """Whether a person changed what stands below the properties."""
    return bool(said.get(SEAL) != seal(body))


def read(said: Page, body: str, written: datetime) -> Memory:
    """The memory that a page of ours stands for; what a person changed, they changed when the file was written.

    Raises:
        Corrupt: when what stands there makes no memory.
    """
    heard, rest = _heard(said, body), _kept(said)
    document = dict(heard)
    for name, (mark, value) in rest.fields.items():
        if _mark(heard.get(name)) == mark:
            document[name] = value
        elif name == "citations":
            document[name] = [_with_excerpt(one, value or ()) for one in heard.get(name, ())]
    document.setdefault("created_at", print_time(written))
    document.setdefault("updated_at", document["created_at"])
    if rest.read != _mark(heard):
        document["updated_at"] = max(document["updated_at"], print_time(written))
    known = {name: value for name, value in document.items() if value is not None and name not in _STAYS}
    return cast("Memory", decode("memory", known | {"id": said[ID], "owner": ""}))


def text_of(body: str) -> str:
    """What stands on a page before its relations and sources."""
    return _split(body)[0]


def ties(said: Page, body: str, find: Callable[[str], str]) -> Iterator[tuple[str, Relation | str]]:
    """Every relation on a page: its link, and the relation as it was written, or the word a person wrote.

    `find` tells the id of the memory whose page a link means.

    Raises:
        Corrupt: when what is kept of one makes no relation.
    """
    kept = {(mark, document.get("to_id")): document for mark, document in _kept(said).relations}
    for word, link, why in _tied(_split(body)[1]):
        document = kept.get((_mark([word, why]), find(link)))
        if document is not None:
            made = {**document, "id": f"{said[ID]}~{document['to_id']}", "from_id": said[ID], "owner": ""}
            yield link, cast("Relation", decode("relation", made))
        elif word != "replaced by":
            yield link, word.partition(" (")[0]


class _Rest(NamedTuple):
    """What a page carries beside what a person reads."""

    read: str = ""
    fields: Mapping[str, tuple[str, Any]] = MappingProxyType({})
    relations: Sequence[tuple[str, Document]] = ()


def _kept(said: Page) -> _Rest:
    found = parsed(said.get(REST))
    if not isinstance(found, dict):
        return _Rest()
    fields, relations = mapping(found.get("fields")), found.get("relations")
    pairs = (
        [one for one in relations if _is_pair(one) and isinstance(one[1], dict)]
        if isinstance(relations, list)
        else []
    )
    whole = {name: (pair[0], pair[1]) for name, pair in fields.items() if _is_pair(pair)}
    return _Rest(str(found.get("read")), whole, [(mark, document) for mark, document in pairs])


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == len(("mark", "value"))


def _heard(said: Page, body: str) -> Document:
    """What a page says for a person to read, as fields of a document; what says nothing special is left out."""
    row, (text, _, sources) = Row(said), _split(body)
    heard: Document = {}
    for name in _SHOWN:
        property = TIMES.get(name, name)
        if name in _DATED:
            time = row.time(property)
            heard[name] = print_time(time) if time else None
        elif name == "tags":
            heard[name] = [*row.words("tags")]
        else:
            value = row.get(property)
            heard[name] = value if isinstance(value, bool | float) else row.text(property)
    heard["importance"] = row.get("importance")
    heard["citations"] = [_cited(found) for line in sources if (found := _SOURCE.fullmatch(line))]
    plain = {**Memory.DEFAULTS, "scope": str(GLOBAL)}
    heard = {name: value for name, value in heard.items() if value not in (None, "", [], plain.get(name))}
    return heard | {"text": text}


def _cited(found: re.Match[str]) -> Document:
    kind, _, ref, locator, pin = found.groups()
    said = {"kind": kind, "ref": ref, "locator": locator, "pin": pin}
    return {name: value for name, value in said.items() if value}


def _with_excerpt(one: Document, before: Sequence[Document]) -> Document:
    """A citation with the excerpt it had, where it is one of those that were written."""
    return next((old for old in before if {**old, "excerpt": ""} == {**one, "excerpt": ""}), one)


def _split(body: str) -> tuple[str, list[str], list[str]]:
    """The text of a page, the lines of its relations, and those of its sources."""
    text, sources = _cut(body, _SOURCES)
    text, said = _cut(text, _TIES)
    return text.rstrip("\n"), said, sources


def _cut(body: str, heading: str) -> tuple[str, list[str]]:
    """What stands before the last heading of these words, and the list below it, if nothing else follows."""
    text, found, below = body.rpartition(f"\n{heading}\n")
    lines = [line.rstrip() for line in below.split("\n") if line.strip()]
    if not found or not all(line.startswith("- ") and len(line) <= _LONGEST_LINE for line in lines):
        return body, []
    return text, lines


def _tied(lines: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """The word, the link and the reason of every relation in these lines."""
    for line in lines:
        if found := _TIE.fullmatch(line):
            yield found[1].strip(), found[2].strip(), f": {found[3]}" if found[3] else ""
