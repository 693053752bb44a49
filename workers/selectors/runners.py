"""Reading runners."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import JSONObject
from django.utils import timezone

from audit.models import RowState, ScanRun
from workers.models import MachineEvent, ProbeReading, Runner, VerificationJob
from workers.services.gpu_budget import gpu_seconds_taken
from workers.services.jobs import ALIVE

JOBS_SHOWN = 20
EVENTS_SHOWN = 30


@dataclass(frozen=True, slots=True)
class RunnerRow:
    """A runner with what it does now and did in the last day."""

    runner: Runner
    is_alive: bool
    current: VerificationJob | None
    job_count: int
    gpu_minutes: float


@dataclass(frozen=True, slots=True)
class RunnerPage:
    """What a runner's page shows."""

    row: RunnerRow
    readings: list[ProbeReading]
    jobs: list[VerificationJob]
    events: list[MachineEvent]


@dataclass(frozen=True, slots=True)
class RunnerSight:
    """A runner, and whether it was heard of a moment ago."""

    runner: Runner
    is_alive: bool


def runners_in_sight() -> list[RunnerSight]:
    """List all runners without what they do."""
    now = timezone.now()
    return [RunnerSight(runner, _is_alive(runner.last_seen_at, now)) for runner in Runner.objects.all()]


def runner_rows() -> list[RunnerRow]:
    """List all runners."""
    return _rows(list(Runner.objects.all()))


def runner_page(*, runner: Runner) -> RunnerPage:
    """Gather what a runner's page shows."""
    return RunnerPage(
        row=_rows([runner])[0],
        readings=list(runner.readings.all()),
        jobs=list(runner.jobs.select_related("repository", "commit").order_by("-id")[:JOBS_SHOWN]),
        events=list(runner.events.select_related("actor", "job").order_by("-id")[:EVENTS_SHOWN]),
    )


def gpu_minutes_used() -> float:
    """Tell for how many minutes of the budget's window tests were on GPUs, or may yet be."""
    return gpu_seconds_taken() / 60


def _rows(runners: list[Runner]) -> list[RunnerRow]:
    now = timezone.now()
    current = {
        job.runner_id: job
        for job in VerificationJob.objects.filter(
            state=RowState.RUNNING, lease_expires_at__gte=now, runner__in=runners
        )
    }
    day = VerificationJob.objects.filter(runner__in=runners, finished_at__gt=now - timedelta(days=1))
    recent = list(day.values_list("runner_id", "gpu_seconds"))
    return [
        RunnerRow(
            runner=runner,
            is_alive=_is_alive(runner.last_seen_at, now),
            current=current.get(runner.pk),
            job_count=sum(1 for pk, _ in recent if pk == runner.pk),
            gpu_minutes=sum(seconds for pk, seconds in recent if pk == runner.pk) / 60,
        )
        for runner in runners
    ]


def _is_alive(seen: datetime | None, now: datetime) -> bool:
    return seen is not None and now - seen < ALIVE


def gpu_minutes_budget() -> int:
    """Tell for how many minutes tests may run on GPUs within the window; 0 is no limit."""
    budget: int = settings.GPU_MINUTES_PER_DAY
    return budget


@dataclass(frozen=True, slots=True)
class GpuWork:
    """What runners did for a commit."""

    jobs: int
    tests: int
    minutes: float


def with_gpu_work(scans: QuerySet[ScanRun]) -> QuerySet[ScanRun]:
    """Give scans what `gpu_work_of` tells of their commits."""
    done = VerificationJob.objects.order_by().filter(commit=OuterRef("commit")).exclude(outcome_state="")
    told = JSONObject(jobs=Count("pk"), tests=Sum("done"), seconds=Sum("gpu_seconds"))
    return scans.annotate(gpu_work=Subquery(done.values("commit").annotate(told=told).values("told")))


def gpu_work_of(*, scan_run: ScanRun) -> GpuWork:
    """Tell how many jobs and tests of a scan's commit were done, and for how many minutes on GPUs."""
    found = getattr(scan_run, "gpu_work", None) or {"jobs": 0, "tests": 0, "seconds": 0}
    return GpuWork(found["jobs"], found["tests"] or 0, (found["seconds"] or 0) / 60)
