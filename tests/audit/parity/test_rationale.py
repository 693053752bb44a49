"""The text that says why."""

from __future__ import annotations

import pytest

from audit.parity import catalogue
from audit.parity.capability import Case, Place, State
from audit.parity.catalogue import Direction
from audit.parity.rationale import Answer, of_case, of_test, said_now, without_counterpart

PLACE = Place("ferrotorch-core/src/gpu_dispatch.rs", 847, "GpuBackend::abs_backward_f64")


@pytest.mark.parametrize(
    ("operator", "dtype", "device", "direction", "answer", "words"),
    [
        ("aten::abs", "float64", "cuda", "backward", Answer.DEVICE_KERNEL, "aten::abs.out has a CUDA kernel"),
        ("aten::lgamma", "complex64", "cuda", "forward", Answer.STRUCTURED_ERROR, "raises NotImpl"),
        ("aten::_add_relu", "float32", "cuda", "forward", Answer.STRUCTURED_ERROR, "raises NotImpl"),
        ("aten::argmax", "float32", "cuda", "backward", Answer.STRUCTURED_ERROR, "no autograd support"),
        ("aten::linalg_svd", "float32", "cuda", "forward", Answer.COMPOSITE, "_linalg_svd"),
        ("aten::add", "float32", "mps", "forward", Answer.DEVICE_KERNEL, "as declared"),
        ("torch.distributions.Gamma.log_prob", "float64", "cuda", "forward", Answer.COMPOSITE, "lgamma"),
        ("torch.optim.Adam", "float64", "cuda", "forward", Answer.COMPOSITE, "_foreach_"),
        ("torch.func.vmap", "float32", "cuda", "forward", Answer.STRUCTURED_ERROR, "default is to refuse"),
        ("torch.nn.Dropout2d", "float64", "cuda", "forward", Answer.COMPOSITE, "dropout2d lists"),
        ("torch.nn.functional.lp_pool2d", "float32", "cuda", "forward", Answer.COMPOSITE, "in Python"),
        ("aten::fill", "float64", "cuda", "forward", Answer.DEVICE_KERNEL, "calls aten::fill_.Scalar"),
        ("aten::slice", "float64", "cuda", "forward", Answer.COMPOSITE, "no kernel of its own"),
        ("torch.nn.Nothing", "float32", "cuda", "forward", Answer.STRUCTURED_ERROR, "has no counterpart of"),
    ],
)  # fmt: skip
def test_every_case_gets_an_answer_from_pytorchs_facts(
    operator: str, dtype: str, device: str, direction: str, answer: Answer, words: str
) -> None:
    case = Case(operator, dtype, device, Direction(direction))
    rationale = of_case(catalogue.newest(), case, state=State.TEXT_ERROR, place=PLACE)
    assert rationale.answer is answer
    assert words in rationale.text
    assert "Now the code returns a text in a catch-all error (GpuBackend::abs_backward_f64" in rationale.text
    assert "gpu_dispatch.rs:847" in rationale.text
    assert "torch 2.11.0+cu130" in rationale.text


def test_no_state_of_the_code_lacks_words() -> None:
    case = Case("aten::abs", "float64", "cuda", Direction.FORWARD)
    for state in State:
        assert of_case(catalogue.newest(), case, state=state).now.startswith("Now the code ")


def test_what_checks_arguments_or_copies_nothing_is_no_part_of_a_composite() -> None:
    case = Case("torch.distributions.VonMises.sample", "float64", "cuda", Direction.FORWARD)
    answer = of_case(catalogue.newest(), case).therefore
    assert "a composite of _to_copy, acos," in answer
    for name in ("_local_scalar_dense", "detach"):
        assert name not in answer


@pytest.mark.parametrize("state", [state for state in State if state.can])
def test_what_the_code_has_needs_no_temporary_measure(state: State) -> None:
    case = Case("aten::bmm", "float32", "cuda", Direction.FORWARD)
    text = of_case(catalogue.newest(), case, state=state).text
    assert "So the code has the answer for aten::bmm forward in float32 on cuda" in text
    assert "temporary" not in text


def test_an_opt_in_is_only_ever_a_temporary_measure() -> None:
    case = Case("aten::abs", "float64", "cuda", Direction.BACKWARD)
    text = of_case(catalogue.newest(), case).text
    assert "So the answer is a device kernel for aten::abs backward in float64 on cuda." in text
    assert "documented temporary measure" in text


def test_without_a_counterpart_it_says_exactly_that() -> None:
    rationale = without_counterpart(catalogue.newest(), "gpu_rope_half_bf16", reason="no rotary embedding")
    assert rationale.text.startswith(
        "PyTorch has no counterpart of gpu_rope_half_bf16 (no rotary embedding)."
    )


def test_no_text_defers() -> None:
    known = catalogue.newest()
    for operator in (
        "aten::abs",
        "aten::histogram",
        "torch.func.vmap",
        "torch.nn.Nothing",
        "aten::embedding",
    ):
        for direction in Direction:
            text = of_case(known, Case(operator, "float64", "cuda", direction)).text.lower()
            assert "to be decided" not in text
            assert "defer" not in text
            assert "?" not in text


@pytest.mark.parametrize(
    ("operator", "words"),
    [("aten::abs", "PyTorch registers aten::abs"), ("aten::nothing_of_the_kind", "So the answer is a test")],
)
def test_a_test_that_is_missing_is_answered_with_a_test_and_nothing_else(operator: str, words: str) -> None:
    case = Case(operator, "float32", "cuda", Direction.FORWARD)
    now = said_now(None, PLACE, "no test runs this operation on a device")
    rationale = of_test(catalogue.newest(), case, now=now)
    assert rationale.answer is Answer.DEVICE_TEST
    assert words in rationale.text
    assert "Now no test runs this operation on a device (GpuBackend::abs_backward_f64" in rationale.text
    assert "structured error" not in rationale.text
    assert "V5" in rationale.clauses
    assert of_test(catalogue.newest(), None, now=now).therefore == rationale.therefore
