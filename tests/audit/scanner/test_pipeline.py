"""The pipeline from files to a report."""

from __future__ import annotations

from pathlib import Path

from audit.rules import RULES
from audit.scanner.cache import DirectoryCache
from audit.scanner.extract import extract
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.report import FileStatus, Progress
from audit.scanner.source.memory import MemorySource
from tests.audit.scanner.workspace_fixture import as_bytes, scanned

MANIFEST = '[package]\nname = "ferrotorch-nn"\n'
OPERATOR = """
pub fn unique(x: &Tensor<f32>) -> Result<Tensor<f32>> {
    let data = x.data_vec()?;
    wrap(data.iter().map(|v| v + 1.0).collect())
}
"""


def test_a_result_says_where_what_and_why() -> None:
    report = scanned({"Cargo.toml": MANIFEST, "src/lib.rs": OPERATOR})
    (result,) = report.results
    assert (result.rule_id, result.path, result.region.start_line) == ("FT005", "src/lib.rs", 3)
    assert (result.symbol, result.crate) == ("ferrotorch_nn::unique", "ferrotorch-nn")
    assert result.snippet.strip() == "let data = x.data_vec()?;"
    assert [step.role for step in result.evidence] == ["anchor"]


def test_fingerprints_stay_when_lines_move_and_comments_change() -> None:
    before = scanned({"Cargo.toml": MANIFEST, "src/lib.rs": OPERATOR}).results
    moved = "// a new head\n\nfn other() {}\n" + OPERATOR.replace("let data", "// why\n    let data")
    after = scanned({"Cargo.toml": MANIFEST, "src/lib.rs": moved}).results
    assert before[0].partial_fingerprints == after[0].partial_fingerprints
    assert before[0].region != after[0].region


def test_twins_in_one_function_have_fingerprints_of_their_own() -> None:
    twice = """
    pub fn pick(x: &Tensor<f32>, a: bool) -> Result<Tensor<f32>> {
        if a { let d = x.data_vec()?; return wrap(d.iter().sum()); }
        if !a { let d = x.data_vec()?; return wrap(d.iter().sum()); }
        other(x)
    }
    """
    results = scanned({"Cargo.toml": MANIFEST, "src/lib.rs": twice}).results
    assert len({result.partial_fingerprints["site/v1"] for result in results}) == len(results) == 2


def test_the_manifest_names_every_file_and_how_it_ended() -> None:
    files = as_bytes(
        {"Cargo.toml": MANIFEST, "src/lib.rs": OPERATOR, "bad/Cargo.toml": "[", "src/half.rs": "fn f( {"}
    )
    files["src/latin.rs"] = b"// caf\xe9"
    files["src/nul.rs"] = b"fn f() {}\0"
    report = scan(MemorySource(files), profile=load_profile(), rules=RULES)
    status = {entry.path: entry.status for entry in report.manifest}
    assert status == {
        "Cargo.toml": FileStatus.SCANNED,
        "bad/Cargo.toml": FileStatus.FAILED,
        "src/half.rs": FileStatus.PARTIAL,
        "src/latin.rs": FileStatus.FAILED,
        "src/lib.rs": FileStatus.SCANNED,
        "src/nul.rs": FileStatus.FAILED,
    }
    assert all(entry.reason for entry in report.manifest if entry.status is not FileStatus.SCANNED)


def test_two_processes_find_what_one_finds() -> None:
    files = as_bytes(
        {"Cargo.toml": MANIFEST, "src/lib.rs": OPERATOR, "src/a.rs": OPERATOR, "src/b.rs": "fn f() {}"}
    )
    profile = load_profile()
    one = scan(MemorySource(files), profile=profile, rules=RULES)
    two = scan(MemorySource(files), profile=profile, rules=RULES, jobs=2)
    assert one.results == two.results
    assert one.manifest == two.manifest


def test_a_warm_cache_gives_the_same_results(tmp_path: Path) -> None:
    files = as_bytes({"Cargo.toml": MANIFEST, "src/lib.rs": OPERATOR})
    cache = DirectoryCache(tmp_path)
    cold = scan(MemorySource(files), profile=load_profile(), rules=RULES, cache=cache)
    warm = scan(MemorySource(files), profile=load_profile(), rules=RULES, cache=cache)
    assert cold.results == warm.results


def test_a_damaged_cache_entry_counts_as_absent(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path)
    cache.put("ab" * 20, extract(b"fn f() {}"))
    (entry,) = [path for path in tmp_path.glob("*/*/*") if path.is_file()]
    assert cache.get("ab" * 20) == extract(b"fn f() {}")
    entry.write_bytes(b"damaged")
    assert cache.get("ab" * 20) is None


def test_progress_ends_each_phase() -> None:
    seen: list[Progress] = []
    files = as_bytes({"Cargo.toml": MANIFEST, "src/lib.rs": OPERATOR})
    scan(MemorySource(files), profile=load_profile(), rules=RULES, progress=seen.append)
    ends = {step.phase for step in seen if step.done == step.total}
    assert ends == {"read", "extract", "link", "judge"}


def test_nothing_to_scan_is_an_empty_report() -> None:
    report = scan(MemorySource({}), profile=load_profile(), rules=RULES)
    assert (report.results, report.manifest, report.crates) == ((), (), ())
