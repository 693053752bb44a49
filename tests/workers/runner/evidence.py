"""Short ways to write evidence down."""

from __future__ import annotations

from dataclasses import replace

from workers.protocol.evidence import (
    CanaryReading,
    Direction,
    Ending,
    EventKind,
    ProcessTrace,
    RunRecord,
    TracedRun,
    TraceEvent,
)

CANARY = CanaryReading(seen=True, reason="")

PASSED = (
    "\nrunning 1 test\ntest t ... ok\n\n"
    "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
)
FAILED = (
    "\nrunning 1 test\ntest t ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured\n"
)
IGNORED = (
    "\nrunning 1 test\ntest t ... ignored, not yet\n\n"
    "test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n"
)
NONE = "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out\n"

RUN = RunRecord(
    command=("/bundle/bin/proof", "t"),
    environment={},
    ending=Ending.EXITED,
    exit_code=0,
    signal=None,
    wall_s=0.4,
    cpu_s=0.3,
    peak_memory_bytes=1,
    stdout=PASSED,
    stderr="",
    stdout_bytes=len(PASSED),
    stderr_bytes=0,
    user="nobody",
    started_at="2026-01-01T00:00:00+00:00",
    network="cut",
    libraries=("libc.so.6", "libcuda.so.1"),
)
FAILED_RUN = replace(RUN, stdout=FAILED, exit_code=101)


def launch(name: str, *, caller: str = "proof", result: int = 0, count: int = 1) -> TraceEvent:
    return TraceEvent(EventKind.LAUNCH, 0, 0, name=name, caller=caller, result=result, count=count)


def upload(size: int, *, result: int = 0) -> TraceEvent:
    return TraceEvent(EventKind.COPY, 0, 0, direction=Direction.TO_DEVICE, bytes=size, result=result)


def download(size: int, *, count: int = 1, result: int = 0) -> TraceEvent:
    return TraceEvent(
        EventKind.COPY, 0, 0, direction=Direction.TO_HOST, bytes=size, count=count, result=result
    )


def event(kind: EventKind, name: str = "") -> TraceEvent:
    return TraceEvent(kind, 0, 0, name=name)


def trace(*events: TraceEvent, pid: int = 7, is_complete: bool = True) -> ProcessTrace:
    ordered = tuple(replace(e, sequence=number, at_ns=number) for number, e in enumerate(events))
    return ProcessTrace(pid=pid, parent_pid=1, executable="/proof", events=ordered, is_complete=is_complete)


def traced(*events: TraceEvent, run: RunRecord = RUN) -> TracedRun:
    """One process that initialised the driver and did this."""
    return TracedRun(run, (trace(*events),))


def untraced(run: RunRecord = RUN) -> TracedRun:
    """A run in which no process initialised the driver."""
    return TracedRun(run, ())
