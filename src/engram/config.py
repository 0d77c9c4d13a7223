"""The settings table, and the one function that reads it: environment over files over defaults."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from engram.errors import Invalid
from engram.layout import DATABASE, is_database, is_plain_files

FILE = "engram.toml"


class Setting(NamedTuple):
    """One row of the table. `shared` settings may also stand in a project's file, which others may have written."""

    name: str
    default: Any
    about: str
    shared: bool = False
    example: str = ""  # what the variable may hold, where the default does not show it

    @property
    def variable(self) -> str:
        """The environment variable that overrides every file."""
        return f"ENGRAM_{self.name.upper()}"


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "store",
        "",
        "Where memories rest: FILE.db, a FOLDER of plain files, sqlite:PATH, files:PATH, postgres://…, or ram:.",
    ),
    Setting("org", "default", "The org whose part of a database this is; no org sees another's."),
    Setting(
        "index",
        "",
        "An index beside the store that finds candidates: qdrant://HOST, qdrants://HOST, qdrant:FOLDER.",
    ),
    Setting("snapshots", 20, "How many snapshots a store of plain files keeps in .bak."),
    Setting("autopromote", default=True, about="Whether tier 1 and 2 memories go live by themselves.", shared=True),
    Setting("review_all", default=False, about="Whether every memory waits for a person.", shared=True),
    Setting("project", "", "The project's name, if the repository does not tell."),
    Setting(
        "visibility", "private", "Who sees new memories of a project: private or shared. Sync sends shared ones."
    ),
    Setting("agent", "", "The agent that speaks; without one, a person does."),
    Setting("budget", 1500, "How many tokens a context may take.", shared=True),
    Setting(
        "views",
        [],
        'Files that `engram views` keeps beside AGENTS.md, CLAUDE.md and CURSOR.md, such as "GEMINI.md".',
        shared=True,
    ),
    Setting(
        "staging", default=True, about="Whether what is learned on an unmerged branch stays there until a merge."
    ),
    Setting("default_branch", "", "The branch that work is merged into, if the repository does not tell."),
    Setting("keep_prompts", default=False, about="Whether hooks keep your prompts, as memories of kind prompt."),
    Setting(
        "embedder",
        "snowflake-arctic-embed-s",
        "What finds by meaning: a model (see `engram models`), endpoint, or none.",
    ),
    Setting("embedder_url", "", "An OpenAI-compatible endpoint: https://host/v1. Its key: ENGRAM_EMBEDDER_KEY."),
    Setting("embedder_model", "", "The endpoint's name of its model."),
    Setting("embedder_dim", 0, "How many numbers a vector of the endpoint has."),
    Setting("embedder_query", "", "Text the endpoint expects before a question."),
    Setting("embedder_document", "", "Text the endpoint expects before a text."),
    Setting("extractor_url", "", "An OpenAI-compatible endpoint for harvests. Its key: ENGRAM_EXTRACTOR_KEY."),
    Setting("extractor_model", "", "The endpoint's name of the model that a harvest asks."),
    Setting("extractor_budget", 1_000_000, "The most tokens one harvest may use at the endpoint."),
    Setting("extractor_timeout", 60, "How many seconds to wait for an answer of the endpoint."),
    Setting("network_store", default=False, about="Allow a store on a network file system, from one machine only."),
    Setting("insights", default=True, about="Whether what is noticed about how you work may be kept."),
    Setting("slow_seconds", 30, "How long a server waits for the next bytes of a request before it gives up."),
    Setting("asset_bytes", 25 * 1024 * 1024, "How many bytes an attachment may have."),
    Setting(
        "asset_types",
        [],
        "The types an attachment may have, instead of the built-in ones; see docs/guides/attachments.md.",
    ),
    Setting("asset_days", 7, "How many days detached bytes are kept, so that undo can bring them back."),
    Setting("oidc_issuer", "", "A team's server: the OpenID provider whose tokens say who speaks."),
    Setting("oidc_audience", "", "What a token must be meant for, beside this server's own address."),
    Setting(
        "oidc_client",
        "engram",
        "The page's client name at the provider. Its secret, if it has one: ENGRAM_OIDC_SECRET.",
    ),
    Setting("public_url", "", "The address by which others reach this server: https://memory.example.org."),
    Setting(
        "org_claim", "", "The claim that names a caller's org; without one, everybody is of the configured org."
    ),
    Setting("groups_claim", "groups", "The claim that names a caller's groups, for grants."),
    Setting("workspaces_claim", "", "The claim that names a caller's workspaces; workspaces are off without one."),
    Setting(
        "person_claim",
        "",
        "A claim that only people's tokens have; without one, the way a token was obtained decides.",
    ),
    Setting("required_scope", "", "A scope that every token must have."),
    Setting("requests_per_minute", 600, "How many requests one caller may make a minute; 0 for any number."),
    Setting(
        "grants",
        {},
        'Members of projects: [grants."project:NAME"] with reader, writer, reviewer, admin = […].',
        example='{"project:api": {"writer": ["ada@example.org"], "reader": ["group:engineering"]}}',
    ),
    Setting(
        "kinds",
        {},
        "Kinds of your own, added to ours or replacing them: [kinds.NAME] with tier, decay, recall, about.",
        example='{"runbook": {"tier": 1, "decay": "90d", "recall": "always", "about": "How to mend something."}}',
    ),
)

BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}
LOOSER = {"autopromote": True, "review_all": False}
"""What a project's file, which anybody may have written, cannot ask for."""

ALIASES = {"store_dir": "store"}

_SECRETS = ("_KEY", "_SECRET", "_TOKEN")
"""How variables end that hold what no file may: they are no settings, and read where they are used."""

NO_HOME = os.devnull
"""What stands for the home of whoever has none: nothing lies below it, and nobody can put anything there."""

_WORDS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


class Value(NamedTuple):
    """A setting's value and where it comes from: default, a file's path, or an environment variable."""

    value: Any
    origin: str


class Settings(NamedTuple):
    """Every setting, read once."""

    values: Mapping[str, Value]

    def get(self, name: str) -> Any:  # noqa: ANN401 - typed by the table
        """The value of a setting."""
        return self.values[name].value

    def origin(self, name: str) -> str:
        """Where the value of a setting comes from."""
        return self.values[name].origin


def read(environment: Mapping[str, str], folder: str | os.PathLike[str]) -> Settings:
    """Read every setting for a process standing in `folder`.

    Raises:
        Invalid: naming the file or variable, the setting and what it may be.
    """
    values = {setting.name: Value(setting.default, "default") for setting in SETTINGS}
    for path, shared in _files(environment, os.fspath(folder)):
        values |= _from_file(path, shared=shared)
    for setting in SETTINGS:
        if text := environment.get(setting.variable, ""):
            values[setting.name] = Value(_from_text(setting, text), setting.variable)
    return Settings(values)


def _home(environment: Mapping[str, str]) -> str:
    """What is told of a home; no whole path where nothing is."""
    return environment.get("HOME") or os.path.expanduser("~")


def home_folder(environment: Mapping[str, str]) -> str:
    """A person's home: what HOME says, or the system knows.

    Raises:
        Invalid: when neither tells of one; what is kept would lie in whatever folder a command was run in.
    """
    home = _home(environment)
    if not os.path.isabs(home):
        raise Invalid(
            "There is no home folder: HOME is not set to a whole path, and the system knows of none for this user.",
            "Set it to a folder of this user's own: export HOME=/path/to/folder",
        )
    return home


def user_file(environment: Mapping[str, str], *, needed: bool = True) -> str:
    """The file with a person's own settings; unless it is needed, a path below `NO_HOME` where there is no home.

    Raises:
        Invalid: when it is needed, and there is no home.
    """
    return os.path.join(_base(environment, "XDG_CONFIG_HOME", ".config", needed=needed), "engram", FILE)


def secret_of(environment: Mapping[str, str], remote: str) -> str:
    """The token for a remote, from the private file remotes.toml beside the settings; "" when it has none.

    Raises:
        Invalid: when others may read the file, or it cannot be read.
    """
    path = os.path.join(os.path.dirname(user_file(environment, needed=False)), "remotes.toml")
    if not os.path.isfile(path):
        return ""
    if os.stat(path).st_mode & 0o077:
        from shlex import quote  # noqa: PLC0415 - start-up

        raise Invalid(f"{path} can be read by others.", f"Make it private: chmod 600 {quote(path)}")
    return str(_toml(path).get(remote, ""))


def data_folder(environment: Mapping[str, str], *, needed: bool = True) -> str:
    """Where the default store lies; unless it is needed, a path below `NO_HOME` where there is no home.

    Raises:
        Invalid: when it is needed, and there is no home.
    """
    return os.path.join(_base(environment, "XDG_DATA_HOME", ".local/share", needed=needed), "engram")


def default_store(environment: Mapping[str, str]) -> str:
    """The store where none is named: a file of ours, or the folder where plain files alone lie in it."""
    folder = data_folder(environment)
    file = os.path.join(folder, DATABASE)
    return folder if is_plain_files(folder) and not is_database(file) else file


def cache_folder(environment: Mapping[str, str]) -> str:
    """Where what can be made again lies, such as the index of a store of plain files.

    Below `NO_HOME` where there is no home: each process does without what cannot be kept.
    """
    return os.path.join(_base(environment, "XDG_CACHE_HOME", ".cache", needed=False), "engram")


def upwards(folder: str) -> Iterator[str]:
    """A folder and those above it, the innermost first."""
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _base(environment: Mapping[str, str], variable: str, below_home: str, *, needed: bool) -> str:
    if (given := environment.get(variable, "")) and os.path.isabs(given):
        return given
    home = _home(environment)
    return os.path.join(
        home if os.path.isabs(home) else home_folder(environment) if needed else NO_HOME, below_home
    )


def _files(environment: Mapping[str, str], folder: str) -> list[tuple[str, bool]]:
    own = user_file(environment, needed=False)
    found = [(own, False)] if os.path.isfile(own) else []
    home = os.path.realpath(environment.get("HOME") or "/")
    for place in upwards(os.path.realpath(folder)):
        if place in {home, "/"}:
            break
        if os.path.isfile(path := os.path.join(place, FILE)):
            found.append((path, True))
            break
        if os.path.exists(os.path.join(place, ".git")):
            break
    return found


def _toml(path: str) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - most people have no file, and start-up should not pay for one

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Invalid(f"{path} cannot be read: {error}.", "Mend the file, or move it away.") from None


def _from_file(path: str, *, shared: bool) -> dict[str, Value]:
    values = {}
    for given, value in _toml(path).items():
        setting = BY_NAME.get(ALIASES.get(given, given))
        if setting is None:
            raise Invalid(f"{path} has an unknown setting {given!r}.", f"{_meant(given)}See `engram config`.")
        if shared and not setting.shared:
            raise Invalid(
                f"{path} sets {given}, which only a person's own file may.",
                "Put it into your own engram.toml (see `engram config`) or the environment.",
            )
        if shared and value == LOOSER.get(setting.name):
            raise Invalid(
                f"{path} sets {given} to {str(value).lower()}; a project may only ask for more review.",
                "Put it into your own engram.toml (see `engram config`) or the environment.",
            )
        if type(value) is not type(setting.default):
            wanted = setting.about if setting.example else f"Give {_like(setting.default, 'true or false')}."
            raise Invalid(f"{path}: {given} cannot be {value!r}.", wanted)
        values[setting.name] = Value(os.path.join(value, "") if value and given == "store_dir" else value, path)
    return values


def _meant(given: str) -> str:
    """The setting that was probably meant, as a question; "" where none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - only where something is wrong

    near = get_close_matches(given.lower().replace("-", "_"), BY_NAME, 1)
    return f"Did you mean {near[0]}? " if near else ""


def _like(default: object, switch: str) -> str:
    """What a value may look like: a switch by its two words, anything else by its default."""
    return switch if isinstance(default, bool) else f"something like {default!r}"


def mistaken(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that are none of ours but nearly so, each with the one that was probably meant."""
    from difflib import get_close_matches  # noqa: PLC0415 - for one command

    ours = {setting.variable for setting in SETTINGS}
    others = (name for name in environment if name.startswith("ENGRAM") and name not in ours)
    near = {name: get_close_matches(name, ours, 1, 0.85) for name in others if not name.endswith(_SECRETS)}
    return {name: meant[0] for name, meant in near.items() if meant}


def _table(text: str) -> dict[str, Any] | None:
    """A table that a variable holds as JSON; None where it is none."""
    from json import loads  # noqa: PLC0415 - start-up

    try:
        read = loads(text)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def _from_text(setting: Setting, text: str) -> Any:  # noqa: ANN401 - typed by the table
    kind = type(setting.default)
    if kind is bool and text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if kind is int and text.isascii() and text.isdigit():
        return int(text)
    if kind is str:
        return text
    if kind is list:
        return [part.strip() for part in text.split(",") if part.strip()]
    if kind is dict and (table := _table(text)) is not None:
        return table
    wanted = f"a table in JSON: {setting.example}" if setting.example else f"{_like(setting.default, 'on or off')}."
    raise Invalid(f"{setting.variable} cannot be {text!r}.", f"Give {wanted}")
