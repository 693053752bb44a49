"""The check of a pull request, from end to end on real repositories."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from audit.check.cli import main
from audit.check.markdown import MARK, MOST_CHARACTERS
from tests.audit.scanner.output.test_sarif import valid
from tests.git import commit_files

MANIFEST = '[package]\nname = "ferrotorch-gpu"\nversion = "0.1.0"\nedition = "2021"\n'


def fallback(name: str) -> str:
    return f"""
pub fn gpu_{name}(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {{
    let f = match get_or_compile(device.context(), {name.upper()}_PTX, "{name}_kernel") {{
        Ok(f) => f,
        Err(_) => {{
            let host = gpu_to_cpu(x, device)?;
            let out: Vec<f32> = host.iter().map(|v| v.max(0.0)).collect();
            return cpu_to_gpu(&out, device);
        }}
    }};
    launch(&f, x, device)
}}
"""


def refusal(name: str) -> str:
    return f"""
pub fn gpu_{name}(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {{
    let f = get_or_compile(device.context(), {name.upper()}_PTX, "{name}_kernel")?;
    launch(&f, x, device)
}}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FERROAUDIT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository whose `main` went on after `topic` had left it."""
    tree = tmp_path / "tree"
    commit_files(tree, {"Cargo.toml": MANIFEST, "src/lib.rs": fallback("relu")})
    switch(tree, "--create", "topic")
    switch(tree, "main")
    commit_files(tree, {"src/lib.rs": fallback("relu") + fallback("elu")}, "Go on")
    switch(tree, "topic")
    return tree


def switch(tree: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(tree), "switch", "--quiet", *arguments], check=True)


def check(tree: Path, *arguments: object) -> int:
    words = ["main", "topic", "--repository", tree, "--jobs", "1", *arguments]
    return main([str(word) for word in words])


def test_a_change_that_adds_a_site_fails_and_names_it(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit_files(tree, {"src/lib.rs": fallback("relu") + fallback("gelu")}, "Add gelu")
    assert check(tree) == 1
    text = capsys.readouterr().out
    assert text.startswith(f"{MARK}\n## 2 new results, none gone\n")
    (row,) = [line for line in text.splitlines() if line.startswith("| FT001 silent-fallback |")]
    assert "`ferrotorch_gpu::gpu_gelu`" in row
    assert "| FT009 missing-gpu-test |" in text
    assert "gpu_elu" not in text, "what main added meanwhile is not of this change"
    assert "gpu_relu" not in text


def test_what_a_project_gave_level_none_is_found_and_fails_no_check(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(tree, {"src/lib.rs": fallback("relu") + fallback("gelu")}, "Add gelu")
    assert check(tree, "--level", "silent-fallback=none") == 1
    text = capsys.readouterr().out
    assert "## 1 new result, none gone" in text
    assert "FT001" not in text
    assert check(tree, "--level", "silent-fallback=none", "--level", "FT009=none") == 0


def test_a_change_that_migrates_a_site_passes_and_says_what_became_of_it(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(tree, {"src/lib.rs": refusal("relu")}, "gpu: Migrated 1 site of `gpu_relu`.")
    assert check(tree) == 0
    text = capsys.readouterr().out
    assert "## Nothing new, 1 gone" in text
    assert "structured-error: " in text
    assert "The scan agrees" in text
    assert "1 claimed; 1 site ended with a known outcome (1 structured-error)." in text


def test_a_claim_that_the_code_does_not_bear_out_is_told_and_fails_nothing(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(tree, {"README.md": "# x\n"}, "gpu: Migrated 119 sites\n\nImplemented `gpu_relu` on GPU.\n")
    assert check(tree) == 0
    text = capsys.readouterr().out
    assert text.count("**The scan does not bear it out**") == 2
    assert "119 claimed; 0 sites ended with a known outcome." in text


def test_what_a_pull_request_says_is_held_against_all_of_its_commits(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(tree, {"src/lib.rs": refusal("relu")}, "gpu: Migrated 1 site of `gpu_relu`.")
    body = tmp_path / "body.md"
    body.write_bytes(
        b"Migrated 2 GPU sites.\r\n\r\n- Migrated 1 site: `gpu_relu` refuses now.\r\n"
        b"- [ ] Migrated 7 GPU sites.\r\n<!-- Say how many: Migrated 9 GPU sites.\r\n-->\r\n"
    )
    assert check(tree, "--body", body) == 0
    text = capsys.readouterr().out
    assert "### What the description and the commits say" in text
    assert text.count("(the description)") == 2
    wrong, right, commits = [line for line in text.splitlines() if line.startswith("- ")]
    assert wrong.startswith("- **The scan does not bear it out** (the description): ")
    assert right.startswith("- The scan agrees (the description): ")
    assert commits.startswith("- The scan agrees (`")
    assert check(tree, "--body", tmp_path / "missing.md") == 2


def test_the_exit_status_follows_what_was_asked(tree: Path) -> None:
    commit_files(tree, {"README.md": "# x\n"})
    assert check(tree) == 0
    assert check(tree, "--fail-on", "any") == 1
    assert check(tree, "--fail-on", "none") == 0


def test_the_sarif_log_is_valid_and_holds_the_states(tree: Path, tmp_path: Path) -> None:
    commit_files(tree, {"src/lib.rs": refusal("relu") + fallback("gelu")})
    assert check(tree, "--sarif", tmp_path / "x.sarif", "--markdown", tmp_path / "x.md") == 1
    log = json.loads((tmp_path / "x.sarif").read_text())
    assert valid(log)
    states = {result["baselineState"] for result in log["runs"][0]["results"]}
    assert {"new", "absent"} <= states
    assert (tmp_path / "x.md").read_text().startswith(MARK)
    assert check(tree, "--sarif", tmp_path / "x.sarif", "--sarif-for", "github") == 1
    log = json.loads((tmp_path / "x.sarif").read_text())
    assert all("baselineState" not in result for result in log["runs"][0]["results"])


def test_a_change_that_brings_the_first_rust_file_is_all_new(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    commit_files(tree, {"README.md": "# x\n"})
    switch(tree, "--create", "topic")
    commit_files(tree, {"Cargo.toml": MANIFEST, "src/lib.rs": fallback("relu")})
    assert check(tree) == 1


def test_a_file_of_the_change_that_does_not_parse_is_told_of(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torn = "pub fn torn( {{{ <<<<<<< HEAD\n" + fallback("gelu")
    commit_files(tree, {"src/torn.rs": torn}, "Add gelu")
    assert check(tree) == 0
    text = capsys.readouterr().out
    assert "### Not read whole: what is new in them is not known" in text
    assert "| `src/torn.rs` | partial: does not parse at line 1, 3, 4, 6, 8 |" in text
    commit_files(tree, {"src/more.rs": "pub fn more() {}\n"}, "Go on")
    assert main(["topic~1", "topic", "--repository", str(tree), "--jobs", "1"]) == 0
    assert "Not read whole" not in capsys.readouterr().out, "that file was so before"


def test_who_mends_a_file_that_did_not_parse_brings_none_of_what_stood_in_it(
    tree: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    torn = "pub fn torn( {{{ <<<<<<< HEAD\n" + fallback("gelu")
    commit_files(tree, {"src/torn.rs": torn}, "Tear it")
    commit_files(tree, {"src/torn.rs": fallback("gelu"), "src/new.rs": "pub fn more() {}\n"}, "Mend it")
    ends = ["topic~1", "topic", "--repository", str(tree), "--jobs", "1"]
    log = tmp_path / "check.sarif"
    assert main([*ends, "--sarif", str(log)]) == 0
    text = capsys.readouterr().out
    assert "## Nothing new" in text
    assert "### Seen now, in files that could not be read whole before: not known to be new" in text
    assert "| partial: does not parse at line 1, 3, 4, 6, 8 |" in text
    told = [
        result
        for result in json.loads(log.read_text())["runs"][0]["results"]
        if "notReadBefore" in result["properties"]
    ]
    assert {result["baselineState"] for result in told} == {"unchanged"}
    assert "FT001" in {result["ruleId"] for result in told}
    commit_files(tree, {"src/new.rs": fallback("silu")}, "Add one")
    assert main(["topic~2", *ends[1:]]) == 1, "another file is new all the same"


@pytest.mark.parametrize("words", [("nowhere", "topic"), ("main", "--upload-pack=x"), ("-x", "topic")])
def test_what_is_no_revision_fails_the_check_and_is_no_result(
    tree: Path, words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--repository", str(tree), "--", *words]) == 2
    assert "ferroaudit: " in capsys.readouterr().err


def test_a_folder_that_is_no_repository_fails_the_check(tmp_path: Path) -> None:
    assert check(tmp_path) == 2


def test_a_comment_stays_below_what_github_takes(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    claims = "\n".join(f"- Implemented `gpu_op{number}` on GPU, {'x' * 200}." for number in range(400))
    commit_files(tree, {"README.md": "# x\n"}, f"gpu: Things\n\n{claims}\n")
    check(tree)
    text = capsys.readouterr().out
    assert MOST_CHARACTERS - 2000 < len(text) < 65_536
    assert "Cut here" in text


def test_the_comment_holds_the_policys_checks_of_what_changed_when_asked(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(tree, {"src/lib.rs": fallback("relu") + refusal("exp")})
    arguments = ["main", "topic", "--repository", str(tree), "--fail-on", "none"]
    assert main(arguments) == 0
    assert "Mechanical report" not in capsys.readouterr().out
    (tmp_path / "runs.json").write_text("[]")
    assert main([*arguments, "--mechanical", "--runs", str(tmp_path / "runs.json")]) == 0
    comment = capsys.readouterr().out
    assert "## Mechanical report" in comment and "| `ferrotorch_gpu::gpu_exp` | yes | 4d" in comment
    assert "gpu_relu" not in comment.partition("## Mechanical report")[2]
    assert len(comment) <= MOST_CHARACTERS
    (tmp_path / "runs.json").write_text('[{"crate": 1}]')
    assert main([*arguments, "--mechanical", "--runs", str(tmp_path / "runs.json")]) == 2
