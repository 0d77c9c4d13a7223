"""What the core asks of the world: an engine, models, evidence, places for bytes and keys, and time and chance."""

from engram.ports.blobs import ASSETS, Attaching, Blobs, CopiesBytes, Stage
from engram.ports.engine import Copies, Engine, Followed, KeepsBytes, ManyOrgs, Noticing, Paged, Probed, Vault, able
from engram.ports.hands import Hands
from engram.ports.machine import (
    Clock,
    Cursors,
    Evidence,
    Forgetful,
    Harvesting,
    Ledger,
    NewId,
    Progress,
    Shelf,
    SigningKey,
    Syncing,
    Usage,
)
from engram.ports.models import Embedder, Extractor, Judge

__all__ = [
    "ASSETS",
    "Attaching",
    "Blobs",
    "Clock",
    "Copies",
    "CopiesBytes",
    "Cursors",
    "Embedder",
    "Engine",
    "Evidence",
    "Extractor",
    "Followed",
    "Forgetful",
    "Hands",
    "Harvesting",
    "Judge",
    "KeepsBytes",
    "Ledger",
    "ManyOrgs",
    "NewId",
    "Noticing",
    "Paged",
    "Probed",
    "Progress",
    "Shelf",
    "SigningKey",
    "Stage",
    "Syncing",
    "Usage",
    "Vault",
    "able",
]
