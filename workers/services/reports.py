"""Taking what runners left under their reply keys, where they don't reach the web app."""

from __future__ import annotations

import logging

from workers.errors import MachineryError
from workers.models import Runner, RunnerState
from workers.protocol.codec import MalformedError, from_bytes
from workers.protocol.report import Report
from workers.services.broker import broker_admit, reports_take
from workers.services.outcomes import AfterOutcome, outcome_accept, outcome_job_id
from workers.services.runners import runner_heartbeat

LOGGED = 500

log = logging.getLogger(__name__)


def reports_collect(*, after: AfterOutcome) -> int:
    """Take every runner's reports; one that is malformed or refused stops no other. Returns how many came."""
    count = 0
    for runner in Runner.objects.exclude(state=RunnerState.DISABLED).exclude(registered_at=None):
        # Whoever writes under a key is the runner: the broker lets nobody else.
        for raw in reports_take(runner=runner):
            count += 1
            try:
                _take(runner, from_bytes(Report, raw), after)
            except (MalformedError, MachineryError) as error:
                # The text is the runner's in part: it makes no lines of its own in the log.
                log.warning("report of runner %s: %s", runner, ascii(str(error)[:LOGGED]))
    return count


def runners_admit() -> None:
    """Let every registered runner in at the broker again, which forgets its users when it is started anew."""
    for runner in Runner.objects.exclude(broker_password_hash=""):
        broker_admit(runner=runner)


def _take(runner: Runner, report: Report, after: AfterOutcome) -> None:
    if report.heartbeat is not None:
        runner_heartbeat(runner=runner, heartbeat=report.heartbeat)
    if report.outcome is not None:
        raw = report.outcome.encode()
        outcome_accept(runner=runner, job_id=outcome_job_id(raw=raw), raw=raw, after=after, log=report.log)
