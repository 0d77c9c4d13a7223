"""The `engram` command: parsers made from the operations' signatures, only for the command that was asked for."""

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from engram.drafts import MORE_FILES, is_out_of_files, private_folder
from engram.errors import EngramError, Invalid, Unavailable

if TYPE_CHECKING:
    from engram.model.change import Finding
    from engram.service import Engram

MOST_READ = 1024 * 1024

EXTRA = {
    "demo": "Take a thirty-second tour on a throw-away store.",
    "setup": "Connect the agents on this machine; every change is shown first.",
    "views": "Put what is remembered into AGENTS.md and its like.",
    "init": "Give this folder's project a name of its own.",
    "mcp": "Serve this memory to an agent over MCP.",
    "serve": "Serve this memory over HTTP: the page, the API and MCP.",
    "tui": "Review, search and look around at a terminal, full screen.",
    "login": "Sign in to a team's server, or print a token for it.",
    "migrate": "Bring a team's PostgreSQL database up to date.",
    "hook": "Answer an agent's hook: reads its JSON, never fails it.",
    "config": "Show every setting, its value and where it comes from.",
    "completion": "Print a completion script for bash, zsh or fish.",
}
"""Commands about this machine and this process; all others are operations."""


class Screen(NamedTuple):
    """How this run speaks: to a machine or a person, and in which detail."""

    json: bool = False
    explain: bool = False
    person: bool = True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code of the error table."""
    if arguments is None:
        gc.disable()  # until it is loaded: that leaves nothing to collect, and looking takes a twelfth of the start
    words = _command_first(list(sys.argv[1:] if arguments is None else arguments))
    screen = Screen(json="--json" in words)
    _speak_utf8()
    try:
        with _spare_handle():
            code = _run(words, screen)
            with _telling():
                if sys.stdout is not None:
                    sys.stdout.flush()  # here, so that a reader who has left is noticed here
        return code  # noqa: TRY300 - the flush is part of what may fail
    except EngramError as error:
        _complain(error, screen)
        return error.exit_code
    except BrokenPipeError:
        # The reader has left (`engram list | head`): nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        _complain(_no_more_files() if is_out_of_files(error) else _refused(error, words[:1]), screen)
        return Unavailable.exit_code
    except KeyboardInterrupt as stopped:  # with what is kept of a long work, and how to go on
        print(" ".join(["\nStopped.", *stopped.args[:1]]), *stopped.args[1:], sep="\n  ", file=sys.stderr)
        return 130
    except Exception as error:  # noqa: BLE001 - a bug: told in full to a log, in one line to the person
        if is_out_of_files(error):
            told: EngramError = _no_more_files()
        else:
            told = EngramError("Internal error; nothing was half written.", _logged())
        _complain(told, screen)
        return told.exit_code


@contextmanager
def _telling() -> Iterator[None]:
    """An answer is told within: what was asked is done and stored.

    Raises:
        Unavailable: when it cannot be written.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if is_out_of_files(error):
            raise
        raise Unavailable(f"The answer could not be written: {error.strerror}.", "See engram history.") from None


def _refused(error: OSError, command: list[str]) -> Unavailable:
    """What the system refused on the way, where nothing more is known of it: history tells of memories alone."""
    where = f"{os.fsdecode(error.filename)} cannot be used: " if isinstance(error.filename, str | bytes) else ""
    why = error.strerror or str(error)
    kept = "; engram history tells what was kept"
    return Unavailable(
        f"{where}{why}.",
        f"Fix the permissions or the disk, then try again{'' if command and command[0] in EXTRA else kept}.",
    )


@contextmanager
def _spare_handle() -> Iterator[None]:
    """Keep a handle of a file back until the block ends: to tell that none is left takes one."""
    handle = os.open(os.devnull, os.O_RDONLY)
    try:
        yield
    finally:
        os.close(handle)


def _no_more_files() -> Unavailable:
    return Unavailable(
        "This process has reached its limit of open files.",
        f"{MORE_FILES} engram history tells whether it was done.",
    )


def _command_first(words: list[str]) -> list[str]:
    """`engram --store X backup create` means `engram backup create --store X`."""
    early: list[str] = []
    while len(words) > 1 and words[0].startswith(("--store", "--json")):
        count = 2 if words[0] == "--store" else 1
        early, words = early + words[:count], words[count:]
    end = words.index("--") if "--" in words else len(words)
    return words[:end] + early + words[end:]


def _run(words: list[str], screen: Screen) -> int:
    if words in ([], ["--json"]):
        from engram.surfaces.commands.welcome import run  # noqa: PLC0415 - start-up

        return run(json=screen.json)
    if words[0] in ("-h", "--help", "help"):
        return _help([word for word in words[1:] if word != "--json"])
    if words[0] in ("-V", "--version", "version"):
        from engram import __version__  # noqa: PLC0415 - start-up

        print(f'{{"version": "{__version__}"}}' if screen.json else f"engram {__version__}")
        return 0
    if words[0] in EXTRA:
        return _extra(words[0], words[1:], screen)
    return _operate(words, screen)


def _loaded() -> None:
    """Let garbage be collected again, without ever going through what has been loaded by now."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def home_of(name: str) -> str:
    """The module of the surfaces that a command which is no operation lives in."""
    elsewhere = {"config": "commands.settings", "serve": "server.serve", "mcp": "mcp.command", "tui": "tui.command"}
    return elsewhere.get(name, f"commands.{name}")


def _extra(name: str, words: list[str], screen: Screen) -> int:
    """Run a command that is no operation; each loads what it needs, and only that."""
    from importlib import import_module  # noqa: PLC0415 - start-up

    run = import_module(f"engram.surfaces.{home_of(name)}").run
    if name != "hook":  # which ends within two seconds, and loads as it goes
        _loaded()
    if "--help" in words or "-h" in words:
        from engram.surfaces.render.paper import help_width, narrowed  # noqa: PLC0415 - start-up

        text = "\n".join(line.removeprefix("    ") for line in (run.__doc__ or "").strip().splitlines())
        print("\n".join(narrowed(text, help_width())))
        return 0
    return int(
        run(words) if name == "hook" else run([word for word in words if word != "--json"], json=screen.json)
    )


BY_FLAG = {("sync", "--git"): "sync_git", ("doctor", "--hygiene"): "hygiene"}
"""Operations that are said as another command with an option."""


class Manner(NamedTuple):
    """What the terminal does for one operation beside asking it and showing its answer."""

    alone: bool = False  # runs without opening the configured store
    alone_with: str = ""  # …when this parameter is given
    mends: bool = False  # opens a store with loose modes; its report already contains the notices
    reads: str = "text"  # the parameter whose `-` is standard input
    writes: str = ""  # the parameter whose `-` is standard output: nothing else is shown there
    walks: "Callable[[Engram, dict[str, Any]], int] | None" = None  # what a person at a terminal gets instead
    completes: "Callable[[Engram, Any], Any] | None" = None  # what is added to the answer
    goes_on: "Callable[[Engram, str, dict[str, Any], Any], Any] | None" = (
        None  # may ask a follow-up question; returns a new answer or None
    )


def _walk(engram: "Engram", asked: dict[str, Any]) -> int:
    from engram.surfaces.review import walk  # noqa: PLC0415 - start-up

    return walk(engram, scope=asked["scope"])


def _with_views(engram: "Engram", answer: Any) -> Any:  # noqa: ANN401 - what sync answers
    from engram.surfaces.commands.views import with_views  # noqa: PLC0415 - start-up

    return with_views(engram, answer)


def _pinned(engram: "Engram", name: str, asked: dict[str, Any], answer: Any) -> Any:  # noqa: ANN401 - of verify
    """Pin what is cited to what is there now, where the person who was shown the differences wants that."""
    if answer.event or not engram.caller.human or not (_at_a_terminal() and _can_be_pinned(answer) and _agreed()):
        return None
    return engram.ask(name, **{**asked, "repin": True, "confirm": True})


MANNERS = {
    "attach": Manner(reads="file"),
    "backup_restore": Manner(alone=True),
    "backup_verify": Manner(alone=True),
    "doctor": Manner(mends=True),
    "export": Manner(writes="path"),
    "fetch": Manner(writes="path"),
    "hygiene": Manner(alone_with="path"),
    "import": Manner(reads="path"),
    "kinds": Manner(alone=True),
    "rescue": Manner(alone=True, writes="path"),
    "review": Manner(walks=_walk),
    "sync": Manner(completes=_with_views),
    "verify": Manner(goes_on=_pinned),
}
"""The operations with a manner of their own: all that the terminal knows of any by its name."""


def _operate(words: list[str], screen: Screen) -> int:
    from engram.service import OPERATIONS  # noqa: PLC0415 - start-up

    name, words = _called(words, OPERATIONS)
    if name not in OPERATIONS:
        if {"-h", "--help"} & set(words):
            from engram.surfaces.commands.overview import beginning_with  # noqa: PLC0415 - start-up

            if lines := beginning_with(name):
                print("\n".join(lines))
                return 0
        raise _unknown(name, words[0] if words and not words[0].startswith("-") else "", OPERATIONS)
    from engram.surfaces.parsing import parse  # noqa: PLC0415 - start-up

    asked = parse(OPERATIONS[name], words)
    _loaded()
    screen = Screen(asked.pop("json"), asked.pop("explain", False))
    listing = asked.pop("list", False)
    for flag in ("git", "hygiene"):  # they have said which operation is meant
        asked.pop(flag, None)
    manner = MANNERS.get(name, Manner())
    apart = manner.alone or bool(asked.get(manner.alone_with))
    making = OPERATIONS[name].adds or asked.get("action") == "install"  # who asks of what is there leaves no store
    with _open(asked.pop("store"), lenient=manner.mends, apart=apart, making=making) as engram:
        if manner.walks and not (screen.json or listing) and _at_a_terminal():
            return manner.walks(engram, asked)
        return _answered(engram, name, asked, screen)


def _called(words: list[str], operations: Iterable[str]) -> tuple[str, list[str]]:
    """The operation that a command line begins with, if it is one, and what follows."""
    name, words = words[0], words[1:]
    if words and (two := f"{name}_{words[0]}") in operations:
        name, words = two, words[1:]  # `session begin`
    return next((other for (first, flag), other in BY_FLAG.items() if first == name and flag in words), name), words


def _answered(engram: "Engram", name: str, asked: dict[str, Any], screen: Screen) -> int:
    """Ask an operation and show its answer; returns the exit code."""
    manner = MANNERS.get(name, Manner())
    try:
        with _watched(engram) as watched:
            _say_that_it_reads(asked, manner.reads)
            answer = watched.ask(name, **_with_input(asked))
    except EngramError:
        _warn([each for each in engram.notices() if each.severity != "error"])  # what is wrong says the error
        raise
    notices = () if manner.mends else engram.notices()
    if manner.completes:
        answer = manner.completes(engram, answer)
    screen = screen._replace(person=engram.caller.human)
    quiet = bool(manner.writes) and asked[manner.writes] == "-"
    _show(answer, engram.view, screen, quiet=quiet, notices=notices)
    if manner.goes_on and not screen.json and (later := manner.goes_on(engram, name, asked, answer)):
        answer = later
        _show(answer, engram.view, screen)
    return _exit_code(answer)


def _can_be_pinned(answer: Any) -> bool:  # noqa: ANN401 - what verify answers
    """Whether there is something left of all that is cited."""
    return not any(check.verdict == "gone" for checks in answer.evidence for check in checks)


def _agreed() -> bool:
    """Whether the person who was just shown the differences wants them pinned."""
    try:
        return input("It still holds: pin it to what is there now? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


@contextmanager
def _watched(engram: "Engram") -> "Iterator[Engram]":
    """The memory, with a progress bar where a person looks on; it is gone when there is an answer, or none."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield engram
        return
    from engram.surfaces.progress import Bar  # noqa: PLC0415 - start-up

    bar = Bar(sys.stderr)
    try:
        yield engram.watched_by(bar.move)
    finally:
        bar.wipe()


def _at_a_terminal() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _open(store: str, *, lenient: bool, apart: bool, making: bool) -> "Engram":
    from engram.wiring import open  # noqa: PLC0415 - start-up

    when: Literal["later", "never"] = "later" if making else "never"  # what is refused leaves none behind either
    return open(store, channel="flag", lenient=lenient, apart=apart, making=when)


def _say_that_it_reads(asked: dict[str, Any], parameter: str) -> None:
    """Tell whoever sits at a terminal that what is typed is read: nothing else shows it."""
    reads = "-" in (asked.get("text"), asked.get(parameter))
    if reads and sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None:
        print("Reading what you type, until Ctrl-D on a line of its own.", file=sys.stderr, flush=True)


def _with_input(asked: dict[str, Any]) -> dict[str, Any]:
    """Read a text given as `-` from standard input.

    Raises:
        Invalid: when it is not UTF-8.
    """
    if asked.get("text") != "-":
        return asked
    if sys.stdin is None:
        raise Invalid("There is no standard input to read the text from.", "Give the text itself.")
    raw = sys.stdin.buffer.read(MOST_READ + 1)
    if len(raw) > MOST_READ:
        raise Invalid(f"Standard input is more than {MOST_READ:,} bytes.", "Shorten it: a text has up to 64 KiB.")
    try:
        return {**asked, "text": raw.decode("utf-8").strip()}
    except UnicodeDecodeError as error:
        raise Invalid(
            f"Standard input is not UTF-8: byte 0x{raw[error.start]:02x} at position {error.start}.",
            "Convert it first, for example: iconv -f latin1 -t utf-8.",
        ) from None


def _exit_code(answer: object) -> int:
    healthy = getattr(answer, "healthy", True)
    return int(getattr(answer, "exit_code", 0)) if healthy else 8


def _show(
    answer: Any,  # noqa: ANN401 - any answer
    view: str,
    screen: Screen,
    *,
    quiet: bool = False,
    notices: "Sequence[Finding]" = (),
) -> None:
    if quiet or not screen.json:
        _warn(notices)
    if quiet:
        return
    if screen.json:
        import json  # noqa: PLC0415 - start-up

        from engram.surfaces.shapes import shape  # noqa: PLC0415 - start-up

        told = {"warnings": [each._asdict() for each in notices]} if notices else {}
        with _telling():
            print(json.dumps(shape(answer, answer.at, view) | told, ensure_ascii=False, indent=2))
        return
    from engram.surfaces.render.answers import render  # noqa: PLC0415 - start-up
    from engram.surfaces.render.paper import at_hand  # noqa: PLC0415 - start-up

    if text := render(answer, at_hand(explain=screen.explain, view=view, person=screen.person)):
        with _telling():
            print(text)


def _warn(notices: "Sequence[Finding]") -> None:
    """Say beside the answer what the store has to say."""
    for each in notices:
        _say_beside(each.message, each.hint, "33")


def _complain(error: EngramError, screen: Screen) -> None:
    if screen.json:
        import json  # noqa: PLC0415 - start-up

        print(json.dumps({"error": error.body()}, ensure_ascii=False, indent=2), file=sys.stderr)
        return
    _say_beside(error.message, error.hint, "31")


def _say_beside(message: str, hint: str, colour: str) -> None:
    """A sentence and the next step, on standard error."""
    from engram.surfaces.render.paper import Paper, is_colourful, plain  # noqa: PLC0415 - start-up

    print(Paper(colour=is_colourful(sys.stderr)).paint(f"engram: {plain(message)}", colour), file=sys.stderr)
    if hint:
        print(f"  {plain(hint)}", file=sys.stderr)


def _logged() -> str:
    """Write the error at hand to a private log; returns where, as a hint."""
    import traceback  # noqa: PLC0415 - only when something broke

    from engram.config import data_folder  # noqa: PLC0415 - start-up
    from engram.operations.quoting import quotable  # noqa: PLC0415 - start-up

    trace = quotable(traceback.format_exc())
    try:
        folder = data_folder(os.environ)
        path = os.path.join(folder, "errors.log")
        private_folder(folder)
        with os.fdopen(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "ab") as log:
            log.write(f"engram {quotable(' '.join(sys.argv[1:2]))}\n{trace}\n".encode(errors="backslashreplace"))
    except (EngramError, OSError):
        return trace
    return f"The details are in {path}; please report them."


def _help(words: list[str]) -> int:
    if words:
        return _run([*words, "--help"], Screen())
    from engram.surfaces.commands.overview import overview  # noqa: PLC0415 - start-up
    from engram.surfaces.render.paper import at_hand  # noqa: PLC0415 - start-up

    print("\n".join(overview(EXTRA, at_hand().width)))
    return 0


def _unknown(name: str, second: str, operations: Iterable[str]) -> Invalid:
    """What is wrong with the first words of a command line, and what was probably meant."""
    from engram.surfaces.parsing import did_you_mean  # noqa: PLC0415 - start-up
    from engram.surfaces.synonyms import OURS  # noqa: PLC0415 - start-up

    if name.startswith("-"):
        if name == "--store":
            return Invalid(
                "engram --store needs a path and a command.", "For example: engram list --store notes.db."
            )
        meant = did_you_mean({"-v": "--version"}.get(name, name), ("--version", "--help", "--store", "--json"))
        return Invalid(f"engram takes no {name}.", f"{meant}See engram --help.")
    known = [*(each.replace("_", " ") for each in operations), *EXTRA]
    if several := [each for each in known if each.startswith(f"{name} ")]:
        one_of = f"Say one of: {', '.join(f'engram {each}' for each in several)}."
        if not second:
            return Invalid(f"engram {name} needs a second word.", one_of)
        near = did_you_mean(second, [each.partition(" ")[2] for each in several])
        return Invalid(f"There is no command 'engram {name} {second}'.", f"{near}{one_of}")
    meant = f"Here it is: {OURS[name]}. " if name in OURS else did_you_mean(name, known)
    return Invalid(f"There is no command {name!r}.", f"{meant}See engram --help.")


def _speak_utf8() -> None:
    """Say everything in UTF-8, and names of files that are no text by their bytes."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None or not hasattr(stream, "reconfigure"):
            continue
        if (stream.encoding or "").lower().replace("-", "") != "utf8":
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        elif stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
