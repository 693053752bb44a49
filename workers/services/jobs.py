"""Verification jobs: asked for, approved, given to runners, and given to another when one is lost."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from audit.models import Commit, FallbackSite, Repository, RowState
from audit.models.lease import MAX_ATTEMPTS
from audit.services.leases import lease_cancel, lease_claim
from workers.errors import MachineryError
from workers.models import Runner, RunnerState, TestBundle, VerificationJob, VerificationRequest
from workers.protocol.codec import canonical_bytes, from_json, to_json
from workers.protocol.job import JobSpec
from workers.services.broker import job_send
from workers.services.events import event_note
from workers.services.gpu_budget import commits_spent, gpu_grant
from workers.services.runners import JOB_LEASE

#: A runner that was not heard of for this long gets nothing.
ALIVE = timedelta(seconds=45)
DISPATCH_AT_MOST = 50
LOST_REASON = f"Its runner was lost {MAX_ATTEMPTS} times. The events of the job name them."
#: Stands in a stored job for the ids that it gets with a lease.
UNSENT = "unsent"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FunctionProof:
    """A function that a test runs: its digest at the commit, and the kernels that it launches."""

    symbol: str
    digest: str
    kernels: tuple[str, ...] = ()


def job_create(
    *,
    repository: Repository,
    spec: JobSpec,
    subject: str,
    actor: User | None,
    commit: Commit | None = None,
    site: FallbackSite | None = None,
    bundle: TestBundle | None = None,
    functions: Mapping[int, Sequence[FunctionProof]] | None = None,
    request: VerificationRequest | None = None,
    wants_approval: bool = False,
    is_nightly: bool = False,
) -> VerificationJob:
    """Keep a job; who asks for the same while it waits or runs shares it.

    `functions` says, by the place of each test in the job, of which functions it may be proof.
    """
    document = to_json(spec)
    with transaction.atomic():
        # Two who press the button at once: the second finds the first one's job.
        Repository.objects.select_for_update().get(pk=repository.pk)
        same = VerificationJob.objects.filter(
            repository=repository,
            spec=document,
            wants_approval=wants_approval,
            state__in=[RowState.PENDING, RowState.RUNNING],
        ).first()
        if same is not None:
            return same
        job = VerificationJob.objects.create(
            repository=repository,
            commit=commit,
            site=site,
            kind=spec.kind.value,
            subject=subject[:500],
            crate=spec.crate or "",
            spec=document,
            functions={
                str(place): [[one.symbol, one.digest, list(one.kernels)] for one in proofs]
                for place, proofs in (functions or {}).items()
            },
            request=request,
            bundle=bundle,
            requested_by=actor,
            wants_approval=wants_approval,
            is_nightly=is_nightly,
            total=len(spec.tests) or len(spec.ptx),
        )
        event_note(act="asked for", job=job, actor=actor, detail=subject)
    return job


def job_approve(*, job: VerificationJob, actor: User) -> None:
    """Let code of strangers run: a person looked at it."""
    with transaction.atomic():
        changed = VerificationJob.objects.filter(
            pk=job.pk, state=RowState.PENDING, wants_approval=True, approved_at=None
        ).update(approved_by=actor, approved_at=Now())
        if not changed:
            raise MachineryError("The job waits for nobody's approval.")
        event_note(act="approved", job=job, actor=actor)


def job_cancel(*, job: VerificationJob, actor: User) -> None:
    """Stop a job; its runner learns of it with its next heartbeat, and its outcome is refused."""
    with transaction.atomic():
        if not lease_cancel(row=job, actor=actor):
            raise MachineryError("The job was over already.")
        event_note(act="cancelled", job=job, actor=actor)


def jobs_dispatch() -> int:
    """Give waiting jobs to free runners, and lost ones to others; return how many were sent."""
    _give_up_lost()
    sent = 0
    for pk in _due():
        runner = _take(pk)
        if runner is not None:
            sent += 1
    return sent


def job_continue(*, job: VerificationJob, done: int) -> VerificationJob:
    """Make the job of the tests that were left over when a job's time on a device was over.

    It is the same code that the same person approved, and waits until there is time again.
    """
    spec = leased_spec(job=job, lease_id=UNSENT)
    rest = replace(spec, job_id=UNSENT, lease_id=UNSENT, gpu_s=None, tests=spec.tests[done:])
    following = VerificationJob.objects.create(
        repository=job.repository,
        commit=job.commit,
        site=job.site,
        kind=job.kind,
        subject=job.subject,
        crate=job.crate,
        spec=to_json(rest),
        functions={
            str(int(place) - done): proofs for place, proofs in job.functions.items() if int(place) >= done
        },
        request=job.request,
        bundle=job.bundle,
        requested_by=job.requested_by,
        is_nightly=job.is_nightly,
        wants_approval=job.wants_approval,
        approved_by=job.approved_by,
        approved_at=job.approved_at,
        continues=job,
        total=len(rest.tests),
    )
    event_note(act="continued", job=job, detail=f"{len(rest.tests)} tests were left over: job {following.pk}")
    event_note(act="asked for", job=following, detail=f"what was left over of job {job.pk}")
    return following


def _due() -> list[int]:
    jobs = (
        VerificationJob.objects.filter(attempts__lt=MAX_ATTEMPTS)
        .filter(Q(wants_approval=False) | Q(approved_at__isnull=False))
        .filter(Q(state=RowState.PENDING) | Q(state=RowState.RUNNING, lease_expires_at__lt=Now()))
        # A commit that had its minutes must not keep others from being looked at.
        .exclude(commit__in=commits_spent())
        # What a person waits for comes before what the night asks for.
        .order_by("is_nightly", "pk")
        .values_list("pk", flat=True)
    )
    return list(jobs[:DISPATCH_AT_MOST])


def _give_up_lost() -> None:
    lost = VerificationJob.objects.filter(
        state=RowState.RUNNING, lease_expires_at__lt=Now(), attempts__gte=MAX_ATTEMPTS
    )
    with transaction.atomic():
        for job in lost.select_for_update(skip_locked=True, of=("self",)).select_related("runner"):
            VerificationJob.objects.filter(pk=job.pk).update(
                state=RowState.FAILED,
                failure_reason=LOST_REASON,
                finished_at=Now(),
                lease_id=None,
                lease_expires_at=None,
            )
            event_note(act="lost", job=job, runner=job.runner, detail=LOST_REASON)


def _take(pk: int) -> Runner | None:
    """Lease one job to one runner and send it; none where no runner or no time on a device is free for it."""
    with transaction.atomic():
        job = (
            VerificationJob.objects.select_for_update(skip_locked=True, no_key=True, of=("self",))
            .select_related("runner")
            .filter(pk=pk)
            .first()
        )
        free = _free_runners(job) if job is not None else []
        if job is None or not free:
            return None
        # The free runners are locked now, so nobody else grants from the same time.
        grant_s = gpu_grant(job=job, runners=len(free))
        if grant_s is not None and grant_s <= 0:
            return None
        runner = free[0]
        if job.state == RowState.RUNNING:
            event_note(act="lost", job=job, runner=job.runner, detail="its lease ran out without a heartbeat")
        lease_id = lease_claim(model=VerificationJob, pk=pk, lease=JOB_LEASE)
        if lease_id is None:
            return None
        VerificationJob.objects.filter(pk=pk).update(runner=runner, done=0, gpu_granted_s=grant_s)
        job.gpu_granted_s = grant_s
        event_note(act="leased", job=job, runner=runner, detail=f"lease {lease_id}")
    spec = leased_spec(job=job, lease_id=lease_id)
    try:
        job_send(runner=runner, document=canonical_bytes(spec).decode())
    except Exception:
        # The broker is away: the job waits as if nobody had looked, and no attempt is counted.
        log.warning("job %s could not be sent to %s", pk, runner, exc_info=True)
        VerificationJob.objects.filter(pk=pk, lease_id=lease_id).update(
            state=RowState.PENDING, lease_id=None, lease_expires_at=None, attempts=F("attempts") - 1
        )
        return None
    return runner


def leased_spec(*, job: VerificationJob, lease_id: uuid.UUID | str) -> JobSpec:
    """Give the job as it is sent under a lease."""
    under = {"job_id": str(job.pk), "lease_id": str(lease_id), "gpu_s": job.gpu_granted_s}
    return from_json(JobSpec, {**job.spec, **under})


def _free_runners(job: VerificationJob) -> list[Runner]:
    """List the runners that live and do nothing: first those that have not just lost the job.

    A machine without a device is asked only where no runner has one: then the answer is its reading.
    """
    running = VerificationJob.objects.filter(
        state=RowState.RUNNING, lease_expires_at__gte=Now(), runner__isnull=False
    )
    enabled = Runner.objects.filter(state=RunnerState.ENABLED, registered_at__isnull=False)
    if enabled.filter(is_able=True).exists():
        enabled = enabled.filter(is_able=True)
    free = enabled.filter(last_seen_at__gt=Now() - ALIVE).exclude(
        pk__in=running.exclude(runner=None).values("runner")
    )
    # Locked, so that two who give jobs away at once don't give two to one runner.
    candidates = list(free.select_for_update(no_key=True).order_by("pk"))
    return sorted(candidates, key=lambda runner: (runner.pk == job.runner_id, runner.pk))
