"""`engram init`: let a folder say which project it is, in a file of its own."""

import os

from engram import config
from engram.errors import Conflict, Invalid
from engram.projects import config_file
from engram.projects.checkouts import place_of, remote_of
from engram.projects.detect import project_of, root_of, told_by
from engram.projects.names import Names
from engram.wiring.places import working_folder


def run(words: list[str], *, json: bool) -> int:
    """Usage: engram init [NAME] [--force] [--json]

    Write .engram/config.json at the root of this repository, or in this folder outside of one: the project goes by
    NAME from then on, for everybody who has the file. Without NAME it takes the short name it is known by already.
    Where the file came with the folder and takes the name of another project of yours, it counts here once you have
    typed that name.

    Options:
      --force  Replace another name, or a file that cannot be understood.
      --json   Answer in JSON, for machines.

    Examples:
      engram init
      engram init acme-api
    """  # noqa: D415 - it is the command's help
    given, force = _read(words)
    home, folder = os.environ.get("HOME") or "/", working_folder()
    root = root_of(folder, home)
    before = _known_as(folder, home, may_fail=bool(given))
    name = given or before.rpartition("/")[2]
    if not name:
        raise Invalid(f"Nothing tells what {root} is called.", "Say it: engram init NAME.")
    names, place, remote = Names(config.data_folder(os.environ)), place_of(root), remote_of(root)
    if before and (word := _unaccepted(root, names)):
        if not given:
            raise Conflict(
                f"{config_file.path_in(root)} says {word}, which was not accepted on this machine.",
                f"To accept it: engram init {word}. To call it something else: engram init NAME --force.",
            )
        before = ""  # it never went by that name here
    changed = config_file.write(root, name, remote=remote, force=force)
    others = names.accept(name, place) if name != remote else []
    path = config_file.path_in(root)
    _show({"project": name, "path": path, "changed": changed, "before": before, "shared_with": others}, json=json)
    return 0


def _unaccepted(root: str, names: Names) -> str:
    """The folder's own word, if it says something else than git and its name do, and was not accepted here."""
    told = told_by(root)
    return told.name if told and told.word and not names.accepts(told.name, told.place) else ""


def _read(words: list[str]) -> tuple[str, bool]:
    """The name that was given, and whether it is forced."""
    options = [word for word in words if word.startswith("-")]
    names = [word.strip() for word in words if not word.startswith("-")]
    if unknown := [word for word in options if word != "--force"]:
        raise Invalid(f"init takes no {unknown[0]}.", "See engram init --help.")
    if len(names) > 1:
        raise Invalid(f"init takes one name, not {len(names)}.", "Put a name of several words in quotes.")
    if names == [""]:
        raise Invalid("The name is empty.", "Say it: engram init NAME.")
    return (names[0] if names else ""), "--force" in options


def _known_as(folder: str, home: str, *, may_fail: bool) -> str:
    """The project the folder is known as so far; giving it a name is also the way out where nobody can tell."""
    try:
        return project_of(folder, home)
    except Conflict:
        if not may_fail:
            raise
        return ""


def _show(told: dict[str, str | bool | list[str]], *, json: bool) -> None:
    if json:
        from json import dumps  # noqa: PLC0415 - start-up

        print(dumps(told, ensure_ascii=False, indent=2))
        return
    name, before, others = told["project"], told["before"], told["shared_with"]
    if told["changed"]:
        print(f"✓ This project is {name} now: {told['path']}")
        print("  Commit the file, and everybody who works here means the same project. It holds the name alone.")
    else:
        print(f"= {told['path']} says {name} already; nothing was changed.")
    if told["changed"] and _is_agent(str(name)):
        print(f"  If you meant to connect the agent of that name: remove the file, and run engram setup {name}")
    if isinstance(others, list) and others:
        print(f"  {', '.join(others)} goes by that name too: they share their memories.")
    if before and before != name:
        print(f"  Until now it was {before}. To bring its memories along: engram projects rename {before} {name}")
    if os.environ.get("ENGRAM_PROJECT"):
        print("  ENGRAM_PROJECT is set here, and goes before it.")


def _is_agent(name: str) -> bool:
    """Whether an agent goes by a name: `init` connects one in other programs."""
    from engram.projects.agents import BY_NAME  # noqa: PLC0415 - start-up

    return name in BY_NAME
