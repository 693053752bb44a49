"""A database user for the programs, who may not do what the owner of the tables may."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.apps import apps
from django.db import connection, transaction
from pghistory.models import Context

from audit.models.append_only import Refusal
from migrations_tracker.errors import PlanError

#: Of what is kept, the columns that may change: which site a result is of, that a unit is gone, and what a
#: request goes on to say of itself.
CHANGING: Mapping[str, tuple[str, ...]] = {
    "audit_result": ("site_id",),
    "migrations_tracker_planevent": ("unit_id",),
    Context._meta.db_table: ("metadata", "updated_at"),
}
# Triggers that write the history ask this function whether a session wants them to look away. A schema
# migration that adds a trigger makes it anew.
_NOBODY_LOOKS_AWAY = """
CREATE OR REPLACE FUNCTION _pgtrigger_should_ignore(trigger_name NAME) RETURNS BOOLEAN
LANGUAGE sql AS 'SELECT false'
"""


def database_rights_give(*, role: str) -> int:
    """Give a database user what the programs need, and take what they don't; return how many tables it sees.

    Raises `PlanError` where the user is none, or one whom nothing can be refused.
    """
    _role_check(role)
    tables = connection.introspection.table_names()
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in _statements(connection.ops.quote_name(role), tables):
            cursor.execute(statement)
    return len(tables)


def tables_kept() -> set[str]:
    """Return the tables whose rows stay as they were written."""
    triggers = {
        model._meta.db_table: getattr(model._meta, "triggers", ())  # The library's own option.
        for model in apps.get_models()
    }
    kept = {table for table, own in triggers.items() if any(isinstance(one, Refusal) for one in own)}
    return kept | {Context._meta.db_table}


def _role_check(role: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolsuper, pg_has_role(oid, current_user, 'MEMBER') FROM pg_roles WHERE rolname = %s",
            [role],
        )
        found = cursor.fetchone()
    if found is None:
        raise PlanError(f"There is no database user `{role}`: CREATE ROLE makes one.")
    is_super, is_owner = found
    if is_super:
        raise PlanError(f"`{role}` is a superuser, whom nothing is refused.")
    if is_owner:
        raise PlanError(f"`{role}` acts for the owner of the tables, who can take every refusal away.")


def _statements(role: str, tables: list[str]) -> Iterator[str]:
    quoted = connection.ops.quote_name
    yield _NOBODY_LOOKS_AWAY
    yield f"GRANT USAGE ON SCHEMA public TO {role}"
    yield f"REVOKE CREATE ON SCHEMA public FROM {role}"
    yield f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {role}"
    kept = tables_kept()
    for table in sorted(tables):
        yield f"REVOKE ALL ON {quoted(table)} FROM {role}"
        if table == "django_migrations":
            yield f"GRANT SELECT ON {quoted(table)} TO {role}"
        elif table not in kept:
            yield f"GRANT SELECT, INSERT, UPDATE, DELETE ON {quoted(table)} TO {role}"
        else:
            yield f"GRANT SELECT, INSERT ON {quoted(table)} TO {role}"
            for column in CHANGING.get(table, ()):
                yield f"GRANT UPDATE ({quoted(column)}) ON {quoted(table)} TO {role}"
