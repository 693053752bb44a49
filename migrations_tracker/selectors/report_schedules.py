"""The schedules by which reports are mailed, and the people whom they are mailed to."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db.models import Count, Q

from audit.models import Repository, RowState
from migrations_tracker.errors import PlanError
from migrations_tracker.models import ReportSchedule
from migrations_tracker.selectors.standings import users_with_roles


def report_schedules_of(*, repository: Repository) -> list[ReportSchedule]:
    """List the schedules in force, each with how many mails went out and failed, as `sent` and `failed`."""
    of_state = {
        "sent": Count("reports__mails", filter=Q(reports__mails__state=RowState.SUCCEEDED)),
        "failed": Count("reports__mails", filter=Q(reports__mails__state=RowState.FAILED)),
    }
    rows = ReportSchedule.objects.filter(branch__repository=repository, ended_at=None).annotate(**of_state)
    return list(rows.select_related("branch", "made_by").prefetch_related("recipients"))


def people_named(names: Sequence[str]) -> list[User]:
    """Return the people with log-in names, with their roles; raise where nobody has one of them."""
    names = list(dict.fromkeys(name.strip(",;") for name in names if name.strip(",;")))
    found = {person.username: person for person in users_with_roles().filter(username__in=names)}
    missing = [name for name in names if name not in found]
    if missing:
        raise PlanError(f"Nobody has the name {missing[0][:80]}.")
    return [found[name] for name in names]
