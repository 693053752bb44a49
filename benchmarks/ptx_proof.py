"""The part of `benchmarks.runner_proof` that asks the driver about PTX, and has the scan repeated.

A folder is scanned, its PTX texts go to the runner as a job, and what the driver answered changes what the
next scan of the same files says. Everything goes the way that it goes in an installation.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any


def prove_ptx(folder: Path, out: Path, wait: Callable[[Callable[[], bool], str], None]) -> int:
    """Print what assembler and driver say of a folder's PTX; return how many jobs did not succeed."""
    from audit.models import RepositoryKind
    from audit.services.scan_requests import commit_locate
    from tests.factories import make_repository
    from workers.models import PtxLoad, RequestTarget
    from workers.services.jobs import jobs_dispatch
    from workers.services.requests import verification_request_create, verification_request_execute

    repository = make_repository("ptx", kind=RepositoryKind.FOLDER, location=str(folder.resolve()))
    before = _scan(repository)
    commit, _ = commit_locate(repository=repository, revision="")
    wish = verification_request_create(
        repository=repository, commit=commit, target=RequestTarget.PTX, actor=None
    )
    begun = time.monotonic()
    jobs = verification_request_execute(pk=wish.pk)

    def over() -> bool:
        jobs_dispatch()
        for job in jobs:
            job.refresh_from_db()
        return all(job.is_over for job in jobs)

    wait(over, "what the driver says to the PTX")
    seconds = time.monotonic() - begun
    loads = list(PtxLoad.objects.filter(job__in=jobs).order_by("name"))
    told = Counter("loads" if load.is_loaded else load.error for load in loads)
    print(f"PTX: {len(loads)} texts in {len(jobs)} jobs, {seconds:.1f} s from asking: {dict(told)}")
    after = _hear(repository) or before
    for name, sites in (("before", before), ("after", after)):
        print(f"FT017 {name} the driver was heard ({sites['judge']}): {len(sites['open'])} open")
    for symbol in sorted(before["open"].keys() - after["open"].keys()):
        print(f"closed: {symbol}: {after['outcomes'].get(symbol, '')}")
    for symbol in sorted(after["open"].keys() - before["open"].keys()):
        print(f"opened: {symbol}: {after['open'][symbol]}")
    always = sum("always taken" in message for message in after["fallbacks"])
    print(f"fallbacks that are said to be always taken: {always}")
    document = {
        "jobs": [[job.state, job.outcome_state, job.outcome_reason or job.failure_reason] for job in jobs],
        "seconds": round(seconds, 3),
        "loads": [
            [load.name, load.is_loaded, load.result, load.error, load.log[:500], load.device, load.driver]
            for load in loads
        ],
        "before": before,
        "after": after,
    }
    (out / "ptx-proof.json").write_text(json.dumps(document, indent=1))
    return sum(job.outcome_state not in ("finished", "no-device") for job in jobs)


def _hear(repository: Any) -> dict[str, Any] | None:
    from migrations_tracker.services.verification_follow_up import driver_answers_hear

    return _scan(repository) if driver_answers_hear() else None


def _scan(repository: Any) -> dict[str, Any]:
    """Scan the folder with what is known by now, and tell what is open then."""
    from audit.models import RowState, SiteState
    from audit.services.scan_requests import commit_locate, scan_run_request
    from audit.services.scan_runs import scan_run_execute
    from migrations_tracker.services.follow_up import scan_run_follow_up

    commit, branch = commit_locate(repository=repository, revision="")
    scan_run = scan_run_request(repository=repository, commit=commit, branch=branch, actor=None)
    scan_run_execute(pk=scan_run.pk, after_ingest=scan_run_follow_up)
    scan_run.refresh_from_db()
    if scan_run.state != RowState.SUCCEEDED:
        raise SystemExit(f"the scan of {repository.location}: {scan_run.failure_reason}")
    states = SiteState.objects.filter(branch=branch).select_related("site")
    broken = [state for state in states if state.site.rule_id == "FT017"]
    return {
        "judge": scan_run.ptxas_version,
        "open": {state.symbol: state.message for state in broken if state.is_open},
        "outcomes": {
            state.symbol: f"{state.outcome}: {state.outcome_evidence.get('text', '')}"
            for state in broken
            if not state.is_open
        },
        "fallbacks": [state.message for state in states if state.is_open and state.site.rule_id != "FT017"],
    }
