"""Backups: a copy of the whole store in one file, looked at, and put back."""

import itertools
import os
from collections import Counter
from typing import cast

from engram.errors import Conflict, Corrupt, EngramError, Forbidden, Invalid
from engram.model.answers_store import BackedUp, BackupReport, BackupRestored, Exported
from engram.model.change import Finding
from engram.model.codec import TRAVELLERS, Traveller, decode, type_of
from engram.model.memory import Memory
from engram.operations import parameters as p
from engram.operations.base import Call, operation, writing
from engram.operations.exporting import every_memory, write_out
from engram.ports import ASSETS, Copies, CopiesBytes, Vault, able


@operation(
    "GET /v1/backup",
    "engram backup create",
    "engram backup create ~/backups/",
    "engram backup create before-upgrade.zip",
    human=True,
    local=True,
)
def backup_create(call: Call, path: p.BackupOut = "", *, overwrite: p.Overwrite = False) -> BackedUp:
    """Write a copy of the whole store to one file.

    The copy shows the store at one moment; others may keep writing meanwhile.
    """
    from engram.interop import backup_file as files  # noqa: PLC0415 - start-up

    vault, engine = _vault(call), able(call.engine, Copies)
    if engine is None:
        raise Invalid("This store is kept in no file, and cannot be copied.", every_memory(call))
    target = _target(call, path, overwrite=overwrite)
    with files.staging(target) as folder:
        with writing(target):
            counts = engine.copy_to(folder, call.progress)
            # After the records: what they name is there, or was purged meanwhile.
            if call.attaching and (blobs := able(call.blobs, CopiesBytes)):
                blobs.copy_to(os.path.join(folder, ASSETS), call.progress)
        schema = call.engine.facts().get("schema", "")
        manifest = files.Manifest(call.now, vault.version(), engine.form, schema, counts)
        size = files.pack(folder, target, manifest, call.progress, overwrite=overwrite)
    call.usage.mark("backup", call.now)
    return BackedUp(call.now, target, size, engine.form, counts)


@operation("GET /v1/backup/verify", "engram backup verify before-upgrade.zip", human=True, local=True)
def backup_verify(call: Call, path: p.BackupIn) -> BackupReport:
    """Check that a backup is whole.

    Every hash is compared, and the store inside is opened and checked.
    """
    from tempfile import TemporaryDirectory  # noqa: PLC0415 - start-up

    from engram.interop import backup_file as files  # noqa: PLC0415 - start-up

    vault = _vault(call)
    path = os.path.abspath(os.path.expanduser(path))
    manifest = files.read_manifest(path)
    with TemporaryDirectory(prefix="engram-") as folder:
        try:
            files.unpack(path, folder, call.progress)
            findings = _findings(vault, manifest.engine, folder, manifest.counts)
        except Corrupt as error:
            findings = [Finding("damaged", error.message, error.hint)]
    return BackupReport(
        at=call.now,
        path=path,
        made_at=manifest.created_at,
        version=manifest.version,
        engine=manifest.engine,
        counts=manifest.counts,
        findings=tuple(findings),
    )


@operation(
    "POST /v1/backup/restore",
    "engram backup restore before-upgrade.zip",
    "engram backup restore before-upgrade.zip --overwrite",
    writes=True,
    destructive=True,
    human=True,
    local=True,
)
def backup_restore(call: Call, path: p.BackupIn, *, overwrite: p.Replace = False) -> BackupRestored:
    """Put the store back from a backup.

    A store that is not empty is replaced only with --overwrite, and is then kept aside.
    """
    from engram.interop import backup_file as files  # noqa: PLC0415 - start-up

    vault = _vault(call)
    path = os.path.abspath(os.path.expanduser(path))
    aside = f".before-restore-{call.now:%Y%m%dT%H%M%S}" if overwrite else ""
    with files.staging(vault.place) as folder:
        manifest = files.unpack(path, folder, call.progress)
        call.progress(0, 1, "checking")
        for finding in _findings(vault, manifest.engine, folder, manifest.counts):
            if finding.severity == "error":
                raise Corrupt(f"The store in {path} is damaged: {finding.message}", "Use another backup.")
        call.engine.close()  # what this process has open must not stand in its own way
        call.progress(0, 1, "placing")
        kept = vault.put(manifest.engine, folder, aside)
        call.progress(1, 1, "placing")
    return BackupRestored(call.now, path, manifest.created_at, call.store, manifest.counts, kept)


@operation(
    "GET /v1/rescue", "engram rescue rescued.jsonl", "engram rescue - | grep Fridays", human=True, local=True
)
def rescue(call: Call, path: p.OutPath, *, overwrite: p.Overwrite = False) -> Exported:
    """Write what can be read of a damaged store as an export.

    Every intact record; the store is only read. Attachments are not included: their files stay beside the store.
    """
    from engram.interop import jsonl  # noqa: PLC0415 - start-up

    records, damaged = list[Traveller](), 0
    for type, document in _vault(call).salvage(call.now):
        try:
            records += [cast("Traveller", decode(type, document))] if type in TRAVELLERS else []
        except (EngramError, KeyError, TypeError, ValueError):
            damaged += 1
    seal = write_out(call, path, jsonl.write(records, call.now), overwrite=overwrite)
    counts = Counter(type_of(record) for record in records)
    makes = "1 record was found that makes" if damaged == 1 else f"{damaged} records were found that make"
    lost = (f"{makes} no sense, and left out.",) if damaged else ()
    attached = sum(len(record.assets) for record in records if isinstance(record, Memory))
    return Exported(
        at=call.now,
        path=path,
        memories=counts["memory"],
        sha256=seal,
        form="jsonl",
        sessions=counts["session"],
        relations=counts["relation"],
        dropped={"attached files": attached} if attached else {},
        problems=lost,
        hint=f"Move the damaged store away, then take this into a new one: engram import {path} --trust"
        if records
        else "Nothing that could be read is left in the store. Restore a backup: engram backup restore FILE",
    )


def _vault(call: Call) -> Vault:
    """Whoever copies a store copies what everybody keeps in it.

    Raises:
        Forbidden: when the caller is only one of several owners.
    """
    if call.caller.owner or call.vault is None:
        raise Forbidden(
            "A backup holds what everybody remembers.", "The person who runs the server makes it, on its machine."
        )
    return call.vault


def _target(call: Call, path: str, *, overwrite: bool) -> str:
    """The file to write, which is none of the store's; one that is named by time never takes another's place."""
    target = os.path.abspath(os.path.expanduser(path)) if path else _beside(call.store)
    if os.path.isdir(target) or path.endswith(os.sep):
        name = os.path.join(target, f"engram-{call.now:%Y%m%dT%H%M%S}")
        numbered = (f"{name}.zip" if n == 1 else f"{name}-{n}.zip" for n in itertools.count(1))
        target = next(each for each in numbered if not os.path.lexists(each))
    if os.path.realpath(target) == os.path.realpath(call.store):
        raise Invalid(f"{path} is the store itself.", "Choose another file.")
    if os.path.lexists(target) and not overwrite:
        raise Conflict(f"{target} is there already.", "Choose another name, or add --overwrite.")
    return target


def _beside(store: str) -> str:
    """The folder for backups beside a store, made where there is none.

    Raises:
        Invalid: when the store is not in a folder of this machine.
    """
    place = store.removeprefix("files:")
    if not os.path.exists(place):
        raise Invalid("This store is not in a folder.", "Say where the backup goes: engram backup create FILE.")
    folder = os.path.join(os.path.dirname(os.path.abspath(place)), "backups")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder


def _findings(vault: Vault, form: str, folder: str, counts: object) -> list[Finding]:
    """What is wrong with an unpacked copy: as it is opened, checked and counted."""
    found, findings = vault.check(form, folder)
    wrong = [each for each in findings if each.severity != "note"]
    if dict(found) != counts:
        wrong.append(Finding("counts", f"It holds {dict(found)}, and should hold {counts}."))
    return wrong
