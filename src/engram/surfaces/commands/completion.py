"""`engram completion`: a script for a shell, made from the operations: commands, options, and known values."""

from collections.abc import Iterable, Mapping
from json import dumps

from engram.errors import EngramError, Invalid
from engram.service import listed
from engram.surfaces.cli import EXTRA
from engram.surfaces.commands.offering import Offer, Option, Values, offers
from engram.wiring import open

SHELLS = ("bash", "zsh", "fish")


def run(words: list[str], *, json: bool = False) -> int:
    """Usage: engram completion bash|zsh|fish [--json]

    Print a completion script for a shell: commands, their options, what each is for, and values where they are
    known: words to choose from, kinds (those of your settings too), forms, agents, profiles, files.

    Options:
      --json  Answer in JSON, for machines.

    Examples:
      eval "$(engram completion bash)"      # in ~/.bashrc; with zsh in ~/.zshrc
      engram completion fish | source       # in ~/.config/fish/config.fish
    """  # noqa: D415 - it is the command's help
    if len(words) != 1:
        raise Invalid("engram completion needs the name of a shell.", "Use bash, zsh or fish.")
    written = script(words[0], EXTRA)
    print(dumps({"shell": words[0], "script": written}, ensure_ascii=False, indent=2) if json else written)
    return 0


def script(shell: str, extra: Mapping[str, str]) -> str:
    """The completion script for a shell; `extra` are the commands that are no operations.

    Raises:
        Invalid: when the shell is not one of the known.
    """
    if shell not in SHELLS:
        raise Invalid(f"There is no completion for {shell!r}.", "Use bash, zsh or fish.")
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return write(offers(extra, _tables()), extra)


def _tables() -> dict[str, list[str]]:
    """The kinds and the models there are, those of the settings among them; none where the settings are broken."""
    try:
        with open(apart=True, making="never") as memory:
            kinds, models = memory.kinds().kinds, memory.models().models
    except EngramError:
        return {}
    return {"kinds": [row.name for row in kinds], "models": [row.name for row in models]}


def _words() -> dict[str, list[str]]:
    """The first word of every operation's command → the second words it may have."""
    found: dict[str, list[str]] = {}
    for first, _, second in (each.command.partition(" ") for each in listed()):
        found.setdefault(first, []).extend([second] if second and not second.startswith("-") else [])
    return found


def _offered(found: Mapping[str, Offer], extra: Mapping[str, str]) -> dict[str, Offer]:
    """The first two words of a line, as a pattern → what may follow: those that name two words come first.

    `session begin` has options of its own; before the second word is there, the second words are offered.
    """
    seconds = _words()
    exact = {name.replace(" ", "\\ "): offer for name, offer in found.items() if " " in name}
    alone = {}
    for name in (*seconds, *extra):
        own = found.get(name, Offer((), Values()))
        words = (*seconds.get(name, ()), *own.placed.words)
        alone[f"{name}\\ *"] = own._replace(placed=own.placed._replace(words=words))
    return exact | alone


def _by_value(options: Iterable[Option]) -> dict[Values, str]:
    """What is offered as a value → the options that take it, as a pattern."""
    found: dict[Values, list[str]] = {}
    for one in options:
        if one.values is not None:
            found.setdefault(one.values, []).append(one.flag)
    return {values: "|".join(flags) for values, flags in found.items()}


def _bash(found: Mapping[str, Offer], extra: Mapping[str, str]) -> str:
    cases = []
    for pattern, (options, placed) in _offered(found, extra).items():
        valued = [f"      {flags}) {_shell(values)} ;;" for values, flags in _by_value(options).items()]
        flags = " ".join(one.flag for one in options)
        rest = f"      *) {_shell(placed)}; options='{flags}' ;;"
        cases.append("\n".join([f'    {pattern}) case "$before" in', *valued, rest, "    esac ;;"]))
    return f"""_engram() {{
  local IFS=$' \\t\\n' words= files= options= cur=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  if [ "$cur" = = ]; then cur=  # --kind=fact is three words to bash
  elif [ "$before" = = ]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  if [ "$COMP_CWORD" -eq 1 ]; then words='{" ".join([*_words(), *extra])}'
  else case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" in
{chr(10).join(cases)}
  esac; fi
  case "$cur" in -*) words=$options files= ;; esac
  [ -n "$words$files" ] || words=$options
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [ -n "$files" ] || return 0
  IFS=$'\\n'
  COMPREPLY+=($(compgen -f -- "$cur"))
  compopt -o filenames 2>/dev/null || return 0
}}
complete -F _engram engram"""


def _shell(values: Values) -> str:
    """The variables that say what may be offered, as bash sets them."""
    return f"words='{' '.join(values.words)}' files={'1' if values.files else ''}"


def _zsh(found: Mapping[str, Offer], extra: Mapping[str, str]) -> str:
    cases = []
    for pattern, (options, placed) in _offered(found, extra).items():
        valued = [f"      ({flags}) {_array(values)} ;;" for values, flags in _by_value(options).items()]
        told = _described((one.flag, one.about) for one in options)
        rest = f"      (*) {_array(placed)} options=({told}) ;;"
        cases.append("\n".join([f'    ({pattern}) case "$before" in', *valued, rest, "    esac ;;"]))
    return f"""#compdef engram
(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit }}
_engram() {{
  local -a offered options
  local files before=$words[CURRENT-1]
  if (( CURRENT == 2 )); then
    offered=({_described([*_abouts().items(), *extra.items()])})
    _describe -t commands command offered
    return
  fi
  if [[ $PREFIX == --*=* ]]; then before=${{PREFIX%%=*}}; compset -P '*='; fi
  case "$words[2] $words[3]" in
{chr(10).join(cases)}
  esac
  if [[ $PREFIX == -* || ( $#offered -eq 0 && -z $files ) ]]; then
    (( $#options )) && _describe -o -t options option options
    return
  fi
  local none=1
  (( $#offered )) && _describe -t values value offered && none=0
  [[ -n $files ]] && _files && none=0
  return none
}}
compdef _engram engram"""


def _array(values: Values) -> str:
    """The same as zsh sets them."""
    return f"offered=({' '.join(values.words)}) files={'1' if values.files else ''}"


def _described(words: Iterable[tuple[str, str]]) -> str:
    """Words with what they mean, as zsh takes them."""
    return " ".join("'" + f"{word}:{about}".rstrip(":").replace("'", "'\\''") + "'" for word, about in words)


def _abouts() -> dict[str, str]:
    """The first word of every command → what it is for; where several begin with it, their second words."""
    alone = {each.command: each.summary for each in listed()}
    return {name: alone.get(name) or ", ".join(seconds) for name, seconds in _words().items()}


def _fish(found: Mapping[str, Offer], extra: Mapping[str, str]) -> str:
    first = "complete -c engram -n __fish_use_subcommand"
    lines = [f"{first} -f"]  # only the command is no file
    about = {**_abouts(), **extra}
    lines += [f"{first} -a {name} -d {_quoted(text)}" for name, text in about.items()]
    for name, seconds in _words().items():
        lines += [f"complete -c engram -n '{_seen(name)} -a (count $w) -eq 2' -f -a {second}" for second in seconds]
    for name, (options, placed) in found.items():
        begins = f"complete -c engram -n '{_seen(name)}'"
        if not placed.files:
            lines.append(f"{begins} -f")
        lines += [f"{begins} -a {word}" for word in placed.words]
        lines += [f"{begins} -l {one.flag[2:]} -d {_quoted(one.about)}{_taken(one.values)}" for one in options]
    return "\n".join(lines)


def _taken(values: Values | None) -> str:
    """How fish is told what an option takes: nothing, a file, some words, or what nobody can know."""
    if values is None:
        return ""
    words = f" -a {_quoted(' '.join(values.words))}" if values.words else ""
    return f" {'-r -F' if values.files else '-x'}{words}"


def _seen(command: str) -> str:
    """The condition that a line begins with a command, by place: `list` and `session list` are two."""
    tests = (f'"$w[{place}]" = {word}' for place, word in enumerate(command.split(), start=2))
    return f"set -l w (commandline -opc); test {' -a '.join(tests)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
