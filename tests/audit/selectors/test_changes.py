"""What changed between two scans."""

from __future__ import annotations

from dataclasses import replace

import pytest

from audit.models import FallbackSite, HeldDrop, Result, ScanRun
from audit.scanner.report import FileStatus, ManifestEntry, Outcome, RuleRun, RuleStatus, SiteOutcome
from audit.selectors.changes import ChangeKind, change_counts, change_page, latest_pair, scan_of_commit
from audit.services.held_drops import drop_release
from tests.factories import ingest, make_report, make_repository, make_result, make_user

pytestmark = pytest.mark.django_db

KEPT, MOVED, EDITED, GONE, FRESH = (
    f"minitorch_gpu::ops::{name}" for name in ("kept", "moved", "edited", "gone", "fresh")
)
UNREAD = "minitorch_gpu::broken::unread"
HALF_READ = ManifestEntry("minitorch-gpu/src/broken.rs", "0" * 64, FileStatus.PARTIAL, "line 3", 90, 3)


def code(symbol: str) -> str:
    return f"let host = read_{symbol.rpartition('::')[2]}(x);"


@pytest.fixture
def scans() -> tuple[ScanRun, ScanRun]:
    """Store two scans between which each kind of change happens once."""
    repository = make_repository()
    first = [
        make_result(symbol, line=line, snippet=code(symbol))
        for line, symbol in enumerate((KEPT, MOVED, EDITED, GONE, UNREAD), 1)
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
        make_report(second, files=[HALF_READ]),
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


def test_what_a_scan_did_not_look_at_is_neither_absent_nor_new(scans: tuple[ScanRun, ScanRun]) -> None:
    for one, other in (scans, scans[::-1]):
        [change] = change_page(earlier=one, later=other, kind=ChangeKind.UNSETTLED).changes
        assert change.symbol == UNREAD


def test_what_a_rule_that_did_not_run_has_not_seen_is_not_absent() -> None:
    repository = make_repository()
    ingest(repository, make_report([make_result(KEPT)]))
    not_run = [RuleRun("FT001", RuleStatus.NOT_RUN, "switched off"), RuleRun("FT008", RuleStatus.RAN)]
    ingest(repository, make_report([], files=["minitorch-gpu/src/ops.rs"], rules=not_run))
    earlier, later = ScanRun.objects.order_by("pk")
    counts = change_counts(earlier=earlier, later=later)
    assert counts == {**dict.fromkeys(ChangeKind, 0), ChangeKind.UNSETTLED: 1}


def test_what_is_held_open_is_not_absent_until_a_person_lets_it_go() -> None:
    repository = make_repository()
    ingest(repository, make_report([make_result(KEPT, line=1), make_result(GONE, line=2)]))
    ingest(repository, make_report([make_result(KEPT, line=1)]), is_told=False)
    earlier, later = ScanRun.objects.order_by("pk")
    assert change_counts(earlier=earlier, later=later)[ChangeKind.UNSETTLED] == 1
    drop_release(drop=HeldDrop.objects.get(), actor=make_user("ada"), reason="deleted")
    counts = change_counts(earlier=earlier, later=later)
    assert (counts[ChangeKind.UNSETTLED], counts[ChangeKind.ABSENT]) == (0, 1)


def test_a_scan_compared_with_itself_is_unchanged(scans: tuple[ScanRun, ScanRun]) -> None:
    counts = change_counts(earlier=scans[0], later=scans[0])
    assert counts[ChangeKind.UNCHANGED] == Result.objects.filter(scan_run=scans[0]).count() == 5
    assert sum(counts.values()) == 5


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
