"""The programs as a database user who owns nothing."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.http import QueryDict

from audit.models import FallbackSite, Result
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import SiteMigration
from migrations_tracker.services.comments import comment_create
from migrations_tracker.services.saved_filters import saved_filter_drop, saved_filter_keep
from migrations_tracker.services.site_migrations import site_migration_transition
from tests.factories import ingest, make_report, make_repository, make_result, make_user

pytestmark = pytest.mark.django_db
ROLE = "ferroaudit-programs"


@pytest.fixture
def ada() -> User:
    return make_user()


@pytest.fixture
def programs(ada: User) -> Iterator[None]:
    """Act as the programs' own database user."""
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE ROLE "{ROLE}"')
        said = io.StringIO()
        call_command("database_user", ROLE, stdout=said)
        assert "change no log" in said.getvalue()
        cursor.execute(f'SET LOCAL ROLE "{ROLE}"')
    yield
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")


def some_work(ada: User) -> FallbackSite:
    """Scan, move a site on, comment, keep and drop a filter: with temporary tables, COPY and history."""
    repository = make_repository()
    ingest(repository, make_report([make_result()]))
    ingest(repository, make_report([make_result(), make_result("minitorch_gpu::ops::exp")]))
    site = FallbackSite.objects.order_by("pk")[0]
    site_migration_transition(site=site, to=Status.ACCEPTED, actor=ada, reason="seen")
    comment_create(subject=site, author=ada, text="so it is")
    row = saved_filter_keep(owner=ada, repository=repository, name="x", query=QueryDict(""), is_shared=True)
    saved_filter_drop(row=row, actor=ada)
    return site


def test_they_do_their_work(programs: None, ada: User) -> None:
    site = some_work(ada)
    assert site.migration.transitions.count() == 2
    Result.objects.update(site=site)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE migrations_tracker_transition SET reason = 'other'",
        "DELETE FROM audit_result",
        "UPDATE audit_result SET message = 'other'",
        "DELETE FROM migrations_tracker_commentevent",
        "DELETE FROM pghistory_context",
        "TRUNCATE migrations_tracker_comment",
        "ALTER TABLE migrations_tracker_transition DISABLE TRIGGER USER",
        "DROP TRIGGER context_is_kept ON pghistory_context",
        "DROP TABLE migrations_tracker_commentevent",
        "SET session_replication_role = replica",
        "CREATE OR REPLACE FUNCTION ferroaudit_refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END'",
        "CREATE RULE gone AS ON INSERT TO migrations_tracker_commentevent DO INSTEAD NOTHING",
        "CREATE TABLE public.mine (one int)",
        "DELETE FROM django_migrations",
        "COMMENT ON TABLE audit_result IS 'mine'",
    ],
)
def test_what_is_kept_they_can_neither_change_nor_have_changed(
    programs: None, ada: User, statement: str
) -> None:
    some_work(ada)
    with (
        pytest.raises(DatabaseError, match=r"denied|must be owner|Cannot"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def test_no_change_of_theirs_goes_by_its_history(programs: None, ada: User) -> None:
    site = some_work(ada)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgname FROM pg_trigger WHERE tgrelid = 'migrations_tracker_sitemigration'::regclass"
        )
        names = ",".join(name for (name,) in cursor.fetchall())
        cursor.execute("SELECT count(*) FROM migrations_tracker_sitemigrationevent")
        (before,) = cursor.fetchone() or (0,)
        cursor.execute("SELECT set_config('pgtrigger.ignore', %s, true)", [f"{{{names}}}"])
        SiteMigration.objects.filter(pk=site.migration.pk).update(status="planned")
        cursor.execute("SELECT count(*) FROM migrations_tracker_sitemigrationevent")
        assert cursor.fetchone() == (before + 1,)


def test_a_user_whom_nothing_is_refused_is_not_given_rights() -> None:
    with pytest.raises(CommandError, match="no database user"):
        call_command("database_user", "nobody-of-that-name")
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        (owner,) = cursor.fetchone() or ("",)
    with pytest.raises(CommandError, match="superuser"):
        call_command("database_user", owner)
