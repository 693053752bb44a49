"""Editions of the policy are named, and compared clause by clause, word by word and level by level."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.knowledge.differences import WorkBudget
from audit.policy.clauses import VERSIONS, Clause, ClauseKind
from audit.policy.editions import (
    MOST_WORK,
    MOST_WORK_OF_PART,
    Edition,
    PolicyVersion,
    compare_editions,
    house_edition,
    whole_difference,
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


REPEATED = ("first " + "a " * 600 + "last", "first " + "a b " * 300 + "z last")


def test_a_part_that_costs_too_much_is_shown_whole_between_the_common_ends() -> None:
    old, new = REPEATED
    (changed,) = compare_editions(edition(clause(text=old)), edition(clause(text=new))).changed
    (part,) = changed.parts
    assert part.is_whole
    assert [word.kind for word in part.words] == ["same", "removed", "added", "same"]
    (changed,) = compare_editions(edition(clause(text=old)), edition(clause(text=old + "!"))).changed
    assert not changed.parts[0].is_whole, "only what is between the common ends counts"


def test_long_prose_is_compared_word_by_word() -> None:
    words = [f"word{number % 150}" if number % 10 else "the" for number in range(900)]
    other = [f"new{number}" if number % 40 == 0 else word for number, word in enumerate(words)]
    (changed,) = compare_editions(
        edition(clause(text=" ".join(words))), edition(clause(text=" ".join(other)))
    ).changed
    assert not changed.parts[0].is_whole


def test_all_clauses_of_a_comparison_share_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = []

    class Counted(WorkBudget):
        def spend(self, count: int) -> None:
            super().spend(count)
            pairs.append(count)

    monkeypatch.setattr("audit.policy.editions.WorkBudget", Counted)
    old, new = REPEATED
    ids = [f"P{number}" for number in range(1, 101)]
    difference = compare_editions(
        edition(*(clause(one, text=old, reason=old) for one in ids)),
        edition(*(clause(one, text=new, reason=new) for one in ids)),
    )
    assert all(part.is_whole for one in difference.changed for part in one.parts)
    # Each count is spent twice: of the part's own budget, and of the one for all.
    assert 0 < sum(pairs) <= 2 * MOST_WORK
    assert max(pairs) <= MOST_WORK_OF_PART


@given(st.text(), st.text())
def test_a_difference_holds_both_texts_whole(before: str, after: str) -> None:
    for words in (word_difference(before, after, WorkBudget(MOST_WORK)), whole_difference(before, after)):
        assert "".join(text for kind, text in words if kind != "added") == before
        assert "".join(text for kind, text in words if kind != "removed") == after
