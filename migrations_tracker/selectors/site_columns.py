"""The columns of the list of sites, of which each person chooses."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import QueryDict

COLUMNS: Mapping[str, str] = {
    "rule": "Rule",
    "level": "Level",
    "place": "Symbol and place",
    "crate": "Crate",
    "form": "Form",
    "outcome": "Outcome",
    "message": "What it says",
    "plan": "Plan",
    "due": "Due",
}
USUAL_COLUMNS = ("rule", "level", "place", "plan")


def columns_read(query: QueryDict) -> tuple[str, ...]:
    """Read from a URL which columns are shown; none that is one is the usual ones."""
    asked = set(query.getlist("columns"))
    return tuple(column for column in COLUMNS if column in asked) or USUAL_COLUMNS
