"""Records in a JSON export or in the points of a Qdrant collection: read and written.

A point is `{"id", "payload", "vector"}`, as a scroll answers with it: alone, in a list, in `result.points` of one
answer after another, or one a line; or it is asked for where Qdrant runs, or keeps its folder. A record without a
point is the payload itself. Vectors are left out: they are made anew here and there.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from engram.errors import EngramError
from engram.interop import theirs
from engram.interop.fields import moment, one_line, second, text_of, time_of, words_of
from engram.interop.forms import Foreign, Form, Problem, Source, foreign_id
from engram.interop.keyed_rows import kind_of_category
from engram.interop.qdrant_points import is_address, is_folder, points
from engram.interop.records_rows import DISCOVERIES, MADE, citation_row, keys_of, place_of
from engram.interop.streams import print_list, rows
from engram.interop.writing import Stock, Tally, Writer
from engram.model.memory import Citation, CitationKind, Context, Memory
from engram.model.relation import Relation

NAME = "records"
WITHIN = ("result", "points", "records", "memories", "data")
CARRIED = frozenset(
    {
        *("scope", "kind", "origin", "tags", "summary", "citations", "actor", "visibility", "created_at"),
        *("valid_from", "valid_until", "forgotten_at", "replaced_by", "status", "approved_by"),
        *("decay", "source", "learned_by", "context.repo", "context.workspace", "context.worktree_path"),
        *("context.base_dir", "context.word"),
    }
)
"""Fields of a memory that a record tells, or that follow from the others."""

WINDOW = ("not_before", "not_after", "archived_at")
"""The moments that a record keeps as whole seconds since 1970."""

CITED = frozenset({"file", "commit", "url", "repo"})


def row_of(memory: Memory, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A memory as the payload of a record; `names` are the ids that other memories have in the export."""
    times = (memory.valid_from, memory.valid_until, memory.forgotten_at)
    row = keys_of(memory, theirs.id_in(NAME, memory) or memory.id, second(memory.created_at))
    kind = next((word for word, ours in DISCOVERIES.items() if ours == memory.kind), "")
    further = {
        "kind": kind,
        "citations": [citation_row(one) for one in memory.citations],
        "summary": memory.summary,
        **{name: int(time.timestamp()) if time else None for name, time in zip(WINDOW, times, strict=True)},
        "superseded_by": (names or {}).get(memory.replaced_by, memory.replaced_by),
    }
    return row | {name: value for name, value in further.items() if value}


# reading


def _recognises(source: Source) -> bool:
    if is_address(source.path) or is_folder(source):
        return True
    head = source.head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head[:1] not in (b"{", b"["):
        return False
    return all(f'"{name}"'.encode() in head for name in ("content", "scope", "category", "source"))


def _read(source: Source) -> Iterator[Foreign | Problem]:
    """Every memory, and then, going through the file again, what supersedes what."""
    superseding = False
    try:
        for name, said in _rows(source):
            row = _payload(said or {})
            superseding = superseding or bool(row.get("supersedes"))
            yield Problem(name, "It is not a JSON object.") if said is None else _foreign(name, row)
        if superseding:
            for name, said in _rows(source):
                yield from _relations(name, _payload(said or {}))
    except EngramError as error:
        if is_address(source.path):  # a server that does not answer is no damaged file: going on later helps
            raise
        yield Problem("the rest", error.message)


def _rows(source: Source) -> Iterator[tuple[str, dict[str, Any] | None]]:
    where_qdrant_is = is_address(source.path) or is_folder(source)
    return points(source) if where_qdrant_is else rows(source.path, WITHIN)


def _payload(said: dict[str, Any]) -> dict[str, Any]:
    """A record: the payload of a point with its id, or what stands there alone; without its vector."""
    payload = said.get("payload")
    row = {**payload, "id": payload.get("id") or said.get("id")} if isinstance(payload, dict) else said
    return {name: value for name, value in row.items() if name not in ("vector", "vectors")}


def _foreign(name: str, row: dict[str, Any]) -> Foreign | Problem:
    try:
        memory, dropped = _memory(row)
    except EngramError as error:
        return Problem(name, error.message)
    if row.get("owner"):
        dropped.append("owner")
    return Foreign(name, memory, tuple(dict.fromkeys(dropped)))


def _memory(row: dict[str, Any]) -> tuple[Memory, list[str]]:
    id = text_of(row.get("id"))
    category = text_of(row.get("category")).strip().lower() or "fact"
    kind = (
        DISCOVERIES.get(text_of(row.get("kind")), "finding")
        if category == "discovery"
        else kind_of_category(category)
    )
    place = place_of(text_of(row.get("scope")) or "global")
    created = moment(row.get("created_at"))
    replaced = text_of(row.get("superseded_by"))
    made = Memory(
        id=foreign_id(NAME, id or f"{row.get('scope')} {row.get('content')}"),
        text=text_of(row.get("content")),
        summary=one_line(text_of(row.get("summary")), "summary"),
        scope=place.scope,
        kind=kind,
        tags=words_of(row.get("tags")),
        citations=tuple(_citations(row.get("citations"))),
        origin="said" if row.get("source") == "user-said" else "inferred",
        source=f"{NAME}:store",
        learned_by="remember",
        actor=text_of(row.get("actor")),
        visibility="shared" if row.get("visibility") == "shared" else "private",
        context=Context(**{name: text_of(row.get(name)) for name in MADE}),
        valid_from=time_of(row.get("not_before"), "not_before"),
        valid_until=time_of(row.get("not_after"), "not_after"),
        forgotten_at=time_of(row.get("archived_at"), "archived_at"),
        replaced_by=foreign_id(NAME, replaced) if replaced else "",
        status="promoted",
        owner="",
        created_at=created,
        updated_at=created,
    )
    names = {made.replaced_by: replaced}
    told = {name: value for name, value in row.items() if name not in ("owner", "supersedes")}
    return theirs.keep(made, NAME, id or made.id, told, {**row_of(made, names), "owner": None})


def _citations(said: Any) -> Iterator[Citation]:  # noqa: ANN401 - as it stands there
    for one in said if isinstance(said, list) else ():
        if isinstance(one, dict):
            kind = text_of(one.get("kind"))
            rest = (text_of(one.get(name)) for name in ("ref", "locator", "pin", "excerpt"))
            yield Citation(cast("CitationKind", kind), *rest)


def _relations(name: str, row: dict[str, Any]) -> Iterator[Foreign]:
    said = row.get("supersedes")
    first, created = foreign_id(NAME, text_of(row.get("id"))), moment(row.get("created_at"))
    for old in said if isinstance(said, list) else [said] if isinstance(said, str) and said else ():
        second_id = foreign_id(NAME, text_of(old))
        if first != second_id:
            yield Foreign(
                f"{name} supersedes {old}",
                Relation(
                    id=foreign_id(NAME, f"{row.get('id')} {old}"),
                    from_id=first,
                    to_id=second_id,
                    kind="supersedes",
                    status="judged",
                    confidence=1.0,
                    owner="",
                    created_at=created,
                    updated_at=created,
                ),
                ends=(text_of(row.get("id")), text_of(old)),
            )


# writing


def _lines(stock: Stock, tally: Tally) -> Iterator[str]:
    superseding = _superseding(stock, tally)
    yield from print_list('{"records": [', _written(stock, tally, superseding), "]}\n")


def _superseding(stock: Stock, tally: Tally) -> dict[str, list[str]]:
    """What each memory supersedes, by id; other verdicts have no place."""
    found: dict[str, list[str]] = {}
    for relation in stock.relations():
        if relation.kind == "supersedes" and relation.status == "judged":
            found.setdefault(relation.from_id, []).append(relation.to_id)
            tally.relations += 1
        else:
            tally.lost("relations")
    for _ in stock.sessions():
        tally.lost("sessions")
    return found


def _written(stock: Stock, tally: Tally, superseding: Mapping[str, list[str]]) -> Iterator[dict[str, Any]]:
    for memory in stock.memories():
        if memory.status != "promoted":
            tally.lost(f"{memory.status} memories")  # a record has no way to say that it does not count
            continue
        tally.took(memory, CARRIED - ({"decay"} if memory.decay == "none" else set()), NAME)
        ids = [*superseding.get(memory.id, ()), *filter(None, [memory.replaced_by])]
        names = {id: theirs.id_in(NAME, one) or id for id, one in stock.find(ids).items()} if ids else {}
        row = theirs.restore(NAME, memory, row_of(memory, names))
        row["citations"] = [one for one in row.get("citations", ()) if one["kind"] in CITED]
        if len(row["citations"]) < len(memory.citations):
            tally.lost("citations")
        if not row["citations"]:
            del row["citations"]
        if memory.id in superseding:
            row["supersedes"] = [names.get(id, id) for id in superseding[memory.id]]
        yield row


FORM = Form(NAME, "Records in a JSON export, or the points of a Qdrant collection.", _recognises, _read)
WRITER = Writer(NAME, "Records as JSON, as the payloads of a Qdrant collection have them.", lines=_lines)
