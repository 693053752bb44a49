"""Setting how a repository is scanned: its branches, profile, schedule and credentials."""

from __future__ import annotations

import json
from collections.abc import Sequence

from celery.schedules import ParseException, crontab
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from audit.models import Repository
from audit.scanner.profile import profile_names
from audit.services.credentials import reference_check
from audit.services.scan_requests import CONTROL_CHARACTERS, FOLLOWED_AT_MOST
from migrations_tracker.errors import PlanError

FOLLOW_TASK = "migrations_tracker.tasks.scan_follow"
# A message that no worker took in this time is dropped: the next one asks for the same.
MESSAGE_LIVES_SECONDS = 1800
FIELDS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")


def repository_configure(
    *,
    repository: Repository,
    profile: str,
    followed_branches: Sequence[str],
    schedule: str,
    credentials: str,
) -> Repository:
    """Set how a repository is scanned, and let the clock know of its schedule.

    The database keeps what was set before, with who changed it.
    """
    if profile and profile not in profile_names():
        raise PlanError(f"There is no profile `{profile}`. There are {', '.join(profile_names())}.")
    with transaction.atomic():
        repository = Repository.objects.select_for_update().get(pk=repository.pk)
        repository.profile = profile
        repository.followed_branches = branches_check(followed_branches)
        repository.schedule = schedule_check(schedule)
        repository.credentials = reference_check(credentials)
        repository.save(update_fields=["profile", "followed_branches", "schedule", "credentials"])
        _tell_the_clock(repository)
    return repository


def branches_check(names: Sequence[str]) -> list[str]:
    """Return the names and patterns of branches as they are kept, or raise where one can't be one."""
    found = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    for name in found:
        if name.startswith("-") or CONTROL_CHARACTERS & set(name) or len(name) > 255:
            raise PlanError(
                f"`{name[:80]}` is no name or pattern of a branch, such as `main` or `release/*`."
            )
    if len(found) > FOLLOWED_AT_MOST:
        raise PlanError(f"At most {FOLLOWED_AT_MOST} names or patterns of branches.")
    return found


def schedule_check(text: str) -> str:
    """Return a schedule as it is kept, or raise where the clock would not understand it."""
    parts = text.split()
    if not parts:
        return ""
    if len(parts) != len(FIELDS):
        raise PlanError(
            "A schedule is five fields: minute, hour, day of the month, month, day of the week; `0 6 * * *` "
            "is every day at six."
        )
    columns = dict(zip(FIELDS, parts, strict=True))
    try:
        crontab(**columns)
        CrontabSchedule(**columns, timezone=settings.TIME_ZONE).full_clean()
    except (ParseException, ValidationError, ValueError, TypeError) as error:
        raise PlanError(f"`{text.strip()[:80]}` is no schedule that the clock understands.") from error
    return " ".join(parts)


def task_name(repository: Repository) -> str:
    """Name the clock's row of a repository."""
    return f"scan what is new in repository {repository.pk}"


def _tell_the_clock(repository: Repository) -> None:
    name = task_name(repository)
    if not repository.schedule:
        PeriodicTask.objects.filter(name=name).delete()
        return
    columns = dict(zip(FIELDS, repository.schedule.split(), strict=True))
    when = CrontabSchedule.objects.filter(**columns, timezone=settings.TIME_ZONE).first()
    when = when or CrontabSchedule.objects.create(**columns, timezone=settings.TIME_ZONE)
    PeriodicTask.objects.update_or_create(
        name=name,
        defaults={
            "task": FOLLOW_TASK,
            "crontab": when,
            "kwargs": json.dumps({"repository_id": repository.pk}),
            "expire_seconds": MESSAGE_LIVES_SECONDS,
            "enabled": True,
        },
    )
