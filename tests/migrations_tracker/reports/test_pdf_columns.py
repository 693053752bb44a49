"""Columns of a report's tables on paper."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_tracker.reports.pdf import widths_fitting

WIDTHS = st.lists(st.floats(min_value=0.5, max_value=500), min_size=1, max_size=9)


def test_what_fits_is_as_wide_as_it_is() -> None:
    assert widths_fitting([10, 30, 20], 100) == [10, 30, 20]


def test_the_widest_share_what_the_narrow_ones_leave() -> None:
    assert widths_fitting([10, 200, 20, 120], 190) == [10, 80, 20, 80]


@given(natural=WIDTHS, room=st.floats(min_value=10, max_value=300))
def test_nothing_stands_beyond_the_page_and_no_room_is_lost(natural: list[float], room: float) -> None:
    widths = widths_fitting(natural, room)
    assert sum(widths) == pytest.approx(min(sum(natural), room))
    assert all(0 < width <= wanted for width, wanted in zip(widths, natural, strict=True))
