"""The prompts a person can start from, each in the words of the tools that are served beside it."""

from collections.abc import Callable

from engram.interop.tools import Asks, Prompt

NOTHING = "Nothing is remembered here yet."

SAVE_WELL = """Save what is worth knowing in a later session, one thing at a time, with {tool}.

- What: the statement itself, short, true on its own.
- Why: the reason or the decision behind it.
- Where: the file, service or command it is about.
- Learned: what was surprising, what to do differently.

{how} Leave out secrets, and what the code says by itself."""

SUMMARY = """Sum up this session with {tool}, in these parts, leaving out what is empty:

Goal: what was to be done.
Instructions: what the person asked for and how they like it done.
Discoveries: what was learned, with the places it was seen.
Accomplished: what is finished.
Next steps: what is left, in order.
Files: those that matter, one line each."""


def session_start(finds: str, saves: str, *, shown: Callable[[str], str] = str) -> Prompt:
    """Begin with what is known, and with the tools that find more and save more; `shown` words the context anew."""

    def run(asks: Asks, *, about: str = "") -> str:
        known = shown(asks.ask("context", query=about).text) or NOTHING
        return f"{known}\n\nLook for more with {finds} when a question comes up; save what you learn with {saves}."

    return Prompt(
        "session_start",
        run,
        "Begin a session with what is known.",
        (("about", "What the session is about; optional."),),
        (finds, saves),
    )


def save_well(tool: str, how: str) -> Prompt:
    """What makes a memory worth keeping, and `how` this tool is told it."""
    text = SAVE_WELL.format(tool=tool, how=how)

    def run(asks: Asks, *, what: str = "") -> str:
        del asks
        return f"{text}\n\nSave this: {what.strip()}" if what.strip() else text

    return Prompt(
        "save_well",
        run,
        "How to save something so that it is found again.",
        (("what", "What to save; optional."),),
        (tool,),
    )


def session_summary(tool: str) -> Prompt:
    """The parts of a summary, for the tool that keeps it."""

    def run(asks: Asks) -> str:
        del asks
        return SUMMARY.format(tool=tool)

    return Prompt("session_summary", run, "How to sum up a session at its end.", (), (tool,))
