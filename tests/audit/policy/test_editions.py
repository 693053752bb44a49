"""Editions of the policy are named, and compared clause by clause, word by word and level by level."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.policy.clauses import VERSIONS, Clause, ClauseKind
from audit.policy.editions import (
    MOST_WORDS,
    Edition,
    PolicyVersion,
    compare_editions,
    house_edition,
    word_difference,
)
from audit.scanner.report import Level


def clause(clause_id: str = "P1", **changes: object) -> Clause:
    made = Clause(clause_id, ClauseKind.MANDATORY, "t", "one two three", "r", "p")
    return replace(made, **changes)  # type: ignore[arg-type]


def edition(*clauses: Clause, **levels: Level) -> Edition:
    return Edition(PolicyVersion("1", 1), clauses, levels)


@pytest.mark.parametrize(("text", "version"), [("1", PolicyVersion("1")), ("2+13", PolicyVersion("2", 13))])
def test_a_version_is_read_as_it_is_written(text: str, version: PolicyVersion) -> None:
    assert PolicyVersion.parse(text) == version
    assert str(version) == text


@pytest.mark.parametrize("text", ["", "0", "1+0", "1+", "+1", "1+2+3", "1.0", " 1", "１"])
def test_what_is_no_version_is_not_read_as_one(text: str) -> None:
    assert PolicyVersion.parse(text) is None


def test_clauses_are_added_removed_and_changed() -> None:
    old = edition(clause("M1"), clause("P1"), clause("P2"))
    new = edition(clause("M1"), clause("P2", text="one 2 three"), clause("P3"))
    difference = compare_editions(old, new)
    assert [one.id for one in difference.added] == ["P3"]
    assert [one.id for one in difference.removed] == ["P1"]
    (changed,) = difference.changed
    assert changed.clause.id == "P2"
    assert [part.label for part in changed.parts] == ["Text"]
    assert changed.parts[0].words == (
        ("same", "one "),
        ("removed", "two "),
        ("added", "2 "),
        ("same", "three"),
    )
    assert difference.unchanged_count == 1


def test_clauses_of_two_projects_are_others_whatever_their_numbers() -> None:
    old = replace(edition(clause("M1"), clause("P1")), owner="1")
    new = replace(edition(clause("M1"), clause("P1", text="unrelated")), owner="2")
    difference = compare_editions(old, new)
    assert (len(difference.added), len(difference.removed), difference.changed) == (1, 1, ())
    assert difference.unchanged_count == 1
    assert compare_editions(old, replace(new, owner="1")).changed[0].clause.id == "P1"


def test_what_rests_on_a_clause_is_compared_too() -> None:
    difference = compare_editions(
        edition(clause(rules=("FT001",))), edition(clause(rules=("FT001", "FT002"), right="fn f() {}"))
    )
    parts = difference.changed[0].parts
    assert [(part.label, part.is_code) for part in parts] == [
        ("Right in Rust", True),
        ("Rules that rest on it", False),
    ]


def test_levels_are_compared_against_none_given() -> None:
    difference = compare_editions(
        edition(FT001=Level.NOTE, FT002=Level.NOTE), edition(FT001=Level.NOTE, FT003=Level.ERROR)
    )
    assert [(one.rule_id, one.before, one.after) for one in difference.levels] == [
        ("FT002", Level.NOTE, None),
        ("FT003", None, Level.ERROR),
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_edition_does_not_differ_from_itself(version: str) -> None:
    difference = compare_editions(house_edition(version), house_edition(version))
    assert difference.is_none
    assert difference.unchanged_count == len(house_edition(version).clauses)


def test_what_is_too_long_to_compare_is_shown_whole_between_the_common_ends() -> None:
    old = "first " + "a b " * MOST_WORDS + "last"
    new = "first " + "c d " * MOST_WORDS + "last"
    words = word_difference(old, new)
    assert [word.kind for word in words] == ["same", "removed", "added", "same"]
    assert words[0].text == "first "
    assert words[-1].text == "last"
    (changed,) = compare_editions(edition(clause(text=old)), edition(clause(text=new))).changed
    assert changed.parts[0].is_whole
    (changed,) = compare_editions(edition(clause(text=old)), edition(clause(text=old + "!"))).changed
    assert not changed.parts[0].is_whole, "only what is between the common ends counts"


@given(st.text(), st.text())
def test_a_word_difference_holds_both_texts_whole(before: str, after: str) -> None:
    words = word_difference(before, after)
    assert "".join(text for kind, text in words if kind != "added") == before
    assert "".join(text for kind, text in words if kind != "removed") == after
