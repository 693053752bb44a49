"""Charts as shapes: what a template draws, without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from audit.selectors.history import Counts, Series

WIDTH, HEIGHT = 900, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 8, 10, 26
_LABEL = 60  # How wide a date is.
SERIES_SHOWN = 8
POINTS_SHOWN = 200
OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Area:
    """One series, stacked on those before it; `points` is an SVG polygon."""

    key: str
    number: int
    points: str
    newest: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis; a label that begins at the edge would end beyond it, so it `ends` there instead."""

    at: float
    label: str
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A stacked chart of counts, one step for each scan."""

    areas: Sequence[Area]
    rows: Sequence[Tick]
    columns: Sequence[Tick]
    bottom: float = HEIGHT - _BOTTOM
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    width: int = WIDTH
    height: int = HEIGHT


def chart_of(counts: Counts) -> Chart | None:
    """Draw counts over time; one scan is no time."""
    if len(counts.scans) < 2 or not counts.series:
        return None
    places = _places(len(counts.scans))
    top = max(max(counts.totals), 1)
    across = (WIDTH - _LEFT - _RIGHT) / (len(counts.scans) - 1)
    xs = [round(_LEFT + place * across, 1) for place in places]
    below = [0] * len(places)
    areas = []
    for number, series in enumerate(_shown(counts)):
        above = [one + series.counts[place] for one, place in zip(below, places, strict=True)]
        upper = zip(xs, above, strict=True)
        lower = zip(reversed(xs), reversed(below), strict=True)
        points = " ".join(f"{x},{_height(value, top)}" for x, value in (*upper, *lower))
        areas.append(Area(series.key, number, points, series.counts[-1]))
        below = above
    rows = [Tick(_height(value, top), f"{value:,}") for value in _round_values(top)]
    return Chart(areas, rows, _dates(counts, across))


def _places(count: int) -> list[int]:
    """Return the scans to draw: all, or as many as can be told apart, the last one among them."""
    if count <= POINTS_SHOWN:
        return list(range(count))
    return sorted({round(number * (count - 1) / (POINTS_SHOWN - 1)) for number in range(POINTS_SHOWN)})


def _height(value: int, top: int) -> float:
    return round(HEIGHT - _BOTTOM - value / top * (HEIGHT - _BOTTOM - _TOP), 1)


def _shown(counts: Counts) -> list[Series]:
    largest = list(counts.series[:SERIES_SHOWN])
    rest = counts.series[SERIES_SHOWN:]
    if not rest:
        return largest
    sums = [sum(one) for one in zip(*(series.counts for series in rest), strict=True)]
    return [*largest, Series(OTHERS, sums)]


def _round_values(top: int) -> list[int]:
    """Return about five round values up to the top."""
    rough = top / 5
    magnitude = 10 ** max(len(str(int(rough))) - 1, 0)
    step = max(next((m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= rough), 1), 1)
    return list(range(0, top + 1, int(step)))


def _dates(counts: Counts, across: float) -> list[Tick]:
    every = max(len(counts.scans) // 6, 1)
    ticks = []
    for number in range(0, len(counts.scans), every):
        commit = counts.scans[number].scan_run.commit
        when = commit.committed_at or counts.scans[number].created_at
        at = round(_LEFT + number * across, 1)
        ticks.append(Tick(at, when.strftime("%Y-%m-%d"), ends=at > WIDTH - _RIGHT - _LABEL))
    return ticks[:6]
