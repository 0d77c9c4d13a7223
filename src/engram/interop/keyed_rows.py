"""The forms of the `keyed` profile: categories as kinds of ours, and memories as its rows."""

import re
from typing import Any

from engram.interop.tools import Asks
from engram.interop.values import quiet
from engram.model.limits import LIMITS, print_time, size
from engram.model.memory import Memory

UNLIKE = frozenset({"map", "finding", "prompt", "summary"})
"""Kinds of ours that are no categories, beside those that come on demand: they want citations or take no key."""


def kind_of_category(category: str, quiet: frozenset[str] = frozenset()) -> str:
    """The kind that a category is kept as: the same word where it can be one, else `fact`."""
    word = re.sub("[^a-z0-9]+", "-", category.lower()).strip("-")
    unlike = word in UNLIKE or word in quiet
    return "fact" if unlike or not word[:1].isalpha() or size(word) > LIMITS["kind"] else word


class Categories:
    """Categories as kinds, and kinds as categories: the same word where it can be one, else `fact`."""

    def __init__(self, asks: Asks) -> None:
        self._quiet = quiet(asks)

    def kind(self, category: str | None) -> str | None:
        """The kind of ours that a category is kept as."""
        if category is None:
            return None
        return kind_of_category(category, self._quiet)

    def word(self, category: str | None) -> str:
        """The category as it was said, where the kind does not say it."""
        said = (category or "").strip()
        return "" if said == self.kind(category) else said

    def of(self, memory: Memory) -> str:
        """The category of a memory: the word it was saved with, as long as its kind is still of that word."""
        word = memory.context.word
        return word if word and self.kind(word) == memory.kind else memory.kind

    def kinds(self, category: str) -> list[str]:
        """The kinds among which the memories of a category are."""
        said = category.strip().lower()
        return sorted({str(self.kind(said)), *({said} & UNLIKE - self._quiet)})

    def fits(self, memory: Memory, category: str) -> bool:
        """Whether a question for this category, or for all of them, shows a memory."""
        wanted = category.strip().lower()
        return memory.kind not in self._quiet and wanted in ("", self.of(memory).lower())


def insight_row(memory: Memory) -> dict[str, Any]:
    """What was noticed, as a row of its own store."""
    return {
        "id": memory.id,
        "category": memory.tags[0],
        "insight": memory.text,
        "source": memory.source,
        "confidence": memory.confidence,
        "createdAt": print_time(memory.created_at),
    }


def row(memory: Memory, categories: Categories) -> dict[str, Any]:
    """A memory as a row."""
    return {
        "id": memory.id,
        "key": memory.key,
        "value": memory.text,
        "summary": memory.summary or None,
        "category": categories.of(memory),
        "tags": list(memory.tags),
        "importance": memory.importance,
        "pinned": memory.pinned,
        "expiresAt": print_time(memory.valid_until) if memory.valid_until else None,
        "source": memory.source,
        "scope": memory.scope.level,
        "projectId": memory.scope.name if memory.scope.level == "project" else None,
        "agentId": memory.scope.name if memory.scope.level == "agent" else None,
        "sessionId": memory.session or None,
        "sources": [{"type": one.kind, "id": one.ref} for one in memory.citations],
        "assets": [
            {"id": one.sha256, "name": one.name, "mediaType": one.media_type, "size": one.size}
            for one in memory.assets
        ],
        "createdAt": print_time(memory.created_at),
        "updatedAt": print_time(memory.updated_at),
        **({"waitsForReview": memory.held_for or "review"} if memory.waiting else {}),
    }
