"""What PyTorch says about a case."""

from __future__ import annotations

import pytest

from audit.parity import catalogue
from audit.parity.catalogue import Direction
from audit.parity.counterparts import SupportState, operator_names, support

FORWARD, BACKWARD = Direction.FORWARD, Direction.BACKWARD


@pytest.mark.parametrize(
    ("counterpart", "dtype", "device", "direction", "state", "proof"),
    [
        ("aten::add", "float64", "cuda", FORWARD, "kernel", "aten::add.Tensor has a CUDA kernel"),
        ("aten::add", "float64", "cuda", BACKWARD, "kernel", "add lists float64 backward on cuda"),
        ("aten::abs", "float64", "cuda", BACKWARD, "kernel", "aten::abs.out has a CUDA kernel"),
        ("aten::linalg_svd", "float64", "cuda", FORWARD, "composite", "CompositeImplicitAutograd"),
        ("aten::argmax", "float32", "cuda", BACKWARD, "not-differentiable", "no autograd support"),
        ("aten::lgamma", "complex64", "cuda", FORWARD, "refused", '"lgamma_cuda" not implemented for'),
        ("aten::histogram", "float32", "cuda", FORWARD, "refused", "Could not run 'aten::histogram.bin_ct'"),
        ("aten::silu_backward", "float64", "cuda", FORWARD, "kernel", "nn.functional.silu lists float64"),
        ("aten::_fft_c2c", "float64", "cuda", FORWARD, "kernel", "aten::_fft_c2c has a CUDA kernel"),
        ("aten::add", "float32", "mps", FORWARD, "unknown", "as declared"),
        ("torch.distributions.Gamma.log_prob", "float64", "cuda", BACKWARD, "composite", "digamma"),
        ("torch.distributions.Bernoulli.rsample", "float32", "cuda", FORWARD, "refused", "NotImpl"),
        ("torch.nn.LayerNorm", "float32", "cuda", FORWARD, "composite", "native_layer_norm"),
        ("torch.nn.LayerNorm", "float64", "cuda", FORWARD, "composite", "module tests run"),
        ("torch.nn.LayerNorm", "complex64", "cuda", FORWARD, "refused", "layer_norm does not support"),
        ("torch.optim.Adam", "float32", "cuda", FORWARD, "composite", "_foreach_"),
        ("torch.optim.Adam", "float64", "cuda", FORWARD, "unknown", "no operator or recording"),
        ("torch.nn.functional.nothing", "float32", "cuda", FORWARD, "absent", "nothing"),
    ],
)
def test_a_case_has_a_state_and_the_fact_it_rests_on(
    counterpart: str, dtype: str, device: str, direction: Direction, state: str, proof: str
) -> None:
    answer = support(catalogue.newest(), counterpart, dtype, device, direction)
    assert answer.state == state
    assert proof in answer.proof


def test_only_kernels_and_composites_can() -> None:
    assert {state for state in SupportState if state.can} == {SupportState.KERNEL, SupportState.COMPOSITE}


def test_a_public_function_names_its_operator_and_a_module_those_it_reaches() -> None:
    known = catalogue.newest()
    assert operator_names(known, "torch.linalg.svd") == ("linalg_svd",)
    assert operator_names(known, "torch.nn.functional.relu") == ("relu",)
    assert "lgamma" in operator_names(known, "torch.distributions.Gamma.log_prob")
