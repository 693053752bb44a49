"""Measure the pages of the capability matrix: `python -m benchmarks.capability_pages [--operators 2500]`.

Cells are drawn with a stated seed: that many operators by four dtypes, two directions and two devices, in two
scans that say the same, and the matrix of another repository beside it. PostgreSQL and gunicorn run as
`make run` starts them. Each address is asked for one at a time and the answer read to its end; of several
rounds the best counts, as the machine may do other things. Queries are counted in the process itself.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import os
import random
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from audit.parity.capability import Case, Cell, Effect, Implementation, Layer, Place, State
from audit.parity.catalogue import Direction, newest
from audit.parity.counterparts import Support, SupportState
from audit.scanner.report import ScanReport, SourceInfo
from benchmarks.database import database
from migrations_tracker.supervisor.programs import web

if TYPE_CHECKING:
    from audit.models import ScanRun

DTYPES = ("float32", "float64", "float16", "bfloat16")
DEVICES = ("cuda", "cpu")
READY_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Measured:
    """An address, the milliseconds of its best round, its size and its queries."""

    address: str
    median: float
    p95: float
    size: int
    queries: int


def cells_of(names: Sequence[str], draw: random.Random) -> Iterator[Cell]:
    """Draw a cell for each operator, device, dtype and direction; on the CPU every one is computed."""
    states = [state for state in State if state is not State.ABSENT]
    for position, name in enumerate(names):
        crate = f"crate-{position % 12}"
        place = Place(f"{crate}/src/ops_{position % 90}.rs", 10 + position, f"crate::{name}")
        proof = Implementation(place, Layer.BACKEND, frozenset({Effect.LAUNCH}))
        for device, dtype, direction in itertools.product(DEVICES, DTYPES, Direction):
            state = State.KERNEL if device == "cpu" else draw.choice(states)
            answer = Support(SupportState.KERNEL, f"{name} has a kernel for {device}")
            yield Cell(Case(name, dtype, device, direction), state, proof, (proof,), answer)


def fill(operators: int, seed: int) -> ScanRun:
    """Store two scans of each of two repositories; give the scan whose pages are measured."""
    from audit.models import Branch, Commit, Repository, RepositoryKind, RowState, ScanRun

    names = [f"aten::{base}" for base in sorted(newest().by_base)]
    names = [*names, *(f"torch.nn.functional.operation_{number}" for number in range(operators))][:operators]
    for slug in ("beside", "measured"):
        repository = Repository.objects.create(
            name=slug, slug=slug, kind=RepositoryKind.FOLDER, location=f"/srv/{slug}", default_branch="main"
        )
        branch = Branch.objects.create(repository=repository, name="main")
        for number in range(2):
            now = timezone.now()
            scan_run = ScanRun.objects.create(
                repository=repository,
                commit=Commit.objects.create(repository=repository, object_id=f"snapshot:{slug}{number}"),
                branch=branch,
                scanner_version="benchmark",
                profile_name="ferrotorch",
                profile_hash="0" * 64,
                state=RowState.SUCCEEDED,
                started_at=now,
                finished_at=now,
            )
            with transaction.atomic():
                store(scan_run, tuple(cells_of(names, random.Random(seed))))
        Branch.objects.filter(pk=branch.pk).update(last_scan=scan_run)
    return scan_run


def store(scan_run: ScanRun, cells: tuple[Cell, ...]) -> None:
    """Store cells as a scan of the default branch does."""
    from audit.services.capabilities import Capabilities, capabilities_store
    from audit.services.gaps import capability_gaps_follow
    from migrations_tracker.services.follow_up import gaps_follow_up

    nothing = ScanReport(
        scanner_version="benchmark",
        profile_name="ferrotorch",
        profile_hash="0" * 64,
        ptxas_version="",
        source=SourceInfo(root="/srv"),
        crates=(),
        manifest=(),
        rule_runs=(),
        results=(),
        duration_seconds=1.0,
    )
    capabilities = Capabilities(newest().version, cells)
    capabilities_store(scan_run=scan_run, report=nothing, capabilities=capabilities)
    changes = capability_gaps_follow(scan_run=scan_run, report=nothing, capabilities=capabilities)
    gaps_follow_up(scan_run=scan_run, changes=changes)


def addresses(scan_run: ScanRun) -> list[str]:
    """Return the addresses to measure."""
    from audit.models import Capability, CapabilityGap

    cell = Capability.objects.filter(scan_run=scan_run, device="cuda", is_gap=True).earliest("id")
    gap = CapabilityGap.objects.filter(repository=scan_run.repository).earliest("id")
    matrix = "/capabilities/?repository=measured"
    return [
        matrix,
        f"{matrix}&page=30",
        f"{matrix}&page=63",
        f"{matrix}&gaps=1&family=linalg",
        f"{matrix}&state=fallback&q=add",
        f"{matrix}&only=pytorch",
        cell.address(scan_run.repository),
        f"/operators/measured/{cell.operator}/",
        "/gaps/?repository=measured",
        gap.get_absolute_url(),
    ]


@contextmanager
def server(cookie: str) -> Iterator[int]:
    """Run the web server as it is shipped; give its port once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    environment = {**os.environ, "ALLOWED_HOSTS": "127.0.0.1", "DATABASE_POOL_SIZE": "8"}
    collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
    subprocess.run(collect, env=environment, check=True)
    process = subprocess.Popen(web(port).command, env=environment, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + READY_SECONDS
        while time.monotonic() < until:
            try:
                ask(port, "/login/", cookie)
                break
            except OSError:
                time.sleep(0.2)
        yield port
    finally:
        process.terminate()
        process.wait()


def ask(port: int, address: str, cookie: str) -> tuple[int, int]:
    """Ask for an address; return the status and the size of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", address, headers={"Cookie": f"sessionid={cookie}"})
        response = connection.getresponse()
        return response.status, len(response.read())
    finally:
        connection.close()


def measure(port: int, address: str, cookie: str, rounds: int, times: int) -> tuple[float, float, int]:
    """Return the median and the 95th percentile of the best round in milliseconds, and the size."""
    best: list[float] = []
    size = 0
    for _ in range(rounds):
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            status, size = ask(port, address, cookie)
            taken.append(1000 * (time.perf_counter() - began))
            if status != http.client.OK:
                raise RuntimeError(f"{address} answered {status}")
        if not best or statistics.quantiles(taken, n=20)[-1] < statistics.quantiles(best, n=20)[-1]:
            best = taken
    return statistics.median(best), statistics.quantiles(best, n=20)[-1], size


def queries(address: str, cookie: str, token: str = "") -> int:
    """Count the queries that a page takes, or with a token an answer of the API."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(SERVER_NAME="127.0.0.1", headers={"Authorization": f"Bearer {token}"} if token else None)
    client.cookies["sessionid"] = cookie
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(address)
        # A file is written while it is read.
        for _ in answer:
            pass
    return len(captured)


def session() -> str:
    """Log somebody in, who may be known from an earlier run; return the session's key."""
    from django.contrib.auth.models import User
    from django.test import Client

    user = User.objects.filter(username="benchmark").first() or User.objects.create_superuser(
        "benchmark", "benchmark@example.org", "only for this run"
    )
    client = Client()
    client.force_login(user)
    return client.cookies["sessionid"].value


def main() -> int:
    """Print a table; exit 1 when a page is over a bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operators", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=20261128)
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
        scan_run = fill(options.operators, options.seed)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        cookie = session()
        found = []
        with server(cookie) as port:
            for address in addresses(scan_run):
                median, p95, size = measure(port, address, cookie, options.rounds, options.times)
                found.append(Measured(address, median, p95, size, queries(address, cookie)))
        count = scan_run.capabilities.count()
    print(
        f"{options.operators} operators, {count} cells, seed {options.seed}; best of {options.rounds} rounds"
    )
    print("address\tmedian ms\tp95 ms\tkB\tqueries")
    for row in found:
        print(f"{row.address}\t{row.median:.1f}\t{row.p95:.1f}\t{row.size / 1000:.0f}\t{row.queries}")
    over = [row for row in found if row.p95 > options.milliseconds or row.queries > options.queries]
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
