"""Scan the past of a repository: `python -m benchmarks.backfill REPO [--branch B] [--jobs 2] [--cache DIR]`.

REPO is a clone. Each commit of the branch is scanned and stored in an empty database, as `manage.py backfill`
does it. Told are the time, the processor time (of scanning, of storing, and of the database server: on a
machine that does other things, too, half of their sum is what two processors of one's own would take), and
what became of the sites; then the history is held against its own sums. Without a cache folder every file is
parsed anew.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time

import psutil

from benchmarks.database import database


def main() -> None:
    """Scan, tell and check."""
    parser = argparse.ArgumentParser(description="Scan the past of a repository, and check the sums.")
    parser.add_argument("repository")
    parser.add_argument("--branch", default="")
    parser.add_argument("--since", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache")
    arguments = parser.parse_args()
    if arguments.cache:
        os.environ["SCAN_CACHE_DIR"] = arguments.cache
    with database():
        run(arguments)
        if unbalanced := faults():
            sys.exit("\n".join(unbalanced))
        print("Each commit balances; no site is in a scan twice.")


def run(arguments: argparse.Namespace) -> None:
    """Scan the past and print what it took and gave."""
    from django.db import connection

    from audit.services.backfill import BackfillProgress, backfill
    from audit.services.repositories import repository_add
    from migrations_tracker.services.history import history_follow_up

    def say(state: BackfillProgress) -> None:
        if state.done % 20 == 0 or state.done == state.total:
            print(f"{state.done} of {state.total}, {time.perf_counter() - started:.0f} s", flush=True)

    repository = repository_add(location=arguments.repository, name="", actor=None)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        server = psutil.Process(int(cursor.fetchone()[0]))
    started, own, its = time.perf_counter(), time.process_time(), sum(server.cpu_times()[:2])
    state = backfill(
        repository=repository,
        branch_name=arguments.branch,
        since=arguments.since,
        jobs=arguments.jobs,
        progress=say,
        after_settling=history_follow_up,
    )
    seconds, own = time.perf_counter() - started, time.process_time() - own
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    scanning = children.ru_utime + children.ru_stime
    its = sum(server.cpu_times()[:2]) - its
    print(f"{state.done} commits in {seconds:.1f} s; processor time {scanning + own + its:.1f} s:")
    print(f"scanning {scanning:.1f} s, storing {own:.1f} s, server {its:.1f} s")
    for commit, reason in state.failed.items():
        print(f"not scanned: {commit[:9]}: {reason}")
    tell()


def tell() -> None:
    """Print what happened to the sites of the branch."""
    from django.db.models import Count

    from audit.models import BranchScan, HeldSite, Lineage, Result, SiteEvent

    print(f"{BranchScan.objects.count()} commits of the branch itself, {Result.objects.count()} results")
    for kind, outcome, count in (
        SiteEvent.objects.order_by("kind", "outcome").values_list("kind", "outcome").annotate(Count("id"))
    ):
        print(f"{count:6} {kind} {outcome}".rstrip())
    held = HeldSite.objects.order_by("drop__branch_scan__position")
    for one in held.select_related("site", "drop__branch_scan__scan_run__commit"):
        commit = one.drop.branch_scan.scan_run.commit
        print(
            f"       held at {commit.short_id}: {one.site.rule_id} {one.site.symbol} {one.site.path}, "
            f"{one.end or 'held still'}"
        )
    for match_pass, count in (
        Lineage.objects.order_by("match_pass").values_list("match_pass").annotate(Count("id"))
    ):
        print(f"{count:6} recognised by {match_pass}")


def faults() -> list[str]:
    """Return what does not add up in the stored history."""
    from django.db.models import Count, F, Sum

    from audit.models import BranchScan, Result, SiteEvent, SiteState

    found = []
    before = 0
    for row in BranchScan.objects.select_related("scan_run__commit").order_by("position"):
        if row.open_count != before + row.new_count + row.reopened_count - row.closed_count:
            found.append(f"{row.scan_run.commit.short_id}: {row.open_count} open after {before}")
        tallied = row.tallies.filter(is_open=True).aggregate(Sum("count"))["count__sum"] or 0
        if tallied != row.open_count:
            found.append(f"{row.scan_run.commit.short_id}: {tallied} tallied of {row.open_count}")
        before = row.open_count
    undated = SiteEvent.objects.filter(
        kind="closed", branch_scan__scan_run__commit__committed_at__isnull=True
    )
    found += [f"site {event.site_id} is gone at no date" for event in undated]
    untold = SiteEvent.objects.filter(kind="closed", outcome="")
    found += [f"site {event.site_id} is gone and nobody said what it became" for event in untold]
    closed = SiteState.objects.filter(is_open=False).count()
    ended = SiteState.objects.filter(is_open=False, closed_scan__isnull=False).filter(
        site__events__kind="closed", site__events__branch_scan__scan_run=F("closed_scan")
    )
    if ended.values("pk").distinct().count() != closed:
        found.append("a site is closed without the commit at which it went")
    twice = Result.objects.values("scan_run", "site").annotate(times=Count("id")).filter(times__gt=1)
    found += [f"scan {row['scan_run']}: site {row['site']} is there {row['times']} times" for row in twice]
    return found


if __name__ == "__main__":
    main()
