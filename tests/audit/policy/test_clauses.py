"""The policy's clauses are complete, numbered by kind, and their Rust compiles."""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path

import pytest

from audit.policy.clauses import (
    ClauseKind,
    Policy,
    PolicyError,
    load_policy,
    own_clause_plain,
    own_clauses,
    parse_own_clause,
    parse_policy,
)
from tests.toolchain import rust_program

PRELUDE = """
#![allow(dead_code, unused_variables, unexpected_cfgs)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DType { F32, F64 }
#[derive(Clone, Copy)]
pub enum Device { Cpu, Cuda(usize) }
#[derive(Debug)]
pub enum GpuError {
    PtxCompileFailed { kernel: &'static str },
    Unsupported { op: &'static str, dtype: DType },
    DeviceUnavailable { device: &'static str },
    InvalidArgument { message: String },
}
pub type GpuResult<T> = Result<T, GpuError>;
pub struct CudaBuffer { len: usize }
impl CudaBuffer {
    pub fn len(&self) -> usize { self.len }
    pub fn is_on_device(&self) -> bool { true }
}
pub struct Tensor { cuda: bool }
impl Tensor {
    pub fn is_cuda(&self) -> bool { self.cuda }
    pub fn data_vec(&self) -> GpuResult<Vec<f32>> { Ok(Vec::new()) }
}
pub struct Kernel;
impl Kernel {
    pub fn launch(&self, x: &CudaBuffer, _scalar: f32) -> GpuResult<CudaBuffer> {
        Ok(CudaBuffer { len: x.len })
    }
    pub fn launch2(&self, x: &CudaBuffer, _y: &CudaBuffer) -> GpuResult<CudaBuffer> {
        Ok(CudaBuffer { len: x.len })
    }
}
pub fn get_or_compile(kernel: &'static str) -> GpuResult<Kernel> {
    Err(GpuError::PtxCompileFailed { kernel })
}
pub fn gpu_to_cpu(_x: &CudaBuffer) -> GpuResult<Vec<f32>> { Ok(Vec::new()) }
pub fn cpu_to_gpu(x: &[f32]) -> GpuResult<CudaBuffer> { Ok(CudaBuffer { len: x.len() }) }
pub fn host_norm(x: Vec<f32>) -> Vec<f32> { x }
pub fn host_sort(x: Vec<f32>) -> Vec<f32> { x }
pub fn zip_host(a: Vec<f32>, _b: Vec<f32>) -> Vec<f32> { a }
pub fn check_opt_in(_operands: &[&Tensor], _op: &'static str) -> GpuResult<()> { Ok(()) }
pub fn warn(_kernel: &str, _variable: &str) {}
"""


def _policy(*rows: dict[str, str]) -> Policy:
    return parse_policy({"version": "9", "title": "t", "published": date(2026, 1, 1), "clause": rows})


def _row(**changes: str) -> dict[str, str]:
    row = {"id": "M1", "kind": "mandatory", "title": "t", "text": "x", "reason": "r", "pytorch": "p"}
    return row | changes


def test_every_kind_has_clauses() -> None:
    assert {clause.kind for clause in load_policy().clauses} == set(ClauseKind)


def test_ids_are_consecutive_within_their_kind() -> None:
    for kind in ClauseKind:
        ids = [clause.id for clause in load_policy().clauses if clause.kind is kind]
        assert ids == [f"{kind.letter}{number}" for number in range(1, len(ids) + 1)]


def test_a_mandatory_or_forbidden_clause_shows_both_shapes() -> None:
    """F11 is about a test that is not there, which has no shape."""
    for clause in load_policy().clauses:
        if clause.kind in (ClauseKind.MANDATORY, ClauseKind.FORBIDDEN) and clause.id != "F11":
            assert clause.right, clause.id
            assert clause.wrong, clause.id


@pytest.mark.skipif(rust_program("rustc") is None, reason="no rustc that works: the Rust was not compiled")
@pytest.mark.parametrize("cfg", ['feature="none"', 'feature="cuda"'])
def test_every_example_compiles_with_and_without_the_gpu_feature(cfg: str, tmp_path: Path) -> None:
    modules = [
        f"pub mod {clause.id.lower()}_{side} {{ use super::*;\n{code}\n}}"
        for clause in load_policy().clauses
        for side, code in (("right", clause.right), ("wrong", clause.wrong))
        if code
    ]
    source = tmp_path / "policy.rs"
    source.write_text(PRELUDE + "\n".join(modules), encoding="utf-8")
    options = ["--edition=2021", "--crate-type=lib", "--emit=metadata", "--cfg", cfg]
    done = subprocess.run(
        ["rustc", *options, "--out-dir", str(tmp_path), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(modules) > 40


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reason": " "}, "clause `M1`: `reason` is missing"),
        ({"note": "x"}, "clause `M1`: unknown key `note`"),
        ({"id": "F1"}, "clause `F1`: the id of a mandatory clause starts with `M`"),
    ],
)
def test_a_wrong_clause_is_refused_by_name(changes: dict[str, str], message: str) -> None:
    with pytest.raises(PolicyError, match=message.replace("`", "`")):
        _policy(_row(**changes))


def test_a_clause_cannot_be_defined_twice() -> None:
    with pytest.raises(PolicyError, match="defined twice"):
        _policy(_row(), _row())


def test_a_clause_of_a_project_is_numbered_apart_and_names_what_rests_on_it() -> None:
    row = {**_row(id="P1", kind="forbidden"), "rules": ["FT001"], "forms": ["early-return"]}
    known = {"rule_ids": {"FT001"}, "form_keys": {"early-return"}}
    clause = parse_own_clause(row, **known)
    assert (clause.is_own, clause.rules, clause.forms) == (True, ("FT001",), ("early-return",))
    assert own_clauses([own_clause_plain(clause)]) == (clause,)
    for changes, message in (
        ({"id": "F1"}, "the id that a project adds starts with `P`"),
        ({"rules": ["FT099"]}, "there is no rule `FT099`"),
        ({"forms": ["nothing"]}, "there is no form `nothing`"),
        ({"kind": "wished"}, "there is no kind `wished`"),
        ({"pytorch": ""}, "`pytorch` is missing"),
    ):
        with pytest.raises(PolicyError, match=message):
            parse_own_clause({**row, **changes}, **known)


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(PolicyError, match="no policy version `0`"):
        load_policy("0")
