"""What the stores are filled with and asked for: sentences of the Python standard library, taken when it runs.

Its docstrings and comments hold some 47,000 distinct English sentences about programs. Beyond those, two of them
make one text, so that a million are distinct. Everything depends on the Python version alone.
"""

import ast
import functools
import hashlib
import json
import os
import platform
import random
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from common import CACHE, progress
from engram.model.text import digest

SEED = 20261116
SHORTEST, LONGEST = 40, 390
"""Characters of a sentence. Two of the longest still fit in one window, and so have one vector."""

_VERBS = """
    add apply build call change check clean close compare compile compute connect convert copy create decode delete
    determine disable display draw emit enable encode ensure escape execute extract fetch fill filter find flush
    format generate get handle import insert install iterate join list load locate log look make map match merge
    move open pack parse perform print process produce push put query quote raise read receive record register
    reload remove rename render replace report reset resolve retrieve return run save scan search select send set
    show skip sort split start stop store strip submit translate truncate turn unpack update use validate verify
    wait walk wrap write
"""


def texts(count: int) -> Iterator[str]:
    """So many distinct texts, always the same ones in the same order."""
    known = sentences()
    for one, other in pairs(count):
        yield known[one] if one == other else f"{known[one]} {known[other]}"


def pairs(count: int) -> Iterator[tuple[int, int]]:
    """Of which sentences the texts are made, by number; twice the same one where a text is a single sentence."""
    known = len(sentences())
    yield from ((at, at) for at in range(min(count, known)))
    chance = random.Random(SEED)
    seen: set[tuple[int, int]] = set()
    while len(seen) < count - known:
        pair = (chance.randrange(known), chance.randrange(known))
        if pair[0] != pair[1] and pair not in seen:
            seen.add(pair)
            yield pair


def questions(count: int) -> list[str]:
    """So many questions: by turns one in natural words, made of a docstring's first line, and one of bare words.

    The bare words are some of a sentence's own, of one among the first thousand, so that every store has some of
    what is asked for.
    """
    chance = random.Random(SEED + 1)
    natural = chance.sample(_read()[1], (count + 1) // 2)
    bare = []
    for sentence in chance.sample(sentences()[:1000], count // 2):
        words = [word for word in dict.fromkeys(re.findall(r"[\w.-]*\w", sentence)) if len(word) > 3]
        kept = sorted(chance.sample(range(len(words)), min(len(words), chance.randint(3, 6))))
        bare.append(" ".join(words[at] for at in kept))
    return [pool[at // 2] for at in range(count) for pool in ((natural, bare)[at % 2],)]


def sentences() -> tuple[str, ...]:
    """Every sentence, once, in an order that mixes the modules."""
    return _read()[0]


def fingerprint() -> str:
    """A short name for all texts: another Python has others."""
    return hashlib.sha256("\n".join(sentences()).encode()).hexdigest()[:12]


@functools.cache
def _read() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sentences and questions; parsing the whole library takes half a minute, so what it gave is kept."""
    kept = CACHE / "speed" / f"sentences-{platform.python_version()}.json"
    if not kept.exists():
        sources = _sources()
        # The same but for its case or full stop is the same memory, and would be refused.
        said = {digest(each): each for source in progress(sources, "reading") for each in _in(source)}
        found = list(said.values())
        random.Random(SEED).shuffle(found)
        asked = list(dict.fromkeys(question for source in sources for question in _asked_of(source)))
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps([found, asked]))
    found, asked = json.loads(kept.read_text())
    return tuple(found), tuple(asked)


def _asked_of(source: str) -> Iterator[str]:
    """What the docstrings of a module answer, as questions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            line = (ast.get_docstring(node) or "").partition("\n")[0].strip()
            verb, _, rest = line.removesuffix(".").partition(" ")
            if 25 <= len(line) <= 110 and line.endswith(".") and line.isascii() and verb.lower() in _VERBS.split():
                yield f"How do I {verb.lower()} {rest}?"


def _sources() -> tuple[str, ...]:
    sources = []
    for folder, inner, files in os.walk(sysconfig.get_paths()["stdlib"]):
        inner[:] = sorted(name for name in inner if name not in ("site-packages", "__pycache__"))
        for name in sorted(files):
            if name.endswith(".py"):
                try:
                    source = (Path(folder) / name).read_text("utf-8")
                    ast.parse(source)
                except (UnicodeDecodeError, SyntaxError, ValueError):  # files that test just these
                    continue
                sources.append(source)
    return tuple(sources)


def _in(source: str) -> Iterator[str]:
    """The sentences of a module's strings and comments."""
    nodes = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    blocks = [value for value in nodes if isinstance(value, str) and " " in value]
    blocks += re.findall(r"(?:^[ \t]*#.*\n)+", source, re.MULTILINE)
    for block in blocks:
        plain = re.sub(r"^[ \t]*#+", "", block, flags=re.MULTILINE)
        for piece in re.split(r"\n\s*\n|(?<=[.!?])\s+(?=[A-Z])", plain):
            sentence = " ".join(piece.split())
            if SHORTEST <= len(sentence) <= LONGEST and sentence.isprintable() and _reads(sentence):
                yield sentence


def _reads(sentence: str) -> bool:
    """Whether it is prose: four of five characters are letters or spaces, and all of them are characters."""
    prose = sum(char.isalpha() or char == " " for char in sentence) / len(sentence)
    return prose > 0.8 and sentence.encode("utf-8", "ignore").decode() == sentence
