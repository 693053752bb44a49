"""What was published meanwhile is never taken back by what somebody typed before they saw it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from audit.policy.merging import Merged, merge

LEVELS = st.sampled_from(("error", "warning", "note"))


def test_what_one_of_both_changed_is_shown_and_a_clash_tells_both() -> None:
    base = dict.fromkeys("abcd", "old")
    theirs = {"a": "old", "b": "new", "c": "new", "d": "new"}
    mine = {"a": "typed", "b": "old", "c": "typed", "d": "new"}
    assert merge(base, theirs, mine) == {
        "a": Merged("typed"),
        "b": Merged("new", theirs="new"),
        "c": Merged("new", theirs="new", typed="typed"),
        "d": Merged("new"),
    }


@given(LEVELS, LEVELS, LEVELS)
def test_what_somebody_published_stands(base: str, theirs: str, mine: str) -> None:
    merged = merge({"a": base}, {"a": theirs}, {"a": mine})["a"]
    assert merged.value == (mine if theirs == base else theirs)
    assert mine in (merged.value, merged.typed, base), "nothing that was typed is lost unseen"
