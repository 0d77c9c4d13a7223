"""`engram completion`: a script for a shell, made from the operations: commands first, then the options of each."""

from collections.abc import Iterable, Mapping

from engram.errors import Invalid
from engram.service import listed
from engram.surfaces.cli import EXTRA
from engram.surfaces.parsing import RENDERING, parameters

SHELLS = ("bash", "zsh", "fish")


def run(words: list[str], *, json: bool = False) -> int:
    """Usage: engram completion bash|zsh|fish

    Print a completion script for a shell: commands, their options, and what each is for.

    Examples:
      eval "$(engram completion bash)"      # in ~/.bashrc; with zsh in ~/.zshrc
      engram completion fish | source       # in ~/.config/fish/config.fish
    """  # noqa: D415 - it is the command's help
    del json  # a script is none
    if len(words) != 1:
        raise Invalid("engram completion needs the name of a shell.", "Use bash, zsh or fish.")
    print(script(words[0], EXTRA))
    return 0


def script(shell: str, extra: Mapping[str, str]) -> str:
    """The completion script for a shell; `extra` are the commands that are no operations.

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


def _bash(extra: Mapping[str, str]) -> str:
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


def _zsh(extra: Mapping[str, str]) -> str:
    words = _words()
    cases = [(each.replace(" ", "\\ "), options) for each, options in _options().items() if " " in each]
    seconds = {name: [(each, "") for each in found] for name, found in words.items() if found}
    alone = {name: options for name, options in _options().items() if " " not in name}
    cases += [(f"{name}\\ *", [*seconds.get(name, ()), *alone.get(name, ())]) for name in words]
    offered = "\n".join(f"    ({name}) offered=({_described(options)}) ;;" for name, options in cases)
    return f"""#compdef engram
(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit }}
_engram() {{
  local -a offered
  if (( CURRENT == 2 )); then
    offered=({_described([*_abouts().items(), *extra.items()])})
    _describe -t commands command offered
    return
  fi
  case "$words[2] $words[3]" in
{offered}
  esac
  [[ $PREFIX == -* ]] || offered=(${{offered:#--*}})
  (( $#offered )) && _describe -o -t words word offered || _files
}}
compdef _engram engram"""


def _described(words: Iterable[tuple[str, str]]) -> str:
    """Words with what they mean, as zsh takes them."""
    return " ".join("'" + f"{word}:{about}".rstrip(":").replace("'", "'\\''") + "'" for word, about in words)


def _abouts() -> dict[str, str]:
    """The first word of every command → what it is for; where several begin with it, their second words."""
    alone = {each.command: each.summary for each in listed()}
    return {name: alone.get(name) or ", ".join(seconds) for name, seconds in _words().items()}


def _fish(extra: Mapping[str, str]) -> str:
    first = "complete -c engram -n __fish_use_subcommand"
    lines = [f"{first} -f"]  # only the command is no file
    about = {**_abouts(), **extra}
    lines += [f"{first} -a {name} -d {_quoted(text)}" for name, text in about.items()]
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
