"""What the processes of a run did on the device, in order, read out of their traces."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from workers.protocol.evidence import Direction, EventKind, ProcessTrace, TraceEvent
from workers.protocol.job import KernelFamily

#: A copy to the host counts as an operand from this size on, and from half of the largest copy to the device.
MIN_OPERAND_BYTES = 4096

_RAN = (EventKind.LAUNCH, EventKind.GRAPH_KERNEL)


@dataclass(frozen=True, slots=True)
class Step:
    """A launch or a copy that took place, with its place among those of its process."""

    pid: int
    place: int
    event: TraceEvent
    caller: str = ""

    @property
    def is_kernel(self) -> bool:
        """Whether a kernel ran."""
        return self.event.kind in _RAN

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.event.name

    def is_called(self, wanted: str) -> bool:
        """Tell whether this is the kernel."""
        return is_called(self.name, wanted)

    def is_of(self, family: KernelFamily) -> bool:
        """Tell whether a library's call launched this, by the caller on the stack or by the kernel's name."""
        from_library = any(self.caller.startswith(library) for library in family.libraries)
        return from_library or any(re.search(pattern, self.name) for pattern in family.kernels)


def is_called(name: str, wanted: str) -> bool:
    """Tell whether a kernel is the wanted one: by its plain name, a pattern with `*`, or its C++ mangling."""
    if "*" in wanted:
        return fnmatch.fnmatchcase(name, wanted)
    mangled = rf"_Z\w*?{len(wanted)}{re.escape(wanted)}(?![a-z0-9_])\w*"
    return name == wanted or re.fullmatch(mangled, name) is not None


@dataclass(frozen=True, slots=True)
class HostCopy:
    """Operand-sized data that went to the host: one copy, or several with no kernel in between."""

    size: int
    copies: int
    largest_upload: int

    def described(self) -> str:
        """Say it in words."""
        how = "in one copy" if self.copies == 1 else f"in {self.copies} copies"
        before = f"the largest copy to the device before it has {self.largest_upload} bytes"
        return f"{self.size} bytes were copied to the host {how} ({before})"


@dataclass(frozen=True, slots=True)
class DeviceWork:
    """The steps of every traced process."""

    processes: tuple[tuple[Step, ...], ...] = ()
    hides_copies: str = ""

    @property
    def kernels(self) -> list[Step]:
        """Every kernel that ran."""
        return [step for steps in self.processes for step in steps if step.is_kernel]

    @property
    def reads_back(self) -> bool:
        """Whether anything came back to the host at all."""
        return any(step.event.direction is Direction.TO_HOST for steps in self.processes for step in steps)

    def operand_copy(self, expected: Sequence[Step]) -> HostCopy | None:
        """Find an operand-sized copy to the host before the last expected kernel of its process.

        Where no expected kernel ran in any process, every such copy counts.
        """
        for steps in self.processes:
            if not steps:
                continue
            last = max((step.place for step in expected if step.pid == steps[0].pid), default=None)
            if last is None and expected:
                continue
            found = _operand_copy(step for step in steps if last is None or step.place < last)
            if found is not None:
                return found
        return None


def read_work(traces: Iterable[ProcessTrace]) -> DeviceWork:
    """Read the steps out of traces. What the driver refused did not take place."""
    traces = tuple(traces)
    return DeviceWork(
        processes=tuple(tuple(_steps(trace)) for trace in traces),
        hides_copies=_why_copies_hide(traces),
    )


def _steps(trace: ProcessTrace) -> Iterator[Step]:
    captured = {e.name: e.caller for e in trace.events if e.kind is EventKind.CAPTURED_LAUNCH}
    for place, event in enumerate(trace.events):
        if event.result != 0 or event.kind not in (*_RAN, EventKind.COPY):
            continue
        # The kernel of a graph was called by who captured it.
        caller = captured.get(event.name, "") if event.kind is EventKind.GRAPH_KERNEL else event.caller
        yield Step(trace.pid, place, event, caller)


def _operand_copy(steps: Iterable[Step]) -> HostCopy | None:
    largest = 0
    size = copies = 0
    for step in steps:
        event = step.event
        if step.is_kernel:
            size = copies = 0
        elif event.direction is Direction.TO_DEVICE:
            largest = max(largest, event.bytes)
        elif event.direction is Direction.TO_HOST:
            # An operand that is read in pieces is read all the same.
            size += event.bytes * event.count
            copies += event.count
            if size >= MIN_OPERAND_BYTES and 2 * size >= largest:
                return HostCopy(size, copies, largest)
    return None


def _why_copies_hide(traces: Iterable[ProcessTrace]) -> str:
    for event in (event for trace in traces for event in trace.events if event.result == 0):
        if event.kind is EventKind.MANAGED_MEMORY:
            return "managed memory was allocated, which moves without a copy"
        if event.kind is EventKind.MAPPED_MEMORY:
            return "host memory was mapped for the device, which is read without a copy"
        if event.kind is EventKind.COPY and event.direction is Direction.UNKNOWN:
            return "a copy did not tell its direction"
    return ""
