"""Adding, registering and steering runners, and hearing that they live."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import uuid
from contextlib import suppress
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from audit.services.leases import lease_extend
from workers.errors import MachineryError, NotAuthorisedError
from workers.models import ProbeReading, Runner, RunnerState, VerificationJob
from workers.protocol.codec import to_json
from workers.protocol.readings import Probe
from workers.protocol.report import Heartbeat, HeartbeatAnswer, Registration, Standing
from workers.runner.probe.conclusions import RUN_ON_DEVICE
from workers.services.broker import broker_admit, broker_password_new, runner_broker_url
from workers.services.events import event_note

REGISTRATION_LASTS = timedelta(hours=1)
#: A runner beats every ten seconds; what is silent for this long has lost its job.
JOB_LEASE = timedelta(seconds=60)


def runner_add(*, name: str, actor: User) -> tuple[Runner, str]:
    """Add a runner and give its registration token, which is shown once and works once."""
    runner = Runner(name=name.strip(), added_by=actor)
    try:
        runner.full_clean()
    except ValidationError as error:
        raise MachineryError(" ".join(error.messages)) from error
    with transaction.atomic():
        token = _renew(runner)
        runner.save()
        event_note(act="added", runner=runner, actor=actor)
    return runner, token


def runner_token_renew(*, runner: Runner, actor: User) -> str:
    """Give a new registration token. The machine that is registered works on until it is used."""
    with transaction.atomic():
        runner = Runner.objects.select_for_update().get(pk=runner.pk)
        token = _renew(runner)
        runner.save(update_fields=["registration_hash", "registration_expires_at"])
        event_note(act="token renewed", runner=runner, actor=actor)
    return token


def runner_register(*, token: str, probe: Probe) -> Registration:
    """Turn a registration token into what the machine works with from now on; what it had before ends."""
    with transaction.atomic():
        runner = (
            Runner.objects.select_for_update()
            .filter(registration_hash=token_hash(token), registration_expires_at__gt=Now())
            .exclude(state=RunnerState.DISABLED)
            .first()
        )
        if runner is None:
            raise NotAuthorisedError("The registration token is unknown, used up, or older than an hour.")
        own_token = secrets.token_urlsafe(32)
        password, runner.broker_password_hash = broker_password_new()
        runner.token_hash = token_hash(own_token)
        runner.registration_hash, runner.registration_expires_at = "", None
        runner.key_serial += 1
        runner.registered_at = timezone.now()
        runner.save()
        _store_probe(runner, probe)
        event_note(act="registered", runner=runner, detail=f"key {runner.key_id}")
        broker_admit(runner=runner)
    return Registration(
        name=runner.name,
        token=own_token,
        key=signing_key(runner=runner).decode(),
        key_id=runner.key_id,
        broker_url=runner_broker_url(runner=runner, password=password),
    )


def runner_set_state(*, runner: Runner, to: RunnerState, actor: User, reason: str = "") -> Runner:
    """Let a runner take jobs, drain it, or disable it: then its token and its user at the broker end."""
    with transaction.atomic():
        runner = Runner.objects.select_for_update().get(pk=runner.pk)
        if runner.state == to:
            return runner
        before, runner.state = runner.state, to
        fields = ["state"]
        if to == RunnerState.DISABLED:
            runner.token_hash = runner.registration_hash = runner.broker_password_hash = ""
            runner.registration_expires_at = None
            runner.key_serial += 1
            fields += [
                *("token_hash", "registration_hash", "broker_password_hash"),
                *("registration_expires_at", "key_serial"),
            ]
        runner.save(update_fields=fields)
        event_note(act=to.value, runner=runner, actor=actor, detail=reason or f"was {before}")
        transaction.on_commit(lambda: broker_admit(runner=runner), robust=True)
    return runner


def runner_heartbeat(*, runner: Runner, heartbeat: Heartbeat) -> HeartbeatAnswer:
    """Note that a runner lives, keep its lease, and tell it whether it still has it."""
    # Not in one transaction: whoever gives jobs away locks a job first and a runner second.
    Runner.objects.filter(pk=runner.pk).update(last_seen_at=Now(), version=heartbeat.runner_version[:40])
    if heartbeat.probe is not None:
        with transaction.atomic():
            _store_probe(runner, heartbeat.probe)
    is_held = bool(heartbeat.job_id) and _keep_lease(runner, heartbeat)
    return HeartbeatAnswer(Standing(runner.state), is_held)


def runner_by_token(*, token: str) -> Runner:
    """Find the runner that a token belongs to."""
    runner = Runner.objects.filter(token_hash=token_hash(token)).first() if token else None
    if runner is None or runner.state == RunnerState.DISABLED:
        raise NotAuthorisedError("The token is no runner's, or its runner is disabled.")
    return runner


def signing_key(*, runner: Runner) -> bytes:
    """Derive the key of a runner's outcomes; the database alone does not give it."""
    purpose = f"ferroaudit runner signing key\0{runner.pk}\0{runner.key_serial}"
    return hmac.new(settings.SECRET_KEY.encode(), purpose.encode(), hashlib.sha256).hexdigest().encode()


def token_hash(token: str) -> str:
    """Give what is kept of a token: it is random, so a plain digest does."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def _renew(runner: Runner) -> str:
    token = secrets.token_urlsafe(32)
    runner.registration_hash = token_hash(token)
    runner.registration_expires_at = timezone.now() + REGISTRATION_LASTS
    return token


def _keep_lease(runner: Runner, heartbeat: Heartbeat) -> bool:
    with suppress(ValueError):
        lease_id = uuid.UUID(heartbeat.lease_id)
        job = VerificationJob.objects.filter(pk=int(heartbeat.job_id), runner=runner).first()
        if job is not None:
            return lease_extend(
                row=job,
                lease_id=lease_id,
                lease=JOB_LEASE,
                done=min(max(heartbeat.done, 0), 1_000_000),
                total=min(max(heartbeat.total, 0), 1_000_000),
            )
    return False


def _store_probe(runner: Runner, probe: Probe) -> None:
    devices = [r for r in probe.readings if r.name.startswith("nvml.device.") and r.succeeded]
    driver = probe.reading("nvml")
    ProbeReading.objects.filter(runner=runner).delete()
    ProbeReading.objects.bulk_create(
        ProbeReading(
            runner=runner,
            position=position,
            name=reading.name[:100],
            command=_plain(reading.command),
            output=_plain(reading.output)[:100_000],
            exit_code=reading.exit_code,
            started_at=parse_datetime(reading.started_at) or timezone.now(),
            duration_s=reading.duration_s,
            values={_plain(key): _plain(value) for key, value in reading.values.items()},
        )
        for position, reading in enumerate(probe.readings[:500])
    )
    Runner.objects.filter(pk=runner.pk).update(
        probed_at=Now(),
        last_seen_at=Now(),
        is_able=probe.inability(RUN_ON_DEVICE) is None,
        inabilities=to_json(probe.inabilities[:100]),
        devices=[_plain(device.values.get("name", device.name))[:200] for device in devices[:64]],
        driver=_plain(driver.values.get("driver", "") if driver else "")[:60],
    )


def _plain(text: str) -> str:
    """Leave out the one character that PostgreSQL's text can't hold."""
    return text.replace("\0", "")
