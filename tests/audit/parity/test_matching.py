"""Which PyTorch operator an operation is."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.parity import catalogue
from audit.parity.catalogue import Direction
from audit.parity.matching import Match, Matcher, Verdict, matches, normal_form, squeeze, table
from audit.parity.operations import Operation, OperationKind
from tests.audit.parity.sample import sample_operations


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return Matcher(catalogue.newest())


def operation(
    name: str, kind: OperationKind, module_path: str = "ferrotorch_core::ops", owner: str = ""
) -> Operation:
    return Operation(name, kind, module_path, module_path.split("::")[0].replace("_", "-"), "a.rs", 1, owner)


KERNEL, BACKEND = OperationKind.KERNEL, OperationKind.BACKEND_METHOD


# kind, module, owner, name, counterpart, direction, dtype
NAMES = """
backend-method ferrotorch_core::gpu GpuBackend add_f64 aten::add forward float64
backend-method ferrotorch_core::gpu GpuBackend sum_axis_f32 aten::sum forward float32
backend-method ferrotorch_core::gpu GpuBackend gelu_backward_erf_f64 aten::gelu_backward backward float64
backend-method ferrotorch_core::gpu GpuBackend abs_backward_f64 aten::abs backward float64
backend-method ferrotorch_core::gpu GpuBackend matmul_f16_f32 aten::matmul forward float16
backend-method ferrotorch_core::gpu GpuBackend svd_f64 aten::linalg_svd forward float64
kernel ferrotorch_gpu::kernels - gpu_layernorm aten::native_layer_norm forward float32
kernel ferrotorch_gpu::kernels - gpu_scatter_add_rows_f64 aten::embedding backward float64
kernel ferrotorch_gpu::cusolver - gpu_cholesky_f32_dev aten::linalg_cholesky forward float32
kernel ferrotorch_gpu::cufft - gpu_fft_c2c_f64 aten::_fft_c2c forward float64
kernel ferrotorch_gpu::bf16 - gpu_silu_bf16 aten::silu forward bfloat16
kernel ferrotorch_gpu::blas - gpu_matmul_bf16_bf16_nt aten::linear forward bfloat16
kernel ferrotorch_cubecl::kernels - kernel_chebyshev_t aten::special_chebyshev_polynomial_t forward float32
function ferrotorch_core::linalg - svd torch.linalg.svd forward -
function ferrotorch_core::grad_fns::fft - rfftn_differentiable torch.fft.rfftn forward -
function ferrotorch_core::special - xlogy torch.special.xlogy forward -
function ferrotorch_core::masked - masked_sum torch.masked.sum forward -
function ferrotorch_nn::init - kaiming_uniform torch.nn.init.kaiming_uniform_ forward -
function ferrotorch_distributed::nccl_collective - nccl_broadcast_dtype torch.distributed.broadcast forward -
scalar-function ferrotorch_distributions::kl - ln_gamma_scalar aten::lgamma forward -
scalar-function ferrotorch_distributions::dirichlet - digamma_f64 aten::digamma forward float64
scalar-function ferrotorch_core::grad_fns::activation - erf_approx aten::erf forward -
scalar-function ferrotorch_vision::ops - max_t aten::maximum forward -
tensor-method ferrotorch_core::inplace Tensor add_ torch.Tensor.add_ forward -
tensor-method ferrotorch_core::methods Tensor add_t torch.Tensor.add forward -
autograd-node ferrotorch_nn::loss - MSEBackward torch.nn.functional.mse_loss backward -
autograd-node ferrotorch_x - NormalLogProbBackward torch.distributions.Normal.log_prob backward -
module ferrotorch_nn::activation - HardSwish torch.nn.Hardswish forward -
optimizer ferrotorch_optim::lbfgs - Lbfgs torch.optim.LBFGS forward -
scheduler ferrotorch_optim::scheduler::step - StepLR torch.optim.lr_scheduler.StepLR forward -
transform ferrotorch_distributions - ExpTransform torch.distributions.transforms.ExpTransform forward -
distribution-method ferrotorch_distributions Gamma log_prob torch.distributions.Gamma.log_prob forward -
"""


@pytest.mark.parametrize("line", NAMES.strip().splitlines())
def test_a_name_finds_its_counterpart(matcher: Matcher, line: str) -> None:
    kind, module, owner, name, counterpart, direction, dtype = line.replace(" -", " ").split(" ")
    match = matcher.match(operation(name, OperationKind(kind), module, owner))
    assert (match.counterpart, match.direction, match.dtype) == (counterpart, direction, dtype)
    assert match.verdict is Verdict.MATCHED
    assert match.rule
    assert 0.9 <= match.confidence <= 1.0


def test_a_function_of_numbers_is_an_operation_only_where_pytorch_has_an_operator_of_its_name() -> None:
    kind = OperationKind.SCALAR_FUNCTION
    rows = [operation(name, kind) for name in ("lgamma_scalar", "cubic_weight", "gumbel_icdf")]
    assert [match.operation.name for match in matches(rows, catalogue.newest())] == ["lgamma_scalar"]


def test_what_nobody_knows_is_unmatched_and_never_guessed(matcher: Matcher) -> None:
    match = matcher.match(operation("gpu_quantum_fold", KERNEL, "ferrotorch_gpu::kernels"))
    assert match.verdict is Verdict.UNMATCHED
    assert (match.counterpart, match.confidence) == ("", 0.0)


def test_a_transfer_is_no_operation_and_says_why(matcher: Matcher) -> None:
    match = matcher.match(operation("cpu_to_gpu", KERNEL, "ferrotorch_gpu::transfer"))
    assert match.verdict is Verdict.INFRASTRUCTURE
    assert match.note


def test_what_pytorch_has_not_says_exactly_that(matcher: Matcher) -> None:
    match = matcher.match(operation("gpu_rope_half_bf16", KERNEL, "ferrotorch_gpu::bf16"))
    assert match.verdict is Verdict.NO_COUNTERPART
    assert "no rotary embedding" in match.note


def test_the_sample_workspace_is_matched_but_for_the_invented_kernel(matcher: Matcher) -> None:
    found = [matcher.match(row) for row in sample_operations()]
    assert Counter(match.verdict for match in found) == {
        Verdict.MATCHED: 15,
        Verdict.INFRASTRUCTURE: 1,
        Verdict.UNMATCHED: 1,
    }


def test_every_counterpart_of_the_reviewed_table_exists(matcher: Matcher) -> None:
    for row in table().exceptions:
        counterpart = row.get("counterpart", "")
        if counterpart.startswith("aten::"):
            assert matcher.catalogue.overloads(counterpart.removeprefix("aten::")), row
        elif counterpart:
            assert matcher.catalogue.has_public(counterpart), row
        else:
            assert row["verdict"] in (Verdict.INFRASTRUCTURE, Verdict.NO_COUNTERPART)
            assert row["reason"]


def test_every_namespace_of_the_table_was_dumped(matcher: Matcher) -> None:
    for _, _, names in table().namespaces:
        for name in names:
            assert name.startswith("aten") or name in matcher.catalogue.namespaces, name


@given(st.sampled_from(["add", "layer_norm", "relu_backward"]), st.sampled_from(["f32", "f64", "bf16"]))
def test_prefix_and_dtype_come_off_in_any_combination(stem: str, suffix: str) -> None:
    name = normal_form(operation(f"gpu_{stem}_{suffix}", KERNEL), table())
    assert name.stems[-1] == stem.removesuffix("_backward")
    assert name.dtype == table().dtypes[suffix]
    assert (name.direction is Direction.BACKWARD) == stem.endswith("_backward")


@given(st.from_regex(r"[a-z]{1,6}(_[a-z0-9]{1,6}){0,3}", fullmatch=True))
def test_squeezing_forgets_case_and_underscores_only(name: str) -> None:
    camel = "".join(part.capitalize() for part in name.split("_"))
    assert squeeze(camel) == squeeze(name) == name.replace("_", "")


def test_a_match_carries_the_operators_behind_it(matcher: Matcher) -> None:
    match: Match = matcher.match(operation("LayerNorm", OperationKind.MODULE, "ferrotorch_nn::norm"))
    assert match.operators == ("native_layer_norm",)
