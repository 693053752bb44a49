"""Runs one command of strangers: limited, watched, as another user, and gone when it is over."""

from __future__ import annotations

import json
import os
import pwd
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from workers.protocol.evidence import DeviceSample, Ending, RunRecord
from workers.protocol.job import Limits
from workers.runner.libraries import linker_environment, loaded_libraries
from workers.runner.output import CappedOutput
from workers.runner.processes import Family, adopt_orphans

_LAUNCHER = Path(__file__).with_name("launch.py")
_POLL_S = 0.02
_DISK_POLL_S = 0.05
_LONGEST_PAUSE_S = 0.25
_MAX_FILES = 100_000


class Sampler(Protocol):
    """Watches the devices while a command runs."""

    def start(self) -> None:
        """Begin to sample."""

    def stop(self, pids: frozenset[int]) -> tuple[DeviceSample, ...]:
        """End, and give what was seen of these processes."""


@dataclass(frozen=True, slots=True)
class User:
    """Whom the tested code runs as."""

    name: str
    uid: int
    gid: int


def other_user(name: str = "nobody") -> User | None:
    """Give the user for tested code: another one where this process may change, else none."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return User("65534", 65534, 65534)
    return User(name, entry.pw_uid, entry.pw_gid)


@dataclass(frozen=True, slots=True)
class Scratch:
    """The folders of one run. What is written there counts against its disk share."""

    root: Path

    @property
    def work(self) -> Path:
        """The folder that the command starts in, its HOME and TMPDIR."""
        return self.root / "work"

    @property
    def traces(self) -> Path:
        """Where the tracer writes."""
        return self.root / "traces"

    @property
    def linker(self) -> Path:
        """Where the dynamic linker writes what it loads."""
        return self.root / "linker"


@contextmanager
def scratch_folder(parent: Path, user: User | None) -> Iterator[Scratch]:
    """Give a run its folders, and take them away afterwards."""
    with tempfile.TemporaryDirectory(prefix="run-", dir=parent, ignore_cleanup_errors=True) as name:
        scratch = Scratch(Path(name))
        scratch.root.chmod(0o711)
        for folder in (scratch.work, scratch.traces, scratch.linker):
            folder.mkdir()
            if user is not None:
                os.chown(folder, user.uid, user.gid)
        yield scratch


def scrubbed_environment(scratch: Scratch, extra: Mapping[str, str]) -> dict[str, str]:
    """Give all that a tested command sees of an environment: nothing of the runner's own."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(scratch.work),
        "TMPDIR": str(scratch.work),
        "LANG": "C.UTF-8",
        "RUST_BACKTRACE": "1",
        "CUDA_CACHE_PATH": str(scratch.work / ".nv"),
        **extra,
    }


@dataclass(slots=True)
class _Watch:
    """What the watching of one process yields."""

    ending: Ending | None = None
    detail: str = ""
    peak_memory: int = 0
    status: int = 0
    usage_s: float = 0.0
    usage_memory: int = 0
    over: threading.Event = field(default_factory=threading.Event)


def run(
    command: Sequence[str],
    *,
    scratch: Scratch,
    limits: Limits,
    environment: Mapping[str, str],
    user: User | None = None,
    sampler: Sampler | None = None,
    folder: Path | None = None,
    cut_network: bool = True,
    watch_linker: bool = True,
) -> RunRecord:
    """Run a command to its end or its limit, and end everything it started."""
    adopt_orphans()
    variables = scrubbed_environment(scratch, environment)
    if watch_linker:
        variables |= linker_environment(scratch.linker)
    started_at = datetime.now(UTC).isoformat()
    read_end, write_end = os.pipe()
    settings = {
        "command": list(command),
        "environment": variables,
        "folder": str(folder or scratch.work),
        "report": write_end,
        "cpu_s": limits.cpu_s,
        "file_bytes": limits.disk_bytes,
        # A backstop for what forks faster than one can look; the kernel counts threads too.
        "tasks": 16 * limits.processes + 256,
        "uid": user.uid if user else None,
        "gid": user.gid if user else None,
        "cut_network": cut_network and os.geteuid() == 0,
    }
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(_LAUNCHER), json.dumps(settings)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(write_end,),
        start_new_session=True,
        env={},
    )
    os.close(write_end)
    family = Family.of(process.pid)
    assert process.stdout is not None and process.stderr is not None  # noqa: S101 - both are pipes
    out = CappedOutput(os.dup(process.stdout.fileno()), limits.output_bytes)
    err = CappedOutput(os.dup(process.stderr.fileno()), limits.output_bytes)
    process.stdout.close()
    process.stderr.close()
    report = _read_report(read_end)
    if sampler is not None:
        sampler.start()
    begun = time.monotonic()
    watch = _Watch()
    threading.Thread(target=_wait, args=(process, watch), daemon=True).start()
    _watch_over(family, watch, limits, scratch, begun)
    wall_s = time.monotonic() - begun
    left_behind = family.kill()
    watch.over.wait(10)
    samples = sampler.stop(frozenset(family.members)) if sampler is not None else ()
    exit_code, signal_number = _decoded(watch.status)
    ending, detail = _ending(watch, report, signal_number)
    return RunRecord(
        command=tuple(command),
        environment={**environment},
        ending=ending,
        exit_code=exit_code,
        signal=signal_number,
        wall_s=round(wall_s, 6),
        cpu_s=round(watch.usage_s, 6),
        peak_memory_bytes=max(watch.peak_memory, watch.usage_memory),
        stdout=out.text(),
        stderr=err.text(),
        stdout_bytes=out.total,
        stderr_bytes=err.total,
        user=user.name if user else pwd.getpwuid(os.geteuid()).pw_name,
        started_at=started_at,
        network=report.get("network", "open: not root" if os.geteuid() != 0 else "unknown"),
        detail=detail,
        left_behind=left_behind,
        libraries=loaded_libraries(scratch.linker),
        samples=samples,
    )


def _read_report(descriptor: int) -> dict[str, str]:
    """Read what the launcher says until the command takes over."""
    with os.fdopen(descriptor, "rb") as stream:
        lines = stream.read(65536).splitlines()
    report: dict[str, str] = {}
    for line in lines:
        report.update(json.loads(line))
    return report


def _wait(process: subprocess.Popen[bytes], watch: _Watch) -> None:
    """Reap the process in a thread, so that its end is seen when it comes and not at the next look."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    watch.status = status
    watch.usage_s = usage.ru_utime + usage.ru_stime
    watch.usage_memory = usage.ru_maxrss * 1024
    watch.over.set()


def _watch_over(family: Family, watch: _Watch, limits: Limits, scratch: Scratch, begun: float) -> None:
    """Look at the processes again and again until the command ends or a limit is passed."""
    next_disk = begun
    pause = _POLL_S
    while not watch.over.wait(pause):
        looked = time.monotonic()
        alive = family.alive()
        memory = sum(process.memory_bytes for process in alive)
        watch.peak_memory = max(watch.peak_memory, memory)
        if looked - begun > limits.wall_s:
            watch.ending, watch.detail = Ending.WALL_LIMIT, f"ran longer than {limits.wall_s:g} s"
        elif memory > limits.memory_bytes:
            watch.ending = Ending.MEMORY_LIMIT
            watch.detail = f"held {memory} bytes, the limit is {limits.memory_bytes}"
        elif len(alive) > limits.processes:
            watch.ending = Ending.PROCESS_LIMIT
            watch.detail = f"had {len(alive)} processes, the limit is {limits.processes}"
        elif looked >= next_disk:
            _watch_disk(watch, limits, scratch)
            next_disk = looked + max(_DISK_POLL_S, 10 * (time.monotonic() - looked))
        if watch.ending is not None:
            return
        # On a machine with thousands of processes a look takes long; it shall not take all the time.
        pause = min(max(_POLL_S, 10 * (time.monotonic() - looked)), _LONGEST_PAUSE_S)


def _watch_disk(watch: _Watch, limits: Limits, scratch: Scratch) -> None:
    used, files = 0, 0
    for folder, _, names in os.walk(scratch.root):
        for name in names:
            files += 1
            try:
                used += os.lstat(os.path.join(folder, name)).st_blocks * 512  # noqa: PTH118 - hot loop
            except OSError:
                continue  # it was removed in between
        if used > limits.disk_bytes or files > _MAX_FILES:
            watch.ending = Ending.DISK_LIMIT
            watch.detail = f"wrote {used} bytes in {files} files, the limit is {limits.disk_bytes}"
            return


def _decoded(status: int) -> tuple[int | None, int | None]:
    code = os.waitstatus_to_exitcode(status)
    return (code, None) if code >= 0 else (None, -code)


_BY_SIGNAL = {int(signal.SIGXCPU): Ending.CPU_LIMIT, int(signal.SIGXFSZ): Ending.DISK_LIMIT}


def _ending(watch: _Watch, report: Mapping[str, str], signal_number: int | None) -> tuple[Ending, str]:
    if "error" in report:
        return Ending.NOT_STARTED, report["error"]
    if watch.ending is not None:
        return watch.ending, watch.detail
    if signal_number is None:
        return Ending.EXITED, ""
    name = signal.strsignal(signal_number) or "a signal without a name"
    return _BY_SIGNAL.get(signal_number, Ending.SIGNALLED), f"ended by signal {signal_number}: {name}"
