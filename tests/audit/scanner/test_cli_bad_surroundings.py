"""The command line where the shell, the disk or the user's names are against it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from audit.check.cli import main as check
from audit.scanner.cli import main
from audit.scanner.proof.__main__ import main as prove
from audit.scanner.scanning import cache_folder
from tests.audit.scanner.git_fixture import MANIFEST, make_repository, write_tree

DEFERRED = "pub fn add_gpu(a: &Tensor) -> Result<Tensor> {\n    todo!()\n}\n"
ROOT = Path(__file__).parents[3]
TOO_LONG = "x" * 300


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FERROAUDIT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    folder = tmp_path / "crate"
    write_tree(folder, {"Cargo.toml": MANIFEST.replace("demo", "ferrotorch-gpu"), "src/lib.rs": DEFERRED})
    return folder


def in_shell(arguments: str) -> subprocess.CompletedProcess[str]:
    command = f"{shlex.quote(sys.executable)} -m audit.scanner {arguments}"
    return subprocess.run(
        ("sh", "-c", command), cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


def test_a_full_disk_behind_standard_output_is_a_failed_scan(crate: Path) -> None:
    done = in_shell(f"{crate} >/dev/full")
    assert done.returncode == 2
    assert done.stderr == "ferroaudit: standard output can't be written: no space left on device.\n"


def test_a_closed_standard_output_is_a_failed_scan(crate: Path) -> None:
    done = in_shell(f"{crate} >&-")
    assert done.returncode == 2
    assert done.stderr == "ferroaudit: standard output is closed: name a file with --output.\n"


def test_a_closed_standard_output_is_no_matter_where_a_file_is_written(crate: Path, tmp_path: Path) -> None:
    output = tmp_path / "scan.txt"
    done = in_shell(f"{crate} --output {output} <&- >&-")
    assert (done.returncode, done.stderr) == (1, "")
    assert "deferred-kernel" in output.read_text()


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_a_failed_scan_says_so_by_its_status_though_nobody_can_be_told(where: str) -> None:
    assert in_shell(f"nowhere {where}").returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["\x1b[31mred\nnext"],
        [".", "--profile", "\x1b[31mred\nnext.toml"],
        [".", "--baseline", "\x1b[31mred\nnext.sarif"],
    ],
)
def test_a_name_in_a_complaint_can_not_steer_the_terminal(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.removesuffix("\n").isprintable()
    assert "\\u{1b}[31mred" in said


def test_an_unknown_option_can_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([".", "--\x1b[31mred"])
    assert "\x1b" not in capsys.readouterr().err


def test_names_that_are_too_long_are_refused_with_a_clear_line(
    crate: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in ([TOO_LONG], [str(crate), "--output", TOO_LONG], [str(crate), "--baseline", TOO_LONG]):
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert "can't be read: file name too long" in said or "can't be written: file name too long" in said


def test_a_baseline_that_is_nested_absurdly_deep_is_refused(
    crate: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "deep.sarif").write_text("[" * 100_000)
    assert main([str(crate), "--baseline", str(tmp_path / "deep.sarif")]) == 2
    assert "deep.sarif is no JSON" in capsys.readouterr().err


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("FERROAUDIT_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", homeless)
    assert cache_folder() is None


def test_an_interrupt_while_the_program_is_still_loading_leaves_no_traceback(tmp_path: Path) -> None:
    # A module that is imported early is where the interrupt comes.
    (tmp_path / "tomllib.py").write_text("raise KeyboardInterrupt\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        (sys.executable, "-m", "audit.scanner", "."),
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "ferroaudit: interrupted\n")


def test_a_tree_of_which_nothing_could_be_read_is_not_called_clean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tree(tmp_path / "odd", {"src/lib.rs": b"// caf\xe9\n", "src/nul.rs": b"\0"})
    assert main([str(tmp_path / "odd"), "--fail-on", "none"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "none of the 2 Rust files of" in said.err
    assert "src/lib.rs: not UTF-8: byte 0xe9 in line 1" in said.err


def test_a_check_that_can_not_be_written_fails_with_a_clear_line(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    command = f"{shlex.quote(sys.executable)} -m audit.check HEAD HEAD --no-cache --repository {repository}"
    for where, complaint in (
        (">/dev/full", "can't be written: no space"),
        (">&-", "name a file with --markdown"),
    ):
        done = subprocess.run(
            ("sh", "-c", f"{command} {where}"),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 2
        assert complaint in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("ends", "complaint"), [(["", "HEAD"], "BASE is empty"), (["HEAD", ""], "HEAD is empty")]
)
def test_a_check_of_a_revision_that_a_script_forgot_to_set_is_refused(
    ends: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        check(ends)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def test_a_proof_of_a_function_that_is_not_there_is_no_proof(
    crate: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prove([str(crate), "--function", "add_gpo"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "no function that has to do with the GPU is called 'add_gpo'" in said.err
