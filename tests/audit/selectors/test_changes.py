"""What changed between two scans."""

from __future__ import annotations

from dataclasses import replace

import pytest

from audit.models import FallbackSite, Result, ScanRun
from audit.scanner.report import Outcome, SiteOutcome
from audit.selectors.changes import ChangeKind, change_counts, change_page, latest_pair, scan_of_commit
from tests.factories import ingest, make_report, make_repository, make_result

pytestmark = pytest.mark.django_db

KEPT, MOVED, EDITED, GONE, FRESH = (
    f"minitorch_gpu::ops::{name}" for name in ("kept", "moved", "edited", "gone", "fresh")
)


def code(symbol: str) -> str:
    return f"let host = read_{symbol.rpartition('::')[2]}(x);"


@pytest.fixture
def scans() -> tuple[ScanRun, ScanRun]:
    """Store two scans between which each kind of change happens once."""
    repository = make_repository()
    first = [
        make_result(symbol, line=line, snippet=code(symbol))
        for line, symbol in enumerate((KEPT, MOVED, EDITED, GONE), 1)
    ]
    ingest(repository, make_report(first))
    gone = FallbackSite.objects.get(symbol=GONE)
    second = [
        make_result(KEPT, line=80, snippet=code(KEPT)),
        make_result(MOVED.replace("ops", "kernels"), snippet=code(MOVED)),
        make_result(EDITED, form="if-let", snippet=code(EDITED)),
        make_result(FRESH, snippet=code(FRESH)),
    ]
    report = replace(
        make_report(second),
        outcomes={gone.pk: SiteOutcome(Outcome.DEVICE_KERNEL, "`gone` runs on the device")},
    )
    ingest(repository, report)
    earlier, later = ScanRun.objects.order_by("pk")
    return earlier, later


def test_each_kind_is_counted_and_listed_alike(scans: tuple[ScanRun, ScanRun]) -> None:
    earlier, later = scans
    counts = change_counts(earlier=earlier, later=later)
    assert counts == dict.fromkeys(ChangeKind, 1)
    for kind, count in counts.items():
        assert len(change_page(earlier=earlier, later=later, kind=kind).changes) == count


def test_a_moved_site_tells_both_places(scans: tuple[ScanRun, ScanRun]) -> None:
    earlier, later = scans
    [change] = change_page(earlier=earlier, later=later, kind=ChangeKind.MOVED).changes
    assert (change.old_path, change.path) == ("minitorch-gpu/src/ops.rs", "minitorch-gpu/src/kernels.rs")
    assert (change.old_symbol, change.symbol) == (MOVED, "minitorch_gpu::kernels::moved")


def test_an_absent_site_tells_what_it_became(scans: tuple[ScanRun, ScanRun]) -> None:
    earlier, later = scans
    [change] = change_page(earlier=earlier, later=later, kind=ChangeKind.ABSENT).changes
    assert (change.outcome, change.outcome_text) == ("device-kernel", "`gone` runs on the device")
    assert (change.path, change.old_line) == (None, 4)


def test_back_in_time_what_was_new_is_absent_and_has_become_nothing(scans: tuple[ScanRun, ScanRun]) -> None:
    earlier, later = scans
    assert change_counts(earlier=later, later=earlier) == dict.fromkeys(ChangeKind, 1)
    [change] = change_page(earlier=later, later=earlier, kind=ChangeKind.ABSENT).changes
    assert (change.symbol, change.outcome) == (FRESH, "")


def test_a_scan_compared_with_itself_is_unchanged(scans: tuple[ScanRun, ScanRun]) -> None:
    counts = change_counts(earlier=scans[0], later=scans[0])
    assert counts[ChangeKind.UNCHANGED] == Result.objects.filter(scan_run=scans[0]).count() == 4
    assert sum(counts.values()) == 4


def test_pages_follow_each_other_without_a_gap() -> None:
    repository = make_repository()
    ingest(repository, make_report([]))
    names = [f"minitorch_gpu::ops::op{number:02}" for number in range(11)]
    ingest(repository, make_report([make_result(name, snippet=code(name)) for name in names]))
    earlier, later = ScanRun.objects.order_by("pk")
    seen: list[int] = []
    after: tuple[str, int, int] | None = ("", 0, 0)
    while after is not None:
        page = change_page(earlier=earlier, later=later, kind=ChangeKind.NEW, after=after, size=4)
        seen += [change.site_id for change in page.changes]
        after = page.next
    assert sorted(seen) == sorted(FallbackSite.objects.values_list("pk", flat=True))


def test_a_commit_is_found_by_its_first_characters(scans: tuple[ScanRun, ScanRun]) -> None:
    later = scans[1]
    object_id = later.commit.object_id
    found = scan_of_commit(repository_id=later.repository_id, commit=object_id[:20])
    assert found == later
    assert scan_of_commit(repository_id=later.repository_id, commit="snap") is None
    assert scan_of_commit(repository_id=later.repository_id + 1, commit=object_id) is None


def test_the_latest_pair_is_the_last_two_scans_of_the_branch(scans: tuple[ScanRun, ScanRun]) -> None:
    branch = scans[1].branch
    assert branch is not None
    assert latest_pair(branch_id=branch.pk) == scans
