"""String expressions are evaluated as Rust would, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.scanner.ptx.literals import Evaluator, literal, split_last_method, without_comments


def _value(expression: str, **names: str) -> str | None:
    constants = {"TEXT": "abc"}
    return Evaluator(constants.get, lambda name, values: f"<{name} {values}>").value(expression, names)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"a\\nb"', "a\nb"),
        ('"a\\x41\\u{1F600}"', "aA\U0001f600"),
        ('"a \\\n    b"', "a b"),
        ('r"a\\n"', "a\\n"),
        ('r#"say "x""#', 'say "x"'),
        ('b"bytes"', "bytes"),
        ("name", None),
        ('"a" + "b"', None),
    ],
)
def test_a_literal_has_the_value_that_rust_gives_it(written: str, value: str | None) -> None:
    assert literal(written) == value


@given(st.text(alphabet=st.characters(exclude_characters='"\\\r')))
def test_text_without_quotes_and_escapes_is_its_own_value(text: str) -> None:
    assert literal(f'"{text}"') == text


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("TEXT", "abc"),
        ("&crate::ptx::TEXT", "abc"),
        ("ptx", "xyz"),
        ('ptx.replace("y", TEXT)', "xabcz"),
        ('ptx.replace("y, z", "-").to_string().as_str()', "xyz"),
        ('concat!("a", TEXT, "c")', "aabcc"),
        ("concat!(TEXT, UNKNOWN)", None),
        ('cache.get_or_init(|| ptx.replace("x", ""))', "yz"),
        ('widen(ptx, "n")', "<widen ['xyz', 'n']>"),
        ("ptx.to_uppercase()", None),
        ("UNKNOWN", None),
    ],
)
def test_an_expression_is_followed_as_far_as_it_can_be_told(expression: str, value: str | None) -> None:
    assert _value(expression, ptx="xyz") == value


def test_a_chain_of_a_hundred_replaces_is_followed_to_its_end() -> None:
    chain = "".join(f'\n    .replace("{number},", "{number + 1},")' for number in range(100))
    assert _value(f"ptx{chain}", ptx="0,") == "100,"


def test_the_last_method_is_the_one_outside_every_bracket_and_string() -> None:
    assert split_last_method('a.b("c.d").e(f.g())') == ('a.b("c.d")', "e(f.g())")
    assert split_last_method("a") == ("a", "")


def test_line_comments_are_no_part_of_a_chain() -> None:
    assert _value(without_comments('ptx // first\n    .replace("x", "")  // last')) is None
    assert _value(without_comments('ptx // first\n    .replace("x", "")'), ptx="xy") == "y"
