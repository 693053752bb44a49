"""The list of sites as CSV, read and written row by row however long it is."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from django.db.models import F

from audit.models import Branch
from migrations_tracker.scheduling.texts.csv_table import neutralised
from migrations_tracker.selectors.site_list import SORT_ORDERS, SiteFilters, sites_narrowed, with_order

HEAD = (
    "site",
    "state",
    "rule",
    "level",
    "crate",
    "path",
    "line",
    "symbol",
    "outcome",
    "status",
    "assignee",
    "due",
    "text",
)
_COLUMNS = (
    "site_id",
    "is_open",
    "rule_id",
    "level",
    "crate",
    "path",
    "start_line",
    "symbol",
    "outcome",
    "site__migration__status",
    "site__migration__assignee__username",
    "site__migration__due_on",
    "message",
)
ROWS_AT_ONCE = 1000


class _Text:
    """Collects what `csv.writer` writes until it is taken."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def write(self, text: str) -> None:
        self._parts.append(text)

    def take(self) -> str:
        """Return what was written since the last time."""
        text = "".join(self._parts)
        self._parts.clear()
        return text


def site_csv(*, branch: Branch, filters: SiteFilters) -> Iterator[str]:
    """Yield a header and then some records at a time; cells that a spreadsheet would run are text.

    The rows come through a cursor in the database, in the order of the list.
    """
    order = SORT_ORDERS[filters.sort]
    columns = (F(name).desc() if order.is_descending else F(name).asc() for name in order.columns)
    states = with_order(sites_narrowed(branch, filters), filters)
    rows = states.order_by(*columns).values_list(*_COLUMNS)
    text = _Text()
    write = csv.writer(text, lineterminator="\r\n").writerow
    write(HEAD)
    for number, (site_id, is_open, *cells) in enumerate(rows.iterator(chunk_size=ROWS_AT_ONCE), 1):
        write((site_id, "open" if is_open else "closed", *(neutralised(_cell(cell)) for cell in cells)))
        if number % ROWS_AT_ONCE == 0:
            yield text.take()
    yield text.take()


def _cell(value: object) -> str:
    return "" if value is None else str(value)
