"""Reads of single elements, and functions that answer with one."""

from __future__ import annotations

import pytest

from audit.scanner.link.picks import is_count, picks_elements
from tests.audit.scanner.workspace_fixture import function_named, linked


def told(statements: str, return_type: str = "Result<usize>") -> tuple[bool, bool]:
    """Say of the first call of a function whether it picks single elements, and gives a count."""
    workspace = linked({"src/a.rs": f"fn f(x: &Tensor<f32>) -> {return_type} {{ {statements} }}"})
    function = function_named(workspace, "f")
    call = function.facts.calls[0]
    return picks_elements(function, call), is_count(function, [call])


@pytest.mark.parametrize(
    ("statements", "picks"),
    [
        ("let d = read(x)?; Ok(d[0])", True),
        ("let d = read(x)?; if d.len() != 1 { return bad(); } Ok(d[0])", True),
        ("let d = read(x)?; match d.as_slice() { [one] => Ok(*one), _ => bad(d.len()) }", True),
        ("let d = read(x)?; match d.as_slice() { [a, b] => both(a, b), [] => none() }", True),
        ("let d = read(x)?; match d.as_slice() { [one, ..] => Ok(*one), _ => bad() }", False),
        ("let d = read(x)?; match d.as_slice() { [one] => Ok(*one), rest => sum(rest) }", False),
        ("let d = read(x)?; match sorted(d.as_slice()) { [one] => Ok(*one), _ => bad() }", False),
        ("let d = read(x)?; Ok(sum(&d))", False),
    ],
)
def test_elements_are_picked_where_each_use_names_its_place(statements: str, picks: bool) -> None:
    assert told(statements) == (picks, picks)


@pytest.mark.parametrize(
    ("return_type", "is_one"),
    [
        ("usize", True),
        ("bool", True),
        ("Result<usize>", True),
        ("crate::error::FerrotorchResult<bool>", True),
        ("Result<bool, GpuError>", True),
        ("Result<Vec<bool>>", False),
        ("Result<f32>", False),
        ("Result<(usize, usize)>", False),
    ],
)
def test_one_number_or_flag_is_a_count_and_data_is_none(return_type: str, is_one: bool) -> None:
    assert told("let d = read(x)?; Ok(d[0])", return_type) == (True, is_one)
