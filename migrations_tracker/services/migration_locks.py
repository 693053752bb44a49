"""The migration's row, where all who change something about a site or a gap meet."""

from __future__ import annotations

from audit.models import CapabilityGap, FallbackSite
from migrations_tracker.errors import ChangedMeanwhileError, PlanError
from migrations_tracker.models import SiteMigration

Subject = FallbackSite | CapabilityGap


def column_of(subject: Subject) -> dict[str, Subject]:
    """Return the column that names a site or a gap."""
    return {"gap" if isinstance(subject, CapabilityGap) else "site": subject}


def migration_lock(*, subject: Subject, seen_version: int | None = None) -> SiteMigration:
    """Lock the migration of a site or a gap until the transaction ends.

    Raises PlanError where there is none, and ChangedMeanwhileError where its version is another than
    `seen_version`, the one that the person looked at.
    """
    migration = SiteMigration.objects.select_for_update().filter(**column_of(subject)).first()
    noun = next(iter(column_of(subject)))
    if migration is None:
        raise PlanError(f"No scan of the default branch has found this {noun}: it has no migration to move.")
    if seen_version is not None and seen_version != migration.version:
        raise ChangedMeanwhileError(
            f"The {noun} has changed while you looked at it, and is `{migration.status}`. This is its newest "
            "state: look again, then decide."
        )
    return migration


def version_next(*, migration: SiteMigration) -> None:
    """Have whoever looked at a locked migration before notice that something about it has changed."""
    migration.version += 1
    migration.save(update_fields=["version", "changed_at"])
