"""The twenty questions that were written down before the search was tuned."""

from __future__ import annotations

from benchmarks.search_questions import Asked, ask_all, questions, site_names
from migrations_tracker.services.search import search_refresh
from tests.factories import ingest, make_report, make_repository, make_result

WANTED = 18


def _asked() -> list[Asked]:
    results = [make_result(name, line=number * 10) for number, name in enumerate(site_names(), 1)]
    ingest(make_repository(), make_report(results))
    search_refresh()
    return ask_all()


def test_there_are_twenty_questions() -> None:
    assert len(questions()) == 20
    assert all(question.right for question in questions())


def test_the_right_entry_is_among_the_first_three_for_eighteen_of_twenty(db: None) -> None:
    asked = _asked()
    missed = [(one.question.asks, one.first) for one in asked if not one.is_right]
    assert len(asked) - len(missed) >= WANTED, missed
