"""Keeping what happened to runners and jobs."""

from __future__ import annotations

from django.contrib.auth.models import User

from workers.models import MachineEvent, Runner, VerificationJob


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
