"""The list of sites: filters, sort orders and pages, all in SQL."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from django.db.models import BooleanField, F, Func, IntegerField, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.http import QueryDict
from django.utils import timezone

from audit.models import Branch, SiteState
from audit.policy.forms import FORMS_BY_KEY
from audit.scanner.report import Outcome
from migrations_tracker.lifecycle import AT_REST, Status
from migrations_tracker.models import SiteMigration
from migrations_tracker.selectors.keyset import is_text

PAGE_SIZE = 50
# As few rows as these are read and sorted; what no index counts is counted no further.
SORTED_AT_MOST = 5_000
NOT_TOLD = "not-told"
OUTCOMES = (*(outcome.value for outcome in Outcome), NOT_TOLD)


class Seen(StrEnum):
    """What the scanner sees of a site now."""

    OPEN = "open"
    ABSENT = "absent"
    # Gone, and its migration has not come that far: what became of it is to be found out.
    LEFT = "left"
    ANY = "any"


SEEN_LABELS = {
    Seen.OPEN: "Still there",
    Seen.ABSENT: "Gone",
    Seen.LEFT: "Gone, not migrated",
    Seen.ANY: "Both",
}
STANDING = tuple(status.value for status in Status if status not in {Status.MIGRATED, Status.VERIFIED})


@dataclass(frozen=True, slots=True)
class SortOrder:
    """An order of the list. The last column is unique, so that every page has one beginning."""

    label: str
    columns: tuple[str, ...]
    is_descending: bool = False


_PLACE = ("path", "start_line", "id")
SORT_ORDERS: Mapping[str, SortOrder] = {
    "path": SortOrder("File and line", _PLACE),
    "level": SortOrder("Level", ("level_rank", *_PLACE)),
    "rule": SortOrder("Rule", ("rule_id", *_PLACE)),
    "crate": SortOrder("Crate", ("crate", *_PLACE)),
    "symbol": SortOrder("Symbol", ("symbol", "id")),
    "newest": SortOrder("Newest first", ("site_id",), is_descending=True),
    "due": SortOrder("Due first", ("due_days", "id")),
}
_AS_STORED = SortOrder("As stored", ("id",))
DUE_LABELS = (("overdue", "Overdue"), ("dated", "With a due date"), ("undated", "Without"))
_UNDATED = 2**31 - 1
_DUE_ON = "site__migration__due_on"
DEFAULT_SORT, DUE_SORT = "path", "due"


@dataclass(frozen=True, slots=True)
class SiteFilters:
    """What the list is narrowed to; an empty field does not narrow."""

    seen: str = Seen.OPEN.value
    crate: str = ""
    rule: str = ""
    form: str = ""
    level: str = ""
    status: str = ""
    text: str = ""
    outcome: str = ""
    due: str = ""
    sort: str = DEFAULT_SORT

    @property
    def is_narrowed(self) -> bool:
        """Whether anything but the order differs from the plain list."""
        return replace(self, sort=DEFAULT_SORT) != SiteFilters()

    @property
    def is_counted_by_index(self) -> bool:
        """Whether one index holds all that the filters compare."""
        return not (self.is_of_migrations or self.due or self.text.split())

    @property
    def is_of_migrations(self) -> bool:
        """Whether the filters compare how migrations stand."""
        return bool(self.status) or self.seen == Seen.LEFT.value

    @property
    def halves(self) -> Sequence[bool | None]:
        """Which of the open sites (true) and of those that are gone can match; None is both in one."""
        if self.seen == Seen.OPEN.value:
            return (True,) if not self.outcome else ()
        if self.seen == Seen.ANY.value and not self.outcome:
            return (None,) if self.sort == DUE_SORT else (True, False)
        return (False,)


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page of the list. `previous` and `next` are cursors for the URL, empty at the ends.

    `total` is as far as was counted where `is_more`.
    """

    states: Sequence[SiteState]
    total: int
    is_more: bool = False
    previous: str = ""
    next: str = ""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page begins: the sort key of the row before it, or after it when read backward."""

    key: tuple[str | int, ...] = ()
    is_backward: bool = False

    def encode(self) -> str:
        """Write the cursor as it stands in a URL."""
        text = json.dumps([self.is_backward, *self.key], separators=(",", ":"), ensure_ascii=False)
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def cursor_decode(text: str, sort: str) -> Cursor:
    """Read a cursor from a URL; one that does not fit the sort order is the first page."""
    try:
        padded = text + "=" * (-len(text) % 4)
        is_backward, *key = json.loads(base64.urlsafe_b64decode(padded.encode()))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        return Cursor()
    columns = SORT_ORDERS[sort].columns
    is_whole = len(key) == len(columns) and all(
        _fits(column, value) for column, value in zip(columns, key, strict=True)
    )
    return Cursor(tuple(key), bool(is_backward)) if is_whole else Cursor()


def _fits(column: str, value: object) -> bool:
    if column in {"path", "rule_id", "crate", "symbol"}:
        return is_text(value)
    return type(value) is int and -(2**31) <= value < 2**63


def filters_read(query: QueryDict) -> SiteFilters:
    """Read the filters from a URL; a value that is none is left out."""
    sort = query.get("sort", "")
    status = query.get("status", "")
    seen = query.get("seen", "")
    outcome = query.get("outcome", "")
    due = query.get("due", "")
    return SiteFilters(
        seen=seen if seen in set(Seen) else Seen.OPEN.value,
        crate=_clean(query.get("crate", "")),
        rule=_clean(query.get("rule", "")),
        form=_clean(query.get("form", "")),
        level=_clean(query.get("level", "")),
        status=status if status in set(Status) else "",
        text=_clean(query.get("q", "")),
        outcome=outcome if outcome in OUTCOMES else "",
        due=due if due in dict(DUE_LABELS) else "",
        sort=sort if sort in SORT_ORDERS else DEFAULT_SORT,
    )


def _clean(text: str) -> str:
    return text.replace("\0", "").strip()[:200]


def site_list(
    *, branch: Branch, filters: SiteFilters, cursor: Cursor = Cursor(), size: int = PAGE_SIZE
) -> SitePage:
    """Return one page of the sites on a branch."""
    order = SORT_ORDERS[filters.sort]
    parts = _parts(branch, filters, cursor, size + 1)
    # The indexes keep those that are open and those that are gone apart.
    found = SiteState.objects.filter(pk__in=[pk for part in parts for pk in part.first])
    shown = with_order(found, filters)
    rows = list(shown.select_related("site__migration__assignee"))
    rows.sort(key=lambda state: _key(state, order), reverse=order.is_descending != cursor.is_backward)
    has_more = len(rows) > size
    rows = rows[:size]
    if cursor.is_backward:
        rows.reverse()
    total, is_more = sum(part.count for part in parts), any(part.is_more for part in parts)
    if not rows:
        return SitePage((), total, is_more)
    has_previous = has_more if cursor.is_backward else bool(cursor.key)
    has_next = has_more if not cursor.is_backward else True
    return SitePage(
        rows,
        total,
        is_more,
        previous=Cursor(_key(rows[0], order), is_backward=True).encode() if has_previous else "",
        next=Cursor(_key(rows[-1], order)).encode() if has_next else "",
    )


def site_count(*, branch: Branch, filters: SiteFilters) -> int:
    """Count all sites on a branch that `filters` match, however long that takes."""
    return sites_narrowed(branch, filters).count()


@dataclass(frozen=True, slots=True)
class _Part:
    """Of the open sites or of those that are gone: how many match, and the keys of a page's."""

    count: int
    is_more: bool
    first: Sequence[int]


def _parts(branch: Branch, filters: SiteFilters, cursor: Cursor, size: int) -> list[_Part]:
    """Count the halves and find their first rows. What no index counts is read in one go for both.

    To find a text in symbols and paths costs as much for one half as for both. Where more rows match than
    are read, the half that has too many of them to be sorted is known, and only the other one is read again.
    """
    halves = filters.halves
    if len(halves) == 1 or filters.is_counted_by_index or filters.is_of_migrations:
        return [_part(branch, filters, cursor, size, is_open=is_open) for is_open in halves]
    most = len(halves) * (SORTED_AT_MOST + 1)
    columns = ("is_open", "pk", *SORT_ORDERS[filters.sort].columns)
    found = list(sites_narrowed(branch, filters).values_list(*columns)[:most])
    parts = []
    for is_open in halves:
        rows = [row[1:] for row in found if row[0] == is_open]
        is_told = len(found) < most or len(rows) > SORTED_AT_MOST
        parts.append(_part(branch, filters, cursor, size, is_open=is_open, rows=rows if is_told else None))
    return parts


def _part(
    branch: Branch,
    filters: SiteFilters,
    cursor: Cursor,
    size: int,
    *,
    is_open: bool | None,
    rows: Sequence[tuple[Any, ...]] | None = None,
) -> _Part:
    """Count one half and find its first rows: few are read and sorted, of many the order is walked.

    To walk the order for few, or for none, would be to read all there is; to sort many, too.
    """
    half = sites_narrowed(branch, filters)
    if is_open is not None:
        half = half.filter(is_open=is_open)
    order = SORT_ORDERS[filters.sort]
    count = half.count() if filters.is_counted_by_index else None
    if count == 0:
        return _Part(0, is_more=False, first=())
    if count is None or count <= SORTED_AT_MOST:
        if rows is None and (few := _few_of(half, branch, filters)) is not None:
            rows = _keys_of(few, filters)
        if rows is not None and len(rows) <= SORTED_AT_MOST:
            return _Part(len(rows), is_more=False, first=_sorted(rows, order, cursor)[:size])
    walk = _walked_by_due if filters.sort == DUE_SORT and not filters.due else _walked
    first = walk(with_order(half, filters), order, cursor, size)
    return _Part(SORTED_AT_MOST if count is None else count, is_more=count is None, first=first)


def _few_of(half: QuerySet[SiteState], branch: Branch, filters: SiteFilters) -> QuerySet[SiteState] | None:
    """Name the few sites whose migrations stand as asked for; None where they are more than are sorted.

    One index has the sites of a branch: where none of very many stands so, no row of them is read.
    """
    if not filters.is_of_migrations:
        return half
    sites = list(half.values_list("site_id", flat=True)[: SORTED_AT_MOST + 1])
    if len(sites) > SORTED_AT_MOST:
        return None
    return SiteState.objects.filter(branch=branch, site__in=sites)


def _keys_of(few: QuerySet[SiteState], filters: SiteFilters) -> Sequence[tuple[Any, ...]]:
    """Return the primary keys and what is sorted by, of one row more than are sorted at most.

    Due dates are looked up only when it is known that few match: to join them to thousands of rows that are
    then not sorted takes longer than all else.
    """
    order = SORT_ORDERS[filters.sort]
    if filters.sort != DUE_SORT:
        return list(few.values_list("pk", *order.columns)[: SORTED_AT_MOST + 1])
    keys = list(few.values_list("pk", flat=True)[: SORTED_AT_MOST + 1])
    if len(keys) > SORTED_AT_MOST:
        return [(key,) for key in keys]
    dated = few.filter(**{f"{_DUE_ON}__isnull": False})
    days = dict(dated.annotate(due_days=_due_days()).values_list("pk", "due_days")) if keys else {}
    return [(key, days.get(key, _UNDATED), key) for key in keys]


def _sorted(rows: Sequence[tuple[Any, ...]], order: SortOrder, cursor: Cursor) -> Sequence[int]:
    """Return the primary keys of the rows beyond the cursor. Python compares text as collation C does."""
    is_reversed = order.is_descending != cursor.is_backward
    if cursor.key:
        rows = [row for row in rows if (row[1:] < cursor.key if is_reversed else row[1:] > cursor.key)]
    return [row[0] for row in sorted(rows, key=lambda row: row[1:], reverse=is_reversed)]


def _walked(half: QuerySet[SiteState], order: SortOrder, cursor: Cursor, size: int) -> list[int]:
    """Return the primary keys of the first rows beyond the cursor, in the order that an index has."""
    is_reversed = order.is_descending != cursor.is_backward
    page = half.order_by(*(F(c).desc() if is_reversed else F(c).asc() for c in order.columns))
    if cursor.key:
        page = page.filter(_beyond(order.columns, cursor.key, is_reversed=is_reversed))
    return list(page.values_list("pk", flat=True)[:size])


def _walked_by_due(half: QuerySet[SiteState], order: SortOrder, cursor: Cursor, size: int) -> list[int]:
    """Return the same by due date: what has one is sorted, what has none comes after it, as it was stored."""
    dated, undated = (half.filter(**{f"{_DUE_ON}__isnull": has_none}) for has_none in (False, True))
    is_past_dates = bool(cursor.key) and cursor.key[0] == _UNDATED
    last = Cursor(cursor.key[1:] if is_past_dates else (), cursor.is_backward)
    of_dated = [] if is_past_dates and not cursor.is_backward else _walked(dated, order, cursor, size)
    is_left = len(of_dated) < size and not (cursor.key and cursor.is_backward and not is_past_dates)
    of_undated = _walked(undated, _AS_STORED, last, size) if is_left else []
    return of_undated + of_dated if cursor.is_backward else of_dated + of_undated


def sites_narrowed(branch: Branch, filters: SiteFilters) -> QuerySet[SiteState]:
    """Return the states of the sites on a branch that `filters` match."""
    states = SiteState.objects.filter(branch=branch)
    if filters.seen != Seen.ANY.value:
        states = states.filter(is_open=filters.seen == Seen.OPEN.value)
    if filters.seen == Seen.LEFT.value:
        states = states.filter(site__in=_at_status(*STANDING))
    exact = {"crate": filters.crate, "rule_id": filters.rule, "level": filters.level}
    states = states.filter(**{column: value for column, value in exact.items() if value})
    if filters.form:
        states = of_form(states, filters.form)
    if filters.outcome:
        told = "" if filters.outcome == NOT_TOLD else filters.outcome
        states = states.filter(is_open=False, outcome=told)
    if filters.status:
        states = states.filter(site__in=_at_status(filters.status))
    if filters.due:
        states = states.filter(_is_due(filters.due))
    for word in filters.text.split():
        states = states.filter(Q(symbol__icontains=word) | Q(path__icontains=word))
    return states


def with_order(states: QuerySet[SiteState], filters: SiteFilters) -> QuerySet[SiteState]:
    """Give states what they are sorted by, where that is no column of theirs."""
    return states.annotate(due_days=_due_days()) if filters.sort == DUE_SORT else states


def _at_status(*statuses: str) -> QuerySet[SiteMigration, Any]:
    """Name the sites whose migrations stand there, without a look at the rows of the sites."""
    return SiteMigration.objects.filter(status__in=statuses, site__isnull=False).values("site")


def of_form(states: QuerySet[SiteState], form: str) -> QuerySet[SiteState]:
    """Narrow states to a form. An index has it after the rule: those that report the form are named."""
    known = FORMS_BY_KEY.get(form)
    return states.filter(form=form, **({"rule_id__in": known.rules} if known is not None else {}))


def _is_due(wanted: str) -> Q:
    if wanted == "overdue":
        today = timezone.localdate()
        return Q(**{f"{_DUE_ON}__lt": today}) & ~Q(site__migration__status__in=sorted(AT_REST))
    return Q(**{f"{_DUE_ON}__isnull": wanted == "undated"})


def _due_days() -> Coalesce:
    """Count the days up to the due date, so that a cursor holds a number; what has none comes last."""
    days = Func(F(_DUE_ON), template="(%(expressions)s - DATE '1970-01-01')", output_field=IntegerField())
    return Coalesce(days, Value(_UNDATED), output_field=IntegerField())


def _beyond(columns: Sequence[str], key: Sequence[object], *, is_reversed: bool) -> Func:
    """Compare whole rows, which an index on the columns answers from any page on."""
    left: Any = Func(*map(F, columns), template="(%(expressions)s)")
    right: Any = Func(*map(Value, key), template="(%(expressions)s)")
    return Func(
        left,
        right,
        template="%(expressions)s",
        arg_joiner=" < " if is_reversed else " > ",
        output_field=BooleanField(),
    )


def _key(state: SiteState, order: SortOrder) -> tuple[str | int, ...]:
    return tuple(getattr(state, column) for column in order.columns)
