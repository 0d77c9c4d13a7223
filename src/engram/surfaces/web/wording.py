"""What a memory says, as a page may show it: Markdown that does nothing, marks that hide nothing, diffs."""

import difflib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

from engram.model.marks import UNSEEN

MOST_MARKED = 20_000
"""Letters beyond which a text is shown as it stands."""

MOST_COMPARED = 1_500
"""Words on a side beyond which lines are compared, not words."""

HIDING = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029{UNSEEN}]")
"""Marks that reorder or hide what a reader sees. Those that join letters and emoji are not among them."""

WORD = re.compile(r"\s+|\w+|[^\w\s]")


def shown(text: str) -> Markup:
    """Text as it really is: marks that would hide or reorder something are shown by their number."""
    parts, at = [], 0
    for found in HIDING.finditer(text):
        parts.append(escape(text[at : found.start()]))
        number = f"{ord(found[0]):04X}"
        parts.append(Markup('<span class="hidden-mark" title="A hidden mark">U+{}</span>').format(number))
        at = found.end()
    parts.append(escape(text[at:]))
    return Markup("").join(parts)


def marked(text: str) -> Markup:
    """Markdown as HTML that loads nothing, runs nothing and keeps nothing from the reader."""
    if len(text) > MOST_MARKED:
        return Markup('<pre class="as-stored">{}</pre>').format(shown(text))
    return Markup(_parser().render(text))  # noqa: S704 - made by our renderer, which escapes whatever it is given


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False}, renderer_cls=_Plain)
    parser.enable(["table", "strikethrough"])
    # A definition, a title or an entity would stand in the text and not on the page; a picture would be fetched.
    parser.disable(["image", "reference", "entity", "html_block", "html_inline"])
    parser.validateLink = _leads_out  # type: ignore[method-assign]
    return parser


def _leads_out(url: str) -> bool:
    """Whether a link may be one: to a page or to somebody's mail."""
    try:
        return urlsplit(url.strip()).scheme.lower() in ("http", "https", "mailto")
    except ValueError:
        return False


class _Plain(RendererHTML):
    """Renders what is left of Markdown; a link says where it leads, a block of code what it is called."""

    def text(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Plain words."""
        del options, env
        return str(shown(tokens[idx].content))

    def code_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Code within a line."""
        del options, env
        return f"<code>{shown(tokens[idx].content)}</code>"

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Code by its indent."""
        del options, env
        return f'<pre tabindex="0"><code>{shown(tokens[idx].content)}</code></pre>\n'

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Code between fences, with whatever stands behind the first."""
        del options, env
        token = tokens[idx]
        info = f'<span class="fence-info">{shown(token.info.strip())}</span>' if token.info.strip() else ""
        return f'<pre tabindex="0">{info}<code>{shown(token.content)}</code></pre>\n'

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """The beginning of a link; what it leads to stands behind it, where the words say something else."""
        del options
        href, title = str(tokens[idx].attrGet("href") or ""), str(tokens[idx].attrGet("title") or "")
        inner = "".join(each.content for each in tokens[idx + 1 : _closing(tokens, idx)])
        said = href if not title else f'{href} "{title}"'
        env.setdefault("links", []).append("" if inner == href and not title else said)
        return f'<a href="{escape(href)}" rel="noopener noreferrer nofollow" target="_blank">'

    def link_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """The end of a link."""
        del tokens, idx, options
        said = env["links"].pop()
        return "</a>" + (f' <span class="leads-to">({shown(said)})</span>' if said else "")


def _closing(tokens: Sequence[Token], idx: int) -> int:
    return next((at for at in range(idx, len(tokens)) if tokens[at].type == "link_close"), len(tokens))


class Span(NamedTuple):
    """A stretch of a comparison: the same on both sides, gone from the first, or new in the second."""

    kind: str  # same, gone, new
    text: str


def compared(old: str, new: str) -> list[Span]:
    """Two texts as one row of stretches, word by word; line by line where they are long."""
    before, after = WORD.findall(old), WORD.findall(new)
    if max(len(before), len(after)) > MOST_COMPARED:
        before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    return list(_spans(before, after))


def _spans(before: list[str], after: list[str]) -> Iterator[Span]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=len(before) + len(after) > 2000)
    for tag, left, right, low, high in matcher.get_opcodes():
        if tag == "equal":
            yield Span("same", "".join(before[left:right]))
            continue
        if left < right:
            yield Span("gone", "".join(before[left:right]))
        if low < high:
            yield Span("new", "".join(after[low:high]))


def short(text: str, most: int) -> str:
    """The beginning of a text; where something is left out, that is seen."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


class Sides(NamedTuple):
    """Some lines as they were cited and as they are now."""

    old: str
    new: str


def sides(diff: str) -> Sides | None:
    """The two sides of a unified diff; None where the lines are the same on both."""
    old: list[str] = []
    new: list[str] = []
    for line in diff.splitlines()[2:]:
        if line.startswith("@@"):
            separator = ["⋯"] if old or new else []
            old, new = old + separator, new + separator
        elif line[:1] in ("-", " "):
            old.append(line[1:])
        if line[:1] in ("+", " "):
            new.append(line[1:])
    return Sides("\n".join(old), "\n".join(new)) if old or new else None
