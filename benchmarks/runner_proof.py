"""Proves the whole path on a GPU machine: `python -m benchmarks.runner_proof --bundle FILE --out FOLDER`.

PostgreSQL, broker, web app and runner are started on this machine; the sample crate's job goes from the
database by Celery to the runner and comes back over HTTP. With `--ptx-of FOLDER` so do the PTX texts of a
folder of Rust, and what the driver answers is heard by the next scan. With `--gpu-seconds N` a job is cut
short after so long on the device, and what was left over is continued. Each verdict that the server computed
is held against the sample's `expectations.json`. Exit 0: all are right. Where the machine has no device, the
job ends in `no-device` and the exit status is 3.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from benchmarks.ptx_proof import prove_ptx

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S = 480
START_S = 60
NO_DEVICE = 3


def main() -> int:
    """Start everything, run the job, compare, and write what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True, help="the sample crate's test bundle")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--ptx-of", type=Path, help="a folder whose PTX is loaded on the driver, too")
    parser.add_argument("--gpu-seconds", type=float, default=0, help="cut jobs short after so long")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        place = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="proof-", ignore_cleanup_errors=True))
        )
        # Services and tested code run as other users, who have to pass through.
        place.chmod(0o755)
        _start_services(stack, place)
        status = _prove(stack, place, options.bundle, options.out, options.gpu_seconds)
        failed = prove_ptx(options.ptx_of, options.out, _wait) if options.ptx_of else 0
        return status or int(failed > 0)


def _start_services(stack: ExitStack, place: Path) -> None:
    from migrations_tracker.supervisor.account import service_account
    from migrations_tracker.supervisor.binaries import postgres_binaries, valkey_binary
    from migrations_tracker.supervisor.postgres import UNSAFE_BUT_FAST, Postgres
    from migrations_tracker.supervisor.valkey import Valkey

    account = service_account()
    database = Postgres(
        folder=place / "postgres",
        binaries=postgres_binaries(account, place),
        account=account,
        log=place / "postgres.log",
        options=UNSAFE_BUT_FAST,
    )
    broker = Valkey(
        folder=place / "valkey",
        binary=valkey_binary(account, place),
        account=account,
        log=place / "valkey.log",
    )
    for service in (database, broker):
        service.make()
        service.start()
        stack.callback(service.stop)
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "migrations_tracker.settings",
        "SECRET_KEY": secrets.token_urlsafe(60),
        "DATABASE_URL": database.url(),
        "BROKER_URL": broker.url(),
        "DATABASE_POOL_SIZE": "0",
        "BUNDLES_DIR": str(place / "bundles"),
        "STATIC_ROOT": str(place / "static"),
        "SCAN_CACHE_DIR": str(place / "scan-cache"),
        "LOG_LEVEL": "WARNING",
    }


@contextmanager
def _process(command: list[str], log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=output, stderr=output, env={**os.environ, **environment}
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def _prove(stack: ExitStack, place: Path, bundle_file: Path, out: Path, gpu_seconds: float) -> int:
    import django

    django.setup()
    from django.core.management import call_command

    from migrations_tracker.supervisor.ports import free_port
    from tests.factories import make_repository, make_user
    from workers.protocol.job import BundleRef
    from workers.runner.configuration import write_configuration
    from workers.runner.probe.machine import probe_machine
    from workers.runner.server import register
    from workers.services.bundles import bundle_keep
    from workers.services.runners import runner_add

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    address = f"http://127.0.0.1:{free_port()}"
    web = [sys.executable, "-m", "gunicorn", "migrations_tracker.wsgi:application", "--bind", address[7:]]
    stack.enter_context(_process(web, out / "web.log"))
    _wait(lambda: _answers(address), "the web app", START_S)
    _, token = runner_add(name="proof", actor=make_user())
    write_configuration(place / "runner.env", register(address, token, probe_machine()), address)
    started = {"RUNNER_CONFIG": str(place / "runner.env"), "RUNNER_WORK": str(place / "work")}
    stack.enter_context(
        _process(
            [sys.executable, "-m", "workers.runner_worker"],
            out / "runner.log",
            **started,
            RUNNER_CACHE=str(place / "cache"),
        )
    )
    _wait(lambda: " ready." in (out / "runner.log").read_text(errors="replace"), "the runner", START_S)
    repository = make_repository("gpuproof")
    bundle = bundle_keep(repository=repository, file=bundle_file, actor=None)
    return _run(repository, bundle, BundleRef(bundle.sha256), out, gpu_seconds)


def _run(repository: Any, bundle: Any, reference: Any, out: Path, gpu_seconds: float) -> int:
    from dataclasses import replace

    from django.conf import settings

    from audit.models import Commit
    from tests.workers.runner.gpuproof import sample, sample_job
    from workers.services.jobs import UNSENT, job_create, jobs_dispatch

    spec = replace(sample_job(bundle.commit, reference), job_id=UNSENT, lease_id=UNSENT)
    commit = Commit.objects.create(repository=repository, object_id=bundle.commit)
    job = job_create(
        repository=repository, spec=spec, subject="the sample", actor=None, commit=commit, bundle=bundle
    )
    begun = time.monotonic()

    chain = [job]

    def over() -> bool:
        jobs_dispatch()
        chain[-1].refresh_from_db()
        if chain[-1].outcome_state == "cut-short":
            # As if a day had gone by: the next job has as much time again.
            settings.GPU_MINUTES_PER_SCAN += gpu_seconds / 60
            chain.append(chain[-1].continued_by)
        return bool(chain[-1].is_over)

    settings.GPU_MINUTES_PER_SCAN = gpu_seconds / 60
    _wait(over, "the outcome")
    seconds = time.monotonic() - begun
    verified = [found for one in chain for found in one.verifications.order_by("position")]
    job = chain[-1]
    wrong = []
    for expected, found in zip(sample().tests, verified, strict=False):
        got = (found.verdict, found.passes_without_gpu, found.compared_values)
        want = (expected.verdict.value, expected.passes_without_gpu, expected.compared_values)
        is_right = got == want
        print(f"{'right' if is_right else 'WRONG'} {found.test}: {got[0]} ({found.reason})")
        wrong += [] if is_right else [f"{found.test}: {got}, expected {want}"]
    document = {
        "state": job.state,
        "outcome_state": job.outcome_state,
        "reason": job.outcome_reason or job.failure_reason,
        "runner": job.runner.name if job.runner else None,
        "events": [
            [event.created_at.isoformat(), event.act, event.detail]
            for one in chain
            for event in one.events.order_by("pk").select_related("runner")
        ],
        "seconds": round(seconds, 3),
        "gpu_seconds": [one.gpu_seconds for one in chain],
        "probe": job.probe,
        "tracer": job.tracer,
        "canaries": job.canaries,
        "tests": [
            {
                "test": found.test,
                "verdict": found.verdict,
                "runner_verdict": found.runner_verdict,
                "reason": found.reason,
                "evidence": found.evidence,
            }
            for found in verified
        ],
        "wrong": wrong,
    }
    (out / "celery-proof.json").write_text(json.dumps(document, indent=1))
    count = len(verified)
    times = ", ".join(f"{one.gpu_seconds:.1f} s" for one in chain)
    print(
        f"{job.outcome_state}: {count - len(wrong)} of {len(spec.tests)} right, {seconds:.1f} s from asking, "
        f"in {len(chain)} jobs ({times} on the device)"
    )
    if job.outcome_state == "no-device":
        print(job.outcome_reason)
        return NO_DEVICE
    return 0 if not wrong and count == len(spec.tests) else 1


def _answers(address: str) -> bool:
    try:
        with urlopen(f"{address}/login/", timeout=2):  # noqa: S310 - this machine's own address
            return True
    except OSError:
        return False


def _wait(is_so: Any, what: str, patience_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if is_so():
            return
        time.sleep(0.2)
    raise SystemExit(f"{what} did not come about in {patience_s} s")


if __name__ == "__main__":
    sys.exit(main())
