"""What of a workspace is an operation."""

from __future__ import annotations

from audit.parity.operations import FERROTORCH, OperationKind, gpu_operations, layout_of
from tests.audit.parity.sample import sample_operations

EXPECTED = {
    ("ferrotorch_core::GpuBackend::add_f32", OperationKind.BACKEND_METHOD),
    ("ferrotorch_core::GpuBackend::layernorm_backward_f64", OperationKind.BACKEND_METHOD),
    ("ferrotorch_core::Tensor::relu", OperationKind.TENSOR_METHOD),
    ("ferrotorch_core::cross_entropy", OperationKind.FUNCTION),
    ("ferrotorch_core::linalg::svd", OperationKind.FUNCTION),
    ("ferrotorch_core::lgamma_t", OperationKind.SCALAR_FUNCTION),
    ("ferrotorch_core::lgamma_f64", OperationKind.SCALAR_FUNCTION),
    ("ferrotorch_core::SumDimBackward", OperationKind.AUTOGRAD_NODE),
    ("ferrotorch_core::Gamma::log_prob", OperationKind.DISTRIBUTION_METHOD),
    ("ferrotorch_gpu::gpu_gelu_f64", OperationKind.KERNEL),
    ("ferrotorch_gpu::cpu_to_gpu", OperationKind.KERNEL),
    ("ferrotorch_gpu::gpu_svd_f32", OperationKind.KERNEL),
    ("ferrotorch_gpu::gpu_quantum_fold", OperationKind.KERNEL),
    ("ferrotorch_xpu::xpu_neg", OperationKind.KERNEL),
    ("ferrotorch_xpu::xpu_ln", OperationKind.KERNEL),
    ("ferrotorch_nn::HardSwish", OperationKind.MODULE),
    ("ferrotorch_nn::MSELoss", OperationKind.MODULE),
}


def test_every_kind_is_found_and_nothing_else() -> None:
    assert {(row.symbol, row.kind) for row in sample_operations()} == EXPECTED


def test_twins_under_opposite_features_are_one_operation() -> None:
    (twin,) = (row for row in sample_operations() if row.name == "gpu_gelu_f64")
    assert (twin.path, twin.line) == ("ferrotorch-gpu/src/lib.rs", 3)


def test_a_function_that_a_macro_makes_stands_where_the_macro_is_called() -> None:
    (made,) = (row for row in sample_operations() if row.name == "xpu_ln")
    assert made.line == 8
    assert made.signature == "fn xpu_ln(x: &Tensor<f32>) -> R<Tensor<f32>>"


def test_backend_methods_and_kernels_are_the_gpu_operations() -> None:
    names = {row.name for row in gpu_operations(sample_operations())}
    assert "add_f32" in names
    assert "xpu_neg" in names
    assert "svd" not in names


def test_a_workspace_of_the_family_has_its_layout_under_its_own_name() -> None:
    layout = layout_of(["minitorch", "minitorch-core", "minitorch-gpu", "minitorch-nn"])
    assert layout is not None
    assert layout.kernel_devices["minitorch-gpu"] == "cuda"
    assert "minitorch-nn" in layout.crates
    assert layout_of(["ferrotorch-core", "ferrotorch-gpu"]) == FERROTORCH


def test_a_workspace_without_a_core_and_a_gpu_crate_of_one_name_has_none() -> None:
    assert layout_of(["candle-core", "candle-kernels"]) is None
    assert layout_of([]) is None
