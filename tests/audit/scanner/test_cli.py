"""The command line, from end to end."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from audit.rules import RULES
from audit.scanner.cli import main
from tests.audit.scanner.git_fixture import (
    MANIFEST,
    commit_all,
    git,
    make_repository,
    object_file,
    write_tree,
)
from tests.audit.scanner.output.test_sarif import valid

GPU_MANIFEST = MANIFEST.replace("demo", "ferrotorch-gpu")
DEFERRED = 'pub fn gpu_add(a: &CudaBuffer<f32>) -> Result<CudaBuffer<f32>> {\n    todo!("no kernel yet")\n}\n'
CLEAN_CODE = "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n"
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("FERROAUDIT_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    folder = tmp_path / "crate"
    write_tree(folder, {"Cargo.toml": GPU_MANIFEST, "src/lib.rs": DEFERRED})
    return folder


@pytest.fixture
def clean_crate(tmp_path: Path) -> Path:
    folder = tmp_path / "clean"
    write_tree(folder, {"Cargo.toml": GPU_MANIFEST, "src/lib.rs": CLEAN_CODE})
    return folder


def call(*arguments: object) -> int:
    return main([*(str(argument) for argument in arguments), "--jobs", "1"])


def scan_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    call(*arguments, "--format", "json")
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-m", "audit.scanner", *(str(argument) for argument in arguments)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **options,
    )


def test_clean_code_exits_0_and_says_what_was_looked_at(
    clean_crate: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(clean_crate, "--rules", "-broken-ptx") == 0
    said = capsys.readouterr()
    assert f"No results from {len(RULES) - 1} rules." in said.out
    assert "1 Rust file (3 lines) in 1 crate" in said.out
    assert said.err == ""


def test_results_exit_1_and_show_the_code(crate: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(crate) == 1
    said = capsys.readouterr().out
    assert "deferred-kernel" in said
    assert "src/lib.rs:2:5 in ferrotorch_gpu::gpu_add" in said
    assert ' 2 ┃     todo!("no kernel yet")' in said


def test_fail_on_none_exits_0_although_there_are_results(crate: Path) -> None:
    assert call(crate, "--fail-on", "none") == 0


def test_the_sarif_of_a_real_scan_is_valid(crate: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(crate, "--format", "sarif")
    run = valid(json.loads(capsys.readouterr().out))
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [rule.id for rule in RULES]
    [result] = run["results"]
    location = result["locations"][0]
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "ferrotorch_gpu::gpu_add"


def test_the_sarif_for_github_of_a_real_scan_is_valid(
    crate: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call(crate, "--sarif-for", "github")
    [result] = valid(json.loads(capsys.readouterr().out))["results"]
    assert result["partialFingerprints"]["primaryLocationLineHash"]


def test_json_is_versioned_and_lists_files_rules_and_results(
    crate: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = scan_json(capsys, crate)
    assert (document["format"], document["version"]) == ("ferroaudit-scan", 1)
    assert [file["path"] for file in document["files"]] == ["Cargo.toml", "src/lib.rs"]
    assert [rule["id"] for rule in document["rules"]] == [rule.id for rule in RULES]
    assert {rule["status"] for rule in document["rules"] if rule["name"] != "broken-ptx"} == {"ran"}
    assert [result["rule"] for result in document["results"]] == ["deferred-kernel"]


def test_a_commit_is_scanned_without_the_work_tree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = make_repository(tmp_path / "repo", {"Cargo.toml": GPU_MANIFEST, "src/lib.rs": DEFERRED})
    first = git(repository, "rev-parse", "HEAD")
    write_tree(repository, {"src/lib.rs": CLEAN_CODE})
    commit_all(repository)
    assert len(scan_json(capsys, repository, "--rev", first)["results"]) == 1
    document = scan_json(capsys, repository, "--rev", "main")
    assert document["results"] == []
    assert document["source"]["branch"] == "main"


def test_the_results_of_a_commit_and_of_its_checkout_are_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = make_repository(tmp_path / "repo", {"Cargo.toml": GPU_MANIFEST, "src/lib.rs": DEFERRED})
    on_disk = scan_json(capsys, repository)
    in_git = scan_json(capsys, repository, "--rev", "HEAD")
    assert on_disk["results"] == in_git["results"]
    assert on_disk["files"] == in_git["files"]


def test_a_second_scan_reads_the_facts_of_the_first(
    crate: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = scan_json(capsys, crate)
    assert [path for path in cache.rglob("*") if path.is_file()]
    assert scan_json(capsys, crate)["results"] == first["results"]


def test_no_cache_keeps_nothing(crate: Path, cache: Path) -> None:
    call(crate, "--no-cache")
    assert not cache.exists()


def test_a_baseline_tells_new_from_old_and_fail_on_new_follows_it(
    crate: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = tmp_path / "base.sarif"
    call(crate, "--format", "sarif", "--output", base)
    assert call(crate, "--baseline", base, "--fail-on", "new") == 0
    more = DEFERRED + DEFERRED.replace("gpu_add", "gpu_mul")
    write_tree(crate, {"src/lib.rs": "// a line above\n" + more})
    capsys.readouterr()
    assert call(crate, "--baseline", base, "--fail-on", "new") == 1
    assert "1 new, 1 unchanged, 0 updated, 0 absent" in capsys.readouterr().out
    write_tree(crate, {"src/lib.rs": CLEAN_CODE})
    document = scan_json(capsys, crate, "--baseline", base)
    assert [result["baseline_state"] for result in document["results"]] == ["absent"]


@pytest.mark.parametrize(("kind", "code"), [("external", 0), ("inSource", 1)])
def test_what_was_suppressed_counts_as_new_where_only_the_source_said_so(
    crate: Path, tmp_path: Path, kind: str, code: int
) -> None:
    base = tmp_path / "base.sarif"
    call(crate, "--format", "sarif", "--output", base)
    log = json.loads(base.read_text())
    for result in log["runs"][0]["results"]:
        told = {"kind": kind, "status": "accepted", "justification": "one number"}
        result["suppressions"] = [told | {"location": result["locations"][0]}]
    base.write_text(json.dumps(log))
    assert call(crate, "--baseline", base, "--fail-on", "new") == code


def test_a_rule_left_out_closes_nothing_of_the_baseline(
    crate: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = tmp_path / "base.sarif"
    call(crate, "--format", "sarif", "--output", base)
    document = scan_json(capsys, crate, "--baseline", base, "--rules", "-deferred-kernel")
    [result] = document["results"]
    assert (result["baseline_state"], result["not_seen"]) == (
        "unchanged",
        "the rule did not run: left out by --rules",
    )


@pytest.mark.parametrize("chosen", ["silent-fallback,FT003", "FT001,deferred-kernel"])
def test_rules_are_chosen_by_name_or_id_and_the_rest_is_said_not_to_have_run(
    crate: Path, capsys: pytest.CaptureFixture[str], chosen: str
) -> None:
    rules = {rule["id"]: rule for rule in scan_json(capsys, crate, "--rules", chosen)["rules"]}
    assert {rule_id for rule_id, rule in rules.items() if rule["status"] == "ran"} == {"FT001", "FT003"}
    assert rules["FT008"]["reason"] == "left out by --rules"


def test_rules_are_left_out_with_a_dash(crate: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(crate, "--rules", "-deferred-kernel,-FT008,-broken-ptx") == 0
    said = capsys.readouterr().out
    assert "Not run: 3 rules, which found nothing out" in said
    assert "FT003 deferred-kernel  left out by --rules" in said


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--fail-on", "new"], "--fail-on new needs --baseline"),
        (["--rules", "silent-falback"], "did you mean silent-fallback?"),
        (["--rules", "silent-fallback,-host-readback"], "not both"),
        (["--rules", ","], "names no rule"),
        (["--jobs", "0"], "is no number from 1 on"),
        (["--format", "json", "--sarif-for", "github"], "--sarif-for needs --format sarif"),
        (["--form", "json"], "unrecognized arguments"),
        (["--rev", ""], "--rev is empty"),
        (["--profile", ""], "--profile is empty"),
    ],
)
def test_wrong_usage_exits_2(
    crate: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(crate), *arguments])
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere"], "nowhere does not exist"),
        (["crate", "--rev", "HEAD"], "is in no git repository"),
        (["repo", "--rev", "--help"], "--rev '--help' is no revision"),
        (["repo", "--rev=--output=x"], "--rev '--output=x' is no revision"),
        (["repo", "--rev", "nope"], "knows no commit 'nope'"),
        (["crate", "--profile", "nope"], "nope"),
        (["crate", "--profile", "nope.toml"], "nope.toml"),
        (["crate", "--baseline", "nope.sarif"], "nope.sarif can't be read: no such file"),
        (["crate", "--output", "no/such/folder/x"], "does not exist"),
        (["crate", "--output", "crate"], "is a folder"),
        (["empty"], "holds no Rust file"),
    ],
)
def test_a_scan_that_can_not_be_done_exits_2_with_one_clear_line(
    crate: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    complaint: str,
) -> None:
    make_repository(tmp_path / "repo")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("ferroaudit: ")
    assert complaint in said.err
    assert said.err.count("\n") == 1


def test_a_missing_blob_is_in_the_manifest_and_the_scan_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"Cargo.toml": GPU_MANIFEST, "src/lib.rs": "mod lost;\n" + DEFERRED, "src/lost.rs": CLEAN_CODE}
    repository = make_repository(tmp_path / "repo", files)
    object_file(repository, git(repository, "rev-parse", "HEAD:src/lost.rs")).unlink()
    document = scan_json(capsys, repository, "--rev", "HEAD")
    assert {file["path"]: file["status"] for file in document["files"]} == {
        "Cargo.toml": "scanned",
        "src/lib.rs": "scanned",
        "src/lost.rs": "missing",
    }
    assert len(document["results"]) == 1


def test_bad_files_are_named_with_their_reasons_and_the_scan_goes_on(
    crate: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tree(
        crate,
        {
            "src/latin.rs": b"// caf\xe9\n",
            "src/nul.rs": b"fn a() {}\0",
            "src/half.rs": "fn a() {}\nfn b( {\n",
            "src/deep.rs": "fn d() { " + "(" * 10_000 + ")" * 10_000 + " }\n",
            "src/crlf.rs": DEFERRED.replace("\n", "\r\n"),
        },
    )
    make_repository(crate / "third-party")
    (crate / "around").symlink_to(".")
    document = scan_json(capsys, crate)
    ended = {file["path"]: file["status"] for file in document["files"]}
    assert ended["src/latin.rs"] == ended["src/nul.rs"] == "failed"
    assert ended["src/half.rs"] == "partial"
    assert ended["third-party"] == ended["around"] == "skipped"
    assert {result["path"] for result in document["results"]} >= {"src/lib.rs", "src/crlf.rs"}
    call(crate)
    said = capsys.readouterr().out
    assert "src/latin.rs  failed: not UTF-8: byte 0xe9 in line 1" in said


def test_a_comment_with_a_reason_suppresses_and_one_without_does_not(
    crate: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    comment = "    // ferroaudit: allow(deferred-kernel)"
    write_tree(crate, {"src/lib.rs": DEFERRED.replace("    todo", f"{comment} tracked as #12\n    todo")})
    assert call(crate) == 0
    assert "1 more result suppressed in the source, with a reason" in capsys.readouterr().out
    write_tree(crate, {"src/lib.rs": DEFERRED.replace("    todo", f"{comment}\n    todo")})
    assert call(crate) == 1
    assert "the comment in line 2 allows this without a reason" in capsys.readouterr().out


def test_a_single_file_is_scanned(crate: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [file["path"] for file in scan_json(capsys, crate / "src" / "lib.rs")["files"]] == ["lib.rs"]


def test_an_output_file_is_replaced_whole_and_keeps_its_mode(crate: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    output.write_text("old")
    output.chmod(0o640)
    call(crate, "--format", "json", "--output", output)
    assert json.loads(output.read_text())["format"] == "ferroaudit-scan"
    assert output.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".out")] == []


def test_a_failed_scan_leaves_the_old_output_alone(clean_crate: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    output.write_text("old")
    (clean_crate / "src" / "lib.rs").unlink()
    assert call(clean_crate, "--format", "json", "--output", output) == 2
    assert output.read_text() == "old"


def test_text_in_a_file_has_no_colours(crate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    call(crate, "--output", tmp_path / "out.txt")
    assert "\x1b" not in (tmp_path / "out.txt").read_text()


def test_a_defect_of_the_scanner_exits_2_and_not_1(
    crate: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("audit.scanner.scanning.scan", broken)
    assert call(crate) == 2
    assert "internal error: RuntimeError: boom" in capsys.readouterr().err


def test_a_reader_that_goes_away_leaves_no_traceback(crate: Path) -> None:
    write_tree(crate, {"src/lib.rs": "".join(DEFERRED.replace("gpu_add", f"gpu_{n}") for n in range(400))})
    command = (sys.executable, "-m", "audit.scanner", str(crate))
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.read(10)
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 1


def test_the_module_runs_as_a_process_and_speaks_utf8_whatever_the_locale(crate: Path) -> None:
    write_tree(crate, {"src/lib.rs": DEFERRED.replace("no kernel yet", "später")})
    done = process(crate, "--jobs", "2", env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (1, "")
    assert "später" in done.stdout


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_an_interrupt_ends_the_scan_with_one_line(crate: Path, seconds: float) -> None:
    write_tree(crate, {f"src/m{number}.rs": DEFERRED * 3000 for number in range(40)})
    command = (sys.executable, "-m", "audit.scanner", str(crate), "--no-cache", "--jobs", "2")
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # A shell that runs the tests in the background lets everything below it ignore the signal.
        preexec_fn=hear_interrupts,
    ) as running:
        wait_for_children(running.pid)
        time.sleep(seconds)
        os.killpg(running.pid, signal.SIGINT)
        try:
            out, error = running.communicate(timeout=30)
        finally:
            running.kill()
    assert (running.returncode, out, error) == (130, b"", b"ferroaudit: interrupted\n")


def hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def wait_for_children(process_id: int) -> None:
    """Wait until the processes that parse are being started."""
    children = Path(f"/proc/{process_id}/task/{process_id}/children")
    deadline = time.monotonic() + 30
    while not children.read_text() and time.monotonic() < deadline:
        time.sleep(0.02)


def test_a_terminal_gets_colours_and_no_color_takes_them_away(crate: Path) -> None:
    assert b"\x1b[" in on_terminal(crate, {})
    assert b"\x1b[" not in on_terminal(crate, {"NO_COLOR": "1"})


def on_terminal(crate: Path, variables: dict[str, str]) -> bytes:
    """Run the command with a terminal as its standard output and return what it writes there."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **variables}
    command = (sys.executable, "-m", "audit.scanner", str(crate), "--jobs", "1")
    with subprocess.Popen(command, cwd=ROOT, stdout=theirs, env=environment):
        os.close(theirs)
        written = b""
        try:
            while chunk := os.read(ours, 65536):
                written += chunk
        except OSError:
            pass  # a terminal whose other end is closed reports an error, not an end
    os.close(ours)
    return written
