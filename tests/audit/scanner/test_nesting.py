"""Code that is nested deeper than anybody writes it: the scan says what it sees, and goes on."""

from __future__ import annotations

import pytest

from audit.rules import RULES
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.report import FileStatus, RuleStatus, ScanReport
from audit.scanner.source.memory import MemorySource

DEEP = 10_000
STUB = "pub fn add_gpu(a: &Tensor) -> Result<Tensor> {\n    todo!()\n}\n"
MANIFEST = b'[package]\nname = "ferrotorch-gpu"\nversion = "0.1.0"\n'


def nested(before: str, opened: str, middle: str, closed: str, after: str) -> str:
    return before + opened * DEEP + middle + closed * DEEP + after


def scanned(files: dict[str, bytes]) -> ScanReport:
    source = MemorySource({"Cargo.toml": MANIFEST, "src/lib.rs": STUB.encode(), **files})
    return scan(source, profile=load_profile(), rules=[rule for rule in RULES if not rule.needs_assembler])


@pytest.mark.parametrize(
    "text",
    [
        nested("fn f() { let x = ", "(", "1", ")", "; }"),
        nested("fn f() { ", "{", "", "}", " }"),
        nested("fn f(x: bool) { ", "if x {", "", "}", " }"),
        nested("", "mod m {", "", "}", ""),
        nested("fn f(x: ", "Vec<", "u8", ">", ") {}"),
        nested("fn f() { ", "vec![", "1", "]", "; }"),
        nested("fn f() { ", "|x| ", "1", "", "; }"),
        nested("fn f(x: bool) { if ", "!", "x.is_cuda()", "", " { g_gpu(); } }"),
        nested("const A: &str = ", 'concat!("a", ', '"b"', ")", ";"),
        nested("fn f_gpu() { ", "f(", "1", ")", " }"),
        nested("fn f(x: T) { ", "if x.is_cuda() { 1 } else ", "{ 2 }", "", "; }"),
        nested("#[cfg(", "not(", 'feature = "cuda"', ")", ")]\nfn f_gpu() {}"),
        nested("use ", "a::{", "b", "}", ";"),
    ],
    ids=lambda text: text[:20],
)
def test_code_nested_ten_thousand_deep_fails_neither_the_scan_nor_a_rule(text: str) -> None:
    report = scanned({"src/deep.rs": text.encode()})
    assert [run for run in report.rule_runs if run.status is not RuleStatus.RAN] == []
    assert "src/lib.rs" in {result.path for result in report.results}


def test_a_manifest_nested_ten_thousand_deep_is_named_with_its_reason() -> None:
    report = scanned({"deep/Cargo.toml": b"a = " + b"[" * DEEP, "deep/src/lib.rs": STUB.encode()})
    [entry] = [entry for entry in report.manifest if entry.path == "deep/Cargo.toml"]
    assert (entry.status, entry.reason) == (
        FileStatus.FAILED,
        "not a Cargo manifest: nested too deeply",
    )
    assert {"src/lib.rs", "deep/src/lib.rs"} <= {result.path for result in report.results}
