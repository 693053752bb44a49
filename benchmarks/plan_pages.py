"""Measure the plan's pages: `python -m benchmarks.plan_pages [--sites 5000]`.

As many open sites as said, ten to a unit, with 200 gaps beside them, become a plan with people, runners and
two schedules of all units, one of them the baseline; one unit is finished and one under way. PostgreSQL and
gunicorn run as `make run` starts them. Each address is asked for one at a time, its answer read to the end;
of several rounds the best counts. Queries are counted, and processor time taken, in the process itself: where
the machine does other things, too, that is what the time would be without them, the database's part aside.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from audit.parity.capability import Case, Cell, Effect, Implementation, Layer, Place, State
from audit.parity.catalogue import Direction, newest
from audit.parity.counterparts import Support, SupportState
from audit.scanner.inventory import Inventory
from audit.scanner.report import Result
from benchmarks.capability_pages import measure, queries, server, session
from benchmarks.database import database
from benchmarks.ingest import report, result

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from migrations_tracker.models import Plan

GAPS = 200
PEOPLE = 12
RUNNERS = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """An address with its times in milliseconds, its size and its queries."""

    address: str
    median: float
    p95: float
    cpu_p95: float
    size: int
    queries: int


def cells(results: Sequence[Result]) -> list[Cell]:
    """Make the gaps of the first operators of PyTorch, each in the code of one result."""
    found = []
    for base, one in zip(sorted(newest().by_base)[:GAPS], results[::7], strict=False):
        place = Place(one.path, one.region.start_line, one.symbol)
        proof = Implementation(place, Layer.BACKEND, frozenset({Effect.LAUNCH}))
        case = Case(f"aten::{base}", "float32", "cuda", Direction.FORWARD)
        support = Support(SupportState.KERNEL, f"aten::{base} has a CUDA kernel")
        found.append(Cell(case, State.HOST_ONLY, proof, (proof,), support))
    return found


def scanned(sites: int) -> Plan:
    """Store a scan with its sites, gaps and inventory, and propose the plan."""
    from audit.models import Branch, Commit, Repository, RepositoryKind, ScanRun
    from audit.services.capabilities import Capabilities, capabilities_store
    from audit.services.gaps import capability_gaps_follow
    from audit.services.ingest import scan_report_ingest
    from audit.services.inventories import inventory_store
    from audit.services.leases import lease_claim
    from migrations_tracker.services.follow_up import gaps_follow_up, scan_run_follow_up
    from migrations_tracker.services.plan_proposals import plan_propose

    results = [result(number)._replace(rule_id="FT008") for number in range(sites)]
    said = report(results)
    repository = Repository.objects.create(
        name="measured", slug="measured", kind=RepositoryKind.FOLDER, location="/srv/m", default_branch="main"
    )
    branch = Branch.objects.create(repository=repository, name="main")
    scan_run = ScanRun.objects.create(
        repository=repository,
        commit=Commit.objects.create(repository=repository, object_id="snapshot:measured"),
        branch=branch,
        scanner_version="benchmark",
        profile_name="ferrotorch",
        profile_hash="0" * 64,
    )
    lease_id = lease_claim(model=ScanRun, pk=scan_run.pk)
    assert lease_id is not None
    scan_report_ingest(scan_run=scan_run, lease_id=lease_id, report=said, after_ingest=scan_run_follow_up)
    capabilities = Capabilities(newest().version, tuple(cells(results)))
    capabilities_store(scan_run=scan_run, report=said, capabilities=capabilities)
    with transaction.atomic():
        changes = capability_gaps_follow(scan_run=scan_run, report=said, capabilities=capabilities)
        gaps_follow_up(scan_run=scan_run, changes=changes)
    inventory = Inventory(
        dependencies={f"crate-{number}": frozenset({"crate-0"}) for number in range(1, 20)},
        gpu_crates=frozenset(f"crate-{number}" for number in range(20)),
        callers={one.symbol: number % 20 for number, one in enumerate(results)},
        kernels={one.symbol: ("0" * 64,) for one in results[::10]},
        rejected_kernels=frozenset({"0" * 64}),
    )
    inventory_store(scan_run=scan_run, report=said, capabilities=capabilities, inventory=inventory)
    return plan_propose(repository=repository, actor=None).plan


def staff(plan: Plan, actor: User) -> None:
    """Give a plan people of equal hours and skills, and runners."""
    from migrations_tracker.services.plan_people import person_set
    from workers.models import Runner

    for number in range(PEOPLE):
        person_set(
            plan=plan,
            name=f"person-{number}",
            skills=["autograd", "build", "kernel"],
            capacity=1,
            time_zone="UTC",
            hours=[[day, 540, 1020] for day in range(5)],
            actor=actor,
        )
    for number in range(RUNNERS):
        Runner.objects.get_or_create(name=f"runner-{number}", defaults={"is_able": True})


def staffed(plan: Plan) -> float:
    """Add people, runners, schedules, a unit under way and one finished.

    Returns the processor seconds that asking for a schedule took, whose answer is that of list scheduling.
    """
    from django.contrib.auth.models import User

    from migrations_tracker.models import Person, UnitMember, WorkUnit
    from migrations_tracker.scheduling.problem import SolveOptions
    from migrations_tracker.services.schedules import baseline_set, schedule_execute, schedule_request

    actor = User.objects.get(username="benchmark")
    staff(plan, actor)
    quick = SolveOptions(evaluations=40, use_solver=False)
    for shift in (timedelta(0), timedelta(days=1)):
        began = time.process_time()
        row = schedule_request(plan=plan, actor=actor, now=timezone.now() + shift)
        asked = time.process_time() - began
        schedule_execute(pk=row.pk, options=quick)
        row.refresh_from_db()
        if not shift:
            baseline_set(plan=plan, schedule=row, actor=actor)
    now = timezone.now()
    person = Person.objects.filter(plan=plan).earliest("pk")
    begun, done = WorkUnit.objects.filter(plan=plan, phase=3).order_by("-item_count", "pk")[:2]
    WorkUnit.objects.filter(pk=begun.pk).update(
        status="under-way", started_at=now, person=person, actual_hours=2.0
    )
    WorkUnit.objects.filter(pk=done.pk).update(
        status="finished", started_at=now, finished_at=now, person=person, actual_hours=9.0
    )
    UnitMember.objects.filter(unit=done).update(is_current=False)
    return asked


def addresses(plan: Plan) -> list[str]:
    """Return the addresses to measure."""
    from migrations_tracker.models import Schedule, UnitMember, WorkUnit

    base = f"/plan/{plan.repository.slug}"
    units = WorkUnit.objects.filter(plan=plan)
    begun = units.get(status="under-way")
    largest = units.filter(status="planned").order_by("-item_count", "pk")[0]
    gap = UnitMember.objects.filter(gap__isnull=False).earliest("pk").unit
    decision = units.filter(phase=1).order_by("pk")[0]
    newest_schedule = Schedule.objects.filter(plan=plan)[0]
    return [
        f"{base}/",
        f"{base}/?crate=crate-3",
        f"{base}/units/",
        f"{base}/units/?phase=3&q=readback",
        f"{base}/missing/",
        f"{base}/people/",
        f"{base}/people/person-0/",
        f"{base}/schedules/",
        newest_schedule.get_absolute_url(),
        f"{newest_schedule.get_absolute_url()}?zoom=day",
        *(unit.get_absolute_url() for unit in (begun, largest, gap, decision)),
        f"/units/{largest.pk}/issue.md",
        *(f"{base}/plan.{form}" for form in ("md", "csv", "json", "ics")),
    ]


def processor(address: str, cookie: str, times: int) -> float:
    """Return the 95th percentile of the milliseconds that this process works for an answer."""
    from django.test import Client

    client = Client(SERVER_NAME="127.0.0.1")
    client.cookies["sessionid"] = cookie
    taken = []
    for _ in range(times):
        began = time.process_time()
        client.get(address)
        taken.append(1000 * (time.process_time() - began))
    return statistics.quantiles(taken, n=20)[-1]


def main() -> int:
    """Print a table; exit 1 when a page is over a bar. Files may take what they take."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sites", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--milliseconds", type=float, default=100.0, help="the bar for the 95th percentile")
    parser.add_argument("--queries", type=int, default=12, help="the bar for queries")
    options = parser.parse_args()
    os.environ.setdefault("ALLOWED_HOSTS", "127.0.0.1,testserver")
    with database():
        from django.db import connection

        from audit.services.parity import parity_dumps_import_shipped

        parity_dumps_import_shipped()
        cookie = session()
        plan = scanned(options.sites)
        asked = staffed(plan)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        counts = plan.units.count(), sum(plan.units.values_list("item_count", flat=True))
        print(f"{counts[0]} units of {counts[1]} items; best of {options.rounds} rounds of {options.times}")
        print(f"A schedule's first answer, with all that is stored of it, took {asked:.2f} s of CPU.\n")
        print("| address | median, ms | p95, ms | p95 of CPU, ms | kB | queries |")
        print("| --- | --- | --- | --- | --- | --- |", flush=True)
        found = []
        with server(cookie) as port:
            for address in addresses(plan):
                median, p95, size = measure(port, address, cookie, options.rounds, options.times)
                cpu = processor(address, cookie, options.times)
                row = Measured(address, median, p95, cpu, size, queries(address, cookie))
                found.append(row)
                print(
                    f"| `{row.address}` | {row.median:.1f} | {row.p95:.1f} | {row.cpu_p95:.1f} "
                    f"| {row.size / 1000:.0f} | {row.queries} |",
                    flush=True,
                )
    pages = [row for row in found if row.address.endswith("/") or "?" in row.address]
    over = [row for row in pages if row.p95 > options.milliseconds or row.queries > options.queries]
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
