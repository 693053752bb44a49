"""The capability matrix of a small workspace in which every state occurs."""

from __future__ import annotations

import pytest

from audit.parity import catalogue
from audit.parity.backend import Body, backend_methods, backend_rows
from audit.parity.capability import Case, Cell, Layer, Place, State
from audit.parity.catalogue import Direction
from audit.parity.matrix import Matrix
from audit.parity.workspace import read_workspace
from audit.scanner.link.resolve import Resolver
from audit.scanner.link.summaries import Summaries
from audit.scanner.profile import load_profile
from audit.scanner.source.memory import MemorySource
from tests.audit.parity.states import sources


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    workspace = read_workspace(MemorySource(sources()))
    summaries = Summaries(workspace, Resolver(workspace), load_profile())
    broken = {"ferrotorch_gpu::gpu_abs": "ABS_PTX"}
    return Matrix(summaries, catalogue.newest(), broken_ptx=broken)


@pytest.fixture(scope="module")
def cells(matrix: Matrix) -> dict[Case, Cell]:
    return {cell.case: cell for cell in matrix.cells()}


def cuda(operator: str, dtype: str) -> Case:
    return Case(f"aten::{operator}", dtype, "cuda", Direction.FORWARD)


@pytest.mark.parametrize(
    ("operator", "dtype", "state", "path", "line"),
    [
        ("exp", "float32", State.KERNEL, "ferrotorch-gpu/src/lib.rs", 4),
        ("exp", "float64", State.TEXT_ERROR, "ferrotorch-core/src/lib.rs", 6),
        ("sqrt", "float32", State.STRUCTURED_ERROR, "ferrotorch-core/src/lib.rs", 9),
        ("relu", "float32", State.KERNEL_OR_FALLBACK, "ferrotorch-gpu/src/lib.rs", 5),
        ("lgamma", "float64", State.FALLBACK, "ferrotorch-core/src/ops.rs", 15),
        ("digamma", "float64", State.STRUCTURED_ERROR, "ferrotorch-core/src/ops.rs", 20),
        ("tanh", "float64", State.UNCALLED_KERNEL, "ferrotorch-gpu/src/lib.rs", 27),
        ("abs", "float32", State.BROKEN_KERNEL, "ferrotorch-gpu/src/lib.rs", 6),
        ("ravel", "float32", State.COMPOSITE, "ferrotorch-core/src/ops.rs", 27),
        ("eye", "float32", State.HOST_ONLY, "ferrotorch-core/src/ops.rs", 31),
        ("erf", "float64", State.OPT_IN_FALLBACK, "ferrotorch-core/src/ops.rs", 35),
    ],
)
def test_a_case_has_its_state_and_the_line_that_proves_it(
    cells: dict[Case, Cell], operator: str, dtype: str, state: State, path: str, line: int
) -> None:
    cell = cells[cuda(operator, dtype)]
    assert cell.state is state
    assert cell.proof is not None
    assert (cell.proof.place.path, cell.proof.place.line) == (path, line)


def test_a_function_of_numbers_alone_makes_a_case_host_only_at_its_own_line(cells: dict[Case, Cell]) -> None:
    cell = cells[cuda("sinc", "float64")]
    assert (cell.state, cell.is_gap) == (State.HOST_ONLY, True)
    assert cell.proof is not None
    assert (cell.proof.place.symbol, cell.proof.via) == (
        "ferrotorch_core::ops::sinc_f64",
        Place("ferrotorch-core/src/ops.rs", 50, "ferrotorch_core::ops::binomial"),
    )
    assert Case("aten::sinc", "float64", "cpu", Direction.FORWARD) not in cells


def test_a_function_of_numbers_is_listed_and_decides_nothing_beside_other_code(
    cells: dict[Case, Cell],
) -> None:
    read, unused = cells[cuda("erfinv", "float32")], cells[cuda("tanh", "float64")]
    assert (read.state, unused.state) == (State.FALLBACK, State.UNCALLED_KERNEL)
    for cell in (read, unused):
        assert cell.proof is not None
        assert cell.proof.layer is not Layer.SCALAR
        assert cell.implementations[-1].layer is Layer.SCALAR


def test_every_state_that_code_can_have_occurs_in_the_workspace(cells: dict[Case, Cell]) -> None:
    assert {cell.state for cell in cells.values()} == set(State) - {State.ABSENT}


def test_a_default_in_force_says_so_and_a_call_from_above_names_its_line(cells: dict[Case, Cell]) -> None:
    proof = cells[cuda("exp", "float64")].proof
    assert proof is not None
    assert proof.note == "the trait's default is in force on cuda"
    vias = {row.via.line for row in cells[cuda("exp", "float64")].implementations if row.via}
    assert vias == {10}


def test_a_kernel_that_a_macro_makes_is_judged_where_the_macro_is_called(cells: dict[Case, Cell]) -> None:
    cell = cells[Case("aten::neg", "float32", "xpu", Direction.FORWARD)]
    assert cell.state is State.FALLBACK
    assert cell.proof is not None
    assert cell.proof.is_called
    assert (cell.proof.place.line, cell.proof.place.symbol) == (10, "ferrotorch_xpu::xpu_neg")


def test_broken_ptx_makes_a_broken_kernel(cells: dict[Case, Cell]) -> None:
    assert cells[cuda("abs", "float32")].state is State.BROKEN_KERNEL


def test_pytorchs_answer_stands_beside_each_cell(cells: dict[Case, Cell]) -> None:
    assert all(cell.support.proof for cell in cells.values())
    assert cells[cuda("lgamma", "float64")].is_gap
    assert not cells[cuda("exp", "float32")].is_gap


def test_the_backend_trait_is_counted_by_default_and_override(matrix: Matrix) -> None:
    workspace, profile = matrix.workspace, matrix.profile
    methods = {
        m.name: m for m in backend_methods(workspace, profile, {"ferrotorch-gpu": "cuda"}, "GpuBackend")
    }
    assert {name: method.default for name, method in methods.items()} == {
        "abs_f32": Body.REQUIRED,
        "exp_f32": Body.REQUIRED,
        "exp_f64": Body.TEXT_ERROR,
        "relu_f32": Body.REQUIRED,
        "sqrt_f32": Body.STRUCTURED_ERROR,
    }
    in_force = {name for name, method in methods.items() if "cuda" not in method.overrides}
    assert in_force == {"exp_f64", "sqrt_f32"}


def test_each_backend_method_is_a_row_with_its_lines(matrix: Matrix) -> None:
    rows = {row.name: row for row in backend_rows(matrix.methods.values())}
    assert (rows["exp_f64"].declared.path, rows["exp_f64"].declared.line) == ("ferrotorch-core/src/lib.rs", 6)
    assert (rows["exp_f64"].default, dict(rows["exp_f64"].overrides)) == (Body.TEXT_ERROR, {})
    assert rows["relu_f32"].overrides["cuda"].line == 5


def test_a_kernel_that_nothing_calls_is_a_row_whatever_it_is_in_pytorch(matrix: Matrix) -> None:
    assert [(place.symbol, place.line) for place in matrix.uncalled_kernels()] == [
        ("ferrotorch_gpu::gpu_tanh_f64", 27)
    ]
