"""Pages of a list that begin behind a row, not at a number: as fast at the end as at the start."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import BooleanField, F, Func, IntegerField, Model, QuerySet, Value

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class KeysetPage(Generic[Row]):
    """Some rows of a list; `previous` and `next` go into the URL, and are empty at the ends."""

    rows: Sequence[Row]
    previous: str = ""
    next: str = ""


def keyset_page(
    rows: QuerySet[Row], *, columns: Sequence[str], cursor: str, size: int, is_descending: bool = False
) -> KeysetPage[Row]:
    """Return the page that `cursor` names, in the order of `columns`, which together name one row.

    A cursor that is none is the first page.
    """
    key, is_backward = _decode(cursor, rows.model, columns)
    is_reversed = is_backward != is_descending
    page = rows.order_by(*(F(column).desc() if is_reversed else F(column).asc() for column in columns))
    if key:
        page = page.filter(_beyond(columns, key, is_reversed=is_reversed))
    found = list(page[: size + 1])
    has_more = len(found) > size
    found = found[:size]
    if is_backward:
        found.reverse()
    if not found:
        return KeysetPage(())
    has_previous = has_more if is_backward else bool(key)
    has_next = True if is_backward else has_more
    return KeysetPage(
        found,
        previous=_encode(found[0], columns, is_backward=True) if has_previous else "",
        next=_encode(found[-1], columns, is_backward=False) if has_next else "",
    )


def _encode(row: Model, columns: Sequence[str], *, is_backward: bool) -> str:
    key = [is_backward, *(getattr(row, column) for column in columns)]
    text = json.dumps(key, separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str, model: type[Model], columns: Sequence[str]) -> tuple[list[object], bool]:
    try:
        is_backward, *key = json.loads(base64.urlsafe_b64decode((cursor + "=" * (-len(cursor) % 4)).encode()))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        return [], False
    fits = len(key) == len(columns) and all(
        _fits(model, column, value) for column, value in zip(columns, key, strict=True)
    )
    return (key, bool(is_backward)) if fits else ([], False)


def _fits(model: type[Model], column: str, value: object) -> bool:
    if isinstance(model._meta.get_field(column), IntegerField):
        return type(value) is int and -(2**31) <= value < 2**63
    return is_text(value)


def is_text(value: object) -> bool:
    """Whether the database can compare its texts with a value: a zero byte or half a character is none."""
    if not isinstance(value, str) or "\0" in value:
        return False
    return not any("\ud800" <= character <= "\udfff" for character in value)


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
