"""Changing many migrations at once, and taking that back."""

from __future__ import annotations

import uuid
from dataclasses import asdict

from django.contrib.auth.models import User
from django.db import OperationalError, transaction
from django.db.models import F

from audit.errors import LeaseLostError
from audit.models import Branch, RowState
from audit.services.leases import lease_claim, lease_fail, lease_finish, lease_kept
from migrations_tracker.errors import PlanError
from migrations_tracker.lifecycle import Status, TransitionNotAllowedError, way
from migrations_tracker.models import BulkChange, BulkChangeItem, ItemState, SiteMigration
from migrations_tracker.selectors.bulk_changes import ITEMS_AT_MOST, matching_mark, migrations_matching
from migrations_tracker.selectors.site_list import SiteFilters
from migrations_tracker.services.site_migrations import site_migration_assign, site_migration_transition

BATCH = 100


def bulk_change_create(
    *,
    branch: Branch,
    filters: SiteFilters,
    to: Status | None,
    sets_assignee: bool,
    assignee: User | None,
    reason: str,
    actor: User,
    seen_count: int,
    seen_mark: str = "",
) -> BulkChange:
    """Ask to change all sites that `filters` match now; the person saw `seen_count` of them in the preview.

    Raises `PlanError` where nothing is to be done, or another number matches than was seen. With the
    preview's `seen_mark` also where others match, or somebody has changed one since.
    """
    if to is None and not sets_assignee:
        raise PlanError("Choose a status, an owner, or both.")
    if assignee is not None and not assignee.is_active:
        raise PlanError(f"{assignee} can't log in any more: choose somebody else.")
    with transaction.atomic():
        migrations = list(migrations_matching(branch=branch, filters=filters)[: ITEMS_AT_MOST + 1])
        if not migrations:
            raise PlanError("No site with a migration matches.")
        if len(migrations) > ITEMS_AT_MOST:
            raise PlanError(f"At most {ITEMS_AT_MOST:,} sites are changed at once: narrow the filters.")
        if len(migrations) != seen_count:
            raise PlanError(
                f"{len(migrations):,} sites match now, and {seen_count:,} did when you looked. Look again."
            )
        if seen_mark and seen_mark != matching_mark(branch=branch, filters=filters):
            raise PlanError(
                "Other sites match now, or somebody has changed one since you looked. Look again."
            )
        change = BulkChange.objects.create(
            branch=branch,
            filters=asdict(filters),
            to_status=to.value if to is not None else "",
            sets_assignee=sets_assignee,
            assignee=assignee,
            reason=reason.replace("\0", "").strip(),
            requested_by=actor,
            item_count=len(migrations),
        )
        _items_make(change, migrations)
    return change


def bulk_change_undo(*, change: BulkChange, actor: User, reason: str) -> BulkChange:
    """Ask to take a change back, where nobody has changed the same migrations since."""
    with transaction.atomic():
        change = BulkChange.objects.select_for_update().get(pk=change.pk)
        if not change.is_over:
            raise PlanError("The change is not over yet.")
        if BulkChange.objects.filter(undoes=change).exists():
            raise PlanError("The change was taken back already.")
        done = list(
            SiteMigration.objects.filter(bulk_items__bulk_change=change, bulk_items__state=ItemState.DONE)
        )
        if not done:
            raise PlanError("The change has changed nothing.")
        undo = BulkChange.objects.create(
            branch=change.branch,
            reason=reason.replace("\0", "").strip() or f"Change #{change.pk} taken back.",
            undoes=change,
            requested_by=actor,
            item_count=len(done),
        )
        _items_make(undo, done)
    return undo


def bulk_change_execute(*, pk: int) -> bool:
    """Work through a change that waits. Returns whether this call ended it."""
    lease_id = lease_claim(model=BulkChange, pk=pk)
    if lease_id is None:
        return False
    change = BulkChange.objects.select_related("assignee", "requested_by", "undoes").get(pk=pk)
    try:
        with lease_kept(row=change, lease_id=lease_id):
            while _batch(change, lease_id):
                pass
            lease_finish(row=change, lease_id=lease_id, state=RowState.SUCCEEDED)
    except LeaseLostError:
        return False
    except OperationalError:
        # The database is away: the row can't be written now, and its lease brings the change back.
        raise
    except Exception as error:
        lease_fail(
            row=change, lease_id=lease_id, reason=f"The change broke down: {type(error).__name__}: {error}"
        )
        raise
    return True


def _items_make(change: BulkChange, migrations: list[SiteMigration]) -> None:
    BulkChangeItem.objects.bulk_create(
        (
            BulkChangeItem(
                bulk_change=change,
                site_migration=migration,
                from_status=migration.status,
                from_assignee_id=migration.assignee_id,
                seen_version=migration.version,
            )
            for migration in migrations
        ),
        batch_size=1000,
    )


def _batch(change: BulkChange, lease_id: uuid.UUID) -> bool:
    """Change the next migrations; False when none is left. A batch is done whole or not at all."""
    with transaction.atomic():
        if not BulkChange.objects.select_for_update().filter(pk=change.pk, lease_id=lease_id).exists():
            raise LeaseLostError("another worker has the change")
        items = list(
            change.items.filter(state=ItemState.WAITING).select_related("site_migration__site")[:BATCH]
        )
        before = _before(change, items)
        for item in items:
            _item_change(change, item, before.get(item.site_migration_id))
        BulkChangeItem.objects.bulk_update(items, ["state", "new_version", "refusal"])
        refused = sum(item.state == ItemState.REFUSED for item in items)
        BulkChange.objects.filter(pk=change.pk).update(
            done_count=F("done_count") + len(items) - refused, refused_count=F("refused_count") + refused
        )
    return bool(items)


def _before(change: BulkChange, items: list[BulkChangeItem]) -> dict[int, BulkChangeItem]:
    """Return the items of the change that is taken back, by migration."""
    if change.undoes is None:
        return {}
    undone = change.undoes.items.filter(site_migration__in=[item.site_migration_id for item in items])
    return {item.site_migration_id: item for item in undone.select_related("from_assignee")}


def _item_change(change: BulkChange, item: BulkChangeItem, before: BulkChangeItem | None) -> None:
    try:
        with transaction.atomic():
            item.new_version = _migration_change(change, item, before)
        item.state = ItemState.DONE
    except (PlanError, TransitionNotAllowedError) as error:
        item.state, item.refusal = ItemState.REFUSED, str(error)


def _steps(item: BulkChangeItem, to: str, *, is_undo: bool) -> tuple[Status, ...]:
    """List the steps of one migration: a change takes the one, an undo as many as lead back."""
    if not to or to == item.from_status:
        return ()
    back = way(Status(item.from_status), Status(to)) if is_undo else ()
    # Where no way leads back, the one step is refused with its reason.
    return back or (Status(to),)


def _migration_change(change: BulkChange, item: BulkChangeItem, before: BulkChangeItem | None) -> int:
    """Change one migration, and return the version it has then."""
    migration, actor = item.site_migration, change.requested_by
    if migration.site is None or actor is None:
        raise PlanError("Who asked for the change is no longer here.")
    if before is not None and before.new_version != item.seen_version:
        raise PlanError("Somebody has changed it since.")
    model = change if change.undoes is None else change.undoes
    to = "" if not model.to_status else model.to_status if before is None else before.from_status
    version = item.seen_version
    for step in _steps(item, to, is_undo=before is not None):
        version = site_migration_transition(
            site=migration.site,
            to=step,
            actor=actor,
            reason=change.reason,
            seen_version=version,
            is_ruling=before is None or step is Status.SUPPRESSED,
        ).version
    if model.sets_assignee:
        version = site_migration_assign(
            migration=migration,
            assignee=model.assignee if before is None else before.from_assignee,
            actor=actor,
            seen_version=version,
        ).version
    return version
