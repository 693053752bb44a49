"""Keeping what happened to runners and jobs."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models.functions import Now

from workers.models import MachineEvent, Runner, VerificationJob

REFUSED = "outcome refused"
#: Rows are kept for ever, and a runner may send as many outcomes as it likes: so many are kept of its refused
#: ones for a job, and so many in a day for all jobs.
REFUSALS_OF_A_JOB = 10
REFUSALS_OF_A_DAY = 100
LAST_REFUSAL = " What is refused after this is not kept."


def event_note(
    *,
    act: str,
    runner: Runner | None = None,
    job: VerificationJob | None = None,
    actor: User | None = None,
    detail: str = "",
) -> None:
    """Keep an act on a runner or a job, in the caller's transaction."""
    MachineEvent.objects.create(act=act, runner=runner, job=job, actor=actor, detail=detail[:4000])


def refusal_note(*, job: VerificationJob, runner: Runner, reason: str) -> None:
    """Keep that an outcome was refused, unless enough of this runner's were."""
    refused = MachineEvent.objects.filter(act=REFUSED, runner=runner)
    of_job = refused.filter(job=job).count()
    of_day = refused.filter(created_at__gt=Now() - timedelta(days=1)).count()
    if of_job >= REFUSALS_OF_A_JOB or of_day >= REFUSALS_OF_A_DAY:
        return
    is_last = of_job == REFUSALS_OF_A_JOB - 1 or of_day == REFUSALS_OF_A_DAY - 1
    detail = reason[:1000] + (LAST_REFUSAL if is_last else "")
    event_note(act=REFUSED, job=job, runner=runner, detail=detail)
