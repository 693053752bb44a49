"""Writing and naming many rows at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from django.db import connection, models
from django.db.models.expressions import RawSQL
from psycopg import sql

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def rows_copy(*, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows by COPY. The caller keeps what COPY does not check: choices and defaults."""
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def ids_reserve(*, model: type[models.Model], count: int) -> list[int]:
    """Take `count` primary keys from the table's sequence."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)",
            [model._meta.db_table, count],
        )
        return [row[0] for row in cursor.fetchall()]


def ids_among(ids: Iterable[int]) -> RawSQL:
    """Return ids for `__in` as one parameter: a statement with 100,000 of them takes seconds to write."""
    return RawSQL("SELECT unnest(%s::bigint[])", [list(ids)])


def as_json(value: object) -> str:
    """Write a value as a JSON column takes it from COPY."""
    # One encoder for all: `json.dumps` makes one for each value, which takes longer than the value.
    return _encoder.encode(value)
