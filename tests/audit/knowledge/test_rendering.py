from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.knowledge.rendering import render_markdown

TAGS = re.compile(r"<(/?)([a-z0-9]+)([^>]*)>")
TABLE = frozenset({"table", "thead", "tbody", "tr", "th", "td"})
BLOCKS = frozenset({"p", "pre", "ul", "ol", "li", "blockquote", "hr", "br", "div"})
ALLOWED = TABLE | BLOCKS | {"a", "code", "em", "strong", "span", "s", "h2", "h3", "h4", "h5", "h6"}


def resolve(kind: str, target: str) -> tuple[str, str] | None:
    return (f"/rules/{target}/", f"{target} <b>") if target == "FT001" else None


def test_a_cross_link_is_a_link_and_a_broken_one_is_marked() -> None:
    html = render_markdown("[[rule:FT001]] [[rule:FT001|mine]] [[rule:FT999]] `[[rule:FT001]]`", resolve)
    assert '<a href="/rules/FT001/">FT001 &lt;b&gt;</a> <a href="/rules/FT001/">mine</a>' in html
    assert '<span class="broken-link" title="It leads nowhere that you may see">rule:FT999</span>' in html
    assert "<code>[[rule:FT001]]</code>" in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](data:text/html,<script>)",
        "[x](//evil.example)",
        "<javascript:alert(1)>",
        "![x](https://evil.example/pixel.png)",
        "[[rule:FT001|<script>alert(1)</script>]]",
        '[[rule:"><script>alert(1)</script>]]',
        "```html\n</code><script>alert(1)</script>\n```",
        '[x](https://a.example "\\" onmouseover=alert(1) x=\\"")',
        "[x]: javascript:alert(1)\n\n[x]",
    ],
)
def test_nothing_of_the_authors_runs(text: str) -> None:
    html = render_markdown(text, resolve)
    for _, tag, attributes in TAGS.findall(html):
        assert tag in ALLOWED
        names = re.findall(r'([\w-]+)="[^"]*"', attributes)
        assert set(names) <= {"href", "rel", "title", "class", "tabindex", "role", "aria-label", "start"}
    assert not re.search(r'href="\s*(?:javascript|data|//)', html, re.IGNORECASE)
    assert "<img" not in html


def test_headings_stand_below_the_pages_own_and_tables_have_no_style() -> None:
    html = render_markdown("# a\n\n###### b\n\n| x | y |\n|:-|-:|\n| 1 | 2 |\n", resolve)
    assert "<h2>a</h2>" in html
    assert "<h6>b</h6>" in html
    assert "style" not in html


@given(st.text(alphabet="[]()<>!`*_#|:-\\\n &;\"'ajx/", max_size=80))
def test_any_text_renders_to_allowed_tags(text: str) -> None:
    html = render_markdown(text, resolve)
    assert all(tag in ALLOWED for _, tag, _ in TAGS.findall(html))
