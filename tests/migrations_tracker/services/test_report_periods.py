"""What a report counts as new and closed since a scan, where the past was read in after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.models import Branch, BranchScan, ScanRun
from audit.services.repositories import repository_add
from migrations_tracker.errors import PlanError
from migrations_tracker.models import MigrationReport
from migrations_tracker.report_formats import document_of
from migrations_tracker.services.migration_reports import report_create, report_execute
from tests.audit.services.test_backfill import places, run, tree
from tests.audit.services.test_branch_history import LIB, REFUSING, SILENT, code, scan
from tests.git import commit_files

__all__ = ["places", "tree"]

pytestmark = pytest.mark.django_db(transaction=True)


def made(branch: Branch, since: ScanRun | None) -> MigrationReport:
    report = report_create(branch=branch, since=since, actor=None)
    assert report_execute(pk=report.pk)
    return MigrationReport.objects.get(pk=report.pk)


def test_what_the_past_brought_is_not_new_since_a_scan_that_came_before_it_was_read(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    tip = scan(repository)
    run(repository)
    branch = repository.branches.get(name="main")
    commit_files(
        tree, {LIB: code(gelu=REFUSING, elu=SILENT), "minitorch-gpu/src/third.rs": code(tanh=REFUSING)}
    )
    scan(repository)
    branch.refresh_from_db()
    document = document_of(made(branch, tip))
    new = {site.symbol.rpartition("::")[2] for site in document.open_sites if site.is_new}
    assert (new, {site.symbol.rpartition("::")[2] for site in document.closed_sites}) == (
        {"gpu_elu"},
        {"gpu_tanh"},
    )


def test_a_scan_of_the_past_is_one_to_tell_the_difference_to(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    tip = scan(repository)
    run(repository)
    branch = repository.branches.get(name="main")
    oldest = BranchScan.objects.filter(branch=branch).earliest("position").scan_run
    assert oldest.pk > tip.pk
    document = document_of(made(branch, oldest))
    assert document.new_count == document.open_count > 0
    with pytest.raises(PlanError, match="no earlier scan"):
        report_create(branch=branch, since=tip, actor=None)
