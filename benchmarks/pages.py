"""Measure all pages at full size: `python -m benchmarks.pages [--sites 100000] [--requests 500]`.

A repository of that many sites and ten times as many results is written by `benchmarks.large_repository`,
its gaps, plan and knowledge by `benchmarks.large_surroundings`, and what people and machines did there by
`benchmarks.large_activity`; PostgreSQL and gunicorn run as `make run` starts them. Each address is asked for
one at a time over HTTP, the answer read to its end, after some requests to warm up. Beside the time on the
clock stands the processor time of a request, of the web server and of its database together: on a machine
that does other things, too, it says what the time would be. Queries are counted in this process.

Asked for are all pages and all reading operations of the API that the table of roles names: one that has no
address here ends the run. `--combinations 200` asks for as many lists of sites besides, with filters and
order drawn from all that the list offers, `--combination-requests` times each. `--keep FOLDER` keeps the
database there, and a later run with the same folder finds it written. `--part 2/3` measures the second third
of the addresses.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import http.client
import inspect
import json
import os
import re
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from benchmarks import large_activity, large_proof, large_repository, large_surroundings, page_addresses
from benchmarks.capability_pages import queries, server, session
from benchmarks.database import database
from benchmarks.large_repository import RARE_WORD, SCANS

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from audit.models import Branch

SLUG = "large"
WARM = 10
FILE_REQUESTS = 3
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


class UnansweredError(Exception):
    """An address that answers with something else than a page."""


class Asking:
    """One connection to the server that is kept, and the processes behind it."""

    def __init__(self, port: int, cookie: str, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {
            "Cookie": f"sessionid={cookie}",
            "Authorization": f"Bearer {token}",
            "Accept-Encoding": "gzip",
        }
        self.web = _listeners(port)
        self.all = [*self.web, *_of_the_database()]

    def begin(self) -> None:
        """Come with a new connection: the server ends one that was idle while queries were counted."""
        self._connection.close()

    def get(self, address: str) -> tuple[dict[str, str], bytes]:
        """Return the headers and the body, as they came over the wire."""
        self._connection.request("GET", address, headers=self._headers)
        response = self._connection.getresponse()
        body = response.read()
        if response.status != http.client.OK:
            raise UnansweredError(f"the answer is {response.status}")
        return dict(response.getheaders()), body

    def read(self, address: str) -> Iterator[bytes]:
        """Yield the body in the parts in which it comes."""
        self._connection.request("GET", address, headers=self._headers)
        response = self._connection.getresponse()
        if response.status != http.client.OK:
            raise UnansweredError(f"the answer is {response.status}")
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


def measure(asking: Asking, address: str, times: int) -> tuple[float, float, float, int]:
    """Return the median and the 95th percentile on the clock, the processor time, and the size."""
    asking.begin()
    for _ in range(min(WARM, times)):
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
    asking.begin()
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
    options = _options()
    os.environ.setdefault("ALLOWED_HOSTS", "127.0.0.1,testserver")
    # What one program may ask for in a minute is not measured here.
    os.environ["API_REQUESTS_PER_MINUTE"] = "1000000"
    is_written = options.keep is not None and _is_written(options.keep, options.sites)
    with database(options.keep):
        from django.contrib.auth.models import User

        from audit.models import Branch
        from migrations_tracker.services.api_tokens import api_token_create, api_token_revoke

        cookie = session()
        person = User.objects.get(username="benchmark")
        if not is_written:
            _write(options.sites, person)
            if options.keep is not None:
                (options.keep / "written.json").write_text(_stamp(options.sites))
        branch = Branch.objects.get(repository__slug=SLUG)
        row, token = api_token_create(owner=person, name="benchmark")
        try:
            with server(cookie) as port:
                return _measured(Asking(port, cookie, token), branch, cookie, token, options)
        finally:
            api_token_revoke(token=row)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sites", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--milliseconds", type=float, default=100.0, help="the bar for the 95th percentile")
    parser.add_argument("--queries", type=int, default=12, help="the bar for queries")
    parser.add_argument("--combinations", type=int, default=0, help="as many lists of sites besides")
    parser.add_argument("--combination-requests", type=int, default=20)
    parser.add_argument(
        "--only", action="append", help="measure only addresses with this in them; may be given again"
    )
    parser.add_argument("--part", default="1/1", help="measure a part of the addresses, such as 2/3")
    parser.add_argument("--keep", type=Path, help="a folder for the database, to be found there again")
    return parser.parse_args()


def _measured(asking: Asking, branch: Branch, cookie: str, token: str, options: argparse.Namespace) -> int:
    pages = [*dict.fromkeys([*page_addresses.pages(branch), *page_addresses.operations(branch)])]
    files = [*page_addresses.files(branch)]
    if left := page_addresses.missing([*pages, *files, f"/sites.csv?repository={SLUG}"]):
        print("Not measured, though the table of roles names it: " + ", ".join(left))
        return 1
    drawn = page_addresses.lists(SLUG, options.combinations)
    rounds = (
        ("Pages and answers of the API", pages, options.requests),
        ("Lists of sites with filters drawn", list(drawn), options.combination_requests),
        ("Files, held to no bar", files, FILE_REQUESTS),
    )
    number, parts = map(int, options.part.split("/"))
    held: list[Measured] = []
    unanswered: list[str] = []
    for title, addresses, times in rounds:
        print(f"\n{title}, {times} requests each\n")
        print("| address | median, ms | p95, ms | CPU, ms | kB | queries |")
        print("| --- | --- | --- | --- | --- | --- |", flush=True)
        chosen = [one for one in addresses if any(part in one for part in options.only or [""])]
        for address in chosen[number - 1 :: parts]:
            try:
                median, p95, cpu, size = measure(asking, address, times)
            except (UnansweredError, OSError, http.client.HTTPException) as error:
                print(f"| {address}: {error} | | | | | |", flush=True)
                unanswered.append(f"{address}: {error}")
                continue
            count = queries(address, cookie, token if address.startswith(page_addresses.API) else "")
            row = Measured(address, median, p95, cpu, size, count)
            _print(row)
            if addresses is not files:
                held.append(row)
    is_held = _verdict(asking, held, options.milliseconds, options.queries)
    print("Not answered: " + (", ".join(unanswered) or "none"))
    return 0 if is_held and not unanswered else 1


def _print(row: Measured) -> None:
    # The key of a page far down says nothing to a reader.
    address = re.sub(r"(page|cursor)=\w{8,}[\w-]*", r"\1=…", row.address)
    print(
        f"| {address} | {row.median:.1f} | {row.p95:.1f} | {row.cpu:.1f} | {row.size / 1000:.0f} "
        f"| {row.queries} |",
        flush=True,
    )


def _stamp(sites: int) -> str:
    """Name what was written: as many sites, by this code."""
    digest = hashlib.sha256()
    for module in (large_repository, large_surroundings, large_activity, large_proof):
        digest.update(inspect.getsource(module).encode())
    return json.dumps({"sites": sites, "code": digest.hexdigest()})


def _is_written(folder: Path, sites: int) -> bool:
    """Whether the folder's database holds what would be written; another one is taken away."""
    stamp = folder / "written.json"
    if stamp.exists() and stamp.read_text() == _stamp(sites):
        return True
    stamp.unlink(missing_ok=True)
    shutil.rmtree(folder / "postgres", ignore_errors=True)
    return False


def _write(sites: int, person: User) -> None:
    from django.db import connection

    from audit.models import Result

    began = time.perf_counter()
    branch = large_repository.fill(slug=SLUG, sites=sites, person_id=person.pk)
    large_surroundings.surround(branch, person)
    large_activity.act(branch, person)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    print(f"{sites} sites and {Result.objects.count()} results of {SCANS} scans, written in", end=" ")
    print(f"{time.perf_counter() - began:.0f} s")


def _verdict(asking: Asking, found: Sequence[Measured], milliseconds: float, most: int) -> bool:
    print("\nA first visit to the list of sites, nothing kept:")
    size = first_page(asking)
    print(f"  {size:7} bytes in all (bar {FIRST_PAGE_BYTES})")
    seconds, worked, records, growth = csv_file(asking)
    print(f"CSV of {records} sites: {seconds:.2f} s, {worked:.2f} s CPU (bar {CSV_SECONDS} s);", end=" ")
    print(f"the web server grew by {growth:.1f} MB (bar {CSV_GROWTH_MB:.0f} MB)")
    for title, worst in (
        ("Worst page", max(found, key=lambda row: row.p95)),
        ("The most work", max(found, key=lambda row: row.cpu)),
    ):
        print(f"{title}: {worst.address}, p95 {worst.p95:.1f} ms, {worst.cpu:.1f} ms CPU,", end=" ")
        print(f"{worst.queries} queries")
    over = [row.address for row in found if row.p95 > milliseconds or row.queries > most]
    print("Over a bar: " + (", ".join(over) or "none"))
    return not over and size <= FIRST_PAGE_BYTES and seconds <= CSV_SECONDS and growth <= CSV_GROWTH_MB


if __name__ == "__main__":
    sys.exit(main())
