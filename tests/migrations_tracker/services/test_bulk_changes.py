"""Changing many migrations at once, and taking that back."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User

from audit.errors import LeaseLostError
from audit.models import Branch, Precedent, PrecedentKind, RowState
from migrations_tracker.errors import PlanError
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import BulkChange, ItemState, SiteMigration, Suppression, Transition
from migrations_tracker.roles import Role
from migrations_tracker.selectors.bulk_changes import bulk_preview
from migrations_tracker.selectors.site_list import SiteFilters
from migrations_tracker.services import bulk_changes
from migrations_tracker.services.bulk_changes import (
    bulk_change_create,
    bulk_change_execute,
    bulk_change_undo,
)
from migrations_tracker.services.site_migrations import site_migration_assign, site_migration_transition
from tests.factories import ingest, make_report, make_repository, make_result, make_user

pytestmark = pytest.mark.django_db
COUNT = 7


@pytest.fixture
def ada() -> User:
    return make_user(role=Role.LEAD)


@pytest.fixture
def branch() -> Branch:
    repository = make_repository()
    many = [make_result(f"minitorch_gpu::ops::op{n}", line=n + 1) for n in range(COUNT)]
    ingest(repository, make_report(many))
    return repository.branches.get()


def change_all(
    branch: Branch, actor: User, *, to: Status | None = Status.ACCEPTED, **fields: object
) -> BulkChange:
    given = {
        "filters": SiteFilters(),
        "sets_assignee": False,
        "assignee": None,
        "reason": "",
        "seen_count": COUNT,
        **fields,
    }
    change = bulk_change_create(branch=branch, to=to, actor=actor, **given)  # type: ignore[arg-type]
    assert bulk_change_execute(pk=change.pk)
    change.refresh_from_db()
    return change


def statuses() -> set[str]:
    return set(SiteMigration.objects.values_list("status", flat=True))


def test_every_step_is_kept_as_if_taken_by_hand(branch: Branch, ada: User) -> None:
    change = change_all(branch, ada, reason="All of them.")
    assert (change.state, change.done_count, change.refused_count) == (RowState.SUCCEEDED, COUNT, 0)
    assert statuses() == {"accepted"}
    steps = Transition.objects.filter(to_status="accepted")
    assert set(steps.values_list("actor", "reason")) == {(ada.pk, "All of them.")}
    assert steps.count() == COUNT


def test_a_site_whose_step_is_not_allowed_is_left_with_the_reason(branch: Branch, ada: User) -> None:
    site = SiteMigration.objects.earliest("pk").site
    assert site is not None
    for to in (Status.ACCEPTED, Status.IN_PROGRESS):
        site_migration_transition(site=site, to=to, actor=ada)
    change = change_all(branch, ada, to=Status.ACCEPTED)
    assert (change.done_count, change.refused_count) == (COUNT - 1, 1)
    refused = change.items.get(state=ItemState.REFUSED)
    assert refused.site_migration.site == site
    assert "Say why" in refused.refusal


def test_nobody_overrules_the_scanner_in_numbers_either(branch: Branch, ada: User) -> None:
    change = change_all(branch, ada, to=Status.MIGRATED, reason="Surely.")
    assert (change.done_count, change.refused_count) == (0, COUNT)
    assert statuses() == {"open"}


def test_what_somebody_changed_meanwhile_is_left(branch: Branch, ada: User) -> None:
    change = bulk_change_create(
        branch=branch,
        filters=SiteFilters(),
        to=Status.ACCEPTED,
        sets_assignee=False,
        assignee=None,
        reason="",
        actor=ada,
        seen_count=COUNT,
    )
    site = SiteMigration.objects.earliest("pk").site
    assert site is not None
    site_migration_transition(site=site, to=Status.SUPPRESSED, actor=ada, reason="Mine.")
    assert bulk_change_execute(pk=change.pk)
    refused = change.items.get(state=ItemState.REFUSED)
    assert (refused.site_migration.site, refused.site_migration.status) == (site, "suppressed")


def test_what_has_changed_since_the_preview_is_looked_at_again(branch: Branch, ada: User) -> None:
    filters = SiteFilters(status=Status.OPEN.value)
    first, *_ = SiteMigration.objects.order_by("pk")
    assert first.site is not None
    site_migration_transition(site=first.site, to=Status.ACCEPTED, actor=ada)
    mark = bulk_preview(branch=branch, filters=filters).mark
    seen: dict[str, Any] = {"seen_count": COUNT - 1, "seen_mark": mark}
    # As many match as before, and another one is among them.
    other = SiteMigration.objects.exclude(pk=first.pk).earliest("pk")
    assert other.site is not None
    site_migration_transition(site=other.site, to=Status.ACCEPTED, actor=ada)
    site_migration_transition(site=first.site, to=Status.OPEN, actor=ada, reason="Not yet.")
    with pytest.raises(PlanError, match="Other sites match now"):
        change_all(branch, ada, filters=filters, **seen)
    seen["seen_mark"] = bulk_preview(branch=branch, filters=filters).mark
    site_migration_assign(migration=first, assignee=ada, actor=ada)
    with pytest.raises(PlanError, match="somebody has changed one"):
        change_all(branch, ada, filters=filters, **seen)
    seen["seen_mark"] = bulk_preview(branch=branch, filters=filters).mark
    assert change_all(branch, ada, filters=filters, **seen).done_count == COUNT - 1


def test_an_undo_brings_back_status_and_owner(branch: Branch, ada: User) -> None:
    eve = make_user("eve")
    change = change_all(branch, ada, sets_assignee=True, assignee=eve)
    assert set(SiteMigration.objects.values_list("status", "assignee")) == {("accepted", eve.pk)}
    undo = bulk_change_undo(change=change, actor=ada, reason="")
    assert bulk_change_execute(pk=undo.pk)
    assert SiteMigration.objects.filter(status="open", assignee=None).count() == COUNT
    with pytest.raises(PlanError, match="already"):
        bulk_change_undo(change=change, actor=ada, reason="")


@pytest.mark.parametrize(
    ("before", "to"),
    [
        ((Status.ACCEPTED,), Status.SUPPRESSED),
        ((Status.ACCEPTED, Status.IN_PROGRESS, Status.IN_REVIEW), Status.SUPPRESSED),
        ((Status.ACCEPTED, Status.PLANNED), Status.IN_PROGRESS),
    ],
)
def test_an_undo_goes_as_many_steps_as_lead_back_and_rules_nothing(
    branch: Branch, ada: User, before: tuple[Status, ...], to: Status
) -> None:
    for step in before:
        change_all(branch, ada, to=step)
    change = change_all(branch, ada, to=to, reason="By mistake.")
    undo = bulk_change_undo(change=change, actor=ada, reason="It was.")
    assert bulk_change_execute(pk=undo.pk)
    undo.refresh_from_db()
    assert (undo.done_count, undo.refused_count) == (COUNT, 0)
    assert statuses() == {before[-1].value}
    assert not Suppression.objects.filter(ended_at=None).exists()
    assert not Precedent.objects.filter(reason="It was.").exists()
    assert not Precedent.objects.filter(kind=PrecedentKind.SUPPRESSED, ended_at=None).exists()


def test_an_undo_leaves_what_was_changed_since(branch: Branch, ada: User) -> None:
    change = change_all(branch, ada)
    site = SiteMigration.objects.earliest("pk").site
    assert site is not None
    site_migration_transition(site=site, to=Status.IN_PROGRESS, actor=ada)
    undo = bulk_change_undo(change=change, actor=ada, reason="")
    assert bulk_change_execute(pk=undo.pk)
    undo.refresh_from_db()
    assert (undo.done_count, undo.refused_count) == (COUNT - 1, 1)
    assert SiteMigration.objects.get(site=site).status == "in-progress"


def test_another_number_than_was_seen_changes_nothing(branch: Branch, ada: User) -> None:
    with pytest.raises(PlanError, match="Look again"):
        change_all(branch, ada, seen_count=COUNT - 1)
    assert not BulkChange.objects.exists()


def test_a_change_of_nothing_is_refused(branch: Branch, ada: User) -> None:
    with pytest.raises(PlanError, match="Choose"):
        change_all(branch, ada, to=None)


def test_a_worker_that_is_lost_in_the_middle_doubles_nothing(
    branch: Branch, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_changes, "BATCH", 2)
    whole, calls = bulk_changes._batch, iter([True, True, False])

    def lost(change: BulkChange, lease_id: uuid.UUID) -> bool:
        if not next(calls):
            raise LeaseLostError("gone")
        return whole(change, lease_id)

    monkeypatch.setattr(bulk_changes, "_batch", lost)
    change = bulk_change_create(
        branch=branch,
        filters=SiteFilters(),
        to=Status.ACCEPTED,
        sets_assignee=False,
        assignee=None,
        reason="",
        actor=ada,
        seen_count=COUNT,
    )
    assert not bulk_change_execute(pk=change.pk)
    monkeypatch.setattr(bulk_changes, "_batch", whole)
    BulkChange.objects.update(state=RowState.PENDING, lease_id=None, lease_expires_at=None)
    assert bulk_change_execute(pk=change.pk)
    change.refresh_from_db()
    assert (change.done_count, Transition.objects.filter(to_status="accepted").count()) == (COUNT, COUNT)


def test_the_preview_says_how_many_may_move_where(branch: Branch, ada: User) -> None:
    site = SiteMigration.objects.earliest("pk").site
    assert site is not None
    site_migration_transition(site=site, to=Status.ACCEPTED, actor=ada)
    preview = bulk_preview(branch=branch, filters=SiteFilters())
    reach = {value: count for value, _, count in preview.choices}
    assert (preview.count, reach["accepted"], reach["planned"]) == (COUNT, COUNT - 1, 1)
    assert sum(group.count for group in preview.groups) == preview.count
