"""`engram config`: every setting, its value, where it comes from and what it is for."""

import os

from engram import config
from engram.errors import Conflict, Invalid
from engram.surfaces.render.paper import at_hand, plain, table
from engram.wiring.places import home_scope, working_folder
from engram.wiring.stores import without_credentials


def run(words: list[str], *, json: bool) -> int:
    """Usage: engram config [--json]

    Show every setting, its value and where it comes from: the environment, your file, a project's, or the default.
    Addresses are shown without user, password and options.

    Options:
      --json  Answer in JSON, for machines.

    Example:
      engram config
    """  # noqa: D415 - it is the command's help
    if words:
        raise Invalid(f"config takes no {words[0]!r}.", "Run engram config, then edit the file it names.")
    folder = working_folder()
    settings = config.read(os.environ, folder)
    if json:
        from json import dumps  # noqa: PLC0415 - start-up

        told = {
            name: {"value": _without_secrets(one.value), "origin": one.origin}
            for name, one in settings.values.items()
        }
        print(dumps(told, indent=2))
        return 0
    rows = [
        [
            each.name,
            _shown(each.name, _without_secrets(settings.get(each.name))),
            settings.origin(each.name),
            each.about,
        ]
        for each in config.SETTINGS
    ]
    print("\n".join(table(rows, at_hand())))
    print(f"\nYour file: {config.user_file(os.environ)}")
    for name, meant in config.mistaken(os.environ).items():
        print(f"{plain(name)} is set, and no setting. Did you mean {meant}?")
    try:
        print(f"New memories land in: {home_scope(settings, os.environ, folder)}")
    except Conflict as error:  # several projects: that is worth showing, and no reason to show nothing
        print(f"New memories land nowhere by themselves: {error.message} {error.hint}")
    return 0


def _without_secrets(value: object) -> object:
    """A value without what may be a secret in it: people paste what this command prints."""
    return without_credentials(value) if isinstance(value, str) else value


def _shown(name: str, value: object) -> str:
    """A value as a person reads it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value == "" and name == "store":
        return config.default_store(os.environ)
    return str(value) or "-"
