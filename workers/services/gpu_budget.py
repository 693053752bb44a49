"""For how long tests may be on GPUs: in a day, and for the commit of one scan."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db.models import Case, F, FloatField, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce, Now

from audit.models import RowState
from workers.models import VerificationJob
from workers.protocol.job import JobKind

BUDGET_WINDOW = timedelta(hours=24)
#: Less is not worth a build and a canary; where less is left, all of it is given to one.
SMALLEST_SHARE_S = 60.0

#: What a job took; while it runs, what it was told that it may take.
_TAKEN = Case(
    When(state=RowState.RUNNING, then=Coalesce(F("gpu_granted_s"), Value(0.0))),
    default=F("gpu_seconds"),
    output_field=FloatField(),
)


def gpu_grant(*, job: VerificationJob, runners: int) -> float | None:
    """Say for how many seconds a job's tests may be on a device now; null is without a limit, 0 is "wait".

    What is left of the day is shared among the runners that are free: a job that is cut short is continued.
    """
    if job.kind == JobKind.PROBE:
        return None
    limits: list[float] = []
    if settings.GPU_MINUTES_PER_DAY:
        left = 60 * settings.GPU_MINUTES_PER_DAY - _seconds(_taking().exclude(pk=job.pk))
        limits.append(max(left / max(runners, 1), min(left, SMALLEST_SHARE_S)))
    if settings.GPU_MINUTES_PER_SCAN and job.commit_id is not None:
        taking = _taking().filter(commit=job.commit_id).exclude(pk=job.pk)
        limits.append(60 * settings.GPU_MINUTES_PER_SCAN - _seconds(taking))
    return max(min(limits), 0.0) if limits else None


def commits_spent() -> list[int]:
    """List the commits whose tests were on GPUs for as long as those of one scan may be in a day."""
    if not settings.GPU_MINUTES_PER_SCAN:
        return []
    by_commit = _taking().filter(commit__isnull=False).order_by().values("commit").annotate(taken=Sum(_TAKEN))
    return list(
        by_commit.filter(taken__gte=60 * settings.GPU_MINUTES_PER_SCAN).values_list("commit", flat=True)
    )


def why_it_waits(*, job: VerificationJob) -> str:
    """Say which limit a waiting job waits for; empty where it waits for a runner alone."""
    if job.state != RowState.PENDING or gpu_grant(job=job, runners=1) != 0:
        return ""
    if job.commit_id in commits_spent():
        return (
            "The tests of this commit had what those of one scan may have in 24 hours: "
            f"{settings.GPU_MINUTES_PER_SCAN} min on GPUs."
        )
    return f"The {settings.GPU_MINUTES_PER_DAY} GPU minutes of 24 hours are taken."


def gpu_seconds_taken() -> float:
    """Tell for how many seconds tests were on GPUs within the window, or may yet be under a lease."""
    return _seconds(_taking())


def _taking() -> QuerySet[VerificationJob]:
    return VerificationJob.objects.filter(
        Q(finished_at__gt=Now() - BUDGET_WINDOW) | Q(state=RowState.RUNNING, lease_expires_at__gte=Now())
    )


def _seconds(jobs: QuerySet[VerificationJob]) -> float:
    return jobs.aggregate(seconds=Sum(_TAKEN))["seconds"] or 0.0
