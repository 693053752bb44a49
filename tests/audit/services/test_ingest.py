"""Storing a report: identity, what closes a site and what must not."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from django.db import ProgrammingError, transaction

from audit.errors import LeaseLostError
from audit.models import FallbackSite, Lineage, Repository, Result, ScanRun, SiteState
from audit.scanner.report import (
    EvidenceStep,
    FileStatus,
    ManifestEntry,
    Outcome,
    Region,
    RuleRun,
    RuleStatus,
    SiteOutcome,
)
from audit.services.ingest import scan_report_ingest
from audit.services.leases import lease_claim
from tests.factories import ingest, make_report, make_repository, make_result, make_scan_run

pytestmark = pytest.mark.django_db

RELU = "minitorch_gpu::ops::relu"
GELU = "minitorch_gpu::ops::gelu"


@pytest.fixture
def repository() -> Repository:
    return make_repository()


def open_symbols() -> list[str]:
    return sorted(SiteState.objects.filter(is_open=True).values_list("symbol", flat=True))


def test_each_result_becomes_a_site_with_its_lineage(repository: Repository) -> None:
    summary = ingest(repository, make_report([make_result(RELU), make_result(GELU)]))
    assert len(summary.new_sites) == 2
    assert set(FallbackSite.objects.values_list("pk", flat=True)) == set(summary.new_sites)
    assert Result.objects.count() == Lineage.objects.count() == 2
    assert set(Lineage.objects.values_list("match_pass", flat=True)) == {"new"}
    summary.scan_run.refresh_from_db()
    assert summary.scan_run.state == "succeeded"
    assert (summary.scan_run.new_count, summary.scan_run.result_count) == (2, 2)


def test_the_same_place_in_another_line_is_the_same_unchanged_site(repository: Repository) -> None:
    first = ingest(repository, make_report([make_result(RELU, line=10)]))
    second = ingest(repository, make_report([make_result(RELU, line=90)]))
    state = SiteState.objects.get()
    assert second.new_sites == second.absent_sites == ()
    assert state.site_id == first.new_sites[0]
    assert (state.start_line, state.baseline_state) == (90, "unchanged")
    assert state.first_seen_scan == first.scan_run
    assert state.last_seen_scan == second.scan_run


def test_an_edited_place_in_the_same_item_is_the_same_updated_site(repository: Repository) -> None:
    ingest(repository, make_report([make_result(RELU, form="match-arm")]))
    ingest(repository, make_report([make_result(RELU, form="if-let")]))
    assert FallbackSite.objects.count() == 1
    assert SiteState.objects.get().baseline_state == "updated"
    assert list(Lineage.objects.order_by("id").values_list("match_pass", flat=True)) == ["new", "same-item"]


def test_two_edited_places_in_one_item_are_kept_and_said_to_be_guesses(repository: Repository) -> None:
    ingest(repository, make_report([make_result(RELU, form="a"), make_result(RELU, form="b", line=20)]))
    edited = [
        make_result(RELU, form="c", snippet="let y = read(x)"),
        make_result(RELU, form="d", line=20, snippet="let z = copy(x)"),
    ]
    summary = ingest(repository, make_report(edited))
    assert summary.new_sites == summary.absent_sites == ()
    guesses = Lineage.objects.filter(scan_run=summary.scan_run)
    assert set(guesses.values_list("match_pass", "confidence")) == {("nearest", 0.6)}


def test_a_fallback_that_is_spelled_anew_is_the_same_open_site(repository: Repository) -> None:
    ingest(repository, make_report([make_result(RELU)]))
    summary = ingest(repository, make_report([make_result(RELU, rule_id="FT008")]))
    assert summary.new_sites == summary.absent_sites == ()
    site, state = FallbackSite.objects.get(), SiteState.objects.get()
    assert (site.rule_id, state.rule_id, state.baseline_state) == ("FT008", "FT008", "updated")


def test_a_site_in_a_renamed_file_is_the_same_site(repository: Repository) -> None:
    ingest(repository, make_report([make_result(RELU)]))
    renamed = make_result("minitorch_gpu::kernels::relu")
    summary = ingest(repository, make_report([renamed], files=["src/other.rs"]))
    assert summary.new_sites == summary.absent_sites == ()
    assert FallbackSite.objects.get().path == renamed.path


def outcome_of(symbol: str) -> dict[int, SiteOutcome]:
    """Say of a site that it returns an error now, with one step."""
    site = FallbackSite.objects.get(symbol=symbol)
    step = EvidenceStep("effect", site.path, Region(7, 5, 7, 30), symbol, "the error is returned here")
    return {site.pk: SiteOutcome(Outcome.STRUCTURED_ERROR, "returns an error", (step,), {"note": "x"})}


def test_a_closed_site_has_commit_outcome_and_evidence(repository: Repository) -> None:
    path = make_result(RELU).path
    ingest(repository, make_report([make_result(RELU), make_result(GELU, line=40)]))
    report = replace(make_report([make_result(RELU)], files=[path]), outcomes=outcome_of(GELU))
    summary = ingest(repository, report)
    closed = SiteState.objects.get(is_open=False)
    assert closed.closed_scan is not None
    assert closed.closed_scan.commit == summary.scan_run.commit
    assert closed.outcome == "structured-error"
    assert closed.outcome_evidence["text"] == "returns an error"
    assert closed.outcome_evidence["steps"][0]["region"]["start_line"] == 7
    assert closed.outcome_evidence["properties"] == {"note": "x"}


def test_an_outcome_of_a_site_that_was_found_again_is_not_kept(repository: Repository) -> None:
    ingest(repository, make_report([make_result(RELU)]))
    edited = make_report([make_result(RELU, form="if-let")])
    ingest(repository, replace(edited, outcomes=outcome_of(RELU)))
    state = SiteState.objects.get()
    assert (state.is_open, state.outcome, state.outcome_evidence) == (True, "", {})


def test_a_site_that_comes_back_has_no_outcome(repository: Repository) -> None:
    path = make_result(RELU).path
    ingest(repository, make_report([make_result(RELU)]))
    ingest(repository, replace(make_report([], files=[path]), outcomes=outcome_of(RELU)))
    assert SiteState.objects.get().outcome == "structured-error"
    ingest(repository, make_report([make_result(RELU)]))
    state = SiteState.objects.get()
    assert (state.is_open, state.outcome, state.outcome_evidence) == (True, "", {})


def test_a_site_that_is_gone_from_a_scanned_file_is_closed(repository: Repository) -> None:
    path = make_result(RELU).path
    ingest(repository, make_report([make_result(RELU), make_result(GELU, line=40)]))
    summary = ingest(repository, make_report([make_result(RELU)], files=[path]))
    closed = SiteState.objects.get(is_open=False)
    assert closed.symbol == GELU
    assert (closed.baseline_state, closed.closed_scan) == ("absent", summary.scan_run)


def test_a_site_whose_file_left_the_tree_is_closed(repository: Repository) -> None:
    ingest(repository, make_report([make_result(RELU)]))
    ingest(repository, make_report([], files=["minitorch-gpu/src/lib.rs"]))
    assert open_symbols() == []


@pytest.mark.parametrize(
    "status", [FileStatus.SKIPPED, FileStatus.FAILED, FileStatus.MISSING, FileStatus.PARTIAL]
)
def test_a_file_that_was_not_read_whole_closes_nothing(repository: Repository, status: FileStatus) -> None:
    result = make_result(RELU)
    ingest(repository, make_report([result]))
    entry = ManifestEntry(result.path, "", status, "why")
    ingest(repository, make_report([], files=[entry, "src/other.rs"]))
    assert open_symbols() == [RELU]


@pytest.mark.parametrize("status", [RuleStatus.NOT_RUN, RuleStatus.FAILED])
def test_a_rule_that_did_not_run_closes_nothing(repository: Repository, status: RuleStatus) -> None:
    result = make_result(RELU)
    ingest(repository, make_report([result]))
    ingest(repository, make_report([], files=[result.path], rules=[RuleRun("FT001", status, "off"), "FT008"]))
    assert open_symbols() == [RELU]


def test_an_empty_report_closes_nothing(repository: Repository) -> None:
    ingest(repository, make_report([make_result(RELU)]))
    ingest(repository, make_report([]))
    assert open_symbols() == [RELU]


def test_one_of_five_files_scanned_closes_only_what_was_there(repository: Repository) -> None:
    results = [
        make_result(f"minitorch_gpu::m{number}::op", snippet=f"read_{number}(x)") for number in range(5)
    ]
    ingest(repository, make_report(results))
    others = [ManifestEntry(one.path, "", FileStatus.MISSING, "not in the repository") for one in results[1:]]
    summary = ingest(repository, make_report([], files=[results[0].path, *others]))
    assert open_symbols() == [one.symbol for one in results[1:]]
    assert len(summary.absent_sites) == 1


def test_a_folder_that_was_not_entered_closes_nothing_below_it(repository: Repository) -> None:
    ingest(repository, make_report([make_result(RELU)]))
    folder = ManifestEntry("minitorch-gpu/src", "", FileStatus.SKIPPED, "permission denied")
    ingest(repository, make_report([], files=[folder, "src/lib.rs"]))
    assert open_symbols() == [RELU]


def test_a_site_that_comes_back_is_the_same_site(repository: Repository) -> None:
    result = make_result(RELU)
    first = ingest(repository, make_report([result]))
    ingest(repository, make_report([], files=[result.path]))
    third = ingest(repository, make_report([result]))
    assert third.reopened_sites == first.new_sites
    state = SiteState.objects.get()
    assert (state.is_open, state.closed_scan) == (True, None)


def test_open_sites_balance_from_scan_to_scan(repository: Repository) -> None:
    names = [f"minitorch_gpu::ops::op{number}" for number in range(8)]
    path = make_result(names[0]).path
    before = 0
    for chosen in (range(5), range(3, 8), [], range(8), [0, 7]):
        report = make_report([make_result(names[i], line=i + 1) for i in chosen], files=[path])
        told = {site.pk: SiteOutcome(Outcome.REMOVED, "it is gone") for site in FallbackSite.objects.all()}
        summary = ingest(repository, replace(report, outcomes=told))
        now = SiteState.objects.filter(is_open=True).count()
        scan = ScanRun.objects.get(pk=summary.scan_run.pk)
        assert now == before + scan.new_count + scan.reopened_count - scan.absent_count == len(chosen)
        before = now


def test_a_scan_whose_lease_is_lost_stores_nothing(repository: Repository) -> None:
    scan_run = make_scan_run(repository)
    with pytest.raises(LeaseLostError):
        scan_report_ingest(
            scan_run=scan_run,
            lease_id=uuid.uuid4(),
            report=make_report([make_result()]),
            after_ingest=lambda summary: None,
        )
    assert not FallbackSite.objects.exists()


def test_what_follows_a_scan_is_stored_with_it_or_not_at_all(repository: Repository) -> None:
    scan_run = make_scan_run(repository)
    lease_id = lease_claim(model=ScanRun, pk=scan_run.pk)
    assert lease_id is not None

    def break_down(summary: object) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        scan_report_ingest(
            scan_run=scan_run,
            lease_id=lease_id,
            report=make_report([make_result()]),
            after_ingest=break_down,
        )
    assert not FallbackSite.objects.exists()
    scan_run.refresh_from_db()
    assert scan_run.state == "running"


def test_an_older_snapshot_does_not_turn_the_branch_back(repository: Repository) -> None:
    older = make_scan_run(repository)
    lease_id = lease_claim(model=ScanRun, pk=older.pk)
    assert lease_id is not None
    older.refresh_from_db()
    ingest(repository, make_report([make_result(RELU)]))
    scan_report_ingest(
        scan_run=older,
        lease_id=lease_id,
        report=make_report([], files=[make_result(RELU).path]),
        after_ingest=lambda summary: None,
    )
    older.refresh_from_db()
    assert older.applies_to_branch is False
    assert open_symbols() == [RELU]


def test_a_stored_result_cannot_be_changed(repository: Repository) -> None:
    ingest(repository, make_report([make_result()]))
    with pytest.raises(ProgrammingError, match="Cannot update rows"), transaction.atomic():
        Result.objects.update(message="another")
