"""Reads the text that the tracer wrote in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from workers.protocol.evidence import Direction, EventKind, ProcessTrace, TraceEvent

FORMAT = "1"

#: A trace is written by the tested process: what it can't have written is dropped, not believed.
_MAX_NUMBER = 2**63 - 1
_MAX_FILES = 1000
_MAX_BYTES = 512 * 1024**2


class TraceError(ValueError):
    """A trace file that has no readable first line."""


@dataclass(slots=True)
class _Reader:
    """Lines of one trace, as they are collected."""

    names: dict[str, tuple[str, str]] = field(default_factory=dict)
    calls: dict[int, list[_Call]] = field(default_factory=dict)
    order: list[_Call] = field(default_factory=list)
    graph_kernels: list[tuple[int, str, int]] = field(default_factory=list)
    late_copies: dict[tuple[int, Direction], tuple[int, int]] = field(default_factory=dict)
    is_complete: bool = False
    blind: str | None = None
    launches: int = 0
    lost: int = 0
    dropped: int = 0
    unreadable: int = 0


@dataclass(slots=True)
class _Call:
    event: TraceEvent
    correlation: int


def read_traces(folder: Path, max_events: int = 20_000) -> tuple[ProcessTrace, ...]:
    """Read every trace in a folder, in the order in which the processes started the driver."""
    paths = sorted(folder.glob("trace-*.txt"), key=lambda path: path.name.rpartition("-")[2])
    return tuple(_read_file(path, max_events) for path in paths[:_MAX_FILES])


def _read_file(path: Path, max_events: int) -> ProcessTrace:
    # The tested process may put anything here, and a pipe would block its reader for ever.
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _MAX_BYTES:
        return _unreadable(f"`{path.name}` is no trace")
    try:
        return read_trace(path.read_text("utf-8", "replace"), max_events)
    except TraceError as error:
        return _unreadable(str(error))


def _unreadable(reason: str) -> ProcessTrace:
    return ProcessTrace(pid=0, parent_pid=0, executable="", events=(), is_complete=False, blind=reason)


def read_trace(text: str, max_events: int = 20_000) -> ProcessTrace:
    """Read one trace. A last line that was cut off is left out; the trace then has no `end`.

    Equal events in a row are counted as one; what is then beyond `max_events` counts as lost.
    """
    lines = text.split("\n")
    lines.pop()
    start = _start(lines)
    reader = _Reader()
    for line in lines:
        _read_line(reader, line)
    kept, lost = _collapse(_ordered(reader), max_events)
    return ProcessTrace(
        pid=start.pid,
        parent_pid=start.parent_pid,
        executable=start.executable,
        cupti_version=start.cupti_version,
        events=kept,
        is_complete=reader.is_complete,
        blind=reader.blind,
        lost=reader.lost + reader.unreadable + lost,
        dropped=reader.dropped,
        launches=reader.launches if reader.is_complete else sum(map(_is_launch, reader.order)),
    )


@dataclass(frozen=True, slots=True)
class _Start:
    pid: int
    parent_pid: int
    cupti_version: int
    executable: str


def _start(lines: list[str]) -> _Start:
    for line in lines:
        fields = line.split(" ", 6)
        if len(fields) == 7 and fields[:2] == ["S", FORMAT]:
            return _Start(_number(fields[2]), _number(fields[3]), _number(fields[4]), fields[6])
    # The name table may be written before the first line, and a process may die in between.
    if not lines:
        return _Start(0, 0, 0, "")
    raise TraceError(f"no `S {FORMAT}` line in a trace of {len(lines)} lines")


def _read_line(reader: _Reader, line: str) -> None:
    kind, _, rest = line.partition(" ")
    try:
        if kind in _CALLS:
            _read_call(reader, kind, rest.split(" "))
        elif kind in _OTHERS:
            _OTHERS[kind](reader, rest)
        elif kind != "S":
            reader.unreadable += 1
    except (ValueError, IndexError, KeyError):
        reader.unreadable += 1


_CALLS = {
    "L": EventKind.LAUNCH,
    "X": EventKind.CAPTURED_LAUNCH,
    "G": EventKind.GRAPH_LAUNCH,
    "C": EventKind.COPY,
    "M": EventKind.MODULE_LOAD,
    "U": EventKind.MANAGED_MEMORY,
    "P": EventKind.MAPPED_MEMORY,
}


def _read_call(reader: _Reader, letter: str, fields: list[str]) -> None:
    kind = _CALLS[letter]
    event = TraceEvent(
        kind=kind,
        sequence=_number(fields[0]),
        at_ns=_number(fields[1]),
        thread=_number(fields[2]),
        result=_number(fields[4]),
    )
    if kind in (EventKind.LAUNCH, EventKind.CAPTURED_LAUNCH):
        caller, name = reader.names.get(fields[5], ("", "?"))
        event = replace(event, name=name, caller=caller, grid=fields[6], block=fields[7])
    elif kind is EventKind.COPY:
        event = replace(event, direction=Direction(fields[5]), bytes=_number(fields[6]))
    else:
        event = replace(event, name=fields[5])
    call = _Call(event, _number(fields[3]))
    reader.order.append(call)
    reader.calls.setdefault(call.correlation, []).append(call)


def _read_name(reader: _Reader, rest: str) -> None:
    number, _, text = rest.partition(" ")
    caller, _, name = text.partition("\t")
    reader.names[number] = (caller, name)


def _read_kernel(reader: _Reader, rest: str) -> None:
    correlation, name, device_ns = rest.split(" ")
    known = reader.names.get(name, ("", "?"))[1]
    reader.graph_kernels.append((_number(correlation), known, _number(device_ns)))


def _read_copy(reader: _Reader, rest: str) -> None:
    correlation, direction, size, device_ns = rest.split(" ")
    key = (_number(correlation), Direction(direction))
    known_size, known_ns = reader.late_copies.get(key, (0, 0))
    reader.late_copies[key] = (known_size + _number(size), known_ns + _number(device_ns))


def _read_blind(reader: _Reader, rest: str) -> None:
    reader.blind = rest or "no reason given"


def _read_end(reader: _Reader, rest: str) -> None:
    launches, lost, dropped = map(_number, rest.split(" "))
    reader.is_complete, reader.launches, reader.lost, reader.dropped = True, launches, lost, dropped


_OTHERS: dict[str, Callable[[_Reader, str], None]] = {
    "F": _read_name,
    "k": _read_kernel,
    "m": _read_copy,
    "B": _read_blind,
    "E": _read_end,
}


def _number(text: str) -> int:
    number = int(text)
    if not -1 <= number <= _MAX_NUMBER:
        raise ValueError(f"`{text}` is no number of a trace")
    return number


def _ordered(reader: _Reader) -> Iterator[TraceEvent]:
    """Join activity to its call; what belongs to a graph launch follows that launch."""
    inside: dict[int, list[TraceEvent]] = {}
    for correlation, name, device_ns in reader.graph_kernels:
        call = _one(reader, correlation, EventKind.LAUNCH)
        if call is not None:
            call.event = replace(call.event, device_ns=(call.event.device_ns or 0) + device_ns)
            continue
        graph = _one(reader, correlation, EventKind.GRAPH_LAUNCH)
        if graph is not None:
            inside.setdefault(correlation, []).append(
                _within(graph.event, EventKind.GRAPH_KERNEL, name, device_ns)
            )
        else:
            reader.unreadable += 1
    for (correlation, direction), (size, device_ns) in reader.late_copies.items():
        call = _one(reader, correlation, EventKind.COPY)
        if call is not None:
            call.event = _with_activity(call.event, direction, size, device_ns)
            continue
        graph = _one(reader, correlation, EventKind.GRAPH_LAUNCH)
        if graph is not None:
            copy = _within(graph.event, EventKind.COPY, "", device_ns)
            inside.setdefault(correlation, []).append(replace(copy, direction=direction, bytes=size))
        else:
            reader.unreadable += 1
    for call in sorted(reader.order, key=lambda call: call.event.sequence):
        yield call.event
        yield from inside.get(call.correlation, ())


def _is_launch(call: _Call) -> bool:
    return call.event.kind is EventKind.LAUNCH and call.event.result == 0


def _one(reader: _Reader, correlation: int, kind: EventKind) -> _Call | None:
    return next((call for call in reader.calls.get(correlation, ()) if call.event.kind is kind), None)


def _within(graph: TraceEvent, kind: EventKind, name: str, device_ns: int) -> TraceEvent:
    return replace(graph, kind=kind, name=name, device_ns=device_ns)


def _with_activity(event: TraceEvent, direction: Direction, size: int, device_ns: int) -> TraceEvent:
    """Add what the device reports. Where the call tells direction or bytes, the call stands."""
    told = event.direction is not Direction.UNKNOWN
    return replace(
        event,
        direction=event.direction if told else direction,
        bytes=event.bytes or size,
        device_ns=(event.device_ns or 0) + device_ns,
    )


def _collapse(events: Iterator[TraceEvent], max_events: int) -> tuple[tuple[TraceEvent, ...], int]:
    """Count equal events in a row as one, and keep the first `max_events`."""
    kept: list[TraceEvent] = []
    lost = 0
    for event in events:
        if kept and _alike(kept[-1], event):
            kept[-1] = _merged(kept[-1], event)
        elif len(kept) < max_events:
            kept.append(event)
        else:
            lost += 1
    return tuple(kept), lost


def _alike(one: TraceEvent, other: TraceEvent) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in _IDENTITY)


_IDENTITY = ("kind", "name", "thread", "caller", "grid", "block", "direction", "bytes", "result")


def _merged(one: TraceEvent, other: TraceEvent) -> TraceEvent:
    known = one.device_ns is not None or other.device_ns is not None
    device_ns = (one.device_ns or 0) + (other.device_ns or 0) if known else None
    return replace(one, count=one.count + other.count, device_ns=device_ns)
