"""One question, answered: gather by words and by meaning, weigh, collapse what says the same, cut, and tell why."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import chain, count, islice
from typing import NamedTuple

from engram.errors import Unavailable
from engram.model.answers import Recalled, Recollection
from engram.model.event import Event
from engram.model.evidence import BROKEN, Check
from engram.model.filter import Access, Filter, matches
from engram.model.memory import Memory, Standing, standing
from engram.model.query import Census, Hit, Query, cosine, says_all
from engram.model.text import NEGATIONS, is_latin, query_terms, terms, tokens
from engram.ports import Embedder, Engine
from engram.recall import history
from engram.recall.lexical import Words, read
from engram.recall.meaning import Meaning, begin, embed, meaning_of
from engram.recall.periods import sought
from engram.recall.timewords import TimeAsked, asked
from engram.recall.weigh import WIDTH, Asking, Candidate, weigh
from engram.rules.past import as_of

CANDIDATES = 40
"""How many are taken by words, and as many by meaning."""

RELEVANT = 0.2
"""Below this relevance a memory is no answer: chosen so that few questions that have one lose it."""

CLEAR = 0.5
"""From this relevance on, a memory is likely an answer: hits below are said to come near, and what is not in use is
said to have been an answer."""

LOOKED_AT = 5
"""Where none of so many first ones is relevant, there is no answer."""

NEAR_BEST, FAINT = 0.5, 0.05
"""A hit below `RELEVANT` is kept if its score is at least this share of the best one, and its relevance at least
`FAINT`."""

ALIKE = 0.9
"""Texts that share this much of their terms say the same, if no number is among what they do not share."""

SHOUTED = 4
"""A word in capitals of so many letters may be a word said aloud; shorter ones are abbreviations that it knows."""

MOST_COUNTED = 100
MOST_EVENTS = 1000
"""How many events of a memory are read at a time."""

MOST_REWORDED = 500
"""How many memories that were reworded since are looked at, when a question is about an earlier moment."""

RECENT, SHORT, LONG = 1024, 2048, 64
"""Of how many texts that were answers the terms are kept, up to which length of a text, and of how many that are
longer: a few megabytes."""

HELD_BACK: tuple[Standing, ...] = ("pending", "stale", "expired", "scheduled", "replaced", "staged")


class Question(NamedTuple):
    """A question with everything that bounds its answer."""

    question: str
    where: Filter  # scope and kinds; standing is set here, so that no path recalls what is not live
    access: Access
    now: datetime
    limit: int
    embedder: Embedder | None = None  # None: words alone
    begun: Meaning | None = None  # its vector, where that was begun already
    moment: datetime | None = None  # what was known then
    weak: bool = False  # also what is not relevant
    standings: tuple[Standing, ...] = ("live",)  # a person may look through others; none is recalled otherwise
    evidence: Callable[[Sequence[Memory]], Mapping[str, tuple[Check, ...]]] | None = None  # looks at citations
    judged: Callable[[Memory], bool] | None = None  # whether a verdict on it is the asker's; None: on its own


def recall(engine: Engine, ask: Question) -> Recalled:
    """The live, readable memories that answer a question, or nothing where nothing does.

    Raises:
        Conflict: when the store's vectors are of another model than the embedder's.
    """
    time = asked(ask.question, ask.moment or ask.now)
    kind = sought(ask.question, time)
    if kind is not None and ask.moment is None:
        return _of_that_time(engine, ask, time, kind)
    # The vector is begun first. All that can do without it comes before it is waited for, in the engine's search.
    meaning = _meaning(engine, ask)
    words = read(engine, ask.question, ask.access)
    if not (words.terms or words.phrases):
        meaning = Meaning()  # marks alone mean nothing, and would be near to anything
    held_back = _held_back(engine, words, ask) if ask.moment is None else {}
    asking = Asking(ask.question, ask.now, time, bool(words.strange), words.phrases)
    awaited = _Awaited(meaning, asking, ask.limit)
    pool = _gather(engine, ask, words, awaited)
    if words.strange and ask.moment and _knew(pool, words.strange):
        words, asking = words._replace(strange=""), asking._replace(strange=False)
    if words.guessed and ask.embedder and all(map(ask.embedder.knows, words.guessed)):
        asking = asking._replace(guessed=True)
    hits = weigh(pool, asking)
    first = list(islice(hits, LOOKED_AT))
    declined = not ask.weak and all(hit.relevance < RELEVANT for hit in first)
    clear = () if declined else _clear(chain(first, hits), weak=ask.weak)
    cited = ask.evidence is not None and any(one.memory.citations for one in pool)
    kept, collapsed = _collapse(_verified(clear, ask) if cited else clear, ask.limit)
    weak = len(pool) if declined else 0
    unsure = bool(kept) and all(hit.relevance < CLEAR for hit, _ in kept)
    sure = bool(kept) and not unsure
    # It may have been said at an earlier moment, and of what is weak nothing else is expected.
    unsaid = [] if ask.moment or ask.weak or not sure else list(_unsaid(engine, ask, words, kept))
    if not kept and not held_back and ask.moment is None:
        held_back = _answers_out_of_use(engine, ask, words, awaited._replace(asking=asking))
    return Recalled(
        at=ask.now,
        query=ask.question,
        hits=tuple(hit for hit, _ in kept),
        held_back=held_back,
        weak=min(weak, MOST_COUNTED),
        collapsed=collapsed,
        relaxed=bool(kept) and not any(_carries(hit.memory, said, words) for hit, said in kept),
        by_meaning=bool(meaning.vector()),
        behind=meaning.behind,
        time=time.said,
        unsure=unsure,
        hint=_hint(
            words,
            meaning,
            weak,
            unsaid,
            found=bool(kept),
            unsure=unsure and not ask.weak,
            narrowed=_is_narrowed(ask),
        ),
    )


def _of_that_time(engine: Engine, ask: Question, time: TimeAsked, kind: str) -> Recalled:
    """What was saved at the time asked for, the newest first; of the kind that was meant, where there is any of it.

    There is no subject to be near to, so nothing is compared, and all of that time is equally relevant.
    """
    bounds = ask.where
    since = max(filter(None, (bounds.since, time.since)), default=None)
    until = min(filter(None, (bounds.until, time.until)), default=None)
    where = bounds._replace(since=since, until=until, standings=ask.standings, now=ask.now)
    narrow = where._replace(kinds=(kind,)) if kind and not where.kinds else where

    def found(where: Filter) -> list[Recollection]:
        page = engine.scan("memory", where, ask.access, limit=CANDIDATES + ask.limit, oldest=time.order == "oldest")
        memories = (one for one in page.records if isinstance(one, Memory))
        return [Recollection(one, 1.0, 1.0, {"time": 1.0}, tokens(one.gist)) for one in memories]

    hits = found(narrow) or found(where)
    kept, collapsed = _collapse(_verified(hits, ask), ask.limit)
    hint = f"Nothing of that time ({time.said}) is known."
    if _is_narrowed(ask):
        hint = f"Nothing of that time ({time.said}) is known here. Try --everywhere."
    if kept:
        hint = "There is more of that time: give a higher --limit." if len(hits) > len(kept) + collapsed else ""
    return Recalled(
        at=ask.now,
        query=ask.question,
        hits=tuple(hit for hit, _ in kept),
        collapsed=collapsed,
        time=time.said,
        hint=hint,
    )


def _meaning(engine: Engine, ask: Question) -> Meaning:
    if ask.embedder is None:
        return Meaning()
    return meaning_of(engine, ask.embedder, ask.begun or begin(ask.embedder, ask.question), ask.access)


class _Awaited(NamedTuple):
    """A question's vector while it is made, and what the time until then is used for."""

    meaning: Meaning
    asking: Asking
    limit: int

    def vector(self, worded: Sequence[Hit]) -> bytes:
        """The vector. Until it is there, what words found is weighed and compared as if it were all.

        The result is thrown away: this only warms up. Half of these hits come back in the true answer, their terms
        are cached by then, and the same code then takes two thirds of the time.
        """
        if self.meaning.beside:
            pool = _pool(worded, _ranks(worded, 0), None)
            _collapse(islice(weigh(pool, self.asking), self.limit), self.limit)
        return self.meaning.vector()


def _gather(engine: Engine, ask: Question, words: Words, awaited: _Awaited) -> list[Candidate]:
    """Candidates from the whole readable, live set, each once, with both of its scores."""
    where = _then(ask) if ask.moment else ask.where._replace(standings=ask.standings, now=ask.now)
    query = Query(
        words.terms,
        every=False,
        variants=words.variants,
        phrases=words.required,
        where=where,
        limit=max(ask.limit, CANDIDATES),
    )
    if ask.embedder and awaited.meaning.making:
        query = query._replace(coming=awaited.vector, space=ask.embedder.space, lean=ask.embedder.lean)
    hits = engine.search(query, ask.access)
    # A phrase that must be there: meaning then only orders what has it.
    pool = _pool(hits, _ranks(hits, 0 if words.required else query.limit), ask.embedder)
    return _as_it_was(engine, ask, words, awaited.meaning, pool) if ask.moment else pool


def _ranks(hits: Sequence[Hit], nearest: int) -> list[dict[str, int]]:
    """The place of each hit among all that words found, and among so many that are nearest."""
    worded = count(1)
    ranks = [{} if hit.words is None else {"words": next(worded)} for hit in hits]
    near = sorted((-hit.cosine, hit.memory.id, at) for at, hit in enumerate(hits) if hit.cosine is not None)
    for rank, (_, _, at) in enumerate(near[:nearest], start=1):
        ranks[at]["meaning"] = rank
    return ranks


def _pool(hits: Sequence[Hit], ranks: Sequence[dict[str, int]], embedder: Embedder | None) -> list[Candidate]:
    """The hits on the scales that weighing knows."""
    pool: list[Candidate] = []
    for (memory, words, near), places in zip(hits, ranks, strict=True):
        if near is not None and embedder and (not embedder.latin or is_latin(memory.text)):
            pool.append(Candidate(memory, words or 0.0, _above(embedder.floor, near), places))
        elif words is not None:
            # What the model cannot read is near to everything else it cannot read: only its words count.
            pool.append(Candidate(memory, words, None, places))
    return pool


def _above(floor: float, cosine: float) -> float:
    """A cosine on the scale that all models share: 0 has nothing in common, 1 is the same in other words."""
    return (cosine - floor) / (WIDTH * (1 - floor))


def _then(ask: Question) -> Filter:
    """What may have been live at an earlier moment: whatever was there, however it stands and is called now."""
    assert ask.moment is not None
    until = ask.moment + timedelta(microseconds=1)  # what was saved at that very moment was known
    return ask.where._replace(until=until, kinds=(), except_kinds=(), tags=(), now=ask.now)


def _as_it_was(
    engine: Engine, ask: Question, words: Words, meaning: Meaning, pool: list[Candidate]
) -> list[Candidate]:
    """The candidates as they stood at the moment asked for: those that were live then, in the words they had then.

    The indexes know today's words only, so what was reworded since is looked at one by one. Who may read a memory
    now may not always have been allowed to: what it was then must have been readable too.
    """
    assert ask.moment is not None
    reworded = tuple(_reworded(engine, ask.moment))
    found = engine.scan("memory", _then(ask)._replace(ids=reworded), ask.access, limit=MOST_REWORDED).records
    known = {one.memory.id for one in pool}
    pool = [*pool, *(Candidate(one) for one in found if isinstance(one, Memory) and one.id not in known)]
    wanted = ask.where._replace(standings=("live",), now=ask.moment)
    census = engine.census(words.terms, ask.access)
    then: list[Candidate] = []
    for one in pool:
        memory = as_of(one.memory, _history(engine, one.memory.id), ask.moment)
        if memory is None or not matches(memory, wanted) or not says_all(memory, words.required):
            continue
        if not ask.access.allows(memory.owner, memory.visibility, memory.scope):
            continue
        if memory.imprint == one.memory.imprint:
            then.append(one._replace(memory=memory))
        else:
            share, closeness = _share(memory, words, census), _closeness(memory, ask, meaning)
            then.append(Candidate(memory, share, closeness, one.ranks))
    return then


def _history(engine: Engine, id: str) -> list[Event]:
    """All that was ever done to a memory: each time that it was said again is an event too."""
    return list(history.events(engine, subject=id, newest=True, at_once=MOST_EVENTS))


def _reworded(engine: Engine, moment: datetime) -> Iterator[str]:
    """The ids of memories whose words were changed after a moment, the latest first."""
    seen: dict[str, None] = {}
    own = engine.replica()
    for event in history.events(engine, newest=True, at_once=200):
        if event.at <= moment and event.replica != own:
            continue  # it came from another store, later than it was made
        if event.at <= moment or len(seen) >= MOST_REWORDED:
            return
        for edit in event.edits:
            if edit.field in ("text", "summary", "tags") and edit.old is not None and edit.id not in seen:
                seen[edit.id] = None
                yield edit.id


def _knew(pool: Sequence[Candidate], name: str) -> bool:
    """Whether memories had this name at the moment asked for: an index tells it of today's words alone."""
    said = set(query_terms(name))
    return any(not said.isdisjoint(_held(one.memory)) for one in pool)


def _share(memory: Memory, words: Words, census: Census) -> float:
    """The share of the question's words a text has, by how telling they are: what an index would say of it."""
    held = _held(memory)
    groups = [(term, *words.variants.get(term, ())) for term in words.terms]
    asked = sum(census.rarity(group) for group in groups) or 1.0
    return sum(census.rarity(group) for group in groups if held.intersection(group)) / asked / 2


def _closeness(memory: Memory, ask: Question, meaning: Meaning) -> float | None:
    """How near a text of then is to the question; None where the model cannot tell, and words alone must do."""
    embedder = ask.embedder
    if embedder is None or not meaning.vector() or (embedder.latin and not is_latin(memory.text)):
        return None
    with suppress(Unavailable):
        return _above(embedder.floor, cosine(meaning.vector(), embed(embedder, [memory])[0][2]))
    return None


def _clear(hits: Iterable[Recollection], *, weak: bool) -> Iterator[Recollection]:
    """The hits without those that are neither relevant nor anywhere near the best."""
    best = 0.0
    for hit in hits:
        best = max(best, hit.score)
        if weak or hit.relevance >= RELEVANT or (hit.relevance >= FAINT and hit.score >= NEAR_BEST * best):
            yield hit


def _verified(hits: Iterable[Recollection], ask: Question) -> list[Recollection]:
    """The hits with what became of their citations; those that rest on what changed or is gone come last."""
    taken = list(hits)
    found = ask.evidence([hit.memory for hit in taken]) if ask.evidence else {}
    told = [hit._replace(evidence=found[hit.memory.id]) if hit.memory.id in found else hit for hit in taken]
    return sorted(told, key=lambda hit: hit.verdict in BROKEN)  # stable: the best first among equals


Said = tuple[Recollection, frozenset[str]]
"""A hit, and the terms of its text."""


def _collapse(hits: Iterable[Recollection], limit: int) -> tuple[list[Said], int]:
    """The best of those that say the same, up to the limit; and how many were left out for it."""
    kept: list[Said] = []
    left_out = 0
    for hit in hits:
        if len(kept) == limit:
            break
        said = (hit, _said(hit.memory.text))
        if any(_alike(said, other) for other in kept):
            left_out += 1
        else:
            kept.append(said)
    return kept, left_out


def _alike(one: Said, other: Said) -> bool:
    """Whether two say the same: word for word, or in nearly the same terms."""
    shared = len(one[1] & other[1])
    if 2 * shared < len(one[1]):
        return False  # most pairs; the same words would also have the same terms
    if one[0].memory.digest == other[0].memory.digest:
        return True
    apart = one[1] ^ other[1]
    close = shared >= 4 and shared >= ALIKE * (shared + len(apart))
    return close and not any(term in NEGATIONS or not term.isalpha() for term in apart)


def _carries(memory: Memory, said: frozenset[str], words: Words) -> bool:
    """Whether a memory has every word of the question, in some spelling; `said` are the terms of its text."""
    groups = [(term, *words.variants.get(term, ())) for term in words.terms]
    lost = [group for group in groups if said.isdisjoint(group)]
    if not lost:
        return True
    held = _said(" ".join((memory.key, memory.kind, memory.summary, *memory.tags)))
    return not any(held.isdisjoint(group) for group in lost)


def _unsaid(engine: Engine, ask: Question, words: Words, kept: Sequence[Said]) -> Iterator[str]:
    """The names and abbreviations of a question that nothing it may find carries.

    Of what no hit carries, the store is asked again; a word in capitals that the model knows is only said aloud.
    """
    where = ask.where._replace(standings=ask.standings, now=ask.now)
    for word, forms in words.named.items():
        if any(not said.isdisjoint(forms) for _, said in kept):
            continue
        if len(word) >= SHOUTED and word.isupper() and ask.embedder and ask.embedder.knows(word):
            continue
        carriers = Query(forms, every=False, where=where, limit=1, ranked=False)
        if not (forms and engine.search(carriers, ask.access)):
            yield word


def _said(text: str) -> frozenset[str]:
    """The terms of a text, or of what stands beside it: of most memories that is their kind alone."""
    return _said_lately(text) if len(text) <= SHORT else _said_at_length(text)


@functools.lru_cache(maxsize=RECENT)
def _said_lately(text: str) -> frozenset[str]:
    """What answered one question often answers the next: its terms are kept."""
    return frozenset(terms(text))


@functools.lru_cache(maxsize=LONG)
def _said_at_length(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _held(memory: Memory) -> set[str]:
    texts = (f"{memory.key} {memory.kind} {memory.summary}", memory.text, "\n".join(memory.tags))
    return {term for text in texts for term in terms(text)}


def _held_back(engine: Engine, words: Words, ask: Question) -> dict[str, int]:
    """How many matches were left out, by standing: only what this caller may read.

    Those that wait are counted for whoever decides on them, those staged on a branch for their owner.
    """
    if not words.terms or words.apart:
        return {}
    others = tuple(stands for stands in HELD_BACK if stands not in ask.standings)
    if not others:
        return {}
    where = ask.where._replace(standings=others, now=ask.now)
    left = Query(
        words.terms, variants=words.variants, phrases=words.required, where=where, limit=MOST_COUNTED, ranked=False
    )
    return _counted(ask, (hit.memory for hit in engine.search(left, ask.access)))


def _answers_out_of_use(engine: Engine, ask: Question, words: Words, awaited: _Awaited) -> dict[str, int]:
    """The same where nothing in use answers, by words and meaning: what would clearly have been an answer."""
    others = tuple(stands for stands in HELD_BACK if stands not in ask.standings)
    pool = _gather(engine, ask._replace(standings=others), words, awaited) if others and words.terms else []
    return _counted(ask, (hit.memory for hit in weigh(pool, awaited.asking) if hit.relevance >= CLEAR))


def _counted(ask: Question, memories: Iterable[Memory]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for memory in memories:
        stands = standing(memory, ask.now, ask.where.view)
        if stands not in ("pending", "staged") or _concerns(ask, memory, stands):
            counts[stands] = counts.get(stands, 0) + 1
    return counts


def _concerns(ask: Question, memory: Memory, stands: Standing) -> bool:
    """Whether a memory that is not in use yet is the asker's own, or waits for the asker's verdict."""
    if stands == "pending" and ask.judged is not None:
        return ask.judged(memory)
    return memory.owner == ask.access.owner


def _is_narrowed(ask: Question) -> bool:
    """Whether there are places that were not looked at."""
    return bool(ask.where.scopes or ask.where.within)


def _hint(
    words: Words, meaning: Meaning, weak: int, unsaid: Sequence[str], *, found: bool, unsure: bool, narrowed: bool
) -> str:
    """Why nothing was found, or nothing that is sure, and below it what else there is to say."""
    said: list[str] = []
    if not found:
        said.append(_why_nothing(words, meaning, weak, narrowed=narrowed))
    elif unsure:
        said.append("No memory clearly answers that: these only come near.")
    elif unsaid:
        said.append(f"No memory here says {' or '.join(unsaid)}, so this may be about something else.")
    said.append(meaning.why)
    if meaning.behind:
        have = "memory has" if meaning.behind == 1 else "memories have"
        said.append(f"{meaning.behind:,} {have} no vector yet: engram reembed.")
    return "\n".join(filter(None, said))


def _why_nothing(words: Words, meaning: Meaning, weak: int, *, narrowed: bool) -> str:
    """Why nothing was found, and what to try; `weak` is how many came near."""
    if not words.terms and not words.phrases and not meaning.vector():
        return "There is no word to look for in that question."
    if weak and words.strange:
        return f"Nothing is known about {words.strange} here. See what came near with --weak."
    if weak and narrowed:
        return "Nothing relevant is known here. See what came near with --weak, or try --everywhere."
    if weak:
        return "Nothing relevant is known. See what came near with --weak."
    if narrowed:
        return "Nothing is known about that here. Try other words, or --everywhere."
    return "Nothing is known about that. Try other words."
