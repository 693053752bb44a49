"""Processes beside the scanner's own: they deliver the same, and nothing is lost when they don't."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn

import pytest

from audit.rules import RULES
from audit.scanner import checking, pipeline, processes
from audit.scanner.extract import extract
from audit.scanner.extract.worker import read_parts, write_parts
from audit.scanner.pipeline import scan
from audit.scanner.processes import ExtractingProcess, ForkedCopy, Hear
from audit.scanner.profile import load_profile
from audit.scanner.report import Result, ScanReport
from audit.scanner.source.memory import MemorySource

TEXTS = [b"fn f() { g(1)?; }", b"", "fn später() { todo!() }".encode()]
OPERATOR = """
/// Works on GPU when available, CPU otherwise.
pub fn gpu_relu(x: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    match get_or_compile(d.context(), RELU_PTX, "relu") {
        Ok(kernel) => launch(&kernel, x, d),
        Err(_) => {
            let host = gpu_to_cpu(x, d)?;
            cpu_to_gpu(&host.iter().map(|v| v.max(0.0)).collect::<Vec<f32>>(), d)
        }
    }
}
"""
FILES = {
    "Cargo.toml": b'[package]\nname = "ferrotorch-gpu"\n',
    "src/lib.rs": b"mod a;\nmod b;\n" + OPERATOR.encode(),
    "src/a.rs": OPERATOR.replace("gpu_relu", "gpu_a").encode(),
    "src/b.rs": OPERATOR.replace("gpu_relu", "gpu_b").encode(),
}


@pytest.fixture(autouse=True)
def every_file_is_worth_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_WORTH_A_PROCESS_BYTES", 1)


def scanned(jobs: int) -> ScanReport:
    return scan(MemorySource(FILES), profile=load_profile(), rules=RULES, jobs=jobs)


def test_a_process_delivers_the_facts_in_the_order_of_the_texts() -> None:
    with ExtractingProcess(TEXTS) as process:
        assert process.facts() == [extract(text) for text in TEXTS]


def test_a_process_that_can_not_start_delivers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_COMMAND", ("/no/such/program",))
    with ExtractingProcess(TEXTS) as process:
        assert process.facts() == []


def test_without_room_for_temporary_files_there_is_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> NoReturn:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with ExtractingProcess(TEXTS) as process:
        assert process.facts() == []


def test_a_process_whose_parent_is_gone_stops_working() -> None:
    texts = BytesIO()
    write_parts(texts, [b"fn a() {}"] * 3)
    for parent, parts in ((os.getpid(), 3), (os.getpid() + 1, 0)):
        done = subprocess.run(
            (sys.executable, "-m", "audit.scanner.extract.worker", str(parent)),
            input=texts.getvalue(),
            capture_output=True,
            check=True,
        )
        assert len(list(read_parts(BytesIO(done.stdout)))) == parts


def test_a_part_that_is_cut_off_is_left_out() -> None:
    stream = BytesIO()
    write_parts(stream, [b"one", b"", b"two"])
    whole = stream.getvalue()
    assert list(read_parts(BytesIO(whole))) == [b"one", b"", b"two"]
    assert list(read_parts(BytesIO(whole[:-1]))) == [b"one", b""]


def test_a_copy_answers_what_it_worked_out() -> None:
    with ForkedCopy(lambda _: [b"x" * 2_000_000, b"", str(os.getpid()).encode()]) as copy:
        assert copy.answer() == b"x" * 2_000_000
        assert copy.answer() == b""
        assert int(copy.answer() or b"0") not in (0, os.getpid())
        assert copy.answer() is None


def test_a_part_is_there_before_the_copy_works_on_the_next() -> None:
    def work(_: Hear) -> Iterator[bytes]:
        yield b"first"
        signal.pause()

    with ForkedCopy(work) as copy:
        assert copy.answer() == b"first"


def test_a_copy_hears_what_it_is_told_in_that_order() -> None:
    def work(hear: Hear) -> Iterator[bytes]:
        while (part := hear()) is not None:
            yield part.upper()

    with ForkedCopy(work) as copy:
        copy.tell(b"one")
        assert copy.answer() == b"ONE"
        copy.tell(b"")
        copy.tell(b"two")
        assert (copy.answer(), copy.answer()) == (b"", b"TWO")


def test_neither_waits_until_the_other_listens() -> None:
    # More than fits into a pipe, in both directions.
    large = b"x" * 2_000_000

    def work(hear: Hear) -> Iterator[bytes]:
        yield large
        yield large
        yield str((hear(), hear()) == (large, large)).encode()

    with ForkedCopy(work) as copy:
        copy.tell(large)
        copy.tell(large)
        assert (copy.answer(), copy.answer(), copy.answer()) == (large, large, b"True")


def test_a_copy_that_can_not_be_told_comes_to_an_end() -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "no space left on device")

    def work(hear: Hear) -> Iterator[bytes]:
        yield b"first"
        yield hear() or b"nothing was told"

    with ForkedCopy(work) as copy:
        assert copy.answer() == b"first"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "pwrite", full)
            copy.tell(b"something")
        assert copy.answer() == b"nothing was told"
        copy.tell(b"more")
        assert copy.answer() is None


def test_a_copy_that_is_gone_can_be_told_anything() -> None:
    with ForkedCopy(lambda _: []) as copy:
        assert copy.answer() is None
        copy.tell(b"something")
        assert copy.answer() is None


def test_without_files_in_memory_there_are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    with ForkedCopy(lambda hear: [hear() or b""]) as copy:
        copy.tell(b"told")
        assert copy.answer() == b"told"


def test_a_copy_whose_work_fails_answers_what_it_had_before() -> None:
    def fail(_: Hear) -> Iterator[bytes]:
        yield b"first"
        raise ValueError("no answer")

    with ForkedCopy(fail) as copy:
        assert copy.answer() == b"first"
        assert copy.answer() is None


def test_an_interrupt_while_a_copy_is_made_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    fork, files = os.fork, open_files()

    def interrupted() -> int:
        process_id = fork()
        if process_id:
            made.append(process_id)
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        return process_id

    monkeypatch.setattr(os, "fork", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ForkedCopy(lambda hear: [hear() or b""])
    (process_id,) = made
    with pytest.raises(ChildProcessError):
        os.waitpid(process_id, 0)
    assert open_files() == files


@pytest.mark.parametrize("call", ["pipe", "memfd_create", "fork"])
def test_without_room_for_a_copy_there_is_none_and_nothing_stays_open(
    monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(errno.EMFILE, "too many open files")

    files = open_files()
    monkeypatch.setattr(os, call, full, raising=False)
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with ForkedCopy(lambda _: [b"copied"]) as copy:
        assert not copy.is_there
        assert copy.answer() is None
        copy.tell(b"nobody")
    assert open_files() == files


def test_a_copy_that_the_system_has_waited_for_is_no_error() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with ForkedCopy(lambda _: [str(os.getpid()).encode()]) as copy:
            process_id = int(copy.answer() or b"0")
            assert copy.answer() is None
            # Not for any process: an earlier test may have left a server running.
            with pytest.raises(ChildProcessError):
                os.waitpid(process_id, 0)
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_nothing_stays_open_behind_a_copy() -> None:
    files = open_files()
    with ForkedCopy(lambda hear: [hear() or b""]) as copy:
        copy.tell(b"told")
        assert copy.answer() == b"told"
    assert open_files() == files


def open_files() -> int:
    """Return how many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_process_with_other_threads_is_not_copied() -> None:
    is_over = threading.Event()
    other = threading.Thread(target=is_over.wait)
    other.start()
    try:
        with ForkedCopy(lambda _: [b"copied"]) as copy:
            assert copy.answer() is None
    finally:
        is_over.set()
        other.join()


@pytest.mark.parametrize(
    ("names", "is_shared"),
    [
        (("missing-gpu-test", "unstructured-error"), False),
        (("silent-fallback", "reference-punt"), False),
        (("missing-gpu-test", "silent-fallback"), True),
    ],
)
def test_rules_are_shared_where_both_processes_have_some(
    monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], is_shared: bool
) -> None:
    made: list[ForkedCopy] = []

    class Noted(ForkedCopy):
        def __init__(self, work: Callable[[Hear], Iterable[bytes]]) -> None:
            super().__init__(work)
            made.append(self)

    monkeypatch.setattr(checking, "ForkedCopy", Noted)
    rules = [rule for rule in RULES if rule.name in names]
    found = scan(MemorySource(FILES), profile=load_profile(), rules=rules, jobs=2)
    assert found.results == scan(MemorySource(FILES), profile=load_profile(), rules=rules).results
    assert bool(made) is is_shared


def test_several_processes_find_what_one_finds() -> None:
    one, three = scanned(1), scanned(3)
    assert len({result.rule_id for result in one.results}) > 2
    assert three.results == one.results
    assert three.manifest == one.manifest
    assert three.rule_runs == one.rule_runs


@pytest.mark.parametrize("delivered", range(4))
def test_a_scan_whose_copy_answers_in_part_finds_the_same(
    monkeypatch: pytest.MonkeyPatch, delivered: int
) -> None:
    expected, answers = scanned(1), 0
    answer = ForkedCopy.answer

    def answer_at_first(copy: ForkedCopy) -> bytes | None:
        nonlocal answers
        answers += 1
        return answer(copy) if answers <= delivered else None

    monkeypatch.setattr(ForkedCopy, "answer", answer_at_first)
    found = scanned(2)
    assert answers >= delivered
    assert (found.results, found.rule_runs) == (expected.results, expected.rule_runs)


@pytest.mark.parametrize("command", [("/no/such/program",), (sys.executable, "-c", "")])
def test_a_scan_whose_processes_fail_finds_the_same(
    monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    expected = scanned(1).results
    monkeypatch.setattr(processes, "_COMMAND", command)
    monkeypatch.setattr(ForkedCopy, "answer", lambda _: None)
    assert scanned(2).results == expected


def test_a_daemonic_process_scans_with_several_processes(daemonic: Connection) -> None:
    assert daemonic.poll(60)
    assert daemonic.recv() == scanned(1).results


@pytest.fixture
def daemonic() -> Iterator[Connection]:
    """The results of a scan in a process such as Celery's: it may have no children by multiprocessing."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=send_results, args=(theirs,), daemon=True)
    process.start()
    yield ours
    process.kill()
    process.join()


def send_results(connection: Connection) -> None:
    found: tuple[Result, ...] = scanned(2).results
    connection.send(found)
