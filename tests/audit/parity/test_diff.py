"""What changed between two dumps."""

from __future__ import annotations

from dataclasses import replace

from audit.parity import catalogue
from audit.parity.catalogue import Direction, Refusal
from audit.parity.diff import Change, Subject, changes


def test_a_dump_does_not_differ_from_itself() -> None:
    one = catalogue.newest()
    assert changes(one, one) == ()


def test_a_lost_kernel_a_new_operator_and_a_lost_dtype_are_three_changes() -> None:
    before = catalogue.newest()
    lgamma = next(row for row in before.operators if row.name == "lgamma")
    add = next(row for row in before.op_infos if row.name == "add")
    no_cuda = replace(lgamma, kernels=tuple(key for key in lgamma.kernels if key != "CUDA"))
    added = replace(lgamma, name="zeta_of_a_later_version")
    less = replace(add, dtypes={**add.dtypes, "cuda": ("float32",)})
    after = replace(
        before,
        operators=(*(no_cuda if row is lgamma else row for row in before.operators), added),
        op_infos=tuple(less if row is add else row for row in before.op_infos),
    )
    found = changes(before, after)
    assert [(c.subject, c.name, c.aspect) for c in found] == [
        (Subject.OP_INFO, "add", "cuda forward"),
        (Subject.OPERATOR, "lgamma", "kernels"),
        (Subject.OPERATOR, "zeta_of_a_later_version", "exists"),
    ]
    assert found[0].after == "float32"
    assert "CUDA" in found[1].before.split(", ")
    assert "CUDA" not in found[1].after.split(", ")
    assert (found[2].before, found[2].after) == ("", "yes")


def test_what_was_tried_on_different_devices_is_not_compared() -> None:
    before = catalogue.newest()
    key = ("lgamma", "complex64", Direction.FORWARD)
    after = replace(
        before,
        environment={**before.environment, "device": "cpu"},
        refusals={**before.refusals, key: Refusal("refused", "ValueError", "no")},
    )
    assert changes(before, after) == ()


def test_another_error_text_is_a_change() -> None:
    before = catalogue.newest()
    key = ("lgamma", "complex64", Direction.FORWARD)
    after = replace(before, refusals={**before.refusals, key: Refusal("refused", "ValueError", "no")})
    assert changes(before, after) == (
        Change(
            Subject.REFUSAL,
            "lgamma",
            "complex64 forward",
            "NotImplementedError: \"lgamma_cuda\" not implemented for 'ComplexFloat'",
            "ValueError: no",
        ),
    )
