"""Holds citations against a working tree: fills them when they are made, and looks again when they are read."""

import os
from binascii import crc32
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from engram.errors import Conflict, Invalid, Unavailable
from engram.evidence import tree
from engram.evidence.branches import Tip, fates
from engram.evidence.cache import Cache
from engram.evidence.git import Git
from engram.evidence.looking import Case, Looking, is_long, lines_of_object
from engram.evidence.pins import read_pin, write_pin
from engram.evidence.spans import Span, lines_of, occurrences, span_of, symbol
from engram.model.evidence import CHANGED, Check, Checkout, Fate, unchecked, written
from engram.model.limits import LIMITS, check_text, print_time, size
from engram.model.memory import Citation, Context, Memory
from engram.model.record import replace
from engram.model.scope import Scope

MANY_LINES = 50
"""An excerpt of more lines than this is warned about: it says more than a reader looks at."""

Look = Callable[[], Checkout | None]


class Desk:
    """Evidence from the working tree around a folder; where there is none, everything is unreachable."""

    def __init__(self, folder: str, look: Look, tip_of: Tip, cache: str = "") -> None:
        self._folder, self._look, self._tip_of = folder, look, tip_of
        self._cache_folder = cache
        self._caches: dict[str, Cache] = {}

    # --- where this is ---

    def made_in(self) -> Context:
        """Where something is made that is staged: the branch, the commit and this very repository."""
        checkout = self._look()
        if checkout is None:
            return Context()
        return Context(
            repo=checkout.identity,
            worktree_path=checkout.root,
            base_dir=checkout.common,
            branch=checkout.branch,
            commit=checkout.commit,
        )

    def named(self, said: str) -> tuple[str, str]:
        """A file as it is cited, of one as a person names it, with or without lines: its ref and its locator.

        Raises:
            Invalid: when it leads out of the repository.
        """
        checkout = self._look()
        ref, colon, locator = said.rpartition(":")
        if not colon or span_of(locator) is None or os.path.lexists(os.path.join(self._folder, said)):
            ref, locator = said, ""
        return tree.within(checkout.root, self._folder, ref) if checkout else ref.removeprefix("./"), locator

    # --- filling ---

    def filled(self, citation: Citation, now: datetime) -> tuple[Citation, str]:
        """A citation with its pin and excerpt from the working tree, and a warning where one is due.

        Outside a working tree it stays as it is, but for an address, which gets the moment.

        Raises:
            Invalid: when the file is not there, outside the repository or binary, or has no such lines or symbol.
        """
        if citation.pin or citation.excerpt:
            return citation, ""
        if citation.kind == "url":
            return replace(citation, pin=print_time(now)), ""
        checkout = self._look()
        if checkout is not None and citation.kind == "file":
            return self._filled_file(checkout, citation)
        if checkout is not None and citation.kind == "commit":
            return self._filled_commit(checkout, citation), ""
        own = checkout is not None and citation.kind == "repo" and _is_repository(citation.ref, checkout.identity)
        if checkout is not None and own and checkout.commit:
            return replace(citation, pin=f"@{checkout.commit}"), ""
        return citation, unchecked(citation) if checkout is None and citation.kind == "file" else ""

    def _filled_file(self, checkout: Checkout, citation: Citation) -> tuple[Citation, str]:
        ref = tree.within(checkout.root, self._folder, citation.ref)
        try:
            path = tree.place(checkout.root, ref)
        except tree.Outside as error:
            hint = "Cite it from within that repository." if error.elsewhere else "Cite a file of this repository."
            raise Invalid(f"{error.why}.", hint) from None
        content = tree.read(path, long=is_long(checkout))
        if content is None:
            _refuse_unread(ref, path)
            raise Invalid(
                f"There is no file {ref} in this repository.",
                "Give the path from the root or from here; a commit is cited as commit:SHA.",
            )
        if content.text is None:
            raise Invalid(f"{ref} is binary: there are no lines to cite.", "Cite a text file, or a commit.")
        lines = lines_of(content.text)
        span = _asked_span(ref, citation.locator, lines)
        pinned = replace(citation, ref=ref, pin=write_pin(content.blob, checkout.commit))
        return _with_excerpt(pinned, lines, span)

    def _filled_commit(self, checkout: Checkout, citation: Citation) -> Citation:
        """A commit by its whole name. Where git cannot be asked, it stays as it was said."""
        git = Git(checkout)
        named = git.objects([f"{citation.ref}^{{commit}}", "HEAD"])
        if "HEAD" in named and f"{citation.ref}^{{commit}}" not in named:
            hint = "This clone is shallow; cite it where its history is." if git.shallow else "See git log."
            raise Invalid(f"There is no commit {citation.ref} in this repository.", hint)
        found = named.get(f"{citation.ref}^{{commit}}")
        return replace(citation, ref=found.name) if found else citation

    def repinned(self, citation: Citation, check: Check) -> Citation:
        """The citation of what is there now, where its text has moved or changed; what is gone stays as it was."""
        if check.verdict not in CHANGED or check.verdict == "gone":
            return citation
        moved = Citation(citation.kind, check.ref or citation.ref, check.locator or citation.locator)
        checkout = self._required()
        content = tree.read(tree.place(checkout.root, moved.ref), long=is_long(checkout))
        if content is None or content.text is None:
            return replace(citation, pin=write_pin(content.blob, checkout.commit)) if content else citation
        lines = lines_of(content.text)
        pinned = replace(moved, pin=write_pin(content.blob, checkout.commit))
        return _with_excerpt(pinned, lines, _asked_span(moved.ref, moved.locator, lines))[0]

    # --- looking ---

    def check(
        self, memories: Sequence[Memory], home: Scope | None, *, diffs: bool = False
    ) -> dict[str, tuple[Check, ...]]:
        """A verdict for every citation of these memories, by the memory's id; nothing for those that cite nothing.

        `home` is the project that the working tree is: what belongs to another is out of reach. `diffs` also says
        how the text changed.
        """
        checkout = self._look() if any(memory.citations for memory in memories) else None
        found: dict[str, list[Check | None]] = {}
        cases: list[Case] = []
        for memory in memories:
            if not memory.citations:
                continue
            near = checkout is not None and _in_reach(memory, checkout, home)
            here = checkout.identity if checkout and near else ""
            why = _why_not(memory) if checkout else "there is no working tree here"
            rows = found[memory.id] = [_beyond(each, here, why) for each in memory.citations]
            cases += [Case(memory.id, at, memory.citations[at]) for at, row in enumerate(rows) if row is None]
        if checkout is not None and cases:
            looking = Looking(checkout, self._cache(checkout), diffs=diffs)
            for case, check in looking.checks(cases):
                found[case.memory][case.at] = check
        return {id: tuple(row for row in rows if row is not None) for id, rows in found.items()}

    def astray(self, refs: Iterable[str]) -> frozenset[str]:
        """Those of these files of the working tree that are not there any more under their names."""
        checkout = self._look()
        if checkout is None:
            return frozenset()
        own = (ref for ref in refs if not os.path.isabs(ref) and ".." not in ref.split("/") and "\0" not in ref)
        return frozenset(ref for ref in own if not os.path.lexists(os.path.join(checkout.root, ref)))

    def touched(self, revision: str) -> frozenset[str]:
        """The files that differ between a revision and the working tree.

        Raises:
            Conflict: outside a working tree.
            Unavailable: when git is not on this machine.
            Invalid: when there is no such revision.
        """
        checkout = self._required()
        git = Git(checkout)
        if revision.startswith("-") or not git.objects([f"{revision}^{{commit}}"]):
            if checkout.commit and not git.objects(["HEAD"]):
                raise Unavailable(
                    "git cannot be asked here.", "Install git, or check everything: leave --since out."
                )
            raise Invalid(f"There is no revision {revision!r} here.", "Give a commit, a branch or a tag.")
        changed = git.changed_since(revision)
        if changed is None:
            raise Unavailable(f"git cannot compare {revision} with the working tree.", "Leave --since out.")
        return changed

    def settled(self, memories: Sequence[Memory]) -> dict[str, Fate]:
        """What became of the branch of each of these, where it is a branch of this repository."""
        checkout = self._look()
        if checkout is None:
            return {}
        ours = [one for one in memories if one.branch.startswith(f"{checkout.identity}#")]
        if not ours:
            return {}
        git = Git(checkout)
        decided = dict(fates(checkout, git, self._tip_of, ours))
        rest = [one for one in ours if decided[one.id].state != "merged" and _files(one)]
        for id in self._present(checkout, git, rest):
            decided[id] = Fate("merged", "what it cites is in the default branch")
        return decided

    def _present(self, checkout: Checkout, git: Git, memories: Sequence[Memory]) -> list[str]:
        """Those whose cited text all stands in the default branch: so it does after a squash."""
        names = (f"refs/remotes/origin/{checkout.default}", f"refs/heads/{checkout.default}")
        tips = list(dict.fromkeys(filter(None, (self._tip_of(checkout.common, name) for name in names))))
        wanted = {f"{tip}:{each.ref}" for tip in tips for one in memories for each in _files(one)}
        objects = git.objects(sorted(wanted)) if tips and memories else {}

        def holds(tip: str, citation: Citation) -> bool:
            found = objects.get(f"{tip}:{citation.ref}")
            if not citation.excerpt:  # it was too long, or held a credential: the file has to be what it was
                blob = read_pin(citation.pin).blob
                return bool(found and blob and found.name.startswith(blob))
            lines = lines_of_object(found)
            return bool(lines and occurrences(lines_of(citation.excerpt), lines))

        return [one.id for one in memories if any(all(holds(tip, each) for each in _files(one)) for tip in tips)]

    def _required(self) -> Checkout:
        checkout = self._look()
        if checkout is None:
            raise Conflict("This folder is not a working tree of git.", "Go into the project's checkout.")
        return checkout

    def _cache(self, checkout: Checkout) -> Cache:
        if checkout.root not in self._caches:
            name = f"{crc32(checkout.root.encode(errors='surrogateescape')):08x}.json"
            path = os.path.join(self._cache_folder, "evidence", name) if self._cache_folder else ""
            self._caches[checkout.root] = Cache(path)
        return self._caches[checkout.root]


def _asked_span(ref: str, locator: str, lines: Sequence[str]) -> Span | None:
    """The lines that a locator names; None for the whole file.

    Raises:
        Invalid: when there are none such.
    """
    if not locator:
        return None
    span = span_of(locator)
    if span is None:
        span = symbol(lines, locator)
        if span is None:
            raise Invalid(
                f"{ref} defines no {locator}.", "Give the lines, such as 200-240, or a symbol that is there."
            )
        return span
    if span.first < 1 or span.last > len(lines) or int(locator.rpartition("-")[2].lstrip("L")) < span.first:
        raise Invalid(f"{ref} has {len(lines)} lines: there is no {locator}.", "Give lines that are there.")
    return span


def _with_excerpt(citation: Citation, lines: Sequence[str], span: Span | None) -> tuple[Citation, str]:
    """The citation with the lines it names, as far as they can be kept; and a warning where they are many."""
    if span is None and len(lines) > MANY_LINES:
        return citation, ""  # a whole file is told by its hash
    picked = lines[span.first - 1 : span.last] if span else lines
    excerpt = "\n".join(picked)
    if size(excerpt) > LIMITS["excerpt"]:
        return (
            citation,
            f"{written(citation)} has more than 16 KiB: it is kept by its hash alone. Cite fewer lines.",
        )
    try:
        check_text("excerpt", excerpt, lines=True)
    except Invalid:  # a form feed, or another mark that no memory has
        return citation, ""
    warning = (
        f"{written(citation)} has {len(picked)} lines: cite what it rests on, not more."
        if len(picked) > MANY_LINES
        else ""
    )
    return replace(citation, excerpt=excerpt), warning


def _in_reach(memory: Memory, checkout: Checkout, home: Scope | None) -> bool:
    """Whether a memory is about this repository: made in it, or of the project that it is."""
    if memory.context.repo == checkout.identity:
        return True
    return home is not None and home.level == "project" and memory.scope.place == home.place


def _why_not(memory: Memory) -> str:
    """Why what a memory cites cannot be looked at from a repository that it is not about."""
    known = memory.context.repo or memory.scope.level == "project"
    return "another repository" if known else "nothing says which repository it is in"


def _beyond(citation: Citation, here: str, why: str) -> Check | None:
    """The verdict on what cannot be looked at from this repository; None for what can."""
    if citation.kind == "url":
        return Check(written(citation), "unreachable", why="addresses are not fetched")
    if citation.kind in ("session", "message"):
        return Check(written(citation), "unreachable", why="talks are not looked at")
    near = here and (citation.kind != "repo" or _is_repository(citation.ref, here))
    return None if near else Check(written(citation), "unreachable", why=why)


def _is_repository(ref: str, identity: str) -> bool:
    """Whether an address, in one of git's forms, is that of a repository."""
    host, _, path = ref.rpartition("://")[2].rpartition("@")[2].replace(":", "/", 1).partition("/")
    return identity in (ref, f"{host.lower()}/{path.strip('/').removesuffix('.git')}")


def _files(memory: Memory) -> list[Citation]:
    return [each for each in memory.citations if each.kind == "file"]


def _refuse_unread(ref: str, path: str) -> None:
    if os.path.isdir(path):
        raise Invalid(f"{ref} is a folder.", "Cite a file of it.")
    if os.path.lexists(path):
        raise Invalid(f"{ref} is too large, or cannot be read.", "Cite a plain file of up to 8 MiB.")
