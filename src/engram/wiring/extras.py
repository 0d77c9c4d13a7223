"""How what comes with an extra is got, by whoever installed this command: pipx, uv, or pip."""

import os
import sys


def how_to_install(extra: str, prefix: str = sys.prefix) -> str:
    """The step that adds an extra to the environment at `prefix`, which is the one that this command runs in.

    pipx and uv keep each command in an environment of its own, where a plain `pip install` does not reach.
    """
    from shlex import quote  # noqa: PLC0415 - only where something lacks

    if os.path.exists(os.path.join(prefix, "pipx_metadata.json")):
        command = "pipx install --force"
    elif os.path.exists(os.path.join(prefix, "uv-receipt.toml")):
        command = "uv tool install --force"
    else:
        command = f"{quote(os.path.join(prefix, 'bin', 'python'))} -m pip install"
    return f"Install it, in a clone of Engram: {command} '.[{extra}]'."
