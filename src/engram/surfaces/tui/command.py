"""The command `engram tui`: the memory at a terminal, for those without a browser."""

import sys
from importlib.util import find_spec

from engram import wiring
from engram.errors import Invalid, Unavailable
from engram.surfaces.parsing import valued
from engram.wiring.extras import how_to_install


def run(words: list[str], *, json: bool = False) -> int:
    """Usage: engram tui [--store PATH]

    Review, search and look around at a terminal, full screen: what waits, what is found as you type, and what was
    done. The keys are those of the web page: j and k move, a approves, e edits, m merges, x rejects, u takes back,
    ? tells them all, q leaves.

    Needs the extra `tui`: pipx install --force '.[tui]' in a clone of Engram, or as you have installed it.

    Options:
      --store PATH  Use this store instead of the configured one.

    Example:
      engram tui
    """  # noqa: D415 - it is the command's help
    if json:
        raise Invalid("tui has no JSON: it is for a person.", "Use engram review --list --json.")
    store = (valued("tui", words, ("--store",))["--store"] or [""])[-1]
    if find_spec("textual") is None:
        raise Unavailable(
            "engram tui needs the library textual, which is not installed.",
            f"{how_to_install('tui')} Without it, use engram review.",
        )
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise Unavailable("engram tui needs a terminal.", "Use engram review --list, or engram recall.")
    from engram.surfaces.tui.app import Twin  # noqa: PLC0415 - a third of a second, for this command only

    with wiring.open(store, channel="terminal") as engram:
        Twin(engram).run()
    return 0
