"""Measure all pages at full size: `python -m benchmarks.pages [--sites 100000] [--requests 500]`.

A repository of that many sites and ten times as many results is written by `benchmarks.large_repository`,
and its gaps, plan and knowledge by `benchmarks.large_surroundings`; PostgreSQL and gunicorn run as `make
run` starts them. Each address is asked for one at a time over HTTP, the answer read to its end, after some
requests to warm up. Beside the time on the clock stands the processor time of a request, of the web server
and of its database together: on a machine that does other things, too, it says what the time would be.
Queries are counted in this process. `--combinations 200` asks for as many lists of sites, too, with filters
and order drawn from all that the list offers.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import os
import random
import re
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import psutil

from benchmarks import large_surroundings as surroundings
from benchmarks.capability_pages import queries, server, session
from benchmarks.database import database
from benchmarks.large_repository import RARE_CRATE, RARE_RULE, RARE_WORD, SCANS, fill

if TYPE_CHECKING:
    from audit.models import Branch

SLUG = "large"
WARM = 10
SEED = 20261128
CSV_SECONDS, CSV_GROWTH_MB = 3.0, 10.0
FIRST_PAGE_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class Measured:
    """An address with its times in milliseconds, its size and its queries."""

    address: str
    median: float
    p95: float
    cpu: float
    size: int
    queries: int


class Asking:
    """One connection to the server that is kept, and the processes behind it."""

    def __init__(self, port: int, cookie: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Cookie": f"sessionid={cookie}", "Accept-Encoding": "gzip"}
        self.web = _listeners(port)
        self.all = [*self.web, *_of_the_database()]

    def get(self, address: str) -> tuple[dict[str, str], bytes]:
        """Return the headers and the body, as they came over the wire."""
        self._connection.request("GET", address, headers=self._headers)
        response = self._connection.getresponse()
        body = response.read()
        if response.status != http.client.OK:
            raise RuntimeError(f"{address} answered {response.status}")
        return dict(response.getheaders()), body

    def read(self, address: str) -> Iterator[bytes]:
        """Yield the body in the parts in which it comes."""
        self._connection.request("GET", address, headers=self._headers)
        response = self._connection.getresponse()
        if response.status != http.client.OK:
            raise RuntimeError(f"{address} answered {response.status}")
        while part := response.read1(65536):
            yield part

    def processor_seconds(self) -> float:
        """Return what the web server and the database have worked until now."""
        return sum(sum(process.cpu_times()[:2]) for process in self.all if process.is_running())


def _listeners(port: int) -> list[psutil.Process]:
    mine = psutil.Process().children(recursive=True)
    return [one for one in mine if any(str(port) in part for part in one.cmdline())]


def _of_the_database() -> list[psutil.Process]:
    from benchmarks.ingest import server_pid

    postmaster = psutil.Process(server_pid()).parent()
    assert postmaster is not None
    return list(postmaster.children())


def addresses(branch: Branch) -> list[str]:
    """Return the addresses to measure: the plain ones, the deepest pages and the rarest filters."""
    from audit.models import FallbackSite, SiteState
    from migrations_tracker.selectors.site_list import SORT_ORDERS, Cursor

    newest = branch.last_scan
    assert newest is not None
    states = SiteState.objects.filter(branch=branch)
    sites = f"/sites/?repository={SLUG}"
    deepest = []
    for key, order in SORT_ORDERS.items():
        flip = "" if order.is_descending else "-"
        row = states.filter(is_open=True).order_by(*(f"{flip}{column}" for column in order.columns))[60]
        cursor = Cursor(tuple(getattr(row, column) for column in order.columns)).encode()
        deepest.append(f"{sites}&sort={key}&page={cursor}")
        backward = Cursor(tuple(getattr(row, column) for column in order.columns), is_backward=True)
        deepest.append(f"{sites}&sort={key}&page={backward.encode()}")
    is_open = FallbackSite.objects.filter(states__in=states.filter(is_open=True)).earliest("id")
    is_gone = FallbackSite.objects.filter(states__in=states.filter(is_open=False)).latest("id")
    first = branch.scan_runs.earliest("pk")
    base = f"/repositories/{SLUG}"
    return [
        "/",
        f"{base}/",
        f"{base}/dashboard/",
        f"{base}/history/?by=rule",
        f"{base}/history/?by=crate",
        f"{base}/history/?by=outcome",
        f"{base}/changes/?from={first.pk}&to={newest.pk}",
        f"{base}/guesses/",
        f"{base}/held/",
        f"{base}/settings/",
        sites,
        f"{sites}&seen=any",
        f"{sites}&seen=absent",
        *deepest,
        f"{sites}&rule={RARE_RULE}",
        f"{sites}&crate={RARE_CRATE}",
        f"{sites}&q={RARE_WORD}",
        f"{sites}&q={RARE_WORD}&seen=any",
        f"{sites}&q=nothing_like_it",
        f"{sites}&q=operation",
        f"{sites}&q=op",
        f"{sites}&q=module+operation&level=note&sort=symbol",
        f"{sites}&status=in-review",
        f"{sites}&status=open&sort=newest",
        f"{sites}&status=verified&seen=any&sort=rule",
        f"{sites}&seen=absent&outcome=composite",
        f"{sites}&rule=FT001&crate=crate-3&level=error&status=planned&q=operation_9&sort=crate",
        is_open.get_absolute_url(),
        is_gone.get_absolute_url(),
        f"{is_open.get_absolute_url()}timeline/",
        newest.get_absolute_url(),
        first.get_absolute_url(),
        f"/sites/change/?repository={SLUG}",
        f"/sites/change/?repository={SLUG}&q={RARE_WORD}",
        "/bulk-changes/",
        "/rules/",
        "/rules/FT001/",
        "/policy/",
        "/reports/",
        "/verifications/",
        "/runners/",
        "/account/",
        *surroundings.addresses(branch),
    ]


def combinations(count: int) -> Iterator[str]:
    """Draw lists of sites: each filter not at all, or something common, something rare, or nothing at all."""
    from migrations_tracker.selectors.site_list import SORT_ORDERS

    draw = random.Random(SEED)
    axes = {
        "crate": ("crate-21", "crate-3", RARE_CRATE),
        "rule": ("FT001", "FT014", RARE_RULE),
        "level": ("note", "error"),
        "status": ("open", "verified", "in-review", "suppressed", "reopened"),
        "outcome": ("composite", "not-told"),
        "q": (RARE_WORD, "operation", "op", "nothing_like_it", "crate_21 operation_9"),
    }
    for _ in range(count):
        chosen = {name: draw.choice(values) for name, values in axes.items() if draw.random() < 0.4}
        chosen |= {"seen": draw.choice(("open", "absent", "any")), "sort": draw.choice(list(SORT_ORDERS))}
        yield f"/sites/?repository={SLUG}&{urlencode(chosen)}"


def measure(asking: Asking, address: str, times: int) -> tuple[float, float, float, int]:
    """Return the median and the 95th percentile on the clock, the processor time, and the size."""
    for _ in range(WARM):
        _, body = asking.get(address)
    taken, worked = [], asking.processor_seconds()
    for _ in range(times):
        began = time.perf_counter()
        asking.get(address)
        taken.append(1000 * (time.perf_counter() - began))
    worked = asking.processor_seconds() - worked
    return statistics.median(taken), statistics.quantiles(taken, n=20)[-1], 1000 * worked / times, len(body)


def first_page(asking: Asking) -> int:
    """Return what a first visit to the list of sites costs on the wire: the page and all it names."""
    headers, body = asking.get(f"/sites/?repository={SLUG}")
    page = gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body
    assets = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page.decode()))
    total = len(body)
    for address in sorted(assets):
        _, asset = asking.get(address)
        print(f"  {len(asset):7} bytes  {address}")
        total += len(asset)
    print(f"  {len(body):7} bytes  the page itself ({len(page)} unpacked)")
    return total


def csv_file(asking: Asking) -> tuple[float, float, int, float]:
    """Read all sites as CSV; return its seconds, processor seconds, records, and the growth in MB."""
    address = f"/sites.csv?repository={SLUG}&seen=any"
    for _ in asking.read(f"{address}&q={RARE_WORD}"):
        pass
    before, highest = _resident(asking.web), 0
    worked, began, lines = asking.processor_seconds(), time.perf_counter(), 0
    for number, part in enumerate(asking.read(address)):
        lines += part.count(b"\n")
        if number % 20 == 0:
            highest = max(highest, _resident(asking.web))
    seconds = time.perf_counter() - began
    growth = max(highest, _resident(asking.web)) - before
    return seconds, asking.processor_seconds() - worked, lines - 1, growth / 1e6


def _resident(processes: Sequence[psutil.Process]) -> int:
    return int(sum(process.memory_info().rss for process in processes))


def main() -> int:
    """Print the tables; exit 1 when something is over its bar."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sites", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--milliseconds", type=float, default=100.0, help="the bar for the 95th percentile")
    parser.add_argument("--queries", type=int, default=12, help="the bar for queries")
    parser.add_argument("--combinations", type=int, default=0, help="as many lists of sites besides")
    parser.add_argument("--only", default="", help="measure only addresses with this in them")
    options = parser.parse_args()
    os.environ.setdefault("ALLOWED_HOSTS", "127.0.0.1,testserver")
    with database():
        cookie = session()
        branch = _filled(options.sites)
        with server(cookie) as port:
            asking = Asking(port, cookie)
            found = []
            print("| address | median, ms | p95, ms | CPU, ms | kB | queries |")
            print("| --- | --- | --- | --- | --- | --- |", flush=True)
            for address in _chosen(branch, options):
                median, p95, cpu, size = measure(asking, address, options.requests)
                row = Measured(address, median, p95, cpu, size, queries(address, cookie))
                print(
                    f"| {row.address} | {row.median:.1f} | {row.p95:.1f} | {row.cpu:.1f} "
                    f"| {row.size / 1000:.0f} | {row.queries} |",
                    flush=True,
                )
                found.append(row)
            return _verdict(asking, found, options.milliseconds, options.queries)


def _chosen(branch: Branch, options: argparse.Namespace) -> list[str]:
    found = [*dict.fromkeys(addresses(branch)), *combinations(options.combinations)]
    return [address for address in found if options.only in address]


def _filled(sites: int) -> Branch:
    from django.contrib.auth.models import User
    from django.db import connection

    from audit.models import Result

    began = time.perf_counter()
    person = User.objects.get(username="benchmark")
    branch = fill(slug=SLUG, sites=sites, person_id=person.pk)
    surroundings.surround(branch, person)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    print(f"{sites} sites and {Result.objects.count()} results of {SCANS} scans, written in", end=" ")
    print(f"{time.perf_counter() - began:.0f} s")
    return branch


def _verdict(asking: Asking, found: Sequence[Measured], milliseconds: float, most: int) -> int:
    print("\nA first visit to the list of sites, nothing kept:")
    size = first_page(asking)
    print(f"  {size:7} bytes in all (bar {FIRST_PAGE_BYTES})")
    seconds, worked, records, growth = csv_file(asking)
    print(f"CSV of {records} sites: {seconds:.2f} s, {worked:.2f} s CPU (bar {CSV_SECONDS} s);", end=" ")
    print(f"the web server grew by {growth:.1f} MB (bar {CSV_GROWTH_MB:.0f} MB)")
    worst = max(found, key=lambda row: row.p95)
    print(f"Worst page: {worst.address}, p95 {worst.p95:.1f} ms, {worst.cpu:.1f} ms CPU,", end=" ")
    print(f"{worst.queries} queries")
    over = [row.address for row in found if row.p95 > milliseconds or row.queries > most]
    print("Over a bar: " + (", ".join(over) or "none"))
    is_over = over or size > FIRST_PAGE_BYTES or seconds > CSV_SECONDS or growth > CSV_GROWTH_MB
    return 1 if is_over else 0


if __name__ == "__main__":
    sys.exit(main())
