"""What the database keeps as it was written, whoever asks and whatever their session sets."""

from __future__ import annotations

import re

import pgtrigger
import pytest
from django.apps import apps
from django.db import ProgrammingError, connection, models, transaction
from django.http import QueryDict
from pghistory.models import Context, Event

from audit.models.append_only import Refusal
from migrations_tracker.services.saved_filters import saved_filter_drop, saved_filter_keep
from tests.factories import make_repository, make_user

KEPT = [
    model
    for model in apps.get_models()
    if any(isinstance(trigger, Refusal) for trigger in getattr(model._meta, "triggers", ()))
]
EVENTS = [model for model in apps.get_models() if issubclass(model, Event) and model._meta.managed]
TABLES = [*(model._meta.db_table for model in KEPT), Context._meta.db_table]
#: In these a part may change: which site a result is of, that a unit is gone, what a request goes on to say.
CHANGED_IN_PART = {"audit_result", "migrations_tracker_planevent", "pghistory_context"}
REFUSED = "Cannot (truncate|delete|update)"


def trigger_lines(table: str) -> list[str]:
    """Return what the database itself says of the triggers that refuse something."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = %s::regclass AND tgenabled = 'O'"
            " AND tgfoid = 'ferroaudit_refuse'::regproc",
            [table],
        )
        return [line for (line,) in cursor.fetchall()]


def test_every_table_of_events_and_every_log_is_kept() -> None:
    logs = {"transition", "planevent", "result", "machineevent", "auditnote", "driveranswer"}
    logs |= {"entryrevision", "repositorypolicy", "capabilitygapchange"}
    assert len(EVENTS) > 15
    assert {model._meta.model_name for model in KEPT} == logs | {one._meta.model_name for one in EVENTS}


def test_nothing_is_protected_by_what_a_session_can_set_aside() -> None:
    soft = [
        f"{model._meta.label} {trigger.name}"
        for model in apps.get_models()
        for trigger in getattr(model._meta, "triggers", ())
        if isinstance(trigger, pgtrigger.Protect)
    ]
    assert soft == []


@pytest.mark.django_db
@pytest.mark.parametrize("table", TABLES)
def test_rows_of_a_log_are_neither_changed_nor_removed(table: str) -> None:
    lines = trigger_lines(table)
    for operation in ("DELETE", "UPDATE"):
        unconditional = [
            line
            for line in lines
            if re.search(rf"BEFORE [A-Z ]*{operation}\b", line) and " WHEN " not in line
        ]
        assert unconditional or (operation == "UPDATE" and table in CHANGED_IN_PART), operation


@pytest.mark.django_db
@pytest.mark.parametrize("table", TABLES)
def test_a_log_is_never_emptied_whatever_a_session_sets(table: str) -> None:
    with connection.cursor() as cursor, pgtrigger.ignore():
        for names in ([], all_triggers(table)):
            cursor.execute("SELECT set_config('pgtrigger.ignore', %s, true)", [f"{{{','.join(names)}}}"])
            with pytest.raises(ProgrammingError, match="Cannot truncate"), transaction.atomic():
                cursor.execute(f"TRUNCATE {connection.ops.quote_name(table)} CASCADE")


def all_triggers(table: str) -> list[str]:
    """Return the names by which a session would ask triggers to look away."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgname FROM pg_trigger WHERE tgrelid = %s::regclass", [table])
        return [name for (name,) in cursor.fetchall()]


def kept_filter_events() -> type[models.Model]:
    """Leave three events in a table of events, and return its model."""
    ada = make_user()
    row = saved_filter_keep(
        owner=ada, repository=make_repository(), name="x", query=QueryDict(""), is_shared=False
    )
    saved_filter_keep(owner=ada, repository=row.repository, name="x", query=QueryDict(""), is_shared=True)
    saved_filter_drop(row=row, actor=ada)
    return apps.get_model("migrations_tracker", "SavedFilterEvent")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {events} SET name = 'other'",
        "DELETE FROM {events}",
        "WITH gone AS (DELETE FROM {events} RETURNING 1) SELECT count(*) FROM gone",
        "INSERT INTO {events} SELECT * FROM {events} ON CONFLICT (pgh_id) DO UPDATE SET name = 'other'",
        "MERGE INTO {events} AS event USING auth_user ON true WHEN MATCHED THEN DELETE",
        "TRUNCATE {events}",
        "TRUNCATE migrations_tracker_sitemigration CASCADE",
    ],
)
def test_no_statement_takes_an_event_back(statement: str) -> None:
    events = kept_filter_events()
    assert events._default_manager.count() == 3
    with pytest.raises(ProgrammingError, match=REFUSED), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement.format(events=events._meta.db_table))
    assert events._default_manager.filter(name="x").count() == 3


@pytest.mark.django_db
def test_who_made_a_change_is_not_made_somebody_else_afterwards() -> None:
    context = Context.objects.create(metadata={"user": 7, "url": None})
    Context.objects.filter(pk=context.pk).update(metadata={"user": None, "url": "/sites/", "more": 1})
    Context.objects.filter(pk=context.pk).update(metadata={"user": 8})
    context.refresh_from_db()
    assert context.metadata == {"user": 7, "url": "/sites/", "more": 1}
