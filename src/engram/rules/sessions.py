"""When a session begins, goes on and ends; a memory is never refused for want of one."""

from collections.abc import Sequence
from datetime import timedelta

from engram.errors import Conflict, Forbidden
from engram.model.caller import Caller
from engram.model.change import Change, Request
from engram.model.memory import Context
from engram.model.record import replace
from engram.model.scope import Scope
from engram.model.session import Session, session_id
from engram.rules.changes import Step, compose
from engram.rules.proposals import clean_context, require_public
from engram.rules.redact import redact

A_DAY = timedelta(days=1)
"""How long a session is taken for the one at work: one that was never ended does not gather what comes later."""


def called(name: str) -> str:
    """The name of a session as it may be kept: without private spans and credentials."""
    return redact(name, given=True).text


def public(session: Session) -> Session:
    """A session without private spans and credentials."""
    return replace(
        session, name=called(session.name), agent=redact(session.agent).text, context=clean_context(session.context)
    )


def begin(known: Session | None, name: str, scope: Scope, context: Context, request: Request) -> Change | None:
    """A session begun, or one that had ended taken up again; None where it is under way already.

    Raises:
        Forbidden: when it is someone else's.
        Invalid: when the name of its scope holds a credential.
    """
    if known is None:
        require_public(scope)
        made = Session(
            id=session_id(request.caller.owner, called(name)),
            name=name,
            scope=scope,
            agent=request.caller.agent or context.agent,
            context=context,
            owner=request.caller.owner,
            started_at=request.now,
        )
        return compose("begin", request, [Step(None, public(made))])
    _require_own(known, request)
    if known.ended_at is None:
        return None
    after = replace(known, ended_at=None, revision=known.revision + 1)
    return compose("begin", request, [Step(known, after)])


def end(known: Session, request: Request) -> Change:
    """A session that is over.

    Raises:
        Conflict: when it ended before.
        Forbidden: when it is someone else's.
    """
    _require_own(known, request)
    if known.ended_at is not None:
        raise Conflict(
            f"Session {known.name} ended already, on {known.ended_at:%Y-%m-%d %H:%M} UTC.",
            "Begin another one, or the same again: engram session begin.",
        )
    # A clock that was set back must not keep a session from ending.
    after = replace(known, ended_at=max(request.now, known.started_at), revision=known.revision + 1)
    return compose("end", request, [Step(known, after)])


def is_begun_in(session: Session, home: Scope) -> bool:
    """Whether a session is one of this scope, or was begun from it for another."""
    return str(home) in (str(session.scope), session.context.project)


def at_work(under_way: Sequence[Session], caller: Caller) -> str:
    """The name of the session that an agent's memory belongs to where it names none: the one it has under way.

    Empty for a person, and where several are under way: a wrong session would be worse than none.
    """
    own = [one for one in under_way if one.ended_at is None and one.agent == caller.agent]
    return own[0].name if len(own) == 1 and not caller.human else ""


def _require_own(session: Session, request: Request) -> None:
    if session.owner != request.caller.owner:
        raise Forbidden(f"Session {session.name} belongs to someone else.", "Begin one of your own.")
