"""The picture keeps what was done in its order, to scale, and shortens pauses alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_tracker.verification_timeline import WIDTH, Timeline, timeline_of

RECORDED = next((Path(__file__).parents[1] / "workers/runner/recorded").glob("*.json"))


def event(at_us: int, lasts_us: float | None, kind: str = "launch", **fields: Any) -> dict[str, Any]:
    device_ns = int(1000 * lasts_us) if lasts_us is not None else None
    return {"kind": kind, "at_ns": 1000 * at_us, "sequence": at_us, "device_ns": device_ns, **fields}


def drawn(*events: dict[str, Any]) -> Timeline:
    timeline = timeline_of({"traces": [{"pid": 7, "events": list(events)}]})
    assert timeline is not None
    return timeline


def test_a_long_pause_is_drawn_shorter_and_told_with_its_length() -> None:
    timeline = drawn(event(0, 2, "copy", direction="to-device"), event(20_000, 2), event(20_003, 4))
    assert [one.title for one in timeline.breaks] == ["19,998 µs without a call"]
    first, second, third = timeline.bars
    assert first.x < timeline.breaks[0].x < second.x < third.x
    assert second.width == pytest.approx(2 * first.width / 2, rel=0.01) and first.width > 100
    assert timeline.span_us == pytest.approx(20_007)
    assert [row.offset_us for row in timeline.rows] == [0, 20_000, 20_003]


def test_a_launch_right_after_another_is_no_pause() -> None:
    timeline = drawn(*(event(8 * number, 3) for number in range(50)))
    assert timeline.breaks == []


def test_what_took_no_measured_time_is_drawn_all_the_same() -> None:
    timeline = drawn(event(0, None), event(50_000, None))
    assert [bar.width for bar in timeline.bars] == [3.0, 3.0] and len(timeline.breaks) == 1


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**5) | st.none()), min_size=1, max_size=60))
def test_bars_stand_in_the_order_of_the_calls_and_inside_the_picture(
    calls: list[tuple[int, int | None]],
) -> None:
    timeline = drawn(*(event(at, lasts) for at, lasts in calls))
    places = [bar.x for bar in timeline.bars]
    assert places == sorted(places)
    assert all(bar.x >= 0 and bar.x + bar.width <= WIDTH for bar in timeline.bars)
    assert all(timeline.bars[0].x <= one.x <= timeline.bars[-1].x for one in timeline.breaks)


def test_what_a_real_gpu_did_can_be_seen() -> None:
    tests = json.loads(RECORDED.read_text())["tests"]
    plain = next(one for one in tests if one["test"]["name"] == "add_one_runs_on_the_device")["evidence"][
        "plain"
    ]
    timeline = timeline_of(plain)
    assert timeline is not None and [bar.lane for bar in timeline.bars] == ["to-device", "kernel", "to-host"]
    assert min(bar.width for bar in timeline.bars) > 50
