"""Folders of Markdown notes that link to each other: their properties, words, tags and links, file by file."""

import functools
import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from engram.interop.forms import HEAD, Foreign, Problem, Source
from engram.interop.markdown import FRONT_MATTER
from engram.model.scalars import deep_line

LARGEST = 4 * 1024 * 1024
LARGEST_PROPERTIES = 256 * 1024
"""Characters of properties that are read: the library takes seconds for as many as a whole note may have."""

PASSED = frozenset({"node_modules", "__pycache__"})
MOST_LOOKED_INTO = 300
"""Folders that are looked into to tell what a folder is: somebody may name their whole home."""

NO_YAML = "Its properties are not YAML."

LONGEST_WHOLE = 4000
"""Characters up to which a note is one memory; a longer one is told section by section."""

_LINK = re.compile(r"(!?)\[\[([^\[\]\n|#^]{1,300})(?:[#^][^\[\]\n|]{0,300})?(?:\|[^\[\]\n]{0,300})?\]\]")
_TAG = re.compile(r"(?:(?<=\s)|^)#((?:[^\W\d]|\d(?=[\w/-]*[^\W\d]))[\w/-]*)")
_CODE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+)", re.MULTILINE)
_COMMENT = re.compile(r"%%|<!--")


class Note(NamedTuple):
    """One file: where it lies in its folder, what its properties say, its text, and when it was written last."""

    path: str
    properties: Mapping[str, Any]
    body: str
    written: datetime

    @property
    def stem(self) -> str:
        """Its name without folder and ending."""
        return os.path.basename(self.path).rpartition(".")[0]

    @property
    def prose(self) -> str:
        """Its text without comments."""
        return _uncommented(self.body).strip()

    def tags(self) -> tuple[str, ...]:
        """The tags in its text, without those in code."""
        return tuple(dict.fromkeys(_TAG.findall(_CODE.sub(" ", self.prose))))

    def links(self) -> tuple[str, ...]:
        """What its text links to, without pictures and other files that it shows."""
        found = _LINK.findall(_CODE.sub(" ", self.prose))
        return tuple(dict.fromkeys(to.strip() for shown, to in found if not (shown and _is_file(to))))


def _uncommented(text: str) -> str:
    """A text without its comments; what is begun as one and never ended is none."""
    kept, at, open_ = [], 0, {"%%": "%%", "<!--": "-->"}
    for mark in _COMMENT.finditer(text):
        if mark.start() < at or not (closing := open_.get(mark[0])):
            continue
        if (end := text.find(closing, mark.end())) < 0:
            del open_[mark[0]]  # nor does a later one end
            continue
        kept.append(text[at : mark.start()])
        at = end + len(closing)
    return "".join([*kept, text[at:]])


def _is_file(name: str) -> bool:
    ending = os.path.splitext(name.strip())[1].lower()
    return bool(ending) and ending != ".md" and re.fullmatch(r"\.[a-z0-9]{2,5}", ending) is not None


def paths(folder: str, most: int | None = None) -> Iterator[str]:
    """The Markdown files in a folder and those in it, by name; hidden ones and links are passed over.

    `most` is how many folders are looked into.
    """
    for place, folders, names in itertools.islice(os.walk(folder), most):
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in PASSED)
        for name in sorted(names):
            whole = os.path.join(place, name)
            if name.lower().endswith(".md") and name[0] != "." and not os.path.islink(whole):
                yield os.path.relpath(whole, folder)


def every(folder: str) -> Iterator[Note | Problem]:
    """Each of the notes in turn, or why it cannot be read."""
    for path in paths(folder):
        yield read(folder, path)


def heads(source: Source, most: int = 100) -> Iterator[str]:
    """The beginnings of some of the notes in a folder, to tell what kind of folder it is."""
    found = paths(source.path, MOST_LOOKED_INTO) if source.folder else ()
    for path in itertools.islice(found, most):
        try:
            with open(os.path.join(source.path, path), "rb") as file:
                yield file.read(HEAD // 8).decode("utf-8", "replace")
        except OSError:
            continue


def mostly(source: Source, without: frozenset[str]) -> bool:
    """Whether most of the files in a folder and those in it are notes, and none has one of these names."""
    files = notes = 0
    for _, folders, names in itertools.islice(os.walk(source.path), MOST_LOOKED_INTO):
        if without & {*names, *folders}:
            return False
        folders[:] = [name for name in folders if name[0] != "." and name not in PASSED]
        seen = [name for name in names if name[0] != "."]
        files += len(seen)
        notes += sum(name.lower().endswith(".md") for name in seen)
    return 0 < files <= 2 * notes


def read(folder: str, path: str) -> Note | Problem:
    """One note of a folder, or why it cannot be read."""
    try:
        with open(os.path.join(folder, path), "rb") as file:
            raw = file.read(LARGEST + 1)
            written = datetime.fromtimestamp(int(os.fstat(file.fileno()).st_mtime), UTC)
        if len(raw) > LARGEST:
            return Problem(path, f"It has more than {LARGEST:,} bytes.")
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return Problem(path, "It is not UTF-8 text.")
    except OSError as error:
        return Problem(path, f"It cannot be read: {error.strerror}.")
    properties, body = parts(text)
    return Problem(path, properties) if isinstance(properties, str) else Note(path, properties, body, written)


def parts(text: str) -> tuple[Mapping[str, Any] | str, str]:
    """The properties of a note, or why they cannot be read, and what is below them."""
    found = FRONT_MATTER.match(text)
    return (_properties(found[1]), text[found.end() :]) if found else ({}, text)


@functools.cache
def _loader() -> Any:  # noqa: ANN401 - a class of a library without types
    """A safe loader that takes no mapping into another: a few lines of that would have more pairs than memory."""
    import yaml  # type: ignore[import-untyped] # noqa: PLC0415 - start-up

    class Apart(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # either is a class
        def flatten_mapping(self, node: object) -> None:
            pass

    return Apart


def _properties(text: str) -> Mapping[str, Any] | str:
    import yaml  # noqa: PLC0415 - start-up

    if len(text) > LARGEST_PROPERTIES:
        return f"Its properties have more than {LARGEST_PROPERTIES:,} characters."
    try:
        if line := deep_line(text, _loader()):
            return f"Its properties are nested too deep, on line {line + 1}."  # behind the marks
        found = yaml.load(text, Loader=_loader())  # noqa: S506 - it is a safe one
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
        return NO_YAML
    if found is None:
        return {}
    return {str(name): value for name, value in found.items()} if isinstance(found, dict) else NO_YAML


def sections(note: Note, title: str) -> Iterator[tuple[str, str]]:
    """A note as what it is called and what it says: whole when it is short, else by its headings."""
    prose = note.prose
    marks = list(_HEADING.finditer(_blanked(prose)))
    if len(prose) <= LONGEST_WHOLE or not marks:
        yield title, _untitled(prose, title)
        return
    opening = prose[: marks[0].start()].strip()
    if opening or _worded(marks[0]) != title:
        yield title, opening
    for mark, after in zip(marks, [*marks[1:], None], strict=True):
        said = prose[mark.end() : after.start() if after else len(prose)].strip()
        yield title if _worded(mark) == title else f"{title} > {_worded(mark)}", said


def _worded(heading: re.Match[str]) -> str:
    return heading[1].rstrip(" \t#") or heading[1].strip()


def _blanked(prose: str) -> str:
    """The same text with its code blanked out, so that a comment of a script is no heading."""
    return _CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), prose)


def _untitled(prose: str, title: str) -> str:
    """A text without a first heading that only says its title again."""
    first = _HEADING.match(prose)
    return prose[first.end() :].strip() if first and _worded(first) == title else prose


class Names:
    """Which note a link means: by path, by name, or by what else a note says it is called. Case does not count."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self.ours: dict[str, str] = {}
        """The path of a page that Engram wrote → the id of its memory."""

    def add(self, path: str, *names: str) -> None:
        """Let a note be found by its path and these names; who came first keeps a name."""
        stem = path.rpartition(".")[0]
        for name in (stem, stem.rpartition("/")[2], *names):
            self._known.setdefault(_folded(name), path)

    def path_of(self, link: str) -> str | None:
        """The path of the note that a link means."""
        bare = link[:-3] if link.lower().endswith(".md") else link
        return self._known.get(_folded(bare)) or self._known.get(_folded(bare.rpartition("/")[2]))


def linked(
    folder: str,
    names: Names,
    told: Callable[[Note, Names], Iterator[Foreign | Problem]],
    links: Callable[[Note, Names], Iterator[Foreign | Problem]],
) -> Iterator[Foreign | Problem]:
    """What is told of every note, then of the links between them, which name notes that are known by then."""
    for note in every(folder):
        yield from [note] if isinstance(note, Problem) else told(note, names)
    for note in every(folder):
        yield from () if isinstance(note, Problem) else links(note, names)


def _folded(name: str) -> str:
    return name.strip().strip("/").replace(os.sep, "/").casefold()
