"""The picture of what a test did on the device: kernels and copies in the order of their calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 1000
_LEFT = 110
_LANE_HEIGHT = 30
_MIN_WIDTH = 3.0
#: A pause is drawn as long as a quarter of the device's work at most: a driver that starts for 20 ms would
#: leave no room for kernels that last 2 µs.
_LONGEST_PAUSE = 0.25
_SHORTEST_LIMIT_NS = 1000
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
class Break:
    """A pause that is drawn shorter than it was."""

    x: float
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
    breaks: Sequence[Break]
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
    drawn, pauses = _without_long_pauses([event for _, event in shown])
    places = {lane: place for place, (lane, _) in enumerate(LANES)}
    length = max(at + (event.get("device_ns") or 0) for at, (_, event) in zip(drawn, shown, strict=True))
    scale = (WIDTH - _LEFT - 10) / max(length, 1)
    bars, rows = [], []
    for at, (process, event) in zip(drawn, shown, strict=True):
        lane = _lane(event)
        lasts = event.get("device_ns") or 0
        rows.append(_row(process, event, lane, event["at_ns"] - begin))
        bars.append(
            Bar(
                lane=lane,
                x=round(_LEFT + at * scale, 2),
                y=places[lane] * _LANE_HEIGHT + 6,
                width=round(max(lasts * scale, _MIN_WIDTH), 2),
                title=_title(rows[-1]),
            )
        )
    breaks = [
        Break(round(_LEFT + at * scale, 2), f"{lasts / 1000:,.0f} µs without a call") for at, lasts in pauses
    ]
    lanes = [(lane, label, place * _LANE_HEIGHT + 20) for lane, label, place in _lanes()]
    height = len(LANES) * _LANE_HEIGHT + 8
    return Timeline(bars, breaks, rows, lanes, height, (end - begin) / 1000, len(events) - len(shown))


def _without_long_pauses(events: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[tuple[float, int]]]:
    """Give each event its place in time with long pauses shortened, and those with their lengths."""
    spans = [(event["at_ns"], event["at_ns"] + (event.get("device_ns") or 0)) for event in events]
    limit = max(_LONGEST_PAUSE * sum(end - begin for begin, end in spans), _SHORTEST_LIMIT_NS)
    until, left_out = spans[0][0], 0.0
    places: list[float] = []
    pauses: list[tuple[float, int]] = []
    for begin, end in spans:
        pause = begin - until
        if pause > limit:
            pauses.append((until - spans[0][0] - left_out + limit / 2, pause))
            left_out += pause - limit
        places.append(begin - spans[0][0] - left_out)
        until = max(until, end)
    return places, pauses


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
