"""Evidence: what was seen while a test ran. Facts only; the verdict is computed from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class EventKind(StrEnum):
    """What a line of a trace tells of."""

    LAUNCH = "launch"
    CAPTURED_LAUNCH = "captured-launch"
    GRAPH_LAUNCH = "graph-launch"
    GRAPH_KERNEL = "graph-kernel"
    COPY = "copy"
    MODULE_LOAD = "module-load"
    MANAGED_MEMORY = "managed-memory"
    MAPPED_MEMORY = "mapped-memory"


class Direction(StrEnum):
    """Where a copy goes. `unknown` is a call whose operands do not tell and that has no activity record."""

    TO_DEVICE = "to-device"
    TO_HOST = "to-host"
    ON_DEVICE = "on-device"
    ON_HOST = "on-host"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One driver call, or `count` equal ones in a row.

    `sequence` orders the events of a process; `at_ns` is the wall clock at the call and orders those of
    several. `caller` is the file name of the library that called the driver. `result` is the driver's
    return value: what is not 0 did not happen. `bytes` is of one copy; `device_ns` is the sum over all.
    """

    kind: EventKind
    sequence: int
    at_ns: int
    name: str = ""
    count: int = 1
    thread: int = 0
    caller: str = ""
    grid: str = ""
    block: str = ""
    direction: Direction | None = None
    bytes: int = 0
    result: int = 0
    device_ns: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessTrace:
    """What the tracer wrote in one process.

    `is_complete` is false where the last line is not `end`: killed, or left without its exit handlers.
    `blind` is the tracer's own word that it could not see. `lost` counts calls that were not kept, `dropped`
    the activity records (times, and the kernels of graphs) that were not.
    """

    pid: int
    parent_pid: int
    executable: str
    events: tuple[TraceEvent, ...]
    is_complete: bool
    blind: str | None = None
    lost: int = 0
    dropped: int = 0
    launches: int = 0
    cupti_version: int = 0


class Ending(StrEnum):
    """How a process that the runner started came to its end."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    WALL_LIMIT = "wall-limit"
    CPU_LIMIT = "cpu-limit"
    MEMORY_LIMIT = "memory-limit"
    DISK_LIMIT = "disk-limit"
    PROCESS_LIMIT = "process-limit"
    NOT_STARTED = "not-started"


@dataclass(frozen=True, slots=True)
class DeviceSample:
    """What NVML told beside a run."""

    device: str
    polls: int
    peak_process_memory_bytes: int = 0
    pids: tuple[int, ...] = ()
    energy_mj: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of one command: what was started, how it ended, what it used and wrote.

    `stdout` and `stderr` hold head and tail where more was written than is kept; `stdout_bytes` and
    `stderr_bytes` say how much was. `libraries` are those that the dynamic linker loaded, null where it
    left no record. `left_behind` counts processes that outlived the command and were killed.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    ending: Ending
    exit_code: int | None
    signal: int | None
    wall_s: float
    cpu_s: float
    peak_memory_bytes: int
    stdout: str
    stderr: str
    stdout_bytes: int
    stderr_bytes: int
    user: str
    started_at: str
    network: str
    detail: str = ""
    left_behind: int = 0
    libraries: tuple[str, ...] | None = None
    samples: tuple[DeviceSample, ...] = ()


@dataclass(frozen=True, slots=True)
class TracedRun:
    """A run with what the tracer left, one trace for each process that initialised the driver."""

    run: RunRecord
    traces: tuple[ProcessTrace, ...] = ()


@dataclass(frozen=True, slots=True)
class CanaryReading:
    """The canary before a batch: one kernel in the same environment, which the tracer must show."""

    seen: bool
    reason: str
    traced: TracedRun | None = None


@dataclass(frozen=True, slots=True)
class TestEvidence:
    """All runs of one test.

    `plain` is as it is, under the tracer; `hidden` with every GPU hidden; `opted_in` with the opt-in
    variable set, under the tracer. `not_built` and `no_device` say why there are none.
    """

    __test__ = False

    plain: TracedRun | None = None
    hidden: RunRecord | None = None
    opted_in: TracedRun | None = None
    not_built: str | None = None
    no_device: str | None = None

    @property
    def gpu_s(self) -> float:
        """For how long the test could be on a device: all of its runs but that with every GPU hidden."""
        runs = [traced.run for traced in (self.plain, self.opted_in) if traced is not None]
        # A machine whose clock runs backward gives no time back.
        return sum(max(run.wall_s, 0.0) for run in runs)


@dataclass(frozen=True, slots=True)
class PtxReading:
    """What the real driver said to one PTX text."""

    name: str
    sha256: str
    loaded: bool
    result: int | None
    error: str
    log: str
    device: str = ""
    driver_version: str = ""
