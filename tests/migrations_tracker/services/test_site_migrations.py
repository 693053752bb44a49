"""Moving migrations: by people, by scans, and never past what a machine saw."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import IntegrityError, ProgrammingError, transaction

from audit.models import Commit, FallbackSite, Repository, SiteState
from audit.scanner.report import Outcome, SiteOutcome
from migrations_tracker.errors import ChangedMeanwhileError, PlanError
from migrations_tracker.lifecycle import Status, TransitionNotAllowedError
from migrations_tracker.models import SiteMigration, Suppression, Transition, Watch
from migrations_tracker.roles import Role
from migrations_tracker.services.comments import MAX_LENGTH, comment_create
from migrations_tracker.services.site_migrations import site_migration_assign, site_migration_transition
from tests.factories import ingest, make_member, make_report, make_repository, make_result, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def repository() -> Repository:
    return make_repository()


@pytest.fixture
def site(repository: Repository) -> FallbackSite:
    ingest(repository, make_report([make_result()]))
    return FallbackSite.objects.get()


@pytest.fixture
def ada() -> User:
    return make_user(role=Role.LEAD)


def remove_site(repository: Repository) -> None:
    ingest(repository, make_report([], files=[make_result().path]))


def steps(site: FallbackSite) -> list[tuple[str, str, str]]:
    found = Transition.objects.filter(site_migration__site=site).order_by("id")
    return list(found.values_list("from_status", "to_status", "cause"))


def test_a_scan_opens_the_migration_of_each_new_site(site: FallbackSite) -> None:
    assert site.migration.status == "open"
    assert steps(site) == [("", "open", "scanner")]


def test_a_step_is_kept_with_who_took_it_and_why(site: FallbackSite, ada: User) -> None:
    migration = site_migration_transition(site=site, to=Status.ACCEPTED, actor=ada, reason="real")
    assert (migration.status, migration.version) == ("accepted", 2)
    last = Transition.objects.filter(site_migration=migration).latest("id")
    assert (last.actor, last.reason, last.cause) == (ada, "real", "person")


def test_a_person_cannot_mark_migrated_what_the_scanner_sees(site: FallbackSite, ada: User) -> None:
    with pytest.raises(TransitionNotAllowedError, match="still sees"):
        site_migration_transition(site=site, to=Status.MIGRATED, actor=ada, reason="done")
    assert steps(site) == [("", "open", "scanner")]


def test_a_person_marks_migrated_what_is_gone(site: FallbackSite, ada: User, repository: Repository) -> None:
    remove_site(repository)
    site_migration_transition(site=site, to=Status.MIGRATED, actor=ada, reason="returns a structured error")
    assert SiteMigration.objects.get().status == "migrated"


def test_a_person_marks_migrated_what_is_gone_for_an_unknown_cause_with_the_commit_alone(
    site: FallbackSite, ada: User, repository: Repository
) -> None:
    remove_site(repository)
    # As a hold that was released leaves it.
    SiteState.objects.filter(site=site).update(outcome="")
    commit = Commit.objects.create(repository=repository, object_id="a1b2c3d4e5" * 4)
    for reason in ("done", f"Settled in {'0' * 12}.", f"Settled in #{commit.pk}."):
        with pytest.raises(TransitionNotAllowedError, match="the commit that settled it"):
            site_migration_transition(site=site, to=Status.MIGRATED, actor=ada, reason=reason)
    settled = f"Settled in {commit.object_id[:9]}."
    migration = site_migration_transition(site=site, to=Status.MIGRATED, actor=ada, reason=settled)
    assert migration.status == "migrated"


def test_a_migrated_site_that_comes_back_is_reopened(
    site: FallbackSite, ada: User, repository: Repository
) -> None:
    remove_site(repository)
    site_migration_transition(site=site, to=Status.MIGRATED, actor=ada, reason="done")
    ingest(repository, make_report([make_result()]))
    assert steps(site)[-1] == ("migrated", "reopened", "scanner")
    assert SiteMigration.objects.get().status == "reopened"


def test_a_site_that_is_merely_gone_keeps_its_status(
    site: FallbackSite, ada: User, repository: Repository
) -> None:
    site_migration_transition(site=site, to=Status.ACCEPTED, actor=ada)
    remove_site(repository)
    assert SiteMigration.objects.get().status == "accepted"


@pytest.mark.parametrize("outcome", Outcome)
def test_a_site_that_is_gone_is_migrated_where_the_scan_saw_what_became_of_it(
    site: FallbackSite, ada: User, repository: Repository, outcome: Outcome
) -> None:
    site_migration_transition(site=site, to=Status.ACCEPTED, actor=ada)
    gone = make_report([], files=[make_result().path])
    ingest(repository, replace(gone, outcomes={site.pk: SiteOutcome(outcome, "as seen")}))
    waits = outcome is Outcome.REMOVED
    assert SiteMigration.objects.get().status == ("accepted" if waits else "migrated")
    if not waits:
        step = Transition.objects.latest("id")
        assert (step.from_status, step.cause, step.actor) == ("accepted", "scanner", None)
        assert outcome.value in step.reason


def test_a_site_that_another_scanner_no_longer_reports_in_the_same_code_is_not_migrated(
    site: FallbackSite, repository: Repository
) -> None:
    gone = make_report([], files=[make_result().path])
    told = {site.pk: SiteOutcome(Outcome.COMPOSITE, "as seen")}
    commit = site.first_seen_scan.commit
    ingest(repository, replace(gone, outcomes=told), commit=commit, scanner_version="2.0")
    assert not site.states.get().is_open
    assert SiteMigration.objects.get().status == "open"


def test_suppressing_needs_a_reason_and_keeps_it_as_the_justification(site: FallbackSite, ada: User) -> None:
    with pytest.raises(TransitionNotAllowedError, match="Say why"):
        site_migration_transition(site=site, to=Status.SUPPRESSED, actor=ada, reason="  ")
    site_migration_transition(site=site, to=Status.SUPPRESSED, actor=ada, reason="validation only")
    suppression = Suppression.objects.get()
    assert (suppression.status, suppression.justification) == ("accepted", "validation only")


def test_a_suppression_ends_with_its_site(site: FallbackSite, ada: User, repository: Repository) -> None:
    site_migration_transition(site=site, to=Status.SUPPRESSED, actor=ada, reason="validation only")
    remove_site(repository)
    assert Suppression.objects.get().ended_at is not None
    assert SiteMigration.objects.get().status == "open"


def test_a_suppression_ends_when_a_person_ends_it(site: FallbackSite, ada: User) -> None:
    site_migration_transition(site=site, to=Status.SUPPRESSED, actor=ada, reason="validation only")
    site_migration_transition(site=site, to=Status.OPEN, actor=ada, reason="it is not")
    assert Suppression.objects.get().ended_because == "it is not"


def test_two_people_do_not_overwrite_each_other_unseen(site: FallbackSite, ada: User) -> None:
    site_migration_transition(site=site, to=Status.ACCEPTED, actor=ada, seen_version=1)
    with pytest.raises(ChangedMeanwhileError, match="accepted"):
        site_migration_transition(site=site, to=Status.SUPPRESSED, actor=ada, reason="no", seen_version=1)


def test_an_owner_has_a_role_in_the_repository(site: FallbackSite, repository: Repository, ada: User) -> None:
    eve = make_user("eve", role=None)
    make_member(eve, Role.LEAD, make_repository("elsewhere"))
    with pytest.raises(PlanError, match="no role in this repository"):
        site_migration_assign(migration=site.migration, assignee=eve, actor=ada)
    assert not Watch.objects.filter(owner=eve).exists()
    make_member(eve, Role.READER, repository)
    again = User.objects.get(pk=eve.pk)
    assert site_migration_assign(migration=site.migration, assignee=again, actor=ada).assignee == eve


def test_scanning_again_adds_no_step(site: FallbackSite, repository: Repository) -> None:
    ingest(repository, make_report([make_result()]))
    assert len(steps(site)) == 1


@pytest.mark.parametrize("change", ["update", "delete"])
def test_a_step_can_be_neither_changed_nor_removed(site: FallbackSite, change: str) -> None:
    found = Transition.objects.filter(site_migration__site=site)
    with pytest.raises(ProgrammingError, match=f"Cannot {change} rows"), transaction.atomic():
        found.update(reason="another") if change == "update" else found.delete()


def test_every_change_of_a_migration_is_in_its_history_also_by_bulk(site: FallbackSite) -> None:
    SiteMigration.objects.update(status="planned")
    events = apps.get_model("migrations_tracker", "SiteMigrationEvent")._default_manager
    kept = events.filter(pgh_obj=site.migration.pk).order_by("pgh_id").values_list("status", flat=True)
    assert list(kept) == ["open"]


def test_the_database_knows_the_statuses(site: FallbackSite) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        SiteMigration.objects.update(status="done")


def test_an_empty_comment_is_refused(site: FallbackSite, ada: User) -> None:
    with pytest.raises(PlanError, match="Write something"):
        comment_create(subject=site, author=ada, text=" \n")


def test_an_endless_comment_is_refused(site: FallbackSite, ada: User) -> None:
    with pytest.raises(PlanError, match="20,000"):
        comment_create(subject=site, author=ada, text="x" * (MAX_LENGTH + 1))
