"""Whole records, filters and accesses for Hypothesis, from pools small enough that they meet."""

from datetime import UTC, datetime, timedelta
from typing import get_args

from hypothesis import strategies as st

from engines.samples import START, later
from engram.model.apikey import ApiKey
from engram.model.filter import Access, Filter
from engram.model.limits import EARLIEST, LATEST
from engram.model.memory import (
    STANDINGS,
    Asset,
    Citation,
    CitationKind,
    Context,
    HeldFor,
    LearnedBy,
    Memory,
)
from engram.model.outline import outline
from engram.model.record import replace
from engram.model.relation import Relation, RelationKind, RelationStatus
from engram.model.scope import Scope
from engram.model.session import Session
from engram.model.text import digest

LETTERS = st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"))
LINES = st.one_of(LETTERS, st.sampled_from("\n\r\t"))


def line(most: int = 40, least: int = 0) -> st.SearchStrategy[str]:
    return st.text(LETTERS, min_size=least, max_size=most).map(str.strip).filter(lambda s: len(s) >= least)


def prose(most: int = 200) -> st.SearchStrategy[str]:
    return st.text(LINES, min_size=1, max_size=most).filter(str.strip)


def times() -> st.SearchStrategy[datetime]:
    naive = st.datetimes(EARLIEST.replace(tzinfo=None), (LATEST - timedelta(days=1)).replace(tzinfo=None))
    return naive.map(lambda time: time.replace(tzinfo=UTC))


def names() -> st.SearchStrategy[str]:
    return line(12, 1).filter(lambda name: not set(name) & set("/:@"))


def scopes() -> st.SearchStrategy[Scope]:
    placed = st.tuples(st.sampled_from(("project", "agent", "session")), names())
    place = st.one_of(st.just(("global", "")), placed)
    extra = st.one_of(st.just(""), names())
    return st.builds(lambda at, workspace, run: Scope(*at, workspace, run), place, extra, extra)


def contexts() -> st.SearchStrategy[Context]:
    return st.builds(Context, **{name: line(20) for name in Context.FIELDS})


CITATIONS = st.builds(
    Citation,
    kind=st.sampled_from(get_args(CitationKind)),
    ref=line(20, 1),
    locator=line(10),
    pin=line(10),
    excerpt=st.one_of(st.just(""), prose()),
)
ASSETS = st.builds(
    Asset,
    sha256=st.text("0123456789abcdef", min_size=64, max_size=64),
    name=line(10),
    media_type=line(10),
    size=st.integers(0, 2**53),
)
DECAYS = st.one_of(
    st.just("none"), st.builds(lambda n, unit: f"{n}{unit}", st.integers(1, 200), st.sampled_from("hdwmy"))
)


@st.composite
def whole_memories(draw: st.DrawFn, owner: str = "me") -> Memory:
    """Any memory there can be, with most fields away from their default."""
    spans = st.one_of(
        st.tuples(st.none(), st.none()),
        st.tuples(times(), st.none()),
        st.tuples(st.none(), times()),
        st.lists(times(), min_size=2, max_size=2, unique=True).map(sorted).map(tuple),
    )
    start, end = draw(spans)
    maybe = st.one_of(st.none(), times())
    return Memory(
        id=draw(line(30, 5)),
        key=draw(line()),
        scope=draw(scopes()),
        session=draw(line()),
        text=draw(prose()),
        summary=draw(line()),
        kind=draw(st.from_regex(r"[a-z][a-z0-9]{0,8}(?:[_-][a-z0-9]{1,4}){0,2}", fullmatch=True)),
        tags=tuple(draw(st.lists(line(10, 1), max_size=4, unique=True))),
        citations=tuple(draw(st.lists(CITATIONS, max_size=3))),
        assets=tuple(draw(st.lists(ASSETS, max_size=2))),
        amends=draw(line()),
        apart=draw(st.booleans()),
        origin=draw(st.sampled_from(("said", "inferred"))),
        source=draw(line()),
        learned_by=draw(st.sampled_from(get_args(LearnedBy))),
        confidence=draw(st.integers(0, 100)) / 100,
        owner=owner,
        actor=draw(line()),
        visibility=draw(st.sampled_from(("private", "shared"))),
        context=draw(contexts()),
        importance=draw(st.integers(1, 10)),
        pinned=draw(st.booleans()),
        status=draw(st.sampled_from(("pending", "promoted", "rejected"))),
        tier=draw(st.integers(1, 3)),
        held_for=draw(st.sampled_from(get_args(HeldFor))),
        approved_by=draw(line()),
        decay=draw(DECAYS),
        valid_from=start,
        valid_until=end,
        replaced_by=draw(line()),
        forgotten_at=draw(maybe),
        forgotten_by=draw(line()),
        branch=draw(line()),
        created_at=draw(times()),
        updated_at=draw(times()),
        verified_at=draw(maybe),
        reworded_at=draw(maybe),
        seen=draw(st.integers(0, 2**40)),
        revision=draw(st.integers(1, 2**40)),
    )


@st.composite
def whole_sessions(draw: st.DrawFn, owner: str = "me") -> Session:
    started, ended = sorted(draw(st.tuples(times(), times())))
    return Session(
        id=draw(line(30, 5)),
        scope=draw(scopes()),
        agent=draw(line()),
        context=draw(contexts()),
        owner=owner,
        started_at=started,
        ended_at=draw(st.sampled_from((None, ended))),
        revision=draw(st.integers(1, 2**40)),
    )


@st.composite
def whole_relations(draw: st.DrawFn, owner: str = "me") -> Relation:
    ends = draw(st.lists(line(20, 1), min_size=2, max_size=2, unique=True))
    return Relation(
        id=draw(line(30, 5)),
        from_id=ends[0],
        to_id=ends[1],
        kind=draw(st.sampled_from(get_args(RelationKind))),
        status=draw(st.sampled_from(get_args(RelationStatus))),
        reason=draw(st.one_of(st.just(""), prose())),
        evidence=draw(st.one_of(st.just(""), prose())),
        confidence=draw(st.integers(0, 100)) / 100,
        owner=owner,
        actor=draw(line()),
        model=draw(line()),
        session=draw(line()),
        theirs=draw(line()),
        created_at=draw(times()),
        updated_at=draw(times()),
        revision=draw(st.integers(1, 2**40)),
    )


@st.composite
def whole_keys(draw: st.DrawFn, owner: str = "me") -> ApiKey:
    return ApiKey(
        id=draw(line(30, 5)),
        name=draw(line(20, 1)),
        digest=draw(st.text("0123456789abcdef", min_size=64, max_size=64)),
        can=draw(st.sampled_from((("read",), ("read", "write")))),
        owner=owner,
        actor=draw(line()),
        workspace=draw(st.one_of(st.none(), st.just(""), names())),
        created_at=draw(times()),
        expires_at=draw(st.one_of(st.none(), times())),
        revoked_at=draw(st.one_of(st.none(), times())),
        revision=draw(st.integers(1, 2**40)),
    )


# --- pools: small, so that records and filters meet ---

TEXTS = (
    "We deploy on Fridays",
    "We deploy on Mondays",
    "we deploy on fridays.",
    "The port is 8080",
    "The port is 9090",
    "Use uv, never pip",
    "デプロイは金曜日です",
    "naïve café ☕ naïve",
    "Is it raining?",
)
SCOPES = tuple(
    Scope.parse(text)
    for text in (
        "global",
        "project:api",
        "project:api@run",
        "project:api@rerun",
        "project:web",
        "agent:api",
        "team/global",
        "team/project:api",
        "team/project:api@run",
        "global@run",
    )
)
OWNERS = ("", "ada", "bob")
TAGS = ("red", "green", "re", "RED", "a b", "%", "_")
MOMENTS = tuple(later(n * 3600) for n in range(7))
BRANCHES = ("", "repo#main", "repo#topic")
KINDS = ("fact", "decision", "identity")
WORDS = ("", "k1", "k2")


@st.composite
def pooled_memories(draw: st.DrawFn) -> Memory:
    """A memory whose every filtered field comes from a small pool; the id is a placeholder."""
    pick = lambda *pool: draw(st.sampled_from(pool))  # noqa: E731 - one word for one act
    span = sorted(draw(st.lists(st.sampled_from(MOMENTS), min_size=2, max_size=2, unique=True)))
    made = pick(*MOMENTS)
    return Memory(
        id="placeholder",
        text=pick(*TEXTS),
        key=pick(*WORDS),
        scope=pick(*SCOPES),
        session=pick(*WORDS),
        kind=pick(*KINDS),
        tags=tuple(draw(st.lists(st.sampled_from(TAGS), max_size=3, unique=True))),
        amends=pick(*WORDS),
        origin=pick("said", "inferred"),
        owner=pick(None, *OWNERS),
        visibility=pick("private", "shared"),
        pinned=pick(True, False),
        status=pick("pending", "promoted", "promoted", "rejected"),
        held_for=pick("", "", "unmerged_branch", "untrusted_origin"),
        branch=pick(*BRANCHES),
        context=Context(agent=pick(*WORDS), branch=pick(*WORDS)),
        replaced_by=pick("", "", "k1"),
        forgotten_at=pick(None, None, START),
        valid_from=pick(None, None, span[0]),
        valid_until=pick(None, None, span[1]),
        verified_at=pick(None, *MOMENTS),
        reworded_at=pick(None, *MOMENTS),
        decay=pick("none", "1h", "2h", "180d"),
        created_at=made,
        updated_at=made,
    )


def numbered(memories: list[Memory], prefix: str = "id") -> list[Memory]:
    """The same memories with ids that neither follow nor oppose the order of time."""
    order = [(n * 7) % 101 for n in range(len(memories))]
    return [replace(each, id=f"{prefix}-{n:04d}") for n, each in zip(order, memories, strict=True)]


@st.composite
def filters(draw: st.DrawFn) -> Filter:
    """A filter of up to four clauses, so that something is often left; every clause can occur."""
    some = lambda pool: st.lists(st.sampled_from(pool), min_size=1, max_size=3).map(tuple)  # noqa: E731
    clauses: dict[str, st.SearchStrategy] = {
        "ids": st.one_of(st.just(()), some(tuple(f"id-{n:04d}" for n in range(0, 70, 7)))),
        "scopes": some(SCOPES),
        "within": st.sampled_from(SCOPES),
        "kinds": some(KINDS),
        "except_kinds": some(KINDS),
        "tags": some((*TAGS, "absent", "")),
        "origin": st.sampled_from(("said", "inferred")),
        "pinned": st.booleans(),
        "standings": some(STANDINGS),
        "owner": st.sampled_from(OWNERS),
        "session": st.sampled_from(WORDS),
        "key": st.sampled_from(WORDS),
        "digest": st.sampled_from(TEXTS).map(digest),
        "outline": st.sampled_from(TEXTS).map(outline),
        "amends": st.sampled_from(WORDS),
        "replaced_by": st.sampled_from(("", "k1")),
        "held_for": st.sampled_from(("", "unmerged_branch", "untrusted_origin")),
        "agent": st.sampled_from(WORDS),
        "made_on": st.sampled_from(WORDS),
        "ends_by": st.sampled_from(MOMENTS),
        "since": st.sampled_from(MOMENTS),
        "until": st.sampled_from(MOMENTS),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(clauses)), max_size=4, unique=True))
    values = {name: draw(clauses[name]) for name in chosen}
    moment = draw(st.one_of(st.sampled_from(MOMENTS), times()))
    return Filter(**values, now=moment, view=draw(st.sampled_from(BRANCHES)))


ACCESSES = st.builds(
    Access,
    st.sampled_from((*OWNERS, "stranger")),
    st.sampled_from((None, frozenset(), frozenset({"project:api"}), frozenset({"agent:api", "project:web"}))),
    st.sampled_from((None, "", "team")),
    st.sampled_from((frozenset(), frozenset({"project:api"}), frozenset({"project:api", "project:web"}))),
    st.sampled_from(("", "api")),
    st.sampled_from((False, False, False, True)),
)
