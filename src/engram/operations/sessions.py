"""An agent's stretches of work: session begin, end and list, and the timeline around a memory."""

from contextlib import suppress
from datetime import datetime
from typing import cast

from engram.errors import Conflict, Moved, NotFound, Unavailable
from engram.model.answers import Timeline
from engram.model.answers_work import Began, Ended, SessionList
from engram.model.change import Change, Request
from engram.model.codec import Record
from engram.model.event import Event
from engram.model.filter import Filter
from engram.model.limits import check_text
from engram.model.memory import NOWHERE, Context, Memory
from engram.model.refs import cursor_of
from engram.model.session import Session, session_ids
from engram.operations import parameters as p
from engram.operations.base import Call, no_longer_there, operation, require_between, sifted
from engram.operations.doubts import doubted
from engram.operations.evidence import settled
from engram.operations.scopes import in_view, scope_named, unplaced
from engram.rules import admission, sessions
from engram.rules.access import require_place
from engram.rules.admission import Admission, Known
from engram.rules.changes import join
from engram.rules.kinds import own_lists
from engram.rules.proposals import Proposal, prepare

MOST_AROUND = 50


@operation(
    "POST /v1/sessions",
    "engram session begin --agent claude-code",
    "engram session begin 8f2c --folder .",
    writes=True,
    adds=True,
)
def session_begin(
    call: Call,
    session: p.SessionName = "",
    *,
    scope: p.ScopeName = "",
    agent: p.Agent = "",
    folder: p.Folder = "",
    branch: p.Branch = "",
    commit: p.CommitId = "",
    token: p.Token = "",
) -> Began:
    """Begin a session, or resume one.

    A memory may name the session it was made in, but need not.
    """
    del token
    if (event := call.replayed()) is not None:
        return _began_before(call, event)
    name = session.strip() or call.new_id()
    check_text("name", name)
    given = {"agent": agent, "base_dir": folder, "branch": branch, "commit": commit}
    context = _merged(call.context, {name: value for name, value in given.items() if value})
    known = _named(call, name)
    place = scope_named(call, scope) if scope else call.home
    with suppress(Conflict):  # a folder that may be several projects is none that it was begun from
        if place != call.home and not context.project:
            context = _merged(context, {"project": str(call.home)})
    _settle(call)
    change = sessions.begin(known, name, place, context, call.request())
    if change is None:
        return _begun(call, cast("Session", known), resumed=True)
    try:
        done, _ = call.decide_and_commit(lambda: (change, None), tries=1)
    except Moved:  # it was begun in the same moment by another process of the same agent
        return _begun(call, cast("Session", _named(call, name)), resumed=True)
    if done.replayed:
        return _began_before(call, done.event)
    return _begun(call, cast("Session", change.puts[0]), resumed=known is not None)


def _begun(call: Call, session: Session, *, resumed: bool) -> Began:
    name = f'"{session.name}"' if " " in session.name else session.name
    hint = f"When it is done: engram session end {name} --summary TEXT"
    return Began(at=call.now, session=session, resumed=resumed, hint=hint)


def _began_before(call: Call, event: Event) -> Began:
    """The first answer again, with the session as it stands."""
    found = list(call.sessions(event.subjects).values())
    if not found:
        raise no_longer_there()
    made = any(edit.field == "id" for edit in event.edits)
    return _begun(call, found[0], resumed=not made)


def _settle(call: Call) -> None:
    """Bring in what was merged since the last session; what is in the way of that is not in the way of this one."""
    with suppress(Conflict, Unavailable):
        settled(call._replace(token=None))  # the token is of the session: a retry finds that, and settles nothing


@operation(
    "POST /v1/sessions/end",
    'engram session end --summary "Goal: …"',
    "engram session end 8f2c",
    writes=True,
    adds=True,
)
def session_end(
    call: Call,
    session: p.EndedSession = "",
    *,
    summary: p.Closing = "",
    scope: p.ScopeName = "",
    token: p.Token = "",
) -> Ended:
    """End a session, keeping what is said about it.

    By default the latest one that this agent began here and has not ended. If there is none, the summary is kept
    all the same.
    """
    del token
    if (event := call.replayed()) is not None:
        return _ended_before(call, event)
    if scope:
        place = scope_named(call, scope)
        call = call._replace(at_home=lambda: place)
    kept = summary.strip()
    under_way = _ending(call, session, kept=bool(kept))
    request = call.request()

    def decide() -> tuple[Change, tuple[Session | None, Admission | None]]:
        known = the_session(call, under_way.id) if under_way else None
        over = sessions.end(known, request) if known else None
        told = _summed_up(call, known, session, summary, request) if kept else None
        changes = [each for each in (over, told.change if told else None) if each is not None]
        after = cast("Session", over.puts[0]) if over else None
        return changes[0] if len(changes) == 1 else join(changes), (after, told)

    done, (after, told) = call.decide_and_commit(decide)
    if done.replayed:
        return _ended_before(call, done.event)
    memory = told.memory.known_as(done.handles.get(told.memory.id, "")) if told else None
    return Ended(at=call.now, session=after, summary=memory, event=done.event.seq)


def _ending(call: Call, name: str, *, kept: bool) -> Session | None:
    """The session that is to end, if one is under way.

    Raises:
        NotFound: when there is none of this name; or when none is under way, and nothing was said to be kept.
        Conflict: when the name fits several.
    """
    found = _find(call, name) if name else _under_way(call)
    if found is None and name:
        require_place(call.caller, call.home)
        raise NotFound(
            f"There is no session {name!r}.",
            "Name one that was begun (engram session list), or none: the latest under way.",
        )
    if found is None and not kept:
        raise NotFound("No session is under way here.", "Name one (engram session list), or give a --summary.")
    # What is said about a session that is over, or where none was begun, is kept all the same.
    return found if found is None or found.ended_at is None or not kept else None


def _summed_up(call: Call, session: Session | None, name: str, summary: str, request: Request) -> Admission:
    """What is said about a session, as a memory of its own."""
    said = Proposal(
        text=summary,
        kind="summary",
        scope=session.scope if session else call.home,
        session=session.name if session else name,
        context=session.context if session else call.context,
    )
    prepared = prepare(said, request, call.policy)
    return admission.admit(prepared, Known(doubted=doubted(call, prepared)), call.policy, request)


def _under_way(call: Call) -> Session | None:
    """The latest session under way that the caller began here, in whatever scope; for a person, else anyone's.

    One that was begun elsewhere is left alone: there the same agent may be at work.
    """
    newest = Filter(owner=call.caller.owner)
    found = (*_latest(call), *call.engine.scan("session", newest, call.access, limit=MOST_AROUND).records)
    begun = {one.id: one for one in cast("tuple[Session, ...]", found) if sessions.is_begun_in(one, call.home)}
    open = sorted((one for one in begun.values() if one.ended_at is None), key=_started, reverse=True)
    mine = [one for one in open if one.agent == call.caller.agent]
    return next(iter([*mine, *open] if call.caller.human else mine), None)


def _started(session: Session) -> tuple[datetime, str]:
    return session.started_at, session.id


def at_work(call: Call) -> str:
    """The name of the session in which what the caller remembers belongs unless one is named; empty for none."""
    if call.caller.session or call.caller.human:
        return call.caller.session
    return sessions.at_work(_latest(call, since=call.now - sessions.A_DAY), call.caller)


def _latest(call: Call, since: datetime | None = None) -> tuple[Session, ...]:
    """The caller's newest sessions here."""
    where = Filter(scopes=(call.home,), owner=call.caller.owner, since=since)
    return cast("tuple[Session, ...]", call.engine.scan("session", where, call.access, limit=MOST_AROUND).records)


def _ended_before(call: Call, event: Event) -> Ended:
    """The first answer again."""
    kept = list(call.memories(event.subjects).values())
    ended = list(call.sessions(event.subjects).values())
    return Ended(at=call.now, session=next(iter(ended), None), summary=next(iter(kept), None), event=event.seq)


@operation("GET /v1/sessions", "engram session list --open")
def session_list(
    call: Call,
    *,
    scope: p.InScope = "",
    session: p.OnlySession = "",
    open: p.OnlyOpen = None,
    everywhere: p.Everywhere = False,
    limit: p.Limit = 20,
    after: p.After = None,
) -> SessionList:
    """List sessions, newest first."""
    require_between("limit", limit, 1, 1000)
    if session:
        return SessionList(at=call.now, sessions=(the_session(call, session),))
    where = Filter(**in_view(call, scope, everywhere=everywhere))

    def fits(one: Record) -> bool:
        return open is None or open == (cast("Session", one).ended_at is None)

    page = sifted(call, "session", where, fits, after=after, limit=limit)
    found = cast("tuple[Session, ...]", page.records)
    hint = unplaced(call, scope, everywhere=everywhere)
    return SessionList(at=call.now, sessions=found, next=page.next, hint=hint)


@operation("GET /v1/memories/{memory}/timeline", "engram timeline mem-0007 --before 3 --after 3")
def timeline(call: Call, memory: p.Ref, *, before: p.Before = 5, after: p.Afterwards = 5) -> Timeline:
    """Show what was remembered just before and after a memory.

    In its session, or in its scope if it has none.
    """
    for name, value in (("before", before), ("after", after)):
        require_between(name, value, 0, MOST_AROUND)
    focus = call.memory(memory)
    # Two owners may call their sessions alike, and nobody reads another's.
    place = Filter(session=focus.session, owner=focus.owner) if focus.session else Filter(scopes=(focus.scope,))
    own = focus.session and focus.owner == call.caller.owner
    others = own_lists(call.policy.kinds)
    others = () if focus.kind in others else others
    live = place._replace(standings=("live",), now=call.now, view=call.caller.view, except_kinds=others)

    def around(count: int, *, oldest: bool) -> tuple[Memory, ...]:
        # From the memory itself on, in the order of every list: many are made in one moment.
        here = cursor_of(focus)
        return call.page(live, after=here, limit=count, oldest=oldest).records

    return Timeline(
        at=call.now,
        memory=focus,
        before=tuple(reversed(around(before, oldest=False))) if before else (),
        after=around(after, oldest=True) if after else (),
        session=_named(call, focus.session) if own else None,
    )


def the_session(call: Call, ref: str) -> Session:
    """The readable session of this id.

    Raises:
        NotFound: when there is none.
    """
    if (found := _find(call, ref.strip())) is None:
        raise NotFound(f"There is no session {ref!r}.", "See what there is: engram session list.")
    return found


def _find(call: Call, ref: str) -> Session | None:
    """The caller's session of this name, else the readable one of this id or handle, or whose id begins so.

    Raises:
        Conflict: when several begin so.
    """
    found = _named(call, ref) or call.engine.get("session", [ref], call.access).get(ref)
    return cast("Session | None", found)


def _named(call: Call, name: str) -> Session | None:
    """The caller's session of this very name, else the readable one of this very id."""
    ids = (*session_ids(call.caller.owner, sessions.called(name)), name)
    found = call.sessions(ids)
    return next((found[id] for id in ids if id in found), None)


def _merged(context: Context, given: dict[str, str]) -> Context:
    return Context(**{**context.__dict__, **given}) if given else context or NOWHERE
