"""Nothing that others write becomes markup, wherever it stands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from audit.scanner.output.markdown_text import code, escaped

# What a reader may do at most: HTML, links by themselves, tables.
READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
PIECES = [
    *(
        "`",
        "``",
        "|",
        "\\",
        "<img>",
        "![a](//b)",
        "[a](b)",
        "@team",
        "#12",
        "**",
        "_",
        "__",
        "a_",
        "~~",
        "&lt;",
    ),
    *("<!--", "-->", "</details>", "a", "=", "-", ">", "1.", ":", "---"),
]
HOSTILE = st.lists(st.sampled_from([*PIECES, " ", "\n", "\r", "\u2028", "\0"]), max_size=14).map("".join)
ALLOWED = {"text", "code_inline"}


def tokens_of(markdown: str) -> list[str]:
    return [child.type for token in READER.parse(markdown) for child in token.children or ()]


def texts_of(markdown: str) -> str:
    children = [child for token in READER.parse(markdown) for child in token.children or ()]
    return "".join(child.content for child in children if child.type == "text")


@given(HOSTILE | st.text(max_size=40))
def test_in_a_sentence_it_is_text(text: str) -> None:
    shown = f"So: {escaped(text)} {code(text)} and more"
    assert set(tokens_of(shown)) <= ALLOWED
    assert "@team" not in texts_of(shown), "somebody would be called"
    assert len(READER.parse(shown)) == 3, "it stays one paragraph"


@given(HOSTILE | st.text(max_size=40))
def test_in_a_table_it_stays_in_its_cell(text: str) -> None:
    shown = f"| a | b | c |\n| --- | --- | --- |\n| x {escaped(text)} | {code(text)} | end |\n"
    found = READER.parse(shown)
    assert [token.type for token in found].count("td_open") == 3
    assert set(tokens_of(shown)) <= ALLOWED
    cells = [token.content for token in found if token.type == "inline"]
    assert cells[-1] == "end"


def test_what_stands_between_backticks_stays_code() -> None:
    shown = escaped("<img> @everyone [x](y) **b** | `a|b` #12 https://x.org ![i](j)\n## Head")
    assert "<img" not in shown
    assert "@everyone" not in shown
    assert "`a\\|b`" in shown
    assert "\n" not in shown
    assert code("a`b|c") == "`` a`b\\|c ``"


def test_names_of_functions_are_as_they_are() -> None:
    assert escaped("mini_gpu::ops::gpu_relu") == "mini_gpu::ops::gpu_relu"
    assert escaped("_x_ __y") == "\\_x\\_ \\_\\_y"
