"""Which comments of a file hold certain words: found by the words, told as if each comment were asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from audit.scanner.extract import extract
from audit.scanner.link.comments import blocks_of
from audit.scanner.link.unit import Unit

WORDS = (b"gpu", b"cpu", b"up")
PIECES = st.sampled_from(
    ["// a GPU\n", "// cup\n", "/// cpupu\n", "/* g */", "/*pu*/", "/* Cpu */", "//! up\n", "\n\n"]
)
CODE = st.sampled_from(["fn gpu() {}\n", "fn f() { up() }\n", "static CPU: u8 = 1;\n", "\n"])


def unit_of(text: str) -> Unit:
    data = text.encode()
    return Unit("src/lib.rs", "", data, extract(data))


@given(st.lists(st.one_of(PIECES, CODE), max_size=12).map("".join))
def test_the_blocks_with_a_word_are_those_whose_text_holds_it(text: str) -> None:
    unit = unit_of(text)
    every = [(block.start, block.end) for block in blocks_of(unit)]
    for words in (WORDS, WORDS[:1], WORDS[1:]):
        found = [(block.start, block.end) for block in blocks_of(unit, words)]
        assert found == [
            span for span in every if any(word in unit.data[slice(*span)].lower() for word in words)
        ]


def test_code_that_says_a_word_is_no_comment_that_does() -> None:
    unit = unit_of("// plain\nfn gpu() {}\n// the GPU\n\n// plain\nfn g() { gpu() }\n")
    assert [block.text for block in blocks_of(unit, (b"gpu",))] == ["the GPU"]
