"""The shipped dump has the schema that is read, and says what is known of PyTorch 2.11."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from audit.parity import catalogue
from audit.parity.catalogue import Autograd, Catalogue, Composite, Direction

FORWARD, BACKWARD = Direction.FORWARD, Direction.BACKWARD


@pytest.fixture(scope="module")
def torch_2_11() -> Catalogue:
    return catalogue.newest()


def test_every_shipped_dump_can_be_read_and_is_small() -> None:
    paths = list(catalogue.shipped())
    assert [path.name for path in paths] == list(catalogue.SHIPPED)
    for path in paths:
        assert path.stat().st_size < 1_000_000
        assert len(catalogue.load(path).operators) > 3000


def test_the_dump_says_what_it_was_taken_from_and_how(torch_2_11: Catalogue) -> None:
    environment = torch_2_11.environment
    assert environment["torch_version"] == "2.11.0+cu130"
    assert environment["cuda_version"] == "13.0"
    assert environment["gpu_name"].startswith("NVIDIA")
    assert environment["driver_version"]
    assert environment["taken_at"].startswith("2026-")
    assert environment["command"].startswith("python -m audit.parity.dump --output ")
    assert "/" not in environment["command"]


def test_add_has_cuda_float64_forward_and_backward(torch_2_11: Catalogue) -> None:
    (info,) = torch_2_11.infos("add")
    assert info.supports("float64", "cuda", FORWARD)
    assert info.supports("float64", "cuda", BACKWARD)
    assert not info.supports("int64", "cuda", BACKWARD)
    operator = next(row for row in torch_2_11.overloads("add") if row.overload == "Tensor")
    assert {"CPU", "CUDA"} <= set(operator.kernels)
    assert operator.autograd is Autograd.FORMULA
    assert operator.is_structured


def test_var_is_composite_and_its_correction_overload_is_not(torch_2_11: Catalogue) -> None:
    by_name = {row.name: row for row in torch_2_11.overloads("var")}
    assert by_name["var"].composite is Composite.IMPLICIT
    assert by_name["var"].autograd is Autograd.COMPOSITE
    assert "CUDA" not in by_name["var"].kernels
    assert "CUDA" in by_name["var"].runs_on
    assert by_name["var.correction"].composite is Composite.NONE
    assert "CUDA" in by_name["var.correction"].kernels


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_the_gamma_functions_have_cuda_kernels(torch_2_11: Catalogue, name: str) -> None:
    (operator,) = (row for row in torch_2_11.overloads(name) if not row.overload)
    assert "CUDA" in operator.kernels
    assert all(info.supports("float64", "cuda", BACKWARD) for info in torch_2_11.infos(name))


@pytest.mark.parametrize("name", ["abs", "sum", "mean", "max_pool2d", "avg_pool2d", "conv2d"])
def test_operators_ferrotorch_lacks_in_float64_have_it_here(torch_2_11: Catalogue, name: str) -> None:
    infos = torch_2_11.infos(name)
    assert infos
    assert all(info.supports("float64", "cuda", FORWARD) for info in infos)
    assert all(info.supports("float64", "cuda", BACKWARD) for info in infos)


def test_an_unsupported_dtype_raises_not_implemented_and_names_kernel_and_dtype(
    torch_2_11: Catalogue,
) -> None:
    refusal = torch_2_11.refusals["lgamma", "complex64", FORWARD]
    assert refusal.exception == "NotImplementedError"
    assert refusal.text == "\"lgamma_cuda\" not implemented for 'ComplexFloat'"


def test_an_operator_without_a_cuda_kernel_is_refused_by_the_dispatcher(torch_2_11: Catalogue) -> None:
    refusal = torch_2_11.missing_kernels["_add_relu.Tensor"]
    assert refusal.exception == "NotImplementedError"
    assert "arguments from the 'CUDA' backend" in refusal.text


def test_operands_on_two_devices_are_an_error_and_never_moved(torch_2_11: Catalogue) -> None:
    refusal = torch_2_11.behaviours["torch.ones(2, device='cuda') + torch.ones(2)"]
    assert refusal.exception == "RuntimeError"
    assert refusal.text.startswith("Expected all tensors to be on the same device")


def test_a_module_and_an_optimizer_name_the_operators_they_reach(torch_2_11: Catalogue) -> None:
    module = torch_2_11.module("torch.nn.LayerNorm")
    assert module is not None
    assert "native_layer_norm" in module.reached.forward
    assert "native_layer_norm_backward" in module.reached.backward
    optimizer = torch_2_11.optimizer("torch.optim.Adam")
    assert optimizer is not None
    assert "fused" in optimizer.options
    assert any(name.startswith("_foreach_") for name in optimizer.reached.forward)


def test_distribution_methods_stay_on_the_device_or_refuse(torch_2_11: Catalogue) -> None:
    gamma = torch_2_11.distribution("torch.distributions.Gamma")
    assert gamma is not None
    log_prob = gamma.methods["cuda:float64"]["log_prob"]
    assert log_prob.devices == ("cuda",)
    assert "lgamma" in log_prob.forward
    assert "digamma" in log_prob.backward
    bernoulli = torch_2_11.distribution("torch.distributions.Bernoulli")
    assert bernoulli is not None
    assert bernoulli.methods["cuda:float32"]["rsample"].refusals["forward"].exception == "NotImplementedError"


def test_public_names_are_found_by_namespace(torch_2_11: Catalogue) -> None:
    assert torch_2_11.has_public("torch.linalg.svd")
    assert torch_2_11.has_public("torch.Tensor.add")
    assert not torch_2_11.has_public("torch.linalg.nothing_of_the_kind")


def test_a_file_with_another_schema_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"schema": "other/9"}')
    with pytest.raises(catalogue.CatalogueError, match=r"other\.json.*other/9"):
        catalogue.load(path)


def test_a_file_that_is_no_dump_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "broken.json.xz"
    path.write_bytes(b"not compressed")
    with pytest.raises(catalogue.CatalogueError, match=r"broken\.json\.xz"):
        catalogue.load(path)


def test_a_dump_with_a_failed_section_is_refused(tmp_path: Path) -> None:
    source = list(catalogue.shipped())[-1]
    data = json.loads(lzma.decompress(source.read_bytes()))
    data["sections"]["modules"] = {"state": "failed", "error": "boom"}
    path = tmp_path / "partial.json"
    path.write_text(json.dumps(data))
    with pytest.raises(catalogue.CatalogueError, match="lacks the sections modules"):
        catalogue.load(path)
