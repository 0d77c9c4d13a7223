"""The only place where parts meet: settings, engine, caller, clock and chance become an Engram.

`open` brings them together; what it needs of each part is made by the functions below it and by the modules beside.
"""

import functools
import os
from collections.abc import Callable, Mapping
from typing import Literal

from engram import config
from engram.errors import Invalid
from engram.inference.lazy import LazyExtractor, LazyJudge
from engram.interop.cursors import CursorFile
from engram.model.caller import Caller
from engram.model.memory import NOWHERE, Context, Visibility
from engram.model.scope import GLOBAL, Scope
from engram.operations.absent import Nowhere
from engram.ports import (
    Attaching,
    Blobs,
    Clock,
    Engine,
    Evidence,
    Harvesting,
    KeepsBytes,
    Ledger,
    Syncing,
    Usage,
    able,
)
from engram.projects.checkouts import Whereabouts, tip_of
from engram.projects.detect import repository_of
from engram.rules.kinds import extended
from engram.rules.media import TAKEN
from engram.rules.policy import Policy
from engram.service import Engram
from engram.usage import UsageFile
from engram.wiring.clock import new_id, now
from engram.wiring.embedders import embedder_of, shelf_of
from engram.wiring.places import holds, home_scope, working_folder
from engram.wiring.stores import answering, beside, engine_of, indexed, place_of, sync_folder
from engram.wiring.vault import StoreVault


def open(
    store: str | os.PathLike[str] = "",
    *,
    caller: Caller | None = None,
    folder: str | os.PathLike[str] = "",
    home: Scope | None = None,
    channel: str = "api",
    agent: str = "",
    lenient: bool = False,
    apart: bool = False,
    making: Literal["now", "later", "never"] = "now",
    environment: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> Engram:
    """Open a memory: the configured store, or the one given.

    A store is a path, `sqlite:PATH`, `files:PATH`, `postgres://…` or `ram:`. `folder` (default: the working
    directory) decides the project. `home` is the default scope for new memories, instead of that project. `lenient`
    opens a store whose file modes are too open, so that it can be repaired; `apart` opens an empty in-memory store
    instead. `making`: a missing store is made now, later (with the first thing to keep) or never. `agent` speaks if
    no setting names one; default: a person. `clock` defaults to the wall clock.

    Raises:
        Invalid, Corrupt, Unavailable: when the settings or the store cannot be used.
    """
    variables = os.environ if environment is None else environment
    place = os.path.abspath(folder) if folder else working_folder()
    settings = config.read(variables, place)
    agent, policy, shelf = settings.get("agent") or agent, _policy(settings), shelf_of(variables)
    embedder = embedder_of(settings, variables, shelf.folders)
    name = os.fspath(store) or settings.get("store")  # last: settings that are wrong leave no store behind
    used = "ram:" if apart else answering(name, variables, settings, given=bool(store), making=making != "never")
    engine, shown = engine_of(used, variables, settings, policy, lenient=lenient, later=making == "later")
    engine = indexed(engine, settings, variables, embedder) if used == name else engine
    vault = StoreVault(place_of(name, variables), variables, settings, policy)
    speaker = caller or Caller(org=settings.get("org"), agent=agent, human=not agent)
    around = None if home else Whereabouts(place, settings.get("default_branch"))  # None: clients are elsewhere
    taken = functools.partial(holds, engine, speaker)
    return Engram(
        engine,
        caller=speaker,
        clock=clock or now,
        new_id=new_id,
        policy=policy,
        home=home or (lambda: home_scope(settings, variables, place, taken)),
        folder=place if around else "",
        budget=settings.get("budget"),
        store=shown if used == name else vault.shown,
        channel=channel,
        embedder=embedder,
        shelf=shelf,
        context=Context(agent=agent) if agent else NOWHERE,
        harvesting=_harvesting(settings, variables),
        vault=vault,
        evidence=_evidence(around, place, variables),
        view=around.view if around else str,
        syncing=_syncing(settings, variables, shown, place, taken, told=caller is not None),
        usage=usage_of(variables, shown),
        attaching=_attaching(settings, engine, shown),
    )


def usage_of(environment: Mapping[str, str], store: str) -> Usage:
    """Who counts what is recalled of a store, in a private file of the cache; or in memory, where the store is."""
    if store == "ram:":
        return UsageFile()
    name = "".join(each if each.isalnum() else "-" for each in store)[-120:]
    return UsageFile(os.path.join(config.cache_folder(environment), "used", f"{name}.used"))


def _policy(settings: config.Settings) -> Policy:
    """What configuration lets admission decide by."""
    return Policy(
        autopromote=settings.get("autopromote"),
        review_all=settings.get("review_all"),
        kinds=extended(settings.get("kinds")),
        staging=settings.get("staging"),
        visibility=visibility_of(settings),
        insights=settings.get("insights"),
        open_org=_is_open(settings),
    )


def _is_open(settings: config.Settings) -> bool:
    """Whether tokens tell orgs apart, and nobody said which one is meant here."""
    return bool(settings.get("org_claim")) and settings.origin("org") == "default"


def _evidence(around: Whereabouts | None, folder: str, environment: Mapping[str, str]) -> Callable[[], Evidence]:
    """What looks at citations from a folder; loaded on first need, for most questions cite nothing."""

    def desk() -> Evidence:
        if around is None:
            return Nowhere()
        from engram.evidence.desk import Desk  # noqa: PLC0415 - start-up

        return Desk(folder, around.look, tip_of, config.cache_folder(environment))

    return desk


def sight_from_here() -> tuple[Callable[[], Evidence], Callable[[], str]]:
    """What a person sees who sits in the working directory: what is cited, the branch."""
    place = working_folder()
    around = Whereabouts(place, config.read(os.environ, place).get("default_branch"))
    return _evidence(around, place, os.environ), around.view


def visibility_of(settings: config.Settings) -> Visibility:
    """Who may see a new memory of a project by default.

    Raises:
        Invalid: when it is neither private nor shared.
    """
    said = settings.get("visibility")
    if said == "shared":
        return "shared"
    if said == "private":
        return "private"
    raise Invalid(f"visibility cannot be {said!r}.", "It is private or shared.")


def _harvesting(settings: config.Settings, environment: Mapping[str, str]) -> Harvesting:
    """What a harvest needs: how far it came, the configured model, and which project a talk took place in."""

    def place(folder: str) -> Scope:
        if folder and not os.path.isdir(folder):  # it is gone; what it was called is still told
            return Scope("project", os.path.basename(folder)) if os.path.basename(folder) else GLOBAL
        return home_scope(settings, environment, folder or working_folder())

    url, model = settings.get("extractor_url"), settings.get("extractor_model")
    key, patience = environment.get("ENGRAM_EXTRACTOR_KEY", ""), max(settings.get("extractor_timeout"), 1)
    most = settings.get("extractor_budget")
    return Harvesting(
        cursors=CursorFile(os.path.join(config.data_folder(environment, needed=False), "harvest.jsonl")),
        extractor=LazyExtractor(url, model, key, timeout=patience, most_tokens=most) if url and model else None,
        judge=LazyJudge(url, model, key, timeout=patience) if url and model else None,
        place=place,
    )


def _attaching(settings: config.Settings, engine: Engine, store: str) -> Attaching:
    """What attachments need: in the database itself, in a folder beside the store, or in this process."""

    @functools.cache
    def blobs() -> Blobs:
        if store == "ram:":
            from engram.engines.blobs_ram import RamBlobs  # noqa: PLC0415 - start-up

            return RamBlobs()
        from engram.engines.blobs_folder import FolderBlobs  # noqa: PLC0415 - start-up

        return FolderBlobs(beside(store))

    keeps = able(engine, KeepsBytes)
    return Attaching(
        blobs=keeps.blobs if keeps else blobs,
        most_bytes=settings.get("asset_bytes"),
        types=tuple(settings.get("asset_types")) or TAKEN,
        days=settings.get("asset_days"),
    )


def _which_org() -> Ledger:
    raise Invalid(
        "Each org of this database exchanges under a key of its own, and none is named.",
        "Name it: ENGRAM_ORG=acme engram replicas.",
    )


def _syncing(
    settings: config.Settings,
    environment: Mapping[str, str],
    store: str,
    here: str,
    taken: Callable[[str], bool],
    *,
    told: bool,
) -> Syncing:
    """What an exchange needs: keys and what is known of others, in a folder beside the store.

    Every org of a database has a key of its own. Where tokens tell orgs apart, none is meant unless it is `told`.
    """
    folder, ledger = sync_folder(store, environment)
    if "://" in store and _is_open(settings) and not told:
        ledger = _which_org

    def secret(remote: str, url: str) -> str:
        from engram.surfaces.commands.login import token_for  # noqa: PLC0415 - start-up

        name = f"ENGRAM_REMOTE_TOKEN_{remote.upper().replace('-', '_')}"
        said = environment.get(name, "") or config.secret_of(environment, remote)
        return said or token_for(url, environment)

    return Syncing(
        ledger=ledger,
        place=lambda folder: home_scope(settings, environment, folder, taken),
        root=lambda folder: repository_of(folder, environment.get("HOME") or "/"),
        device=os.uname().nodename,
        folder=folder,
        here=here,
        secret=secret,
    )
