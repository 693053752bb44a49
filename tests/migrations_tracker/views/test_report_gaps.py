"""A report counts the capability gaps of its own branch, or says that they are not known."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from django.test import Client

from audit.models import Branch, Repository, ScanRun
from audit.parity.capability import Cell, State
from audit.scanner.report import FileStatus, ManifestEntry, ScanReport
from audit.services.capabilities import Capabilities, capabilities_store
from migrations_tracker.models import MigrationReport
from migrations_tracker.report_formats import FORMATS, document_of, written
from migrations_tracker.reports.document import ReportDocument
from migrations_tracker.services.migration_reports import report_create, report_execute
from tests.factories import ingest, make_capability, make_report, make_result, store_capabilities

EXP, LOG, SIN = (
    make_capability(f"aten::{name}", state=State.TEXT_ERROR, symbol=f"minitorch_gpu::{name}::run")
    for name in ("exp", "log", "sin")
)
KERNEL = make_capability("aten::exp", symbol="minitorch_gpu::exp::run")


@pytest.fixture
def topic(repository: Repository) -> Branch:
    """A branch beside the default one, on which three gaps are open."""
    main = ingest(repository, make_report([make_result()])).scan_run
    store_capabilities(main, [EXP, LOG, SIN])
    return Branch.objects.create(repository=repository, name="topic")


def scan(branch: Branch, cells: Sequence[Cell] | None, report: ScanReport | None = None) -> ScanRun:
    """Scan the branch, as one whose gaps no row follows."""
    report = report or make_report([make_result()])
    scan_run = ingest(branch.repository, report, branch=branch).scan_run
    if cells is not None:
        capabilities_store(
            scan_run=scan_run, report=report, capabilities=Capabilities("2.11.0", tuple(cells))
        )
    scan_run.refresh_from_db()
    return scan_run


def told(branch: Branch, since: ScanRun | None = None) -> tuple[MigrationReport, ReportDocument]:
    branch.refresh_from_db()
    report = report_create(branch=branch, since=since, actor=None)
    assert report_execute(pk=report.pk)
    report.refresh_from_db()
    return report, document_of(report)


def test_a_branch_beside_the_default_one_has_the_gaps_of_its_own_cells(topic: Branch) -> None:
    first = scan(topic, [EXP, LOG])
    second = scan(topic, [KERNEL])
    for since in (first, None):
        document = told(topic, since)[1]
        assert (document.gaps_open, document.gaps_closed) == (0, 2)
    default = told(topic.repository.branches.get(name=topic.repository.default_branch))[1]
    assert (default.gaps_open, default.gaps_closed, default.gaps_unknown) == (3, 0, "")
    assert document.scan.number == second.pk


def test_code_that_the_later_scan_could_not_read_closes_no_gap(topic: Branch) -> None:
    first = scan(topic, [EXP, LOG])
    unread = ManifestEntry("minitorch-gpu/src/log.rs", "", FileStatus.FAILED, "no text", 1, 1)
    scan(topic, [KERNEL], make_report([make_result()], files=[unread]))
    assert told(topic, first)[1].gaps_closed == 1


def test_gaps_that_no_scan_of_the_branch_derived_are_said_to_be_not_known(
    ada_client: Client, topic: Branch
) -> None:
    scan_run = scan(topic, None)
    report, document = told(topic)
    why = f"No capability matrix was derived at scan #{scan_run.pk}."
    assert (document.gaps_open, document.gaps_closed, document.gaps_unknown) == (None, None, why)
    for key in ("html", "md"):
        text = written(FORMATS[key], report, document).decode()
        assert why in text
        assert "not known" in text
    facts = json.loads(written(FORMATS["json"], report, document))
    assert (facts["gaps_open"], facts["gaps_unknown"]) == (None, why)
    assert why in ada_client.get(report.get_absolute_url()).content.decode()


def test_what_was_closed_is_not_known_where_the_earlier_scan_derived_nothing(topic: Branch) -> None:
    first = scan(topic, None)
    scan(topic, [EXP])
    document = told(topic, first)[1]
    assert (document.gaps_open, document.gaps_closed) == (1, None)
    assert document.gaps_unknown == f"No capability matrix was derived at scan #{first.pk}."
