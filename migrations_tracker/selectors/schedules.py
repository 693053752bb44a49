"""When the clock scans a repository."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from cron_descriptor import FormatException, Options, get_description
from django.utils import timezone
from django_celery_beat.models import PeriodicTask

from audit.models import Repository, ScanRequest
from migrations_tracker.services.repository_settings import task_name

_24_HOURS = Options()
_24_HOURS.use_24hour_time_format = True


@dataclass(frozen=True, slots=True)
class ScheduleView:
    """A repository's schedule in words."""

    words: str
    zone: str
    next_at: datetime
    last_at: datetime | None


def schedule_of(*, repository: Repository) -> ScheduleView | None:
    """Tell when a repository is scanned by the clock; None when it is not."""
    if not repository.schedule:
        return None
    task = PeriodicTask.objects.select_related("crontab").filter(name=task_name(repository)).first()
    if task is None or task.crontab is None:
        return None
    now = timezone.now()
    due = task.crontab.schedule.is_due(now)
    return ScheduleView(
        words=_words(repository.schedule),
        zone=str(task.crontab.timezone),
        # The clock counts in parts of seconds; its hours are whole minutes.
        next_at=(now + timedelta(seconds=due.next + 30)).replace(second=0, microsecond=0),
        last_at=task.last_run_at,
    )


def last_follow(*, repository: Repository) -> ScanRequest | None:
    """Return the newest request for what is new in a repository."""
    return (
        ScanRequest.objects.filter(repository=repository, follows=True)
        .select_related("scan_run", "requested_by")
        .order_by("-id")
        .first()
    )


def _words(schedule: str) -> str:
    try:
        return str(get_description(schedule, _24_HOURS))
    except FormatException:
        return schedule
