"""Gated parts: what stands behind a cfg predicate in a function."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.scanner.extract import extract
from audit.scanner.link.gated import code_of, first_token, gated_parts
from audit.scanner.link.unit import Unit
from audit.scanner.link.workspace import Workspace


def _unit(source: str) -> Unit:
    return Unit("src/lib.rs", "", source.encode(), extract(source.encode()))


def _parts(source: str) -> list[tuple[str, str, bool]]:
    """Return predicate, code and wholeness of the gated parts of the last function."""
    unit = _unit(source)
    function = Workspace([unit], ()).functions[-1]
    return [
        (part.cfg.value or part.cfg.name, code_of(unit, part.start, part.end), part.is_whole)
        for part in gated_parts(function)
    ]


CASES = {
    "function": ('#[cfg(feature = "a")] fn f() { g(); }', [("a", "g();", True)]),
    "module": ('#[cfg(feature = "a")] mod m { fn f() { g(); } }', [("a", "g();", True)]),
    "block": ('fn f() { #[cfg(feature = "a")] { g(); } h(); }', [("a", "g();", False)]),
    "statement": (
        'fn f() { #[cfg(feature = "a")] let x = g(1, 2); h(); }',
        [("a", "let x = g(1, 2)", False)],
    ),
    "last expression": ('fn f() -> u8 { #[cfg(feature = "a")] g() }', [("a", "g()", False)]),
    "macro": ('fn f() { if cfg!(feature = "a") { g(); } }', [("a", "g();", False)]),
    "negated": ('fn f() { #[cfg(not(feature = "a"))] { g(); } }', [("not", "g();", False)]),
    "braces in a text": (
        'fn f() { #[cfg(feature = "a")] { g("}"); /* } */ h(); } }',
        [("a", 'g("}"); h();', False)],
    ),
    "commented out": ('fn f() { // #[cfg(feature = "a")]\n { g(); } }', []),
    "file": ('#![cfg(feature = "a")]\nfn f() { g(); }', []),
    "condition of more": ('fn f() { if cfg!(feature = "a") && x { g(); } }', []),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_gate_holds_is_found(name: str) -> None:
    source, expected = CASES[name]
    assert _parts(source) == expected


def test_the_first_token_stands_behind_comments() -> None:
    unit = _unit("fn f() { // why\n    /* more */ g(); }")
    assert unit.data[first_token(unit, 8, len(unit.data)) :].startswith(b"g();")


def test_a_body_of_comments_only_has_no_code() -> None:
    assert _parts('#[cfg(feature = "a")] fn f() { /* nothing */ }') == [("a", "", True)]


@given(st.lists(st.sampled_from(['#[cfg(feature = "a")]', "{", "}", "(", ")", ";", ",", '"', "g", "//x\n"])))
def test_a_part_never_leaves_its_function_however_broken_the_source_is(tokens: list[str]) -> None:
    unit = _unit("fn f() { " + " ".join(tokens) + " }")
    for function in Workspace([unit], ()).functions:
        for part in gated_parts(function):
            assert function.facts.body_start <= part.start
            assert part.end <= function.facts.body_end
