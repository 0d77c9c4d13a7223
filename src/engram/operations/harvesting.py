"""One harvest: through conversations turn by turn, with what is found proposed and what is read kept in mind."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from engram.errors import Conflict, EngramError, Invalid, Moved, Unavailable
from engram.interop.transcripts import HARNESSES, Conversation, Turn, find, read
from engram.model.answers_work import Harvested
from engram.model.extraction import Extracted
from engram.model.hashing import sha256
from engram.model.limits import LIMITS, cut
from engram.model.memory import Citation, Context, Memory, Origin
from engram.model.scope import GLOBAL, Scope
from engram.model.text import digest, tokens
from engram.operations.base import Call
from engram.operations.bearing import known
from engram.operations.memories import admit
from engram.operations.scopes import scope_named
from engram.ports import Extractor, Harvesting
from engram.rules.admission import admit as decide_on
from engram.rules.capture import without_recalled
from engram.rules.harvest import EXCERPT, holds_everywhere, says_something, statements
from engram.rules.proposals import Proposal, prepare
from engram.rules.redact import redact

__all__ = ["HARNESSES", "MOST_FAILURES", "Run"]

MOST_PROBLEMS = 20
MOST_FAILURES = 3
"""After so many answers in a row that were no use, an endpoint is left alone."""

CHUNK = 3_000
"""Tokens of a talk that a model is asked about at once."""

LONGEST_MESSAGE = 4 * CHUNK
"""Characters of one message that are sent to a model."""


class _Found(NamedTuple):
    """A statement, and the turn that it was found in."""

    turn: Turn
    text: str
    kind: str
    confidence: float
    origin: Origin
    excerpt: str


class _Step(NamedTuple):
    """What was found up to a mark; `lost` when a model gave no answer, so that nothing is known up to there."""

    mark: str
    found: Sequence[_Found] = ()
    lost: bool = False


class Run:
    """One harvest: goes through conversations, and counts what becomes of them."""

    def __init__(
        self,
        call: Call,
        tools: Harvesting,
        model: Extractor | None,
        *,
        project: str,
        limit: int,
        again: bool,
        dry_run: bool,
    ) -> None:
        self.call, self.tools, self.model = call, tools, model
        self.project = project.removeprefix("project:")
        self.limit, self.again, self.dry_run = limit, again, dry_run
        self.batch = call.new_id()
        self.files = self.turns = self.repeated = self.tokens = self.failures = 0
        self.proposed: list[Memory] = []
        self.skipped: Counter[str] = Counter()
        self.problems: list[str] = []
        self.previewed: set[tuple[Scope, str]] = set()
        self.over = False

    def over_all(self, paths: Sequence[str], harness: str) -> Harvested:
        """Go through every conversation at these paths, until all are read or it is enough.

        Raises:
            Invalid: when a path is not there, or a file that was named is no transcript.
        """
        conversations: dict[tuple[str, str], Conversation] = {}
        for path in paths:
            there = find(path, harness)
            conversations |= {(one.path, one.session): one for one in there.conversations}
            self.skipped["unknown"] += there.unknown
            self.problems += there.problems
        for done, conversation in enumerate(conversations.values(), start=1):
            if self.over:
                break
            self.take(conversation)
            self.call.progress(done, len(conversations), "harvesting")
        return Harvested(
            at=self.call.now,
            files=self.files,
            turns=self.turns,
            proposed=tuple(self.proposed),
            repeated=self.repeated,
            skipped=dict(sorted((+self.skipped).items())),
            problems=tuple(self.problems[:MOST_PROBLEMS]),
            tokens=self.tokens,
            dry_run=self.dry_run,
            batch=self.batch if self.proposed and not self.dry_run else "",
        )

    def take(self, conversation: Conversation) -> None:
        """Propose what is new in a conversation, and keep how far it was read."""
        if conversation.aside:
            self.skipped["sidechain"] += 1
            return
        name = self._name(conversation)
        stamp, mark = ("", "") if self.again else self.tools.cursors.get(name) or ("", "")
        if stamp == conversation.stamp:
            self.skipped["unchanged"] += 1
            return
        try:
            scope = self._scope(conversation)
            reading = read(conversation, mark)
        except EngramError as error:
            self.problems.append(f"{conversation.path}: {error.message}")
            return
        except OSError as error:
            self.problems.append(f"{conversation.path} cannot be read: {error.strerror}.")
            return
        self.files += 1
        self.skipped.update(reading.skipped)
        for step in self._by_model(reading.turns) if self.model else self._by_rules(reading.turns):
            if step.lost:
                break
            for found in step.found:
                self._propose(found, conversation, self._home_of(found, scope))
            mark = step.mark
            if len(self.proposed) >= self.limit:
                self.over = True
                break
            if self.model:  # what was paid for is not asked again, whatever comes
                self._keep(name, "", mark)
        else:
            self._keep(name, conversation.stamp, reading.mark)
            return
        self._keep(name, "", mark)

    def _name(self, conversation: Conversation) -> str:
        """What a conversation goes by: for one store, one owner and one way of finding, wherever its file lies."""
        how = "endpoint" if self.model else "rules"
        parts = (self.call.store, self.call.caller.owner, how, conversation.harness, conversation.session)
        return sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _keep(self, name: str, stamp: str, mark: str) -> None:
        if self.dry_run:
            return
        try:
            self.tools.cursors.put(name, stamp, mark)
        except Unavailable as error:
            if error.message not in self.problems:
                self.problems.append(error.message)

    def _scope(self, conversation: Conversation) -> Scope:
        if self.project:
            return scope_named(self.call, f"project:{self.project}")
        if not conversation.folder:
            return self.call.home
        if self.tools.place is not None:
            return self.tools.place(conversation.folder)
        return scope_named(self.call, f"project:{conversation.project}")

    def _home_of(self, found: _Found, scope: Scope) -> Scope:
        """Where what was found holds: what a person says of themselves everywhere, unless a project was named."""
        own = found.turn.role == "user" and holds_everywhere(found.text, found.kind)
        return GLOBAL if own and not self.project else scope

    def _clean(self, turn: Turn) -> str:
        """A turn's words without what was recalled into it and without secrets; counted."""
        said = without_recalled(turn.text)
        self.turns += 1
        self.skipped["recalled"] += said != turn.text
        redaction = redact(said)
        self.skipped["redacted"] += len(redaction.kinds)
        return redaction.text

    def _by_rules(self, turns: Sequence[Turn]) -> Iterator[_Step]:
        for turn in turns:
            said = self._clean(turn)
            self.tokens += tokens(said)
            origin: Origin = "said" if turn.role == "user" else "inferred"
            found = [
                _Found(turn, one.text, one.kind, one.confidence, origin, one.excerpt)
                for one in statements(turn.role, said)
            ]
            yield _Step(turn.mark, found)

    def _by_model(self, turns: Sequence[Turn]) -> Iterator[_Step]:
        """Ask about some turns at a time. An answer that is no use ends the conversation, and three of them all."""
        assert self.model is not None
        kinds = _kinds(self.call)
        for chunk in _chunks((turn, self._cut(self._clean(turn))) for turn in turns):
            messages = [(turn.role, said) for turn, said in chunk]
            mark = chunk[-1][0].mark
            if self.dry_run:
                self.tokens += self.model.cost(messages, kinds)
                yield _Step(mark)
                continue
            answer = self.model.extract(messages, kinds)
            self.tokens += answer.tokens
            self.failures = self.failures + 1 if answer.problem else 0
            if answer.problem:
                self.problems.append(f"{answer.problem} {answer.hint}".strip())
                self.over = self.over or answer.over or self.failures >= MOST_FAILURES
                yield _Step(mark, lost=True)
                return
            worth = [one for one in answer.found if says_something(one.text)]
            self.skipped["trivial"] += len(answer.found) - len(worth) + answer.dropped
            yield _Step(mark, [_from_model(one, *chunk[one.message]) for one in worth])

    def _cut(self, said: str) -> str:
        self.skipped["cut"] += len(said) > LONGEST_MESSAGE
        return said[:LONGEST_MESSAGE]

    def _propose(self, found: _Found, conversation: Conversation, scope: Scope) -> None:
        """Let admission decide. What cites this very message already was harvested before, and changes nothing."""
        said = self._proposal(found, conversation, scope)
        try:
            memory = self._preview(said) if self.dry_run else self._admit(said)
        except Moved as error:
            self.problems.append(error.message)
        except Conflict:
            self.skipped["rejected"] += 1
        except Invalid as error:
            self.skipped["refused"] += 1
            self.problems.append(f"{conversation.path}: {error.message}")
        else:
            if memory is None:
                self.repeated += 1
            else:
                self.proposed.append(memory)

    def _proposal(self, found: _Found, conversation: Conversation, scope: Scope) -> Proposal:
        where = self.project or conversation.project
        source = f"harness:{conversation.harness}:{where}" if where else f"harness:{conversation.harness}"
        session = _within("name", conversation.session)
        return Proposal(
            text=found.text,
            kind=found.kind,
            scope=scope,
            session=session,
            citations=(
                Citation("message", session, _within("locator", found.turn.message), excerpt=found.excerpt),
            ),
            origin=found.origin,
            source=_within("source", source),
            learned_by="harvest",
            visibility="private" if scope == GLOBAL else None,
            confidence=found.confidence,
            context=Context(agent=conversation.harness, base_dir=_within("context", conversation.folder)),
        )

    def _admit(self, said: Proposal) -> Memory | None:
        prepared = prepare(said, self.call.request(), self.call.policy)
        if _harvested_before(prepared, known(self.call, prepared).twins):
            return None
        answer = admit(self.call, said, batch=self.batch)
        return None if answer.outcome == "repeated" else answer.memory

    def _preview(self, said: Proposal) -> Memory | None:
        request = self.call.request()
        prepared = prepare(said, request, self.call.policy)
        decision = decide_on(prepared, known(self.call, prepared), self.call.policy, request)
        place = (prepared.scope, digest(prepared.text))
        fresh = decision.outcome != "repeated" and place not in self.previewed
        self.previewed.add(place)
        return decision.memory if fresh else None


def _harvested_before(prepared: Proposal, twins: Sequence[Memory]) -> bool:
    cited = {(one.ref, one.locator) for one in prepared.citations or ()}
    return any(
        (one.ref, one.locator) in cited
        for twin in twins
        if twin.status != "rejected" and twin.forgotten_at is None
        for one in twin.citations
    )


def _from_model(one: Extracted, turn: Turn, said: str) -> _Found:
    return _Found(turn, one.text, one.kind, one.confidence, "inferred", said[:EXCERPT])


def _chunks(turns: Iterable[tuple[Turn, str]]) -> Iterator[list[tuple[Turn, str]]]:
    """Turns that a model is asked about together, in order."""
    chunk: list[tuple[Turn, str]] = []
    size = 0
    for turn, said in turns:
        if chunk and size + tokens(said) > CHUNK:
            yield chunk
            chunk, size = [], 0
        chunk.append((turn, said))
        size += tokens(said)
    if chunk:
        yield chunk


def _kinds(call: Call) -> list[str]:
    """The kinds that a model may choose from: those that stand for themselves and are recalled by themselves."""
    rows = call.policy.kinds.values()
    return [kind.name for kind in rows if kind.recall == "always" and not (kind.cited or kind.apart)]


def _within(field: str, value: str) -> str:
    """A name as far as its field can hold it: it comes from outside, and tells where and not what."""
    return cut(value, LIMITS[field])
