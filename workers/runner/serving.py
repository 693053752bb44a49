"""One job as it comes over the broker: fetched, done as through the file door, signed and delivered."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from workers.protocol.codec import MalformedError, canonical_bytes
from workers.protocol.job import JobSpec, read_job
from workers.protocol.outcome import Outcome
from workers.protocol.readings import Probe
from workers.protocol.report import Heartbeat, HeartbeatAnswer, Report, Standing
from workers.protocol.signing import sign, to_bytes
from workers.runner import RUNNER_VERSION
from workers.runner.configuration import Configuration
from workers.runner.job import Runner, run_job
from workers.runner.probe.machine import probe_machine
from workers.runner.server import Server, ServerError

HEARTBEAT_S = 10.0
#: A server that restarts is back within this time; an outcome is worth waiting for.
_DELIVERY_ATTEMPTS = 8
_DELIVERY_PAUSE_S = 1.0
#: The server understood the outcome and does not want it: sending it again changes nothing.
_FINAL = range(400, 500)

log = logging.getLogger(__name__)


class Link(Protocol):
    """How a runner reaches the server."""

    def beat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """Say that the runner lives."""

    def deliver(self, job_id: str, lease_id: str, document: bytes, text: str) -> None:
        """Give a signed outcome and the job's log away."""

    def fetch(self, job: JobSpec, target: Path) -> Path | None:
        """Give the file that the job needs, fetched to `target` if it has to be."""


@dataclass(frozen=True, slots=True)
class ServerLink:
    """Over HTTPS."""

    server: Server

    def beat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """Say that the runner lives; while the server can't be reached, the lease decides."""
        try:
            return self.server.heartbeat(heartbeat)
        except ServerError as error:
            log.warning("heartbeat: %s", error)
            return HeartbeatAnswer(Standing.ENABLED, error.status not in _FINAL)

    def deliver(self, job_id: str, lease_id: str, document: bytes, text: str) -> None:
        """Send log and outcome, again and again where the server does not answer."""
        for attempt in range(_DELIVERY_ATTEMPTS):
            try:
                self.server.send_log(job_id, lease_id, text)
                self.server.send_outcome(job_id, document)
            except ServerError as error:
                log.warning("outcome of job %s: %s", job_id, error)
                if error.status in _FINAL:
                    return
                time.sleep(_DELIVERY_PAUSE_S * 2**attempt)
            else:
                return

    def fetch(self, job: JobSpec, target: Path) -> Path | None:
        """Fetch the job's bundle or source."""
        if job.bundle is not None:
            self.server.fetch_bundle(job.job_id, job.lease_id, target)
            return target
        if job.source is not None:
            self.server.fetch_source(job.job_id, job.lease_id, target)
            return target
        return None


@dataclass(frozen=True, slots=True)
class BrokerLink:
    """By the reply key at the broker, where no server is reached. `push` appends to it."""

    push: Callable[[bytes], None]
    bundles: Path | None

    def beat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """Leave a heartbeat. Nobody answers here, so the lease counts as held."""
        self.push(canonical_bytes(Report(heartbeat=heartbeat)))
        return HeartbeatAnswer(Standing.ENABLED, is_lease_held=True)

    def deliver(self, job_id: str, lease_id: str, document: bytes, text: str) -> None:
        """Leave the outcome."""
        self.push(canonical_bytes(Report(outcome=document.decode(), log=text)))

    def fetch(self, job: JobSpec, target: Path) -> Path | None:
        """Find the bundle in this machine's folder of bundles, under its checksum."""
        if job.bundle is None or self.bundles is None:
            return None
        return self.bundles / f"{job.bundle.sha256}.tar"


@dataclass(slots=True)
class Serving:
    """A runner that serves: what it is, and how it reaches the server."""

    configuration: Configuration
    link: Link
    probe: Callable[[], Probe] = probe_machine
    heartbeat_s: float = HEARTBEAT_S
    _current: Heartbeat | None = field(default=None, init=False)
    _lost: threading.Event = field(default_factory=threading.Event, init=False)

    def announce(self) -> HeartbeatAnswer:
        """Say that this runner is there, and what its machine is."""
        return self.link.beat(Heartbeat(RUNNER_VERSION, probe=self.probe()))

    def beat(self) -> HeartbeatAnswer:
        """Say that this runner lives, with the job it works on."""
        return self.link.beat(self._current or Heartbeat(RUNNER_VERSION))

    def do(self, raw: bytes) -> Outcome | None:
        """Do a job and deliver its outcome; none where its lease was lost before it began.

        One that is lost later, because the job was cancelled or given to another, ends the job before its
        next test: nobody would take its outcome.
        """
        job_id, lease_id = _ids(raw)
        self._lost.clear()
        self._current = Heartbeat(RUNNER_VERSION, job_id, lease_id)
        try:
            # A message that comes a second time, or late, is told by its lease.
            if lease_id and not self.beat().is_lease_held:
                log.warning("job %s: lease %s is lost, the job is left alone", job_id, lease_id)
                return None
            lines: list[str] = []
            with self._beating():
                outcome = self._outcome(raw, lines)
        finally:
            self._current = None
        if self._lost.is_set():
            log.warning("job %s: lease %s was lost while it ran", job_id, lease_id)
            return outcome
        signed = sign(outcome, key=self.configuration.key, key_id=self.configuration.key_id)
        if outcome.job_id:
            self.link.deliver(outcome.job_id, outcome.lease_id, to_bytes(signed), "\n".join(lines))
        return outcome

    def _outcome(self, raw: bytes, lines: list[str]) -> Outcome:
        work = self.configuration.work
        work.mkdir(parents=True, exist_ok=True)
        work.chmod(0o711)
        folder = Path(tempfile.mkdtemp(prefix="fetched-", dir=work))
        try:
            given, problem = self._fetched(raw, folder / "given.tar")
            if problem:
                lines.append(problem)

            def note(done: int, total: int) -> None:
                lines.append(f"{done}/{total}")
                if self._current is not None:
                    current = self._current
                    self._current = Heartbeat(RUNNER_VERSION, current.job_id, current.lease_id, done, total)

            return run_job(
                raw,
                Runner(
                    work=work,
                    cache=self.configuration.cache,
                    bundle=given,
                    prebuilt_tracer=self.configuration.prebuilt_tracer,
                    probe=self.probe,
                    progress=note,
                    is_wanted=lambda: not self._lost.is_set(),
                ),
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _fetched(self, raw: bytes, target: Path) -> tuple[Path | None, str]:
        """Get what the job needs, or say what was in the way: the job then ends with its own reason."""
        try:
            job = read_job(raw)
        except MalformedError:
            return None, ""
        try:
            return self.link.fetch(job, target), ""
        except (ServerError, OSError) as error:
            # Half a file would be taken for a forged one.
            target.unlink(missing_ok=True)
            return target, f"fetching what the job needs: {error}"

    @contextmanager
    def _beating(self) -> Iterator[None]:
        stop = threading.Event()

        def beat() -> None:
            while not stop.wait(self.heartbeat_s):
                if not self.beat().is_lease_held and self._current is not None and self._current.lease_id:
                    self._lost.set()

        thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def _ids(raw: bytes) -> tuple[str, str]:
    try:
        job = read_job(raw)
    except MalformedError:
        return "", ""
    return job.job_id, job.lease_id
