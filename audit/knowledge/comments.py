"""Comments as the pages show them: Markdown with line breaks kept, plain addresses linked, and mentions."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from audit.knowledge.rendering import PageRenderer, parser_make

#: More names in one comment call nobody.
MENTIONS_AT_MOST = 50
_MENTION = re.compile(r"@(\w(?:[\w.+@-]{0,148}\w)?)")
_BEFORE_A_NAME = re.compile(r"[\w./+-]$")
_SCHEME = re.compile(r"(?:^|[^\w])(https?)$", re.IGNORECASE)
#: The longest scheme, and the character in front of it.
_LONGEST_BEFORE = len("https") + 1
_ADDRESS_REST = re.compile(r"://[^\s<>\"`]+")
_AFTER_AN_ADDRESS = ".,;:!?'*_~"


def render_comment(text: str, mentioned: Collection[str] = ()) -> str:
    """Render a comment to HTML that is safe to show; names of those who were `mentioned` stand out."""
    return str(_COMMENTS.render(text, {"mentioned": {name.lower() for name in mentioned}}))


def mentioned_in(text: str) -> tuple[str, ...]:
    """Return the names that a comment calls, as they are written, once each; code calls nobody."""
    names = {
        child.content.lower(): child.content
        for token in _COMMENTS.parse(text)
        for child in token.children or ()
        if child.type == "mention"
    }
    return tuple(names.values())[:MENTIONS_AT_MOST]


class _CommentRenderer(PageRenderer):
    """Writes mentions."""

    def mention(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Write a name: one that nobody was told of is plain text. A name holds nothing to escape."""
        name = tokens[index].content
        is_told = name.lower() in env.get("mentioned", ())
        return f'<strong class="mention">@{name}</strong>' if is_told else f"@{name}"


def _mention(state: StateInline, silent: bool) -> bool:
    match = _MENTION.match(state.src, state.pos)
    if match is None or _BEFORE_A_NAME.search(state.src[max(state.pos - 1, 0) : state.pos]):
        return False
    if not silent:
        state.push("mention", "", 0).content = match[1]
    state.pos = match.end()
    return True


def _address(state: StateInline, silent: bool) -> bool:
    """Link an address that stands there as it is: the scheme is pending when its colon is met."""
    if silent or state.linkLevel or state.src[state.pos] != ":":
        return False
    # Only the end is read: this is asked at each colon, and what is pending may be the whole text.
    before = state.pending[-_LONGEST_BEFORE:]
    scheme = _SCHEME.search(before)
    rest = _ADDRESS_REST.match(state.src, state.pos)
    if scheme is None or rest is None:
        return False
    found = rest[0].rstrip(_AFTER_AN_ADDRESS)
    while found.endswith(")") and found.count(")") > found.count("("):
        found = found[:-1].rstrip(_AFTER_AN_ADDRESS)
    if found == "://" or not state.md.validateLink(scheme[1] + found):
        return False
    state.pending = state.pending.removesuffix(scheme[1])
    opening = state.push("link_open", "a", 1)
    opening.attrs = {"href": state.md.normalizeLink(scheme[1] + found)}
    state.push("text", "", 0).content = scheme[1] + found
    state.push("link_close", "a", -1)
    state.pos += len(found)
    return True


def _parser() -> MarkdownIt:
    parser = parser_make(_CommentRenderer, breaks=True)
    parser.inline.ruler.before("link", "mention", _mention)
    parser.inline.ruler.before("link", "address", _address)
    return parser


_COMMENTS = _parser()
