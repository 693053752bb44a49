"""`--watch`, as the process that somebody runs."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.audit.scanner.git_fixture import make_repository, write_tree
from tests.audit.scanner.test_cli import CLEAN_CODE, DEFERRED, GPU_MANIFEST, ROOT, call, hear_interrupts

SECOND = DEFERRED.replace("gpu_add", "gpu_mul")
_COUNTS = re.compile(r"(\d+) new, (\d+) gone, (?:\d+ updated, )?([\d,]+) unchanged")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FERROAUDIT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    folder = tmp_path / "crate"
    write_tree(folder, {"Cargo.toml": GPU_MANIFEST, "src/lib.rs": DEFERRED, "src/a.rs": CLEAN_CODE})
    return folder


class Watched:
    """The running command, what it has written so far, and the folder that it watches."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.out, self.errors = folder.parent / "out", folder.parent / "errors"
        command = (sys.executable, "-m", "audit.scanner", str(folder), "--watch", "--jobs", "2", *options)
        with self.out.open("wb") as out, self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=out, stderr=errors, preexec_fn=hear_interrupts
            )
        self.seen = 0
        self.until("Ctrl-C ends it.")

    def until(self, words: str, *, in_errors: bool = False) -> str:
        """Wait until words are written, and return all that is new on standard output up to then."""
        file = self.errors if in_errors else self.out
        deadline = time.monotonic() + 60
        while words not in (text := file.read_text("utf-8")[0 if in_errors else self.seen :]):
            assert self.process.poll() is None, self.errors.read_text("utf-8")
            assert time.monotonic() < deadline, text
            time.sleep(0.02)
        if not in_errors:
            self.seen += text.index(words) + len(words)
        return text

    def save(self, path: str, text: str) -> str:
        """Save a file, as an editor does, and return what is told of it."""
        self.put(path, text)
        return self.told()

    def put(self, path: str, text: str) -> None:
        new = self.folder.parent / "new"
        new.write_text(text, encoding="utf-8")
        new.replace(self.folder / path)

    def told(self) -> str:
        """Wait for the next change that is told."""
        told = self.until(" s\n")
        assert _COUNTS.search(told), told
        return told


@pytest.fixture
def watched(crate: Path) -> Iterator[Watched]:
    running = Watched(crate)
    yield running
    running.process.kill()
    running.process.wait()


def counts(told: str) -> tuple[str, ...]:
    found = _COUNTS.search(told)
    assert found is not None, told
    return found.groups()


def test_a_new_result_is_told_with_its_code_and_told_as_gone_when_it_is_mended(watched: Watched) -> None:
    told = watched.save("src/lib.rs", DEFERRED + SECOND)
    assert counts(told) == ("1", "0", "1")
    assert "src/lib.rs\n" in told.splitlines(keepends=True)[1]
    assert 'todo!("no kernel yet")' in told
    assert "gpu_mul" in told
    assert "gpu_add" not in told.replace("pub fn gpu_add", "")
    told = watched.save("src/lib.rs", DEFERRED)
    assert counts(told) == ("0", "1", "1")
    assert re.search(r"gone FT003 src/lib.rs \S+::gpu_mul  removed", told)


def test_an_interrupt_ends_it_with_130_and_one_line(watched: Watched) -> None:
    watched.process.send_signal(signal.SIGINT)
    assert watched.process.wait(30) == 130
    assert watched.errors.read_text("utf-8") == "ferroaudit: interrupted\n"


def test_a_file_that_is_half_saved_loses_no_result_and_brings_only_what_is_new(watched: Watched) -> None:
    told = watched.save("src/lib.rs", "pub fn gpu_add(a: &Cuda")
    assert "partial: does not parse at line 1" in told
    assert counts(told) == ("0", "0", "0")
    assert "1 not to be seen now" in told
    told = watched.save("src/lib.rs", DEFERRED + SECOND)
    assert counts(told) == ("1", "0", "1")


def test_a_file_that_comes_half_saved_brings_what_it_holds_when_it_is_whole(watched: Watched) -> None:
    assert counts(watched.save("src/b.rs", "pub fn gpu_mul(a: &Cuda")) == ("0", "0", "1")
    assert counts(watched.save("src/b.rs", SECOND)) == ("1", "0", "1")


def test_files_come_go_and_are_renamed(watched: Watched) -> None:
    assert counts(watched.save("src/b.rs", SECOND)) == ("1", "0", "1")
    (watched.folder / "src" / "b.rs").rename(watched.folder / "src" / "c.rs")
    told = watched.told()
    assert counts(told)[:2] == ("0", "0")
    assert "src/b.rs, src/c.rs" in told
    (watched.folder / "src" / "c.rs").unlink()
    assert counts(watched.told()) == ("0", "1", "1")


def test_a_profile_that_fits_no_more_is_changed_with_the_manifest(watched: Watched) -> None:
    told = watched.save("Cargo.toml", GPU_MANIFEST.replace("ferrotorch-gpu", "plain"))
    assert "profile generic" in told
    told = watched.save("Cargo.toml", GPU_MANIFEST)
    assert "profile ferrotorch" in told
    assert "1 updated" in told


def test_a_folder_that_is_gone_is_said_once_and_scanned_when_it_is_back(watched: Watched) -> None:
    aside = watched.folder.parent / "aside"
    watched.folder.rename(aside)
    watched.until("does not exist", in_errors=True)
    time.sleep(0.5)
    aside.rename(watched.folder)
    assert counts(watched.told()) == ("0", "0", "1")
    assert watched.errors.read_text("utf-8").count("does not exist") == 1
    shutil.rmtree(watched.folder / "src")
    watched.until("holds no Rust file", in_errors=True)
    write_tree(watched.folder, {"src/lib.rs": DEFERRED})
    watched.told()
    assert counts(watched.save("src/lib.rs", DEFERRED + SECOND)) == ("1", "0", "1")
    assert "Traceback" not in watched.errors.read_text("utf-8")


def test_what_is_no_file_of_a_scan_is_no_change(watched: Watched) -> None:
    (watched.folder / "src" / ".lib.rs.swp").write_text("an editor's")
    time.sleep(0.5)
    told = watched.save("src/lib.rs", DEFERRED + "// nothing\n")
    assert counts(told) == ("0", "0", "1")
    assert "swp" not in told


def test_with_a_baseline_each_change_is_held_against_it_too(crate: Path, tmp_path: Path) -> None:
    baseline = tmp_path / "base.sarif"
    call(crate, "--format", "sarif", "--output", baseline)
    running = Watched(crate, "--baseline", str(baseline))
    try:
        running.save("src/lib.rs", DEFERRED + SECOND)
        assert "Against the baseline: 1 new, 1 unchanged, 0 updated, 0 absent" in running.until("absent\n")
        assert counts(running.save("src/lib.rs", CLEAN_CODE)) == ("0", "2", "0")
        assert "Against the baseline: 0 new, 0 unchanged, 0 updated, 1 absent" in running.until("absent\n")
    finally:
        running.process.kill()
        running.process.wait()


def test_a_single_file_is_watched_also_when_it_is_gone_for_a_while(crate: Path) -> None:
    running = Watched(crate / "src" / "lib.rs")
    try:
        running.folder = crate
        (crate / "src" / "lib.rs").unlink()
        running.until("does not exist", in_errors=True)
        assert counts(running.save("src/lib.rs", DEFERRED + SECOND)) == ("1", "0", "1")
    finally:
        running.process.kill()
        running.process.wait()


def test_rules_that_are_left_out_stay_so(crate: Path) -> None:
    running = Watched(crate, "--rules", "-deferred-kernel")
    try:
        assert counts(running.save("src/lib.rs", DEFERRED + SECOND)) == ("0", "0", "0")
    finally:
        running.process.kill()
        running.process.wait()


def test_it_ends_when_nobody_reads_any_more(crate: Path) -> None:
    command = (sys.executable, "-m", "audit.scanner", str(crate), "--watch", "--jobs", "1")
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        while b"Ctrl-C ends it." not in running.stdout.readline():
            pass
        running.stdout.close()
        (crate / "src" / "lib.rs").write_text(DEFERRED + SECOND)
        assert running.wait(60) == 0
        assert running.stderr.read() == b""


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--rev", "HEAD"), "--rev: a commit never changes"),
        (("--output", "a.txt"), "--output: it prints each change as text"),
        (("--format", "json"), "--format: it prints each change as text"),
        (("--sarif-for", "github"), "--sarif-for: it prints each change as text"),
        (("--fail-on", "none"), "--fail-on: it goes on until it is interrupted"),
    ],
)
def test_what_makes_no_sense_with_it_is_refused(
    crate: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        call(crate, "--watch", *options)
    assert ended.value.code == 2
    assert f"--watch does not go with {reason}" in capsys.readouterr().err


def test_a_bare_repository_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository = make_repository(tmp_path / "work")
    assert call(repository / ".git", "--watch") == 2
    assert "nothing is on disk: give a folder" in capsys.readouterr().err
