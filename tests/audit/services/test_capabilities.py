"""Capabilities are derived while a commit is scanned, and stored with its results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings

from audit.models import (
    Capability,
    CapabilityGap,
    CapabilityGapChange,
    CapabilityReading,
    FallbackSite,
    Repository,
    ScanRun,
)
from audit.parity.capability import State
from audit.parity.matrix import Matrix
from audit.parity.workspace import read_workspace
from audit.scanner.link.resolve import Resolver
from audit.scanner.link.summaries import Summaries
from audit.scanner.profile import load_profile
from audit.scanner.ptx.driver import DriverAnswer, DriverAnswers, digest_of
from audit.scanner.ptx.kernels import Kernels
from audit.scanner.ptx.texts import PtxTexts
from audit.scanner.source.memory import MemorySource
from audit.services import capabilities as service
from audit.services import scan_requests, scan_runs
from audit.services.gaps import capability_gaps_follow
from audit.services.repositories import repository_add
from migrations_tracker.services.follow_up import scan_run_follow_up
from tests.audit.parity.states import sources
from tests.git import commit_files

pytestmark = pytest.mark.django_db(transaction=True)

OPS = "ferrotorch-core/src/ops.rs"
GPU = "ferrotorch-gpu/src/lib.rs"
KERNEL = """
use crate::{gpu_backend, GpuBackend, Tensor};

pub fn lgamma<T>(input: &Tensor<T>) -> R<Tensor<T>> {
    wrap(gpu_backend().unwrap().exp_f32(input.gpu_handle()?)?)
}
"""


@pytest.fixture
def tree(tmp_path: Path, settings: Settings) -> Path:
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    commit_files(tmp_path / "tree", {path: text.decode() for path, text in sources().items()})
    return tmp_path / "tree"


@pytest.fixture
def repository(tree: Path) -> Repository:
    return repository_add(location=str(tree), actor=None)


@pytest.fixture
def scan(repository: Repository) -> Callable[[], ScanRun]:
    """Give a function that scans what the branch points at."""

    def run() -> ScanRun:
        commit, branch = scan_requests.commit_locate(repository=repository, revision="")
        scan_run = scan_requests.scan_run_request(
            repository=repository, commit=commit, branch=branch, actor=None
        )
        assert scan_runs.scan_run_execute(pk=scan_run.pk, after_ingest=scan_run_follow_up)
        scan_run.refresh_from_db()
        return scan_run

    return run


def gap(operator: str, dtype: str = "float32") -> CapabilityGap:
    return CapabilityGap.objects.get(
        operator=f"aten::{operator}", dtype=dtype, device="cuda", direction="forward"
    )


@pytest.mark.parametrize(
    ("operator", "dtype", "state", "place"),
    [
        ("exp", "float32", "kernel", f"{GPU}:4"),
        ("exp", "float64", "text-error", "ferrotorch-core/src/lib.rs:6"),
        ("sqrt", "float32", "structured-error", "ferrotorch-core/src/lib.rs:9"),
        ("relu", "float32", "kernel-or-fallback", f"{GPU}:5"),
        ("lgamma", "float64", "fallback", f"{OPS}:15"),
        ("tanh", "float64", "uncalled-kernel", f"{GPU}:27"),
    ],
)
def test_a_scan_stores_each_case_with_the_line_that_proves_it(
    scan: Callable[[], ScanRun], operator: str, dtype: str, state: str, place: str
) -> None:
    row = scan().capabilities.get(
        operator=f"aten::{operator}", dtype=dtype, device="cuda", direction="forward"
    )
    assert (row.state, f"{row.path}:{row.line}") == (state, place)
    assert row.crate == row.path.partition("/")[0]
    assert row.symbol in row.symbols
    assert row.pytorch_proof


def test_the_reading_counts_what_is_stored(scan: Callable[[], ScanRun]) -> None:
    scan_run = scan()
    reading = scan_run.capability_reading
    assert (reading.failure_reason, reading.torch_version[:4]) == ("", "2.11")
    assert reading.cell_count == scan_run.capabilities.count() > 10
    assert reading.gap_count == scan_run.capabilities.filter(is_gap=True).count() > 3
    assert CapabilityGap.objects.filter(is_open=True).count() == reading.gap_count
    assert {row["name"]: row["default"] for row in reading.backend_methods}["exp_f64"] == "text-error"
    assert [row["symbol"] for row in reading.uncalled_kernels] == ["ferrotorch_gpu::gpu_tanh_f64"]


def test_a_gap_closes_when_the_device_computes_it_and_opens_again(
    scan: Callable[[], ScanRun], tree: Path
) -> None:
    first = scan()
    assert gap("lgamma").is_open
    commit_files(tree, {OPS: KERNEL})
    second = scan()
    closed = gap("lgamma")
    assert (closed.is_open, closed.closed_scan, closed.first_seen_scan) == (False, second, first)
    assert closed.outcome == "device-kernel"
    commit_files(tree, {OPS: sources()[OPS].decode()})
    third = scan()
    again = gap("lgamma")
    assert (again.pk, again.is_open, again.outcome, again.last_seen_scan) == (closed.pk, True, "", third)
    assert list(again.changes.values_list("kind", "from_state", "to_state", "outcome", "scan_run")) == [
        ("opened", "", "fallback", "", first.pk),
        ("closed", "fallback", "kernel", "device-kernel", second.pk),
        ("reopened", "fallback", "fallback", "", third.pk),
    ]
    steps = again.migration.transitions.values_list("from_status", "to_status", "cause", "scan_run")
    assert list(steps) == [
        ("", "open", "scanner", first.pk),
        ("open", "migrated", "scanner", second.pk),
        ("migrated", "reopened", "scanner", third.pk),
    ]


def test_a_gap_in_a_file_that_could_not_be_read_stays_open(scan: Callable[[], ScanRun], tree: Path) -> None:
    scan()
    (tree / OPS).write_bytes(b"// caf\xe9\n")
    commit_files(tree, {"README.md": "x\n"})
    scan_run = scan()
    assert scan_run.files.get(path=OPS).status == "failed"
    assert not scan_run.capabilities.filter(operator="aten::lgamma").exists()
    assert gap("lgamma").is_open


def test_a_gap_whose_code_is_gone_closes(scan: Callable[[], ScanRun], tree: Path) -> None:
    scan()
    commit_files(tree, {OPS: "pub fn nothing() {}\n"})
    scan_run = scan()
    gone = gap("lgamma")
    assert (gone.closed_scan, gone.outcome, gone.migration.status) == (scan_run, "removed", "open")
    assert gone.changes.latest("id").to_state == "absent"


def test_a_matrix_that_breaks_down_is_said_and_costs_no_result(
    scan: Callable[[], ScanRun], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan()
    before = CapabilityGap.objects.filter(is_open=True).count()

    def break_down(self: Matrix) -> object:
        raise RecursionError("too deep")

    monkeypatch.setattr(Matrix, "cells", break_down)
    commit_files(tree, {OPS: KERNEL})
    scan_run = scan()
    assert scan_run.state == "succeeded"
    assert scan_run.capability_reading.failure_reason == "The matrix broke down: RecursionError: too deep"
    assert FallbackSite.objects.exists()
    assert CapabilityGap.objects.filter(is_open=True).count() == before


def test_a_workspace_of_another_shape_says_that_its_operations_are_not_known(
    tmp_path: Path, settings: Settings
) -> None:
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "lib.rs").write_text("pub fn f() {}\n")
    repository = repository_add(location=str(tmp_path / "tree"), actor=None)
    commit, branch = scan_requests.commit_locate(repository=repository, revision="")
    scan_run = scan_requests.scan_run_request(repository=repository, commit=commit, branch=branch, actor=None)
    assert scan_runs.scan_run_execute(pk=scan_run.pk, after_ingest=scan_run_follow_up)
    assert CapabilityReading.objects.get().failure_reason == service.NO_LAYOUT


def test_an_older_commit_changes_no_gap(
    scan: Callable[[], ScanRun], tree: Path, repository: Repository
) -> None:
    commit, branch = scan_requests.commit_locate(repository=repository, revision="")
    commit_files(tree, {OPS: KERNEL})
    scan()
    before = set(CapabilityGap.objects.values_list("pk", "is_open"))
    older = scan_requests.scan_run_request(repository=repository, commit=commit, branch=branch, actor=None)
    assert scan_runs.scan_run_execute(pk=older.pk, after_ingest=scan_run_follow_up)
    assert older.capabilities.filter(operator="aten::lgamma", is_gap=True).exists()
    assert set(CapabilityGap.objects.values_list("pk", "is_open")) == before


def test_storing_twice_changes_nothing(scan: Callable[[], ScanRun], monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[dict[str, object]] = []
    store = service.capabilities_store

    def keep(**arguments: object) -> None:
        kept.append(arguments)
        store(**arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(scan_runs, "capabilities_store", keep)
    scan()
    before = list(Capability.objects.values_list("operator", "dtype", "device", "direction", "state"))
    store(**kept[0])  # type: ignore[arg-type]
    before_changes = CapabilityGapChange.objects.count()
    capability_gaps_follow(**kept[0])  # type: ignore[arg-type]
    assert CapabilityGapChange.objects.count() == before_changes
    after = Capability.objects.values_list("operator", "dtype", "device", "direction", "state")
    assert sorted(after) == sorted(before)
    assert CapabilityGap.objects.filter(is_open=True).count() == CapabilityReading.objects.get().gap_count


REFUSED_PTX = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry abs() { nonsense; }\n"
TWINS = """
const ABS_PTX: &str = "{ptx}";
pub struct CudaBackendImpl;
impl GpuBackend for CudaBackendImpl {{
    fn abs_f32(&self, a: &GpuBufferHandle) -> R<GpuBufferHandle> {{ gpu_abs(a) }}
}}
#[cfg(feature = "cuda")]
pub fn gpu_abs(a: &CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>> {{
    let f = get_or_compile(ABS_PTX, "abs")?;
    stream.launch_builder(&f).launch(cfg)
}}
#[cfg(not(feature = "cuda"))]
pub fn gpu_abs(_a: &CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>> {{ Err(GpuError::NoCudaFeature) }}
"""


def test_a_twin_without_the_gpu_does_not_hide_a_kernel_that_is_refused() -> None:
    code = TWINS.format(ptx=REFUSED_PTX.replace("\n", "\\n"))
    workspace = read_workspace(MemorySource({**sources(), GPU: code.encode()}))
    resolver = Resolver(workspace)
    texts = PtxTexts(workspace, resolver, {})
    refusal = DriverAnswer(digest_of(texts.all[0].text), False, "gpu", "13.0", error="invalid")
    kernels = Kernels(texts, None, (), DriverAnswers([refusal]))
    summaries = Summaries(workspace, resolver, load_profile())
    found = service.capabilities_derive(summaries=summaries, kernels=kernels)
    (cell,) = (c for c in found.cells if (c.case.operator, c.case.device) == ("aten::abs", "cuda"))
    assert cell.state is State.BROKEN_KERNEL
    assert cell.proof is not None
    assert cell.proof.broken_ptx == "ABS_PTX"
