"""The picture of what a test did on the device: kernels and copies in the order of their calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 1000
_LEFT = 110
_LANE_HEIGHT = 30
_MIN_WIDTH = 3.0
MAX_SHOWN = 400
#: What stands in which lane, in the order from above.
LANES = (
    ("to-device", "To the device"),
    ("kernel", "Kernels"),
    ("on-device", "On the device"),
    ("to-host", "To the host"),
)
_KERNELS = frozenset({"launch", "graph-launch", "graph-kernel"})


@dataclass(frozen=True, slots=True)
class Bar:
    """One event, or equal ones in a row: where it is drawn, and what it says."""

    lane: str
    x: float
    y: int
    width: float
    title: str


@dataclass(frozen=True, slots=True)
class Row:
    """The same event in the table."""

    process: int
    offset_us: float
    lane: str
    name: str
    count: int
    grid: str
    block: str
    size_bytes: int
    device_us: float | None
    caller: str
    result: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """A picture and its table. `left_out` events are in neither: the evidence holds them."""

    bars: Sequence[Bar]
    rows: Sequence[Row]
    lanes: Sequence[tuple[str, str, int]]
    height: int
    span_us: float
    left_out: int


def timeline_of(traced: Mapping[str, Any] | None) -> Timeline | None:
    """Draw a traced run; none where no process opened the driver."""
    events = sorted(_events(traced), key=lambda pair: (pair[1]["at_ns"], pair[1]["sequence"]))
    if not events:
        return None
    shown = events[:MAX_SHOWN]
    begin = shown[0][1]["at_ns"]
    end = max(event["at_ns"] + (event.get("device_ns") or 0) for _, event in shown)
    span = max(end - begin, 1)
    places = {lane: place for place, (lane, _) in enumerate(LANES)}
    scale = (WIDTH - _LEFT - 10) / span
    bars, rows = [], []
    for process, event in shown:
        lane = _lane(event)
        offset, lasts = event["at_ns"] - begin, event.get("device_ns") or 0
        rows.append(_row(process, event, lane, offset))
        bars.append(
            Bar(
                lane=lane,
                x=round(_LEFT + offset * scale, 2),
                y=places[lane] * _LANE_HEIGHT + 6,
                width=round(max(lasts * scale, _MIN_WIDTH), 2),
                title=_title(rows[-1]),
            )
        )
    lanes = [(lane, label, place * _LANE_HEIGHT + 20) for lane, label, place in _lanes()]
    height = len(LANES) * _LANE_HEIGHT + 8
    return Timeline(bars, rows, lanes, height, span / 1000, len(events) - len(shown))


def _lanes() -> Iterator[tuple[str, str, int]]:
    for place, (lane, label) in enumerate(LANES):
        yield lane, label, place


def _events(traced: Mapping[str, Any] | None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield what ran and what moved, with its process."""
    for trace in (traced or {}).get("traces", ()):
        for event in trace["events"]:
            if event["kind"] in _KERNELS or event["kind"] == "copy":
                yield trace["pid"], event


def _lane(event: Mapping[str, Any]) -> str:
    if event["kind"] in _KERNELS:
        return "kernel"
    direction = event.get("direction") or ""
    return direction if direction in ("to-device", "to-host") else "on-device"


def _row(process: int, event: Mapping[str, Any], lane: str, offset_ns: int) -> Row:
    lasts = event.get("device_ns")
    return Row(
        process=process,
        offset_us=offset_ns / 1000,
        lane=lane,
        name=event.get("name") or ("a graph" if event["kind"] == "graph-launch" else "copy"),
        count=event.get("count", 1),
        grid=event.get("grid", ""),
        block=event.get("block", ""),
        size_bytes=event.get("bytes", 0),
        device_us=lasts / 1000 if lasts is not None else None,
        caller=event.get("caller", ""),
        result=event.get("result", 0),
    )


def _title(row: Row) -> str:
    times = f"{row.count} × " if row.count > 1 else ""
    size = f", {row.size_bytes:,} bytes" if row.size_bytes else ""
    lasts = f", {row.device_us:,.1f} µs on the device" if row.device_us is not None else ""
    return f"{times}{row.name} at {row.offset_us:,.0f} µs{size}{lasts}"
