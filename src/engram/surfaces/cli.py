"""The `engram` command: parsers made from the operations' signatures, only for the command that was asked for."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from engram.errors import Conflict, EngramError, Invalid, Unavailable

if TYPE_CHECKING:
    from engram.model.change import Finding
    from engram.service import Engram

MOST_READ = 1024 * 1024

EXTRA = {
    "demo": "Take a tour of thirty seconds on a throw-away store.",
    "setup": "Connect the agents on this machine: shows every change first, and --remove takes it back.",
    "views": "Put what is remembered into AGENTS.md and its like: shows every change first.",
    "init": "Give this folder's project a name of its own.",
    "mcp": "Serve this memory to an agent over MCP, on standard input and output.",
    "serve": "Serve this memory over HTTP, to this machine or to a team: a page at /web, MCP at /mcp.",
    "tui": "Review, search and look around at a terminal, full screen.",
    "login": "Sign in to a team's server, and print a token for it.",
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code of the error table."""
    words = _command_first(list(sys.argv[1:] if arguments is None else arguments))
    screen = Screen(json="--json" in words)
    _speak_utf8()
    try:
        code = _run(words, screen)
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
    except OSError as error:  # the answer, not the asking: what was asked is done and stored
        _complain(Unavailable(f"The answer could not be written: {error.strerror}.", "See engram history."), screen)
        return Unavailable.exit_code
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130
    except Exception:  # noqa: BLE001 - a bug: told in full to a log, in one line to the person
        _complain(EngramError("Internal error; nothing was half written.", _logged()), screen)
        return EngramError.exit_code


def _command_first(words: list[str]) -> list[str]:
    """`engram --store X backup create` means `engram backup create --store X`."""
    early: list[str] = []
    while len(words) > 1 and words[0].startswith(("--store", "--json")):
        count = 2 if words[0] == "--store" else 1
        early, words = early + words[:count], words[count:]
    end = words.index("--") if "--" in words else len(words)
    return words[:end] + early + words[end:]


def _run(words: list[str], screen: Screen) -> int:
    if not words:
        from engram.surfaces.welcome import run  # noqa: PLC0415 - start-up

        return run()
    if words[0] in ("-h", "--help", "help"):
        return _help(words[1:])
    if words[0] in ("-V", "--version", "version"):
        from engram import __version__  # noqa: PLC0415 - start-up

        print(f"engram {__version__}")
        return 0
    if words[0] in EXTRA:
        return _extra(words[0], words[1:], screen)
    return _operate(words, screen)


def _extra(name: str, words: list[str], screen: Screen) -> int:
    """Run a command that is no operation; each loads what it needs, and only that."""
    if name == "config":
        return _config(words, screen)
    if name == "completion":
        return _completion(words)
    from importlib import import_module  # noqa: PLC0415 - start-up

    home = {"init": "places", "mcp": "mcp.command", "tui": "tui.command"}.get(name, name)
    run = import_module(f"engram.surfaces.{home}").run
    if "--help" in words or "-h" in words:
        print("\n".join(line.removeprefix("    ") for line in (run.__doc__ or "").strip().splitlines()))
        return 0
    return int(
        run(words) if name == "hook" else run([word for word in words if word != "--json"], json=screen.json)
    )


BY_FLAG = {("sync", "--git"): "sync_git", ("doctor", "--hygiene"): "hygiene"}
"""Operations that are said as another command with an option."""


def _operate(words: list[str], screen: Screen) -> int:
    from engram.service import OPERATIONS  # noqa: PLC0415 - start-up

    name, words = words[0], words[1:]
    if words and (two := f"{name}_{words[0]}") in OPERATIONS:
        name, words = two, words[1:]  # `session begin`
    name = next((other for (first, flag), other in BY_FLAG.items() if first == name and flag in words), name)
    if name not in OPERATIONS:
        if {"-h", "--help"} & set(words):
            from engram.surfaces.overview import beginning_with  # noqa: PLC0415 - start-up

            if lines := beginning_with(name):
                print("\n".join(lines))
                return 0
        raise _unknown(name, OPERATIONS)
    from engram.surfaces.parsing import parse  # noqa: PLC0415 - start-up

    asked = parse(OPERATIONS[name], words)
    screen = Screen(asked.pop("json"), asked.pop("explain", False))
    listing, *_ = (asked.pop(shown, False) for shown in ("list", "git", "hygiene"))
    # These must work where the store does not, or need none: another's is looked at.
    apart = name in ("backup_verify", "backup_restore", "rescue") or (name == "hygiene" and bool(asked.get("path")))
    with _open(asked.pop("store"), lenient=name == "doctor", apart=apart) as engram:
        if name == "review" and not (screen.json or listing) and _at_a_terminal():
            from engram.surfaces.review import walk  # noqa: PLC0415 - start-up

            return walk(engram, scope=asked["scope"])
        try:
            answer = _watched(engram).ask(name, **_with_input(asked))
        except EngramError:
            _warn([each for each in engram.notices() if each.severity != "error"])  # what is wrong says the error
            raise
        notices = [] if name == "doctor" else engram.notices()  # a report has them
        if name == "sync":
            from engram.surfaces.views import with_views  # noqa: PLC0415 - start-up

            answer = with_views(engram, answer)
        _show(answer, screen, quiet=name in ("export", "fetch") and asked["path"] == "-", notices=notices)
        asking = name == "verify" and not answer.event and not screen.json and engram.caller.human
        if asking and _at_a_terminal() and _can_be_pinned(answer) and _agreed():
            answer = engram.ask(name, **{**asked, "repin": True, "confirm": True})._replace(evidence=())
            _show(answer, screen)
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


def _watched(engram: "Engram") -> "Engram":
    """The memory, with a progress bar where a person looks on."""
    if sys.stderr is None or not sys.stderr.isatty():
        return engram
    from engram.surfaces.progress import Bar  # noqa: PLC0415 - start-up

    return engram.watched_by(Bar(sys.stderr).move)


def _at_a_terminal() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _open(store: str, *, lenient: bool, apart: bool = False) -> "Engram":
    from engram.wiring import open  # noqa: PLC0415 - start-up

    return open(store, channel="flag", lenient=lenient, apart=apart)


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
        print(json.dumps(shape(answer, answer.at) | told, ensure_ascii=False, indent=2))
        return
    from engram.surfaces.render import render  # noqa: PLC0415 - start-up

    if text := render(answer, paper(explain=screen.explain)):
        print(text)


def paper(*, explain: bool = False) -> Any:  # noqa: ANN401 - a Paper, imported late
    """What standard output is: colour and width only where a person looks at a terminal."""
    from engram.surfaces.paper import Paper  # noqa: PLC0415 - start-up

    terminal = sys.stdout is not None and sys.stdout.isatty()
    try:
        # What is piped is not cut: a machine, or grep, reads it.
        asked = os.environ.get("COLUMNS") or os.get_terminal_size().columns or 100 if terminal else 2000
        width = int(asked)
    except (OSError, ValueError):
        width = 100
    return Paper(width, _colourful(sys.stdout), explain)


def _colourful(stream: TextIO | None) -> bool:
    return (
        stream is not None
        and stream.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


def _warn(notices: "Sequence[Finding]") -> None:
    """Say beside the answer what the store has to say."""
    begin, end = ("\x1b[33m", "\x1b[0m") if _colourful(sys.stderr) else ("", "")
    for each in notices:
        print(f"{begin}engram: {each.message}{end}", file=sys.stderr)
        if each.hint:
            print(f"  {each.hint}", file=sys.stderr)


def _complain(error: EngramError, screen: Screen) -> None:
    if screen.json:
        import json  # noqa: PLC0415 - start-up

        print(json.dumps({"error": error.body()}, ensure_ascii=False, indent=2), file=sys.stderr)
        return
    red = _colourful(sys.stderr)
    begin, end = ("\x1b[31m", "\x1b[0m") if red else ("", "")
    print(f"{begin}engram: {error.message}{end}", file=sys.stderr)
    if error.hint:
        print(f"  {error.hint}", file=sys.stderr)


def _logged() -> str:
    """Write the error at hand to a private log; returns where, as a hint."""
    import traceback  # noqa: PLC0415 - only when something broke

    from engram.config import data_folder  # noqa: PLC0415 - start-up

    trace = traceback.format_exc()
    folder = data_folder(os.environ)
    path = os.path.join(folder, "errors.log")
    try:
        os.makedirs(folder, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "a", encoding="utf-8") as log:
            log.write(f"engram {' '.join(sys.argv[1:2])}\n{trace}\n")
    except OSError:
        return trace
    return f"The details are in {path}; please report them."


def _help(words: list[str]) -> int:
    from engram.surfaces.overview import overview  # noqa: PLC0415 - start-up

    if words:
        return _run([*words, "--help"], Screen())
    print("\n".join(overview(EXTRA)))
    return 0


def _config(words: list[str], screen: Screen) -> int:
    from engram import config  # noqa: PLC0415 - start-up
    from engram.wiring.places import home_scope, working_folder  # noqa: PLC0415 - start-up

    if rest := [word for word in words if word not in ("--json", "--help", "-h")]:
        raise Invalid(f"config takes no {rest[0]!r}.", "Run engram config, then edit the file it names.")
    if {"--help", "-h"} & set(words):
        print(f"Usage: engram config [--json]\n\n{EXTRA['config']}\n\nExample:\n  engram config")
        return 0
    folder = working_folder()
    settings = config.read(os.environ, folder)
    if screen.json:
        import json  # noqa: PLC0415 - start-up

        print(json.dumps({name: value._asdict() for name, value in settings.values.items()}, indent=2))
        return 0
    from engram.surfaces.paper import table  # noqa: PLC0415 - start-up

    rows = []
    for setting in config.SETTINGS:
        value = settings.values[setting.name]
        shown = {"": _unset(setting.name), True: "on", False: "off"}.get(value.value) if _plain(value) else None
        rows.append([setting.name, shown or str(value.value), value.origin, setting.about])
    print("\n".join(table(rows, paper())))
    print(f"\nYour file: {config.user_file(os.environ)}")
    try:
        print(f"New memories land in: {home_scope(settings, os.environ, folder)}")
    except Conflict as error:  # several projects: that is worth showing, and no reason to show nothing
        print(f"New memories land nowhere by themselves: {error.message} {error.hint}")
    return 0


def _plain(value: Any) -> bool:  # noqa: ANN401 - a setting's Value
    return value.value == "" or isinstance(value.value, bool)


def _unset(name: str) -> str:
    from engram import config  # noqa: PLC0415 - start-up

    return os.path.join(config.data_folder(os.environ), "engram.db") if name == "store" else "-"


def _completion(words: list[str]) -> int:
    from engram.surfaces.completion import SHELLS, script  # noqa: PLC0415 - start-up

    if not words or words[0] in ("-h", "--help"):
        print(f"Usage: engram completion {'|'.join(SHELLS)}\n\n{EXTRA['completion']}\n\nExamples:")
        print('  eval "$(engram completion bash)"      # in ~/.bashrc; with zsh in ~/.zshrc')
        print("  engram completion fish | source       # in ~/.config/fish/config.fish")
        return 0 if words else 2
    print(script(words[0], EXTRA))
    return 0


def _unknown(name: str, operations: Iterable[str]) -> Invalid:
    """What is wrong with the first word of a command line, and what was probably meant."""
    from engram.surfaces.parsing import did_you_mean  # noqa: PLC0415 - start-up

    if name.startswith("-"):
        meant = did_you_mean({"-v": "--version"}.get(name, name), ("--version", "--help", "--store", "--json"))
        return Invalid(f"engram takes no {name}.", f"{meant}See engram --help.")
    known = [*(each.replace("_", " ") for each in operations), *EXTRA]
    if several := [f"engram {each}" for each in known if each.startswith(f"{name} ")]:
        return Invalid(f"engram {name} says too little.", f"Say one of: {', '.join(several)}.")
    return Invalid(f"There is no command {name!r}.", f"{did_you_mean(name, known)}See engram --help.")


def _speak_utf8() -> None:
    for stream in (sys.stdout, sys.stderr):
        if (
            stream is not None
            and (stream.encoding or "").lower().replace("-", "") != "utf8"
            and hasattr(stream, "reconfigure")
        ):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
