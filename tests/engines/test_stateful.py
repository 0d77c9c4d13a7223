"""Each engine against `ram`, the reference, over random histories made by the real rules."""

import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engines.asking import SECOND, THIRD, WAYS
from engines.samples import EAST, MINE, SPACE, Story, change, everything, relation, session
from engines.servers import shared_database
from engines.stores import open_store
from engines.strategies import ACCESSES, SCOPES, TAGS, TEXTS, filters
from engram.engines.postgres import PostgresEngine
from engram.engines.ram import RamEngine
from engram.errors import EngramError, Invalid
from engram.model.caller import Caller
from engram.model.change import Change, Token
from engram.model.filter import ANYTHING, Access
from engram.model.memory import Memory
from engram.model.query import Query
from engram.model.record import replace
from engram.model.text import query_terms
from engram.ports import Engine
from engram.rules import lifecycle
from engram.rules.policy import Policy

CALLERS = tuple(Caller(owner=owner, actor=owner, human=human) for owner in ("", "ada") for human in (True, False))
TERMS = tuple(dict.fromkeys(term for text in TEXTS for term in query_terms(text)))
ASKED = ("nobody", "de*", "po*", "f*", "80*", "gre*", "金*", "no*", "uv", "port", "fact")
QUESTIONS = st.one_of(
    *(st.lists(st.sampled_from((*query_terms(text), *ASKED)), min_size=1, max_size=3).map(tuple) for text in TEXTS)
)
PHRASES = ("we deploy", "on fridays", "port is", "never pip", "cafe", "金曜日", "deploy fridays", "is it")
SPACES = st.sampled_from((SPACE, SPACE, SPACE, SECOND, SECOND, THIRD))
PICK = st.integers(0, 1000)
WHERES = st.one_of(st.just(ANYTHING), st.just(ANYTHING), filters())
READERS = st.one_of(st.just(MINE), st.just(Access("ada")), ACCESSES)
"""Often all there is, so that searches find something to compare."""


class Twins(RuleBasedStateMachine):
    """Two engines that get the same Changes and must give the same answers; a subclass opens the other one."""

    def __init__(self) -> None:
        super().__init__()
        self.ram = RamEngine("replica")
        self.other = self.open("replica")
        self.clock = 0
        self.last: Change | None = None

    def open(self, replica: str) -> Engine:
        """The other store, as a process sees it that opens it now."""
        raise NotImplementedError

    def teardown(self) -> None:
        assert self.other.check() == []
        self.other.close()

    # --- the same act on both ---

    def both(self, act: Callable[[Engine], object]) -> object:
        """What both answer: the same value, or the same error."""
        first, second = (self.outcome(lambda e=engine: act(e)) for engine in (self.ram, self.other))
        assert first == second
        return first

    @staticmethod
    def outcome(act: Callable[[], object]) -> object:
        try:
            return act()
        except EngramError as error:
            return type(error)

    def commit(self, made: Change) -> None:
        self.last = made
        self.both(lambda engine: engine.commit(made))

    def story(self, caller: Caller) -> Story:
        self.clock += 1
        return Story(self.ram, caller=caller, name=f"s{self.clock:04d}", start=self.clock * 1000)

    def by_rule(self, make: Callable[[], Change]) -> None:
        """Commit what a rule answers, unless the rule refuses."""
        made = self.outcome(make)
        if isinstance(made, Change):
            self.commit(made)

    def some_memory(self, caller: Caller, pick: int) -> Memory | None:
        known = everything(self.ram, access=self.story(caller).access)
        return known[pick % len(known)] if known else None

    # --- writing ---

    @initialize(
        first=st.lists(
            st.tuples(st.sampled_from(CALLERS), st.sampled_from(TEXTS), st.sampled_from(SCOPES), st.booleans()),
            min_size=2,
            max_size=8,
        )
    )
    def begin(self, first):
        """A few memories, most with a vector: otherwise most histories would be those of an empty store."""
        for caller, text, scope, shared in first:
            story, said = self.story(caller), {"scope": scope, "visibility": "shared" if shared else "private"}
            request = story.request(confirmed="flag")
            self.by_rule(lambda s=story, r=request, t=text, d=said: s.admission(r, t, **d).change)
        for known, way in zip(everything(self.ram), WAYS, strict=False):
            self.both(lambda e, row=(known.id, known.imprint, way): e.put_vectors(SPACE, [row]))

    @rule(
        caller=st.sampled_from(CALLERS),
        text=st.sampled_from(TEXTS),
        said=st.fixed_dictionaries(
            {},
            optional={
                "key": st.sampled_from(("k1", "k2")),
                "scope": st.sampled_from(SCOPES),
                "kind": st.sampled_from(("decision", "identity")),
                "tags": st.lists(st.sampled_from(TAGS), max_size=2, unique=True).map(tuple),
                "visibility": st.sampled_from(("shared", "private")),
                "pinned": st.booleans(),
                "source": st.just("web:page"),
                "branch": st.just("repo#topic"),
                "apart": st.just(True),
            },
        ),
        confirmed=st.sampled_from(("", "", "flag")),
        token=st.one_of(
            st.none(),
            st.builds(Token, st.just(""), st.just("remember"), st.sampled_from("ab"), st.sampled_from("xy")),
        ),
        policy=st.sampled_from((Policy(), Policy(autopromote=False))),
    )
    def remember(self, caller, text, said, confirmed, token, policy):  # noqa: PLR0917 - one for each thing drawn
        story = self.story(caller)
        request = story.request(confirmed=confirmed)
        self.by_rule(lambda: story.admission(request, text, policy, **said).change._replace(token=token))

    @rule(
        caller=st.sampled_from(CALLERS),
        act=st.sampled_from(("forget", "restore", "promote", "reject", "purge", "verify")),
        pick=PICK,
        confirmed=st.sampled_from(("", "flag", "flag")),
    )
    def live_on(self, caller, act, pick, confirmed):
        subject = self.some_memory(caller, pick)
        if subject is None:
            return
        request = self.story(caller).request(confirmed=confirmed)

        def make() -> Change:
            if act == "promote":
                amended = self.some_amended(caller, subject)
                return lifecycle.promote(subject, request, amended=amended)[0]
            if act == "purge":
                return lifecycle.purge_all([subject], request)
            return getattr(lifecycle, act)(subject, request)

        self.by_rule(make)

    def some_amended(self, caller: Caller, proposal: Memory) -> Memory | None:
        refs = [proposal.amends] if proposal.amends else []
        return next(iter(self.ram.get("memory", refs, self.story(caller).access).values()), None)

    @rule(
        pick=PICK,
        said=st.fixed_dictionaries(
            {},
            optional={
                "text": st.sampled_from(TEXTS),
                "summary": st.sampled_from(("", "deploy")),
                "tags": st.lists(st.sampled_from(TAGS), max_size=2, unique=True).map(tuple),
                "scope": st.sampled_from(SCOPES),
                "visibility": st.sampled_from(("shared", "private")),
                "owner": st.sampled_from(("", "ada", None)),
                "pinned": st.booleans(),
            },
        ),
        claims=st.lists(st.sampled_from("cde"), max_size=2, unique=True),
    )
    def rewrite_by_hand(self, pick, said, claims):
        old = self.some_memory(CALLERS[0], pick)
        if old is not None and old.owner == "":
            new = replace(old, **said, revision=old.revision + 1)
            batch = self.story(CALLERS[0]).request().batch
            self.commit(change(new, was=old, claims={old.id: tuple(claims)}, batch=batch))

    @rule(n=st.integers(0, 3), revision=st.integers(1, 3), owner=st.sampled_from(("", "ada", None)))
    def keep_a_session(self, n, revision, owner):
        self.commit(change(session(f"session-{n}", revision=revision, owner=owner, agent=f"a{revision}")))

    @rule(n=st.integers(0, 3), revision=st.integers(1, 3), owner=st.sampled_from(("", "ada")))
    def keep_a_relation(self, n, revision, owner):
        self.commit(change(relation(f"relation-{n}", revision=revision, owner=owner), session("session-9")))

    @rule(type=st.sampled_from(("session", "relation")), n=st.integers(0, 3), revision=st.integers(1, 3))
    def drop_by_hand(self, type, n, revision):
        id = f"{type}-{n}"
        self.commit(change(drops=((type, id),), expects={id: revision}, batch="drop", action="forget"))

    @precondition(lambda self: self.last is not None)
    @rule()
    def commit_the_same_again(self):
        self.both(lambda engine: engine.commit(self.last))

    @rule(
        space=SPACES,
        picks=st.lists(
            st.tuples(PICK, st.booleans(), st.lists(st.sampled_from(WAYS), min_size=1, max_size=3).map(b"".join)),
            max_size=4,
        ),
    )
    def put_vectors(self, space, picks):
        known = [(self.some_memory(CALLERS[pick % len(CALLERS)], pick), *what) for pick, *what in picks]
        rows = [
            (each.id, "another imprint" if stale else each.imprint, ways) for each, stale, ways in known if each
        ]
        self.both(lambda engine: engine.put_vectors(space, rows))

    @rule(space=SPACES, way=st.sampled_from(WAYS), wanted=st.booleans())
    def put_all_that_lack(self, space, way, wanted):
        """So that spaces take over and over again."""
        if wanted:
            self.both(lambda engine: engine.put_vectors(space, []))
        for owner in ("", "ada"):
            lacking = self.both(lambda e, owner=owner: e.lacking(space, Access(owner), limit=1000))
            rows = [(each.id, each.imprint, way) for each in lacking]
            self.both(lambda engine, rows=rows: engine.put_vectors(space, rows))

    @rule(nonsense=st.sampled_from((b"", EAST[:-4], EAST + EAST[:8])), pick=PICK)
    def put_nonsense(self, nonsense, pick):
        known = self.some_memory(CALLERS[0], pick)
        rows = [(known.id, known.imprint, each) for each in (EAST, nonsense)] if known else [("x", "y", nonsense)]
        assert self.both(lambda engine: engine.put_vectors(SECOND, rows)) is Invalid

    @rule()
    def close_and_open_again(self):
        self.other.close()
        unused = "another" if self.ram.events(limit=1) else "replica"  # a replica is named by its first commit
        self.other = self.open(unused)

    # --- reading ---

    @rule(access=ACCESSES, n=st.integers(1, 30), pick=PICK, cut=st.integers(1, 14))
    def get(self, access, n, pick, cut):
        known = self.some_memory(CALLERS[pick % len(CALLERS)], pick)
        refs = [f"mem-{n:04d}", f"MEM-{n}", "s000", *([known.id, known.id[:cut]] if known else [])]
        for ref in refs:
            self.both(lambda engine, ref=ref: with_handles(engine.get("memory", [ref], access)))
        for kind in ("session", "relation"):
            others = [f"{kind}-{n % 4}", f"{kind[:3]}-1"]
            self.both(lambda e, kind=kind, others=others: with_handles(e.get(kind, others, access)))

    @rule(
        where=filters(),
        access=ACCESSES,
        size=st.integers(1, 4),
        oldest=st.booleans(),
        type=st.sampled_from(("memory", "session", "relation")),
    )
    def scan(self, where, access, size, oldest, type):
        if type != "memory":
            where = where.__class__(ids=where.ids)
        after = None
        while True:
            page = self.both(
                lambda e, after=after: e.scan(type, where, access, after=after, limit=size, oldest=oldest)
            )
            after = page.next
            if after is None:
                break

    @rule(
        where=WHERES,
        access=READERS,
        terms=QUESTIONS,
        every=st.booleans(),
    )
    def search(self, where, access, terms, every):
        query = Query(terms=terms, every=every, where=where, limit=1000)
        self.both(lambda engine: {hit.memory for hit in engine.search(query, access)})

    @rule(
        where=WHERES,
        access=READERS,
        terms=st.one_of(st.just(()), QUESTIONS, QUESTIONS),
        variants=st.dictionaries(
            st.sampled_from((*TERMS, *ASKED)), st.lists(st.sampled_from((*TERMS, *ASKED)), max_size=2).map(tuple)
        ),
        phrases=st.one_of(st.just(()), st.just(()), st.lists(st.sampled_from(PHRASES), max_size=2).map(tuple)),
        every=st.booleans(),
    )
    def search_by_shares(self, where, access, terms, variants, phrases, every):  # noqa: PLR0917 - as above
        others = {term: variants.get(term, ()) for term in terms}
        query = Query(terms, every, without_repeats(others), phrases, where=where, limit=1000)
        with self.opened() as fresh:
            first, second = ({hit.memory: hit.words for hit in e.search(query, access)} for e in (self.ram, fresh))
            carried, counted = (e.census(terms, access) for e in (self.ram, fresh))
            pieces = {term[1:-1] for term in terms}
            held, inside = ([e.containing(piece, access) for piece in sorted(pieces)] for e in (self.ram, fresh))

        assert second == pytest.approx(first)
        assert counted == carried
        assert inside == held

    @contextmanager
    def opened(self) -> Iterator[Engine]:
        """The store as another process sees it: without counts that may lag behind."""
        other = self.open("unused")
        yield other
        other.close()

    @rule(where=WHERES, access=READERS, way=st.sampled_from(WAYS), space=SPACES, some=st.booleans(), pick=PICK)
    def search_by_meaning(self, where, access, way, space, some, pick):  # noqa: PLR0917 - as above
        known = self.some_memory(CALLERS[pick % len(CALLERS)], pick)
        if some and known:
            where = where._replace(ids=(known.id, "absent"))
        query = Query(vector=way, space=space, where=where, limit=1000)
        self.both(lambda engine: engine.search(query, access))

    @rule(
        where=WHERES,
        access=READERS,
        way=st.sampled_from(WAYS),
        terms=QUESTIONS,
        phrases=st.one_of(st.just(()), st.just(()), st.lists(st.sampled_from(PHRASES), max_size=1).map(tuple)),
        limit=st.integers(1, 3),
    )
    def search_by_words_and_meaning(self, where, access, way, terms, phrases, limit):  # noqa: PLR0917 - as above
        query = Query(terms, every=False, phrases=phrases, vector=way, space=SPACE, where=where, limit=1000)
        self.both(
            lambda engine: {(hit.memory, hit.words is None, hit.cosine) for hit in engine.search(query, access)}
        )
        few = query._replace(limit=limit, phrases=())  # equal scores may be cut either way
        nearest = lambda hits: sorted(hit.cosine for hit in hits if hit.cosine is not None)[-limit:]  # noqa: E731
        self.both(lambda engine: nearest(engine.search(few, access)))
        for engine in (self.ram, self.other):
            hits = engine.search(few, access)
            assert sum(hit.words is not None for hit in hits) <= limit >= sum(hit.words is None for hit in hits)

    @rule(access=READERS, space=SPACES, limit=st.integers(1, 5))
    def lacking(self, access, space, limit):
        self.both(lambda engine: engine.lacking(space, access, limit=limit))

    @invariant()
    def backlog_is_the_same(self):
        self.both(lambda engine: engine.backlog(MINE))

    @rule(after=st.integers(0, 12), newest=st.booleans(), limit=st.integers(1, 5), pick=PICK)
    def events(self, after, newest, limit, pick):
        known = self.some_memory(CALLERS[0], pick)
        self.both(lambda engine: engine.events(after=after, newest=newest, limit=limit))
        if known is not None:
            self.both(lambda engine: engine.events(subject=known.id, after=after, newest=newest))
        if self.last is not None:
            self.both(lambda engine: engine.events(batch=self.last.draft.batch))

    @rule(name=st.sampled_from("ab"), request=st.sampled_from("xy"))
    def ask_for_a_token(self, name, request):
        self.both(lambda engine: engine.events(token=Token("", "remember", name, request)))

    @invariant()
    def history_is_the_same(self):
        self.both(lambda engine: engine.events(limit=1000))


def without_repeats(variants: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Each form of one term only: what counts for two of them at once, engines may reckon in their own way."""
    seen = set(variants)
    return {
        term: tuple(form for form in forms if not (form in seen or seen.add(form)))
        for term, forms in variants.items()
    }


def with_handles(found: dict) -> dict:
    return {ref: (record, record.handle) for ref, record in found.items()}


class SqliteTwins(Twins):
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        super().__init__()

    def open(self, replica: str) -> Engine:
        return open_store(self.folder / "store.db", replica)

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.folder)


class PostgresTwins(Twins):
    def __init__(self) -> None:
        self.database, self.org = shared_database(), uuid.uuid4().hex
        super().__init__()

    def open(self, replica: str) -> Engine:
        return PostgresEngine(self.database, self.org, new_replica=lambda: replica)


TestSqlite = SqliteTwins.TestCase
TestSqlite.settings = settings(max_examples=250, stateful_step_count=40)
TestPostgres = PostgresTwins.TestCase
TestPostgres.settings = settings(max_examples=60, stateful_step_count=40)
