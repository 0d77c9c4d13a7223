"""Shell completion, printed from the operations: commands first, then the options of each."""

from engram.errors import Invalid
from engram.service import listed
from engram.surfaces.parsing import RENDERING, parameters

SHELLS = ("bash", "zsh", "fish")


def script(shell: str, extra: list[str]) -> str:
    """The completion script for a shell.

    Raises:
        Invalid: when the shell is not one of the known.
    """
    if shell not in SHELLS:
        raise Invalid(f"There is no completion for {shell!r}.", "Use bash, zsh or fish.")
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](extra)


def _options() -> dict[str, list[tuple[str, str]]]:
    """Command → its options with their prose."""
    found = {}
    for operation in listed():
        name = operation.name
        own = [(each.flag, each.about) for each in parameters(operation) if not each.positional]
        own += [(f"--{option}", about) for option, about in RENDERING.get(name, ())]
        found[name] = [*own, ("--json", "Answer in JSON."), ("--store", "Use this store."), ("--help", "Help.")]
    return found


def _bash(extra: list[str]) -> str:
    cases = "\n".join(
        f"    {name}) words='{' '.join(flag for flag, _ in options)}' ;;" for name, options in _options().items()
    )
    return f"""_engram() {{
  local words cur=${{COMP_WORDS[COMP_CWORD]}}
  if [ "$COMP_CWORD" -eq 1 ]; then words='{" ".join([*(each.name for each in listed()), *extra])}'
  else case ${{COMP_WORDS[1]}} in
{cases}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "$cur"))
}}
complete -F _engram engram"""


def _zsh(extra: list[str]) -> str:
    return f"autoload -U +X bashcompinit && bashcompinit\n{_bash(extra)}"


def _fish(extra: list[str]) -> str:
    lines = ["complete -c engram -f"]
    first = "complete -c engram -n __fish_use_subcommand -a"
    lines += [f"{first} {each.name} -d {_quoted(each.summary)}" for each in listed()]
    lines += [f"{first} {name}" for name in extra]
    for name, options in _options().items():
        lines += [
            f"complete -c engram -n '__fish_seen_subcommand_from {name}' -l {flag[2:]} -d {_quoted(about)}"
            for flag, about in options
        ]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
