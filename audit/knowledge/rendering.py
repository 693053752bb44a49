"""Markdown as the pages show it: no HTML of the author's, no images, no addresses but those of the web."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from audit.knowledge.links import LINK, link_parse

NOWHERE = "It leads nowhere that you may see"
#: Gives a cross-link's address and text, or nothing where it leads nowhere.
Resolver = Callable[[str, str], tuple[str, str] | None]
_ADDRESS = re.compile(r"^(?:https?://|mailto:|/(?!/)|#)", re.IGNORECASE)
_LOWEST = 6


def render_markdown(text: str, resolve: Resolver) -> str:
    """Render a text to HTML that is safe to show; a cross-link that leads nowhere is marked as broken."""
    return str(_MARKDOWN.render(text, {"resolve": resolve}))


def _crosslink(state: StateInline, silent: bool) -> bool:
    match = LINK.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        token = state.push("crosslink", "a", 0)
        kind, target = link_parse(match[1])
        token.meta = {"kind": kind, "target": target}
        token.content = (match[2] or "").strip()
    state.pos = match.end()
    return True


class PageRenderer(RendererHTML):
    """Writes the HTML; styles and classes are the pages' own."""

    def crosslink(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Write a cross-link."""
        token = tokens[index]
        kind, target = token.meta["kind"], token.meta["target"]
        found = env["resolve"](kind, target) if kind else None
        if found is None:
            shown = token.content or (f"{kind}:{target}" if kind else target)
            return f'<span class="broken-link" title="{NOWHERE}">{_escape(shown)}</span>'
        address, label = found
        return f'<a href="{_escape(address)}">{_escape(token.content or label)}</a>'

    def table_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Open a table in a frame that scrolls."""
        return (
            '<div class="table-scroll" tabindex="0" role="region" aria-label="Table"><table class="data">\n'
        )

    def table_close(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Close a table and its frame."""
        return "</table></div>\n"

    def fence(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Write a block of code."""
        return f'<pre class="plain-code" tabindex="0"><code>{_escape(tokens[index].content)}</code></pre>\n'

    def code_block(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Write an indented block of code."""
        return self.fence(tokens, index, options, env)


def _tame(state: Any) -> None:
    """Put headings below those of the page, and leave no style in the HTML."""
    for token in state.tokens:
        token.attrs.pop("style", None)
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + 1, _LOWEST)}"
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("rel", "nofollow noopener")


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def parser_make(renderer: type[PageRenderer], **options: bool) -> MarkdownIt:
    """Make a parser whose HTML is safe to show."""
    parser = MarkdownIt("commonmark", {"html": False, **options}, renderer_cls=renderer)
    parser.enable(["table", "strikethrough"])
    parser.disable(["image", "html_block", "html_inline"])
    parser.core.ruler.push("tame", _tame)
    parser.validateLink = lambda url: bool(_ADDRESS.match(url.strip()))  # type: ignore[method-assign]
    return parser


def _parser() -> MarkdownIt:
    parser = parser_make(PageRenderer)
    parser.inline.ruler.before("link", "crosslink", _crosslink)
    return parser


_MARKDOWN = _parser()
