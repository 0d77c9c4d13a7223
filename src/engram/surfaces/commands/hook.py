"""`engram hook`: an agent's hook answered from memory, and never failed.

Whatever goes wrong, the exit code is 0, the answer is one the agent takes for none, and a private log has a line.
The answer comes first, and what is to be written down after it: a store that is locked holds up no agent.
"""

import os
import sys
import time
from _thread import allocate_lock, start_new_thread
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from engram.errors import Conflict, EngramError, Invalid, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import TracebackType

    from engram.model.memory import Memory
    from engram.projects.forms import Asked, Row
    from engram.service import Engram

MOST_READ = 10 * 1024 * 1024
MOST_ASKED = 2000
"""Characters of a prompt that are looked up: the rest is pasted matter."""

MOST_SAID = 200_000
"""Characters of a message that learnings are looked for in: they stand at its end."""

FEWEST_WORDS = 3
MOST_TOLD = 3
PROMPT_BUDGET = 400
"""Memories and tokens that a single prompt may bring along."""

WORTH = 50_000
"""Bytes of a transcript from which a session has done something that a summary is worth asking for."""

PATIENCE = 2.0
"""Seconds after which a hook ends, whatever it waits for: fewer than any agent is told to wait."""

SAME_MOMENT = 10.0
"""Seconds in which two hooks of one session are one event, told by two configurations."""

KEPT = 30 * 24 * 3600
MOST_LOG = 256 * 1024


def run(words: list[str]) -> int:
    """Usage: engram hook EVENT [--agent NAME]

    Agents call it: engram setup writes it into their settings. It reads the agent's JSON from standard input, and
    answers with the agent's JSON: session-start with a context, prompt-submit with what is known about the prompt,
    stop with the request for a summary (once a session), pre-edit with what is known about the file (once a session
    and file). It never fails: what went wrong is in hooks.log, in the folder of the default store.

    Events: session-start, prompt-submit, pre-edit, pre-compact, stop, session-end, subagent-stop.

    Example:
      echo '{"session_id": "s-1"}' | engram hook session-start --agent claude-code
    """  # noqa: D415 - it is the command's help
    agent, event = _named(words)
    answered, ended = allocate_lock(), allocate_lock()
    start_new_thread(_end_in_time, (answered, ended, agent, event))
    try:
        for answer in _answers(agent, event):
            if answered.acquire(blocking=False):
                _say(answer)
    except BaseException as error:  # noqa: BLE001 - nothing that breaks here may break the agent
        _log(agent, event, error)
    if answered.acquire(blocking=False):
        _say({})
    ended.acquire()
    return 0


def _named(words: list[str]) -> tuple[str, str]:
    agent = ""
    if "--agent" in words:
        at = words.index("--agent")
        agent, words = "".join(words[at + 1 : at + 2]), words[:at] + words[at + 2 :]
    return agent or "claude-code", words[0] if words else ""


def _end_in_time(answered: Any, ended: Any, agent: str, event: str) -> None:  # noqa: ANN401 - locks of _thread
    """End a hook that takes too long (a store that is locked), with an answer: nothing acknowledged is lost."""
    time.sleep(PATIENCE)
    if not ended.acquire(blocking=False):
        return
    silent = answered.acquire(blocking=False)
    _log(agent, event, TimeoutError(f"{'no answer' if silent else 'not written down'} within {PATIENCE:.0f} s"))
    if silent:
        os.write(1, b"{}\n")
    os._exit(0)


def _say(answer: "Row | str") -> None:
    import json  # noqa: PLC0415 - start-up

    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):  # nobody listens any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _answers(agent: str, event: str) -> "Iterator[Row | str]":
    """The answer to an event; what is asked for after it is written down then."""
    from engram.projects.forms import read  # noqa: PLC0415 - start-up

    asked = read(agent, event, _payload())
    doing = {"start": _start, "prompt": _prompt, "compact": _compact, "stop": _stop, "end": _end, "said": _said}
    return {**doing, "edit": _edit}[asked.event](asked)


def _payload() -> "Row":
    """The agent's JSON; nothing where there is none."""
    if sys.stdin is None or sys.stdin.isatty():
        return {}
    data = sys.stdin.buffer.read(MOST_READ + 1)
    if len(data) > MOST_READ:
        raise Invalid(f"The hook was given more than {MOST_READ:,} bytes.")
    if not data.strip():
        return {}
    import json  # noqa: PLC0415 - start-up

    try:
        row = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"The hook was given no JSON: {error}.") from None
    if not isinstance(row, dict):
        raise Invalid("The hook was given JSON that is not an object.")
    return row


# --- the events: each says its answer as soon as it is known, and writes down after it ---


def _start(asked: "Asked") -> "Iterator[Row]":
    """A context for the session, and the session begun."""
    from engram.projects.forms import telling  # noqa: PLC0415 - start-up
    from engram.projects.protocol import INSTRUCTIONS, summary_request  # noqa: PLC0415 - start-up

    if _told_before(asked):
        return
    with _opened(asked) as engram:
        brief = engram.context(words=True)
        _note(asked, "shown", (memory.id for memory in brief.included))
        parts = [INSTRUCTIONS.strip()] if asked.agent == "cursor" else []  # it has no file for them
        parts += [brief.text] if brief.text else []
        if asked.source == "compact" and asked.session and _claim(asked, "asked"):
            parts.append(summary_request(asked.session, compacted=True))
        yield telling(asked, "\n\n".join(parts))
        if asked.session:
            _begin(engram, asked)


def _begin(engram: "Engram", asked: "Asked") -> None:
    from engram.projects.checkouts import branch_of  # noqa: PLC0415 - start-up

    branch, commit = branch_of(asked.folder) if asked.folder else ("", "")
    engram.session_begin(asked.session, agent=asked.agent, folder=asked.folder, branch=branch, commit=commit)


def _prompt(asked: "Asked") -> "Iterator[Row]":
    """What is known about the prompt, if something is, and was not told in this session before."""
    from engram.projects.forms import telling  # noqa: PLC0415 - start-up

    question = asked.prompt[:MOST_ASKED]
    plain = len(question.split()) >= FEWEST_WORDS and not question.startswith("/")
    kept, looked_up = plain and _keeps_prompts(asked), plain and asked.hears
    if not (kept or looked_up):
        return
    with _opened(asked) as engram:
        if looked_up:
            yield telling(asked, _about(engram, asked, question))
        if kept:
            engram.remember(asked.prompt, kind="prompt", session=asked.session, source=f"hook:{asked.agent}")


def _about(engram: "Engram", asked: "Asked", question: str) -> str:
    """What is known about a question and was not told in this session before, as a marked block."""
    from engram.model.evidence import BROKEN  # noqa: PLC0415 - start-up

    answer = engram.recall(question, words=True, limit=MOST_TOLD)
    told = _noted(asked, "shown")
    fresh = [hit for hit in answer.hits if hit.memory.id not in told and hit.verdict not in BROKEN]
    marks = {hit.memory.id: hit.marks for hit in fresh}
    memories = [hit.memory for hit in fresh]
    return _block(asked, "About this prompt", memories, now=answer.at, marks=marks, reader=engram.caller.owner)


def _block(asked: "Asked", title: str, memories: "Sequence[Memory]", **more: Any) -> str:  # noqa: ANN401 - see `brief`
    """A marked block of memories, noted as told in this session; nothing for none."""
    if not memories:
        return ""
    from engram.recall.brief import Section, brief  # noqa: PLC0415 - start-up

    block = brief([Section(title, memories)], budget=PROMPT_BUDGET, **more)
    _note(asked, "shown", (memory.id for memory in block.included))
    return block.text


def _edit(asked: "Asked") -> "Iterator[Row]":
    """What is known about a file that is about to be edited, where it was not told in this session before.

    What cites lines that have changed is told here, and said to: who edits the file can mend it.
    """
    from engram.model.evidence import BROKEN  # noqa: PLC0415 - start-up
    from engram.projects.forms import telling  # noqa: PLC0415 - start-up

    if not asked.file or not asked.hears:
        return
    with _opened(asked) as engram, suppress(Conflict, Invalid):  # no file of a working tree: nothing is cited
        answer = engram.cited(asked.file)
        told = _noted(asked, "shown")
        rows = [row for row in answer.memories if row.memory.id not in told][:MOST_TOLD]
        labels = {row.memory.id: row.verdict for row in rows if row.verdict in BROKEN}
        title = f"About {os.path.basename(answer.file)}"
        memories = [row.memory for row in rows]
        more = {"labels": labels, "marks": answer.marks, "reader": engram.caller.owner}
        yield telling(asked, _block(asked, title, memories, now=answer.at, **more))


def _compact(asked: "Asked") -> "Iterator[Row | str]":
    """Claude Code takes plain words as what its summary is to keep; for the others nothing can be said here."""
    from engram.projects.protocol import COMPACTING  # noqa: PLC0415 - start-up

    yield COMPACTING if asked.agent == "claude-code" else {}


def _stop(asked: "Asked") -> "Iterator[Row]":
    """Take up what was learned, and ask for a summary: once a session, and never after a hook's own request."""
    from engram.projects.forms import NO_END, requesting  # noqa: PLC0415 - start-up
    from engram.projects.protocol import summary_request  # noqa: PLC0415 - start-up

    requested = asked.requestable and asked.session and _worth_it(asked) and _claim(asked, "asked")
    yield requesting(asked, summary_request(asked.session)) if requested else {}
    _take_up(asked)
    if asked.agent in NO_END and not requested:
        _over(asked)


def _end(asked: "Asked") -> "Iterator[Row]":
    """Take up what was learned, and end the session."""
    yield {}
    _take_up(asked)
    _over(asked)


def _over(asked: "Asked") -> None:
    if asked.session:
        with _opened(asked) as engram, suppress(NotFound, Conflict):  # never begun, or ended already
            engram.session_end(asked.session)


def _said(asked: "Asked") -> "Iterator[Row]":
    """Take up what was learned."""
    yield {}
    _take_up(asked)


def _take_up(asked: "Asked") -> None:
    """Remember the learnings that a text lists under their heading."""
    if asked.said.strip():
        with _opened(asked) as engram:
            # A page that the agent read may have put it there: nobody decided to save it, so it waits for review.
            engram.capture(asked.said[-MOST_SAID:], session=asked.session, source=f"transcript:{asked.agent}")


def _worth_it(asked: "Asked") -> bool:
    try:
        return not asked.transcript or os.path.getsize(asked.transcript) >= WORTH
    except OSError:
        return True


def _keeps_prompts(asked: "Asked") -> bool:
    from engram import config  # noqa: PLC0415 - start-up

    return bool(config.read(os.environ, asked.folder or os.curdir).get("keep_prompts"))


def _opened(asked: "Asked") -> "Engram":
    from engram.wiring import open  # noqa: PLC0415 - start-up

    return open(folder=asked.folder, channel="hook", environment={**os.environ, "ENGRAM_AGENT": asked.agent})


# --- what was done before in a session: small files, one a fact ---


def _file(asked: "Asked", fact: str) -> str:
    """Where a fact about a session is kept. The session's name is data: never a path, nor to be read off one."""
    return os.path.join(_folder("hooks"), f"{_hashed(asked.session)}.{fact}")


def _hashed(name: str) -> str:
    """What a name can be known again by."""
    from engram.model.hashing import sha256  # noqa: PLC0415 - start-up

    return sha256(name.encode(errors="replace")).hexdigest()[:32]


def _folder(*below: str) -> str:
    """A private folder of ours."""
    from engram.config import data_folder  # noqa: PLC0415 - start-up
    from engram.drafts import private_folder  # noqa: PLC0415 - start-up

    folder = os.path.join(data_folder(os.environ), *below)
    private_folder(folder)
    return folder


def _claim(asked: "Asked", fact: str) -> bool:
    """Whether this process is the first to say so of the session."""
    try:
        os.close(os.open(_file(asked, fact), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True


def _told_before(asked: "Asked") -> bool:
    """Whether a context was given already: by another configuration in this moment, or before an earlier call."""
    if not asked.session:
        return False
    path = _file(asked, "begun")
    try:
        with open(path, encoding="utf-8") as file:
            other = file.read(200) != _hashed(asked.agent)
        if asked.often or (other and time.time() - os.path.getmtime(path) < SAME_MOMENT):
            return True
    except OSError:
        _forget_old(os.path.dirname(path))
    _write(path, _hashed(asked.agent), os.O_TRUNC)
    return False


def _note(asked: "Asked", fact: str, lines: "Iterable[str]") -> None:
    if not asked.session:
        return
    known = _noted(asked, fact)
    if text := "".join(f"{line}\n" for line in lines if line not in known):
        _write(_file(asked, fact), text, os.O_APPEND)


def _noted(asked: "Asked", fact: str) -> set[str]:
    try:
        with open(_file(asked, fact), encoding="utf-8") as file:
            return set(file.read(MOST_LOG).split())
    except OSError:
        return set()


def _forget_old(folder: str) -> None:
    """Sessions that nobody took up for a month are not taken up again."""
    oldest = time.time() - KEPT
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.stat(follow_symlinks=False).st_mtime < oldest:
                os.unlink(entry.path)


def _write(path: str, text: str, how: int) -> None:
    flags = os.O_CREAT | os.O_WRONLY | how | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)


def _log(agent: str, event: str, error: BaseException) -> None:
    """One line in a private file that stays small; nowhere if even that cannot be written."""
    what = (
        error.message
        if isinstance(error, EngramError)
        else f"{type(error).__name__}: {error}{_place(error.__traceback__)}"
    )
    try:
        from engram.operations.quoting import quotable  # noqa: PLC0415 - only when something broke

        line = " ".join(quotable(f"{agent} {event}: {what}").split())
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {line}"
        path = os.path.join(_folder(), "hooks.log")
        if os.path.exists(path) and os.path.getsize(path) > MOST_LOG:
            os.replace(path, path + ".1")
        _write(path, line[:1000] + "\n", os.O_APPEND)
    except (EngramError, OSError):  # there may be no home either
        return


def _place(trace: "TracebackType | None") -> str:
    """Where an unexpected error came from: the innermost line."""
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})"
