"""What two texts share at their ends is counted once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from audit.knowledge.differences import shared_ends

PARTS = st.lists(st.sampled_from("ab"), max_size=8)


@given(PARTS, PARTS)
def test_both_ends_are_the_same_do_not_overlap_and_are_as_long_as_can_be(
    old: list[str], new: list[str]
) -> None:
    start, end = shared_ends(old, new)
    assert start + end <= min(len(old), len(new))
    assert old[:start] == new[:start]
    assert old[len(old) - end :] == new[len(new) - end :]
    between = old[start : len(old) - end], new[start : len(new) - end]
    if all(between):
        assert between[0][0] != between[1][0]
        assert between[0][-1] != between[1][-1]
