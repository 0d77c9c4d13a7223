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
        own = [(each.flag, each.about) for each in parameters(operation) if not each.positional]
        own += [(f"--{option}", about) for option, about in RENDERING.get(operation.name, ())]
        common = [("--json", "Answer in JSON."), ("--store", "Use this store."), ("--help", "Help.")]
        found[operation.command] = own + common
    return found


def _words() -> dict[str, list[str]]:
    """The first word of every command → the second words it may have."""
    found: dict[str, list[str]] = {}
    for first, _, second in (each.command.partition(" ") for each in listed()):
        found.setdefault(first, []).extend([second] if second and not second.startswith("-") else [])
    return found


def _bash(extra: list[str]) -> str:
    offered = {name.replace(" ", "\\ "): [flag for flag, _ in options] for name, options in _options().items()}
    # `session begin` has options of its own; before the second word is there, the second words are offered.
    offered |= {name: [*seconds, *offered.get(name, ())] for name, seconds in _words().items() if seconds}
    alone = {f"{name}\\ *": words for name, words in offered.items() if "\\ " not in name}
    patterns = {name: words for name, words in offered.items() if "\\ " in name} | alone  # the exact ones first
    cases = "\n".join(f"    {name}) words='{' '.join(words)}' ;;" for name, words in patterns.items())
    return f"""_engram() {{
  local words cur=${{COMP_WORDS[COMP_CWORD]}}
  if [ "$COMP_CWORD" -eq 1 ]; then words='{" ".join([*_words(), *extra])}'
  else case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" in
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
    about = {each.command.partition(" ")[0]: each.summary for each in reversed(listed())}
    lines += [f"{first} {name} -d {_quoted(about[name])}" for name in _words()]
    lines += [f"{first} {name}" for name in extra]
    for name, seconds in _words().items():
        lines += [f"complete -c engram -n '{_seen(name)}' -a {second}" for second in seconds]
    for name, options in _options().items():
        lines += [
            f"complete -c engram -n '{_seen(name)}' -l {flag[2:]} -d {_quoted(about)}" for flag, about in options
        ]
    return "\n".join(lines)


def _seen(command: str) -> str:
    return "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.split())


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
