"""Measure how fast a scan's results are stored: `python -m benchmarks.ingest [--sizes 10000,50000]`.

Results are generated: 40 to a file, each in an item of its own, with two steps of evidence and three
fingerprints. For each size a new repository gets them as a first scan (all new), as a second one (all
unchanged, where they were), as a third one (all unchanged, each some lines further down), and as a fourth
one in which one in a hundred is gone and as many are new; the first and the last are compared. PostgreSQL
runs as `make run` starts it. Beside the time the processor time is given, of this process and of the
server's: on a machine that does other things, too, it says what the time would be.
"""

from __future__ import annotations

import argparse
import time
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import psutil

from audit.scanner.report import (
    CrateInfo,
    EvidenceStep,
    FileStatus,
    Level,
    ManifestEntry,
    Region,
    Result,
    RuleRun,
    RuleStatus,
    ScanReport,
    SourceInfo,
)
from benchmarks.database import database

if TYPE_CHECKING:
    from audit.models import ScanRun

PER_FILE = 40
RULES = ("FT001", "FT005", "FT008")


def result(number: int, shift: int = 0) -> Result:
    """Make the result of one place."""
    line = (number % PER_FILE) * 30 + 10 + shift
    file = number // PER_FILE
    crate = f"crate-{file % 20}"
    path = f"{crate}/src/module_{file}.rs"
    symbol = f"crate_{file % 20}::module_{file}::operation_{number}"
    region = Region(line, 5, line + 6, 6)
    return Result(
        rule_id=RULES[number % len(RULES)],
        level=Level.ERROR,
        message=f"`operation_{number}` computes on the host when the kernel can't be compiled",
        path=path,
        region=region,
        symbol=symbol,
        crate=crate,
        form="match-arm",
        partial_fingerprints=dict.fromkeys(("site/v1", "item/v1", "anchor/v1"), f"{number:032x}"),
        evidence=(
            EvidenceStep("anchor", path, region, symbol, "the compile error is dropped here"),
            EvidenceStep("effect", path, Region(line + 2, 9, line + 2, 40), symbol, "downloads the operand"),
        ),
        snippet="\n".join(f"    let host_{number} = gpu_to_cpu(x{step}, device)?;" for step in range(7)),
    )


def report(results: Sequence[Result]) -> ScanReport:
    """Make the report of a scan that found them, all files read."""
    paths = sorted({one.path for one in results})
    return ScanReport(
        scanner_version="benchmark",
        profile_name="ferrotorch",
        profile_hash="0" * 64,
        ptxas_version="",
        source=SourceInfo(root="/benchmark"),
        crates=tuple(CrateInfo(name, name, True) for name in sorted({one.crate for one in results})),
        manifest=tuple(ManifestEntry(path, "0" * 40, FileStatus.SCANNED, "", 40_000, 1300) for path in paths),
        rule_runs=tuple(RuleRun(rule_id, RuleStatus.RAN) for rule_id in RULES),
        results=tuple(results),
        duration_seconds=1.0,
    )


def timed(act: Callable[[], object]) -> tuple[float, float, float]:
    """Return how long a call takes, and the processor time of this process and of its database server."""
    server = psutil.Process(server_pid())
    started, own, its = time.perf_counter(), time.process_time(), sum(server.cpu_times()[:2])
    act()
    seconds = time.perf_counter() - started
    return seconds, time.process_time() - own, sum(server.cpu_times()[:2]) - its


def server_pid() -> int:
    """Return the process that serves this connection."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def measure(size: int) -> None:
    """Store and compare the scans of one size, and print the times."""
    from audit.models import Branch, Commit, Repository, RepositoryKind, ScanRun
    from audit.services.ingest import scan_report_ingest
    from audit.services.leases import lease_claim
    from migrations_tracker.services.follow_up import scan_run_follow_up

    repository = Repository.objects.create(
        name="benchmark", slug=uuid.uuid4().hex, kind=RepositoryKind.FOLDER, location=f"/{uuid.uuid4()}",
        default_branch="main",
    )  # fmt: skip
    branch = Branch.objects.create(repository=repository, name="main")

    def store(results: Sequence[Result]) -> ScanRun:
        commit = Commit.objects.create(repository=repository, object_id=f"snapshot:{uuid.uuid4().hex}")
        scan_run = ScanRun.objects.create(
            repository=repository, commit=commit, branch=branch, scanner_version="benchmark",
            profile_name="ferrotorch", profile_hash="0" * 64,
        )  # fmt: skip
        lease_id = lease_claim(model=ScanRun, pk=scan_run.pk)
        assert lease_id is not None
        made = report(results)
        seconds, own, server = timed(
            lambda: scan_report_ingest(
                scan_run=scan_run, lease_id=lease_id, report=made, after_ingest=scan_run_follow_up
            )
        )
        scan_run.refresh_from_db()
        print(
            f"{size:7} results {seconds:6.2f} s (cpu {own:5.2f} + {server:5.2f}): {scan_run.new_count} new, "
            f"{scan_run.unchanged_count} unchanged, {scan_run.updated_count} updated, "
            f"{scan_run.absent_count} absent",
            flush=True,
        )
        return scan_run

    everything = [result(number) for number in range(size)]
    store(everything)
    store(everything)
    store([result(number, shift=3) for number in range(size)])
    gone = size // 100
    first = ScanRun.objects.filter(repository=repository).earliest("pk")
    last = store([result(number, shift=4) for number in range(gone, size + gone)])
    compare(first, last)


def compare(earlier: ScanRun, later: ScanRun) -> None:
    """Count what changed between two scans, list the first page of each kind, and print the time."""
    from audit.selectors.changes import ChangeKind, change_counts, change_page

    def both() -> None:
        change_counts(earlier=earlier, later=later)
        for kind in ChangeKind:
            change_page(earlier=earlier, later=later, kind=kind)

    counting, own, server = timed(lambda: change_counts(earlier=earlier, later=later))
    print(f"        compared: counts {counting:.2f} s (cpu {own + server:.2f})", end=", ")
    counting, own, server = timed(both)
    print(f"counts and a page of each kind {counting:.2f} s (cpu {own + server:.2f})", flush=True)


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(description="Measure how fast results are stored and compared.")
    parser.add_argument("--sizes", default="10000,50000")
    arguments = parser.parse_args()
    with database():
        for size in map(int, arguments.sizes.split(",")):
            measure(size)


if __name__ == "__main__":
    main()
