from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.knowledge import comments
from audit.knowledge.comments import mentioned_in, render_comment

TAG = re.compile(r"<(/?)([a-z0-9]+)[^>]*>")


def test_names_of_those_who_were_told_stand_out_and_others_do_not() -> None:
    html = render_comment("@Ada and @eve, see `@ada`.", ["ada"])
    assert '<strong class="mention">@Ada</strong> and @eve' in html
    assert "<code>@ada</code>" in html


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@ada, @joan.l.", ("ada", "joan.l")),
        ("@ada @Ada", ("Ada",)),
        ("mail@example.org `@ada` a@b /@c", ()),
        ("```\n@ada\n```\n\n- @lin", ("lin",)),
        ("[@ada](https://example.org)", ("ada",)),
    ],
)
def test_a_name_is_called_where_no_code_or_address_has_it(text: str, names: tuple[str, ...]) -> None:
    assert mentioned_in(text) == names


def test_an_address_that_stands_there_is_a_link_without_what_ends_the_sentence() -> None:
    html = render_comment("See (https://example.org/a_b?c=1&d=2), or http://x.org/y_(z).")
    assert 'href="https://example.org/a_b?c=1&amp;d=2"' in html
    assert ">http://x.org/y_(z)</a>." in html
    assert "<a" not in render_comment("ahttps://example.org javascript://example.org `https://x.org`")


def test_line_breaks_are_kept() -> None:
    assert "one<br />\ntwo" in render_comment("one\ntwo")


class Read:
    """Notes how much text a pattern is asked about."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern
        self.longest = 0

    def search(self, text: str) -> re.Match[str] | None:
        self.longest = max(self.longest, len(text))
        return self.pattern.search(text)


@pytest.mark.parametrize("text", ["[" * 2000, "<" * 2000, ":" * 2000, "a" * 2000 + "https://x.org"])
def test_an_address_is_looked_for_at_the_end_of_what_stands_before(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    read = Read(comments._SCHEME)
    monkeypatch.setattr(comments, "_SCHEME", read)
    render_comment(text)
    assert read.longest <= len("https") + 1


@given(st.text(alphabet=st.sampled_from(list("@ada .:/<>()[]`*_\n#\"'&httpsx-|")), max_size=60))
def test_whatever_is_written_no_tag_of_the_author_s_is_shown(text: str) -> None:
    html = render_comment(text, ["ada"])
    allowed = {"p", "br", "a", "strong", "em", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "s"}
    assert {tag for _, tag in TAG.findall(html)} <= allowed | {"h2", "h3", "h4", "h5", "h6"} | {
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert 'href="javascript' not in html
