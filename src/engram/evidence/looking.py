"""One look at a working tree: what its files say of citations, by what is known of them or by reading once."""

import os
from binascii import crc32
from collections.abc import Mapping, Sequence
from time import time_ns
from typing import NamedTuple

from engram.evidence import tree
from engram.evidence.cache import Cache
from engram.evidence.git import Git, Object
from engram.evidence.pins import Pin, read_pin
from engram.evidence.spans import Found, lines_of, look, occurrences, span_of, symbol
from engram.model.evidence import CHANGED, Check, Checkout, Verdict, written
from engram.model.memory import Citation

RACY = 2_000_000_000
"""Nanoseconds after which a file that was not touched is believed to be what its stamp says."""

MOST_NAMESAKES = 100
"""Files of one name that are read to find a text again: a large project has thousands called `index`."""

GONE = "gone"


class Case(NamedTuple):
    """One citation under way, and whose it is."""

    memory: str
    at: int
    citation: Citation
    key: str = ""  # what its verdict is kept under


class Looking:
    """Reads every file once at most, and asks git for all old contents in one go."""

    def __init__(self, checkout: Checkout, cache: Cache, *, diffs: bool = False) -> None:
        self._checkout, self._cache, self._diffs = checkout, cache, diffs
        self._git = Git(checkout)
        self._long = is_long(checkout)
        self._paths: dict[str, str] = {}
        self._seen: dict[str, tuple[str, str]] = {}
        self._read: dict[str, tree.Content | None] = {}
        self._asked = False
        self._tracked: Names | None = None
        self._renames: dict[str, Mapping[str, str]] = {}
        self._modules: list[str] | None = None

    def checks(self, cases: Sequence[Case]) -> list[tuple[Case, Check]]:
        """The cases with their verdicts."""
        done: list[tuple[Case, Check]] = []
        left: list[Case] = []
        for case in cases:
            if isinstance(known := self._known(case), Check):
                done.append((case, known))
            else:
                left.append(known)
        if left:
            objects = self._git.objects(name for case in left for name in _old_names(case))
            done += [(case, self._judged(case, objects)) for case in left]
            self._cache.save()
        return done

    def _known(self, case: Case) -> "Check | Case":
        """The verdict, where it follows from what was found out before; else the case with what is known now."""
        citation = case.citation
        if citation.kind != "file":
            return self._remembered(case, f"c:{citation.kind}:{citation.ref}:{citation.pin}")
        try:
            path, blob = self._file(citation.ref)
        except tree.Outside as error:
            return Check(written(citation), "unreachable", why=error.why)
        if not blob and os.path.lexists(path):
            return Check(written(citation), "unreachable", why="it is too large, or cannot be read")
        at = f"{blob}:{citation.ref}" if blob else self._elsewhere(citation)
        if at == GONE:
            return Check(written(citation), "gone", why="the file is not there")
        return self._remembered(case, _verdict_key(at, citation)) if at else case

    def _elsewhere(self, citation: Citation) -> str:
        """What a file that is not there is now, as far as that was found out before; "" where it was not."""
        name = None if self._diffs else self._cache.known.get(self._name_key(citation))
        if not name:
            return "" if name is None else GONE
        try:
            blob = self._file(name)[1]
        except tree.Outside:
            return ""
        return f"{blob}:{citation.ref}:{name}" if blob else ""

    def _name_key(self, citation: Citation) -> str:
        return f"r:{self._index()}:{citation.ref}:{citation.pin}"

    def _remembered(self, case: Case, key: str) -> "Check | Case":
        """The verdict that was kept; a process that goes on keeps it as it was made."""
        if self._diffs:
            return case._replace(key=key)
        if (made := self._cache.made.get(key)) is not None:
            return made
        known = self._cache.known.get(key)
        if known is None:
            return case._replace(key=key)
        made = self._cache.made[key] = Check(written(case.citation), *known)
        return made

    def _file(self, ref: str) -> tuple[str, str]:
        """The real path of a cited file and its hash, looked up once; no hash where there is no plain file to read.

        Raises:
            Outside: when it leads out of the working tree.
        """
        if ref not in self._seen:
            path = self._path(ref)
            self._seen[ref] = path, self._blob(ref, path)
        return self._seen[ref]

    def _path(self, ref: str) -> str:
        """The real path of a cited file; a folder is looked at once for all its files."""
        folder, _, name = ref.rpartition("/")
        if folder not in self._paths or name in ("", ".", "..") or "\0" in name or name.lower() == ".git":
            path = tree.place(self._checkout.root, ref)
            if not os.path.islink(os.path.join(self._checkout.root, ref)):
                self._paths[folder] = os.path.dirname(path)
            return path
        path = f"{self._paths[folder]}{os.sep}{name}"
        return tree.place(self._checkout.root, ref) if os.path.islink(path) else path

    def _blob(self, ref: str, path: str) -> str:
        """The hash of a file, without reading it where it looks as it did when it was read."""
        stamp = tree.stamp(path)
        if stamp is None:
            return ""
        known = self._cache.known.get(f"f:{ref}")
        if known is not None and known[:-1] == list(stamp) and not self._diffs:
            return str(known[-1])
        content = self._content(ref, path)
        if content is None:
            return ""
        if time_ns() - max(stamp.modified, stamp.changed) > RACY:
            self._cache.put(f"f:{ref}", [*stamp, content.blob])
        return content.blob

    def _content(self, ref: str, path: str) -> tree.Content | None:
        if ref not in self._read:
            self._read[ref] = tree.read(path, long=self._long)
        return self._read[ref]

    def _judged(self, case: Case, objects: Mapping[str, Object]) -> Check:
        citation = case.citation
        if citation.kind != "file":
            verdict, why = self._of_object(citation, objects)
            self._keep(case.key, Check(written(citation), verdict, why=why), lasting=verdict == "fresh")
            return Check(written(citation), verdict, why=why)
        path = self._path(citation.ref)
        content = self._content(citation.ref, path)
        old = _old_lines(citation, objects)
        if content is None:
            return self._missing(citation, old)
        check = self._compared(citation, citation.ref, content, old)
        self._keep(case.key, check)
        return check

    def _keep(self, key: str, check: Check, *, lasting: bool = True) -> None:
        if lasting and key and not self._diffs:
            told = [check.verdict, check.changed, check.ref, check.locator, check.why, check.lines]
            self._cache.put(key, told)

    def _compared(self, citation: Citation, ref: str, content: tree.Content, old: list[str] | None) -> Check:
        """The verdict about a file that is there, under its old name or a new one."""
        pin, same = read_pin(citation.pin), ref == citation.ref
        cite = written(citation)
        if pin.blob and content.blob.startswith(pin.blob):
            place = _lines_named(citation.locator, content)
            if same:
                return Check(cite, "fresh", lines=place)
            diff = f"--- {cite}\n+++ {ref}\n(the same lines)" if self._diffs else ""
            return Check(cite, "moved", 0.0, ref, citation.locator, "", place, diff)
        if content.text is None:
            return Check(
                cite, "drifted" if pin.blob else "unreachable", ref="" if same else ref, why="it is binary"
            )
        lines = lines_of(content.text)
        if old is None:
            return _unpinned(citation, pin)
        found = look(old, lines, citation.locator)
        verdict: Verdict = "moved" if found.verdict == "fresh" and not same else found.verdict
        locator = _place(citation, found)
        diff = _diff(citation, old, ref, lines, found) if self._diffs and verdict in CHANGED else ""
        away = "" if verdict in ("fresh", "gone") else ref
        why = "nothing of it is left in the file" if verdict == "gone" else ""
        shown = locator if verdict in ("moved", "drifted") else ""
        changed, place = (found.changed if verdict == "drifted" else 0.0), (str(found.span) if found.span else "")
        return Check(cite, verdict, changed, away, shown, why, place, diff)

    def _missing(self, citation: Citation, old: list[str] | None) -> Check:
        """The verdict about a file that is not there: renamed, part of another repository, or gone."""
        if any(f"{citation.ref}/".startswith(f"{folder}/") for folder in self._submodules()):
            return Check(written(citation), "unreachable", why="it belongs to a submodule")
        ref = None if self._diffs else self._cache.known.get(self._name_key(citation))
        if ref is None:
            names = self._names()
            if names is None:  # not kept: the next look may well be able to ask
                why = "the file is not there, and git cannot be asked for a new name"
                return Check(written(citation), "gone", why=why)
            ref = self._new_name(citation, old, names)
            self._cache.put(self._name_key(citation), ref)
        if not ref:
            return Check(written(citation), "gone", why="the file is not there")
        try:
            content = self._content(ref, self._path(ref))
        except tree.Outside:
            content = None
        if content is None:
            return Check(written(citation), "gone", why="the file is not there")
        check = self._compared(citation, ref, content, old)
        self._keep(_verdict_key(f"{content.blob}:{citation.ref}:{ref}", citation), check)
        return check

    def _names(self) -> "Names | None":
        """The files that git knows, asked once; None where it cannot be asked."""
        if not self._asked:
            tracked = self._git.tracked()
            self._asked, self._tracked = True, None if tracked is None else Names(tracked)
        return self._tracked

    def _new_name(self, citation: Citation, old: list[str] | None, names: "Names") -> str:
        """The name git gives a file now: by the very same content, by likeness, or by its name and the text."""
        pin = read_pin(citation.pin)
        if path := names.of_blob(pin.blob):
            return path
        if pin.commit:
            if pin.commit not in self._renames:
                self._renames[pin.commit] = self._git.renames(pin.commit)
            if path := self._renames[pin.commit].get(citation.ref, ""):
                return path
        same = names.like(citation.ref) if old else ()
        return next((path for path in same if self._says(path, old or [])), "")

    def _says(self, ref: str, old: list[str]) -> bool:
        try:
            content = self._content(ref, self._path(ref))
        except tree.Outside:
            return False
        return content is not None and content.text is not None and bool(occurrences(old, lines_of(content.text)))

    def _of_object(self, citation: Citation, objects: Mapping[str, Object]) -> tuple[Verdict, str]:
        """The verdict about a commit or a revision: what has such a name never changes."""
        names = _old_names(Case("", 0, citation))
        if any(name in objects for name in names):
            return "fresh", ""
        if citation.kind == "repo" and not names:
            return "fresh", ""
        if self._git.shallow:
            return "unreachable", "this clone is shallow"
        if not self._git.objects(["HEAD"]):
            return "unreachable", "git cannot be asked here"
        return "gone", "there is no such commit here"

    def _index(self) -> str:
        """What tells that neither the head nor the index has changed: then neither have the names of files."""
        seen = tree.stamp(os.path.join(self._checkout.own, "index"))
        return f"{self._checkout.commit[:16]}.{seen.modified if seen else 0:x}.{seen.size if seen else 0:x}"

    def _submodules(self) -> list[str]:
        if self._modules is None:
            content = tree.read(os.path.join(os.path.realpath(self._checkout.root), ".gitmodules"))
            rows = (content.text if content else "") or ""
            pairs = (line.partition("=") for line in rows.splitlines())
            self._modules = [value.strip().strip("/") for name, _, value in pairs if name.strip() == "path"]
        return self._modules


class Names:
    """The files that git tracks, found by what they hold and by what they are called."""

    def __init__(self, tracked: Mapping[str, str]) -> None:
        self._blobs: dict[str, str] = {}
        self._called: dict[str, list[str]] = {}
        for path, blob in tracked.items():
            self._blobs.setdefault(blob, path)
            self._called.setdefault(path.rpartition("/")[2], []).append(path)

    def of_blob(self, pinned: str) -> str:
        """The file that holds what was pinned, by its hash or the beginning of one; "" where none does."""
        if not pinned or pinned in self._blobs:
            return self._blobs.get(pinned, "")
        short = len(pinned) < 40
        return next((path for blob, path in self._blobs.items() if short and blob.startswith(pinned)), "")

    def like(self, ref: str) -> list[str]:
        """Files of the same name; where there are very many, only those in a folder of the same name too."""
        above, _, name = ref.rpartition("/")
        same = self._called.get(name, [])
        if len(same) > MOST_NAMESAKES:
            tail = f"/{above.rpartition('/')[2]}/{name}"
            same = [path for path in same if f"/{path}".endswith(tail)]
        return same[:MOST_NAMESAKES]


def _verdict_key(at: str, citation: Citation) -> str:
    """What a verdict is kept under: what the file is now, and all that the citation says."""
    excerpt = citation.excerpt
    return f"v:{at}:{citation.locator}:{citation.pin}:{len(excerpt)}:{crc32(excerpt.encode()):x}"


def _old_names(case: Case) -> list[str]:
    """The objects of git that tell what a citation was about, the surest first."""
    citation, pin = case.citation, read_pin(case.citation.pin)
    if citation.kind == "commit":
        return [f"{citation.ref}^{{commit}}"]
    if citation.kind == "repo":
        return [f"{pin.commit}^{{commit}}"] if pin.commit else []
    if citation.excerpt:
        return []
    names = [pin.blob] if len(pin.blob) >= 40 else []
    return [*names, *([f"{pin.commit}:{citation.ref}"] if pin.commit else [])]


def _old_lines(citation: Citation, objects: Mapping[str, Object]) -> list[str] | None:
    """The cited lines as they were: the excerpt, else what git still has; None where nobody knows."""
    if citation.excerpt:
        return lines_of(citation.excerpt)
    for name in _old_names(Case("", 0, citation)):
        lines = lines_of_object(objects.get(name))
        if lines is None:
            continue
        span = span_of(citation.locator) or (symbol(lines, citation.locator) if citation.locator else None)
        return lines[span.first - 1 : span.last] if span else lines
    return None


def lines_of_object(found: Object | None) -> list[str] | None:
    """The lines of a file that git has; None where it has none, or a binary one."""
    if found is None or found.type != "blob" or found.data is None:
        return None
    text = tree.content(found.data).text
    return None if text is None else lines_of(text)


def _lines_named(locator: str, content: tree.Content) -> str:
    """The lines of a symbol, in a file that is as it was; what is no symbol names its lines itself."""
    if not locator or content.text is None or span_of(locator) is not None:
        return locator
    return str(symbol(lines_of(content.text), locator) or "")


def _unpinned(citation: Citation, pin: Pin) -> Check:
    cite = written(citation)
    if pin.blob and not citation.locator and pin.blob != pin.commit:
        return Check(cite, "drifted", why="the file changed, and what it said is not here any more")
    why = "it changed, and what it said is not here any more" if pin.blob or pin.commit else "nothing was pinned"
    return Check(cite, "unreachable", why=why)


def _place(citation: Citation, found: Found) -> str:
    """Where the text is now, in the form of the citation: a symbol keeps its name, a whole file has no place."""
    if not citation.locator or (span_of(citation.locator) is None and found.verdict != "moved"):
        return citation.locator
    return str(found.span) if found.span else ""


def _diff(citation: Citation, old: Sequence[str], ref: str, lines: Sequence[str], found: Found) -> str:
    from difflib import unified_diff  # noqa: PLC0415 - only where somebody asked to see it

    span = found.span
    now = lines[span.first - 1 : span.last] if span else (lines if found.verdict != "gone" else ())
    place = f"{ref}:{span}" if span else ref
    if list(now) == list(old):
        return f"--- {written(citation)}\n+++ {place}\n(the same lines)"
    return "\n".join(unified_diff(list(old), list(now), written(citation), place, lineterm="", n=2))


def is_long(checkout: Checkout) -> bool:
    """Whether a repository names its objects by SHA-256."""
    return len(checkout.commit) > 40
