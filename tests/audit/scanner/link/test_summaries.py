"""Effects through the call graph: launches, refusals, gates, reads."""

from __future__ import annotations

import pytest

from audit.scanner.link.places import Place
from audit.scanner.link.summaries import Summaries
from tests.audit.scanner.workspace_fixture import function_named, summarised

MANIFEST = '[package]\nname = "ferrotorch-nn"\n[features]\ndefault = ["cuda"]\ncuda = []\n'
HELPERS = """
fn require_cpu(t: &Tensor<f32>) -> Result<()> {
    if t.is_cuda() {
        return Err(Error::NotImplementedOnCuda { op: "x" });
    }
    Ok(())
}
fn check_opt_in(op: &str) -> Result<()> {
    if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok() {
        tracing::warn!("slow");
        return Ok(());
    }
    Err(Error::Unsupported)
}
fn opted_in() -> bool { std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok() }
"""


def _summaries(body: str) -> Summaries:
    return summarised({"Cargo.toml": MANIFEST, "src/lib.rs": HELPERS + body})


def _pardon(statements: str) -> str:
    summaries = _summaries(f"pub fn op(x: &Tensor<f32>) -> Result<Tensor<f32>> {{ {statements} }}")
    (reads,) = [
        reads for index, reads in summaries.reads.items() if summaries.workspace.functions[index].name == "op"
    ]
    return reads[0].pardon


@pytest.mark.parametrize(
    ("statements", "pardon"),
    [
        ("let d = x.data_vec()?; wrap(d)", ""),
        ("if x.is_cuda() { return Err(E::A); } let d = x.data_vec()?; wrap(d)", "host-branch"),
        ("if x.is_cuda() { launch(x) } else { wrap(x.data_vec()?) }", "host-branch"),
        ("if !x.is_cuda() { return wrap(x.data_vec()?); } launch(x)", "host-branch"),
        ("let on = x.is_cuda(); if on { return launch(x); } wrap(x.data_vec()?)", "host-branch"),
        ("match x.device() { Device::Cpu => wrap(x.data_vec()?), _ => launch(x) }", "host-branch"),
        ("if x.is_cuda() && small(x) { return launch(x); } wrap(x.data_vec()?)", ""),
        ("if x.is_cuda() || y.is_cuda() { return Err(E::A); } wrap(x.data_vec()?)", "host-branch"),
        ("require_cpu(x)?; wrap(x.data_vec()?)", "rejected"),
        ("require_cpu(x).ok(); wrap(x.data_vec()?)", ""),
        ("let h = x.data_vec()?; if x.is_cuda() { return Err(E::A); } wrap(h)", "rejected"),
        ('check_opt_in("op")?; wrap(x.data_vec()?)', "opt-in"),
        ("if !opted_in() { return Err(E::A); } wrap(x.data_vec()?)", "opt-in"),
        ("if opted_in() { return launch(x); } wrap(x.data_vec()?)", ""),
        ("x.data()?; wrap(x.data_vec()?)", "refusing-access"),
        (
            "let odd = if x.is_cuda() { f()? } else { g()? }; if odd { return Err(E); } wrap(x.data_vec()?)",
            "",
        ),
    ],
)
def test_what_dominates_a_read_decides_whether_it_is_legal(statements: str, pardon: str) -> None:
    assert _pardon(statements) == pardon


@pytest.mark.parametrize(
    ("value", "is_read"),
    [
        ("match x.grad()? { Some(g) => g, None => Tensor::new(TensorStorage::cpu(vec![0.0]), s)? }", True),
        ("if first { x.clone() } else { Tensor::new(TensorStorage::cpu(vec![0.0]), s)? }", True),
        ("match n { 0 => zeros(s)?, _ => Tensor::new(TensorStorage::cpu(vec![0.0]), s)? }", False),
        ("match ones(s) { Ok(made) => made, Err(e) => return Err(e) }", False),
        ("match x.cpu()? { one => one }", False),
    ],
)
def test_what_a_local_is_every_branch_that_yields_it_tells(value: str, is_read: bool) -> None:
    body = f"let g = {value}; wrap(g.data_vec()?)"
    summaries = _summaries(f"pub fn op(x: &Tensor<f32>) -> Result<Tensor<f32>> {{ {body} }}")
    functions = summaries.workspace.functions
    reads = [
        one for index, found in summaries.reads.items() if functions[index].name == "op" for one in found
    ]
    assert any(one.operand == "g" for one in reads) == is_read


def test_launches_are_seen_through_calls_and_not_through_transfers() -> None:
    summaries = _summaries(
        """
        fn run(b: &Buffer) -> Result<()> { stream.launch_builder(f).launch(cfg) }
        pub fn op(b: &Buffer) -> Result<()> { run(b) }
        pub fn to(&self, d: Device) -> Result<()> { run(self) }
        pub fn host(b: &Buffer) -> Result<()> { b.to(cpu) }
        """
    )
    names = {summaries.workspace.functions[index].name for index in summaries.launching}
    assert names == {"run", "op"}


def test_refusals_are_passed_on_by_callers_that_hand_the_error_up() -> None:
    summaries = _summaries(
        """
        pub fn det(x: &Tensor<f32>) -> Result<f32> { require_cpu(x)?; host(x) }
        pub fn log_det(x: &Tensor<f32>) -> Result<f32> { det(x) }
        pub fn maybe(x: &Tensor<f32>) -> Result<f32> { if let Ok(d) = det(x) { return Ok(d); } Ok(0.0) }
        fn backward(&self, g: &Tensor<f32>) -> Result<Option<f32>> {
            let found = if self.input.requires_grad() { Some(det(g)?) } else { None };
            Ok(found)
        }
        fn backward_small(&self, g: &Tensor<f32>) -> Result<Option<f32>> {
            if self.input.requires_grad() && g.numel() < 9 { return Ok(Some(det(g)?)); }
            Ok(Some(1.0))
        }
        """
    )
    names = {summaries.workspace.functions[index].name for index in summaries.rejecting}
    assert {"det", "log_det", "backward"} <= names
    assert names.isdisjoint({"maybe", "backward_small"})


def test_a_helper_with_a_closure_reads_for_its_callers() -> None:
    summaries = _summaries(
        """
        fn map_host(x: &Tensor<f32>, f: impl Fn(f32) -> f32) -> Result<Tensor<f32>> {
            let data = x.data_vec()?;
            wrap(data.iter().map(|v| f(*v)).collect())
        }
        pub fn celu(x: &Tensor<f32>) -> Result<Tensor<f32>> { map_host(x, |v| v) }
        pub fn noise() -> Result<Tensor<f32>> { map_host(&creation::rand(&[3])?, |v| v) }
        """
    )
    celu = function_named(summaries.workspace, "celu")
    (read,) = summaries.reads[celu.index]
    assert read.helper is function_named(summaries.workspace, "map_host")
    assert function_named(summaries.workspace, "noise").index not in summaries.reads


@pytest.mark.parametrize(
    ("statements", "is_read"),
    [
        ("Ok(x.data_vec()?)", True),
        ("if x.is_cuda() { return Err(E::A); } Ok(x.data_vec()?)", False),
        ("require_cpu(x)?; Ok(x.data_vec()?)", False),
        ("if x.is_cuda() { return launch(x); } Ok(x.data_vec()?)", False),
        ("if x.is_cpu() { Ok(x.data_vec()?) } else { launch(x) }", False),
        ("let h = x.data_vec()?; if x.is_cuda() { return Err(E::A); } Ok(h)", False),
        ("if x.is_cuda() && deep(x) { return Err(E::A); } Ok(x.data_vec()?)", True),
        ("require_cpu(x).ok(); Ok(x.data_vec()?)", True),
        ("if x.is_cuda() { return x.cpu()?.data_vec(); } Ok(x.data_vec()?)", True),
        ("if deep(x) { require_cpu(x)?; } Ok(x.data_vec()?)", True),
    ],
)
def test_a_helper_that_keeps_device_data_from_its_reads_reads_none_for_its_callers(
    statements: str, is_read: bool
) -> None:
    summaries = _summaries(
        f"""
        fn values(x: &Tensor<f32>) -> Result<Vec<f32>> {{ {statements} }}
        pub fn fft(x: &Tensor<f32>) -> Result<Tensor<f32>> {{ wrap(transformed(values(x)?)) }}
        """
    )
    assert (function_named(summaries.workspace, "fft").index in summaries.reads) == is_read


def test_gates_know_whether_they_warn_and_refuse() -> None:
    summaries = _summaries("")
    gates = {summaries.workspace.functions[index].name: gate for index, gate in summaries.gates.items()}
    assert (gates["check_opt_in"].warns, gates["check_opt_in"].refuses) == (True, True)
    assert (gates["opted_in"].warns, gates["opted_in"].refuses) == (False, False)


@pytest.mark.parametrize(
    ("condition", "holds", "place"),
    [
        ("x.is_cuda()", True, Place.DEVICE),
        ("x.is_cuda()", False, Place.HOST),
        ("!x.is_cpu()", True, Place.DEVICE),
        ("x.is_cuda() && small", True, Place.DEVICE),
        ("x.is_cuda() && small", False, None),
        ("x.is_cuda() || small", True, None),
        ("x.is_cuda() || y.is_cuda()", False, Place.HOST),
        ("matches!(x.device(), Device::Cuda(_))", False, Place.HOST),
        ("x.device() != Device::Cpu", True, Place.DEVICE),
        ("let Device::Cuda(n) = x.device()", True, Place.DEVICE),
        ("n > 3", True, None),
    ],
)
def test_conditions_tell_the_device(condition: str, holds: bool, place: Place | None) -> None:
    summaries = _summaries("fn op() {}")
    flow = summaries.flow(function_named(summaries.workspace, "op"))
    assert flow.condition_place(condition, holds) is place


def test_a_macro_gives_its_functions_the_names_and_the_work_of_its_invocations() -> None:
    summaries = _summaries(
        """
        macro_rules! runner {
            ($name:ident, $kernel:ident) => {
                pub fn $name(client: &Client) -> Result<()> { $kernel::launch_unchecked(client) }
            };
        }
        runner!(run_add, kernel_add);
        macro_rules! operator {
            ($name:ident, $runner:ident) => {
                pub fn $name(x: &Tensor<f32>) -> Result<()> { dispatch(x) }
            };
        }
        operator!(add, run_add);
        pub fn caller(client: &Client) -> Result<()> { run_add(client) }
        """
    )
    names = {summaries.workspace.functions[index].name for index in summaries.launching}
    assert names == {"runner", "operator", "caller"}


def test_a_clone_of_shared_storage_is_a_read_only_where_the_value_was_cloned() -> None:
    summaries = _summaries(
        """
        impl GpuBackend for CudaBackend {
            fn clone_buffer(&self, h: &GpuBufferHandle) -> Result<GpuBufferHandle> {
                let bytes = self.gpu_to_cpu(h)?;
                self.cpu_to_gpu(&bytes, 4)
            }
        }
        impl Tensor {
            fn into_storage(self) -> Result<TensorStorage> {
                match Arc::try_unwrap(self.inner) {
                    Ok(inner) => Ok(inner.storage),
                    Err(shared) => backend().clone_buffer(shared.handle()),
                }
            }
        }
        pub fn shared(x: Tensor) -> Result<Tensor> { keep(x.clone()); wrap(x.into_storage()?) }
        pub fn owned(x: Tensor) -> Result<Tensor> { wrap(x.into_storage()?) }
        pub fn cloned(x: &Tensor) -> Result<Tensor> { let own = x.clone(); wrap(own.into_storage()?) }
        pub fn made(x: &Tensor) -> Result<Tensor> { let own = add(x, x)?; wrap(own.into_storage()?) }
        """
    )
    reading = {
        summaries.workspace.functions[index].name
        for index, reads in summaries.reads.items()
        if any(read.is_copy for read in reads)
    }
    assert reading == {"shared", "cloned"}
