"""The samples of other systems' stores, as their programs leave them: files, folders, databases and archives."""

import shutil
import sqlite3
import zipfile
from importlib import import_module
from pathlib import Path

from engram.interop.forms import Foreign, Form, Problem, look
from engram.interop.peers import PEERS
from engram.model.memory import Memory
from engram.model.relation import Relation

SAMPLES = Path(__file__).parent / "samples"
FORMS: dict[str, Form] = {form.name: form for form in (import_module(module).FORM for module in PEERS)}


def database(folder: Path, name: str) -> Path:
    """A database made of a dump."""
    path = folder / f"{name}.db"
    with sqlite3.connect(path) as db:
        db.executescript((SAMPLES / f"{name}.sql").read_text("utf-8"))
    db.close()
    return path


def archive(folder: Path, name: str) -> Path:
    """A zip of a folder of samples."""
    path = folder / f"{name}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for file in sorted((SAMPLES / name).rglob("*")):
            if file.is_file():
                zipped.write(file, file.relative_to(SAMPLES / name).as_posix())
    return path


def claude_projects(folder: Path) -> Path:
    """The folder of all projects of Claude Code, with the memories of two."""
    for name, cwd in (("-home-ana-code-billing-service", "/home/ana/code/billing-service"), ("-srv-web", "")):
        shutil.copytree(SAMPLES / "claude-code", folder / ".claude" / "projects" / name / "memory")
        if cwd:
            talk = folder / ".claude" / "projects" / name / "5da15695.jsonl"
            talk.write_text(f'{{"type":"user","cwd":"{cwd}","sessionId":"5da15695"}}\n', "utf-8")
    return folder / ".claude"


def everything(folder: Path) -> dict[str, tuple[str, Path]]:
    """Every sample → the form it has, and where it lies."""
    return {
        "server-memory file": ("server-memory", SAMPLES / "server-memory.jsonl"),
        "mem0 list": ("mem0", SAMPLES / "mem0-get-all.json"),
        "mem0 history": ("mem0", database(folder, "mem0-history")),
        "mcp-memory-service database": ("mcp-memory-service", database(folder, "mcp-memory-service")),
        "mcp-memory-service export": ("mcp-memory-service", SAMPLES / "mcp-memory-service.json"),
        "claude-mem database": ("claude-mem", database(folder, "claude-mem")),
        "claude code folder": ("claude-code", SAMPLES / "claude-code"),
        "claude code file": ("claude-code", SAMPLES / "claude-code" / "MEMORY.md"),
        "claude code projects": ("claude-code-projects", claude_projects(folder)),
        "claude code projects inside": ("claude-code-projects", folder / ".claude" / "projects"),
        "chatgpt folder": ("chatgpt", SAMPLES / "chatgpt"),
        "chatgpt zip": ("chatgpt", archive(folder, "chatgpt")),
        "chatgpt conversations": ("chatgpt", SAMPLES / "chatgpt" / "conversations.json"),
        "claude folder": ("claude-ai", SAMPLES / "claude-ai"),
        "claude zip": ("claude-ai", archive(folder, "claude-ai")),
        "claude memories": ("claude-ai", SAMPLES / "claude-ai" / "memories.json"),
        "claude conversations": ("claude-ai", SAMPLES / "claude-ai" / "conversations.json"),
        "basic-memory folder": ("basic-memory", SAMPLES / "basic-memory"),
        "obsidian vault": ("obsidian", SAMPLES / "obsidian"),
    }


def read(name: str, path: Path) -> list[Foreign | Problem]:
    """Everything that the reader of a form finds at a path."""
    return list(FORMS[name].read(look(str(path))))


def memories(found: list[Foreign | Problem]) -> dict[str, Memory]:
    """The memories among it, by their text."""
    return {
        one.record.text: one.record for one in found if isinstance(one, Foreign) and isinstance(one.record, Memory)
    }


def ties(found: list[Foreign | Problem]) -> set[tuple[str, str, str]]:
    """The relations among it: the text of one end, the reason, the text of the other."""
    records = [one.record for one in found if isinstance(one, Foreign)]
    texts = {one.id: one.text for one in records if isinstance(one, Memory)}
    return {(texts[one.from_id], one.reason, texts[one.to_id]) for one in records if isinstance(one, Relation)}


def problems(found: list[Foreign | Problem]) -> list[Problem]:
    """What could not be read."""
    return [one for one in found if isinstance(one, Problem)]
