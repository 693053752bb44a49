"""A report that is kept says the same in all its formats, whatever people rule of its sites afterwards."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from django.contrib.auth.models import User

from audit.models import FallbackSite, Lineage, LineageDecision, LineageRuling, Repository, ScanRun
from audit.scanner.report import Outcome, Result, SiteOutcome
from migrations_tracker.models import MigrationReport
from migrations_tracker.report_formats import FORMATS, document_of, report_archive, written
from migrations_tracker.services.lineage_rulings import lineage_join, lineage_rule, lineage_undo
from migrations_tracker.services.migration_reports import report_create, report_execute
from tests.factories import ingest, make_report, make_result

RELU = make_result("minitorch_gpu::ops::relu")
CLAMP = make_result(
    "minitorch_gpu::shapes::clamp_min", line=40, snippet="let all_of_it = written_anew(under, another, name);"
)
MOVED = make_result(RELU.symbol, line=70, form="let-else")
OTHER = make_result("minitorch_gpu::ops::gelu", line=5)
FILES = (RELU.path, CLAMP.path)


def scan(repository: Repository, *results: Result, is_told: bool = True) -> ScanRun:
    scan_run = ingest(repository, make_report([OTHER, *results], files=FILES), is_told=is_told).scan_run
    scan_run.refresh_from_db()
    return scan_run


def report_of(repository: Repository, since: ScanRun | None, *, is_of_before: bool) -> MigrationReport:
    """Write a report; one of before the results were kept has neither these nor what showed an outcome."""
    report = report_create(branch=repository.branches.get(), since=since, actor=None)
    assert report_execute(pk=report.pk)
    report.refresh_from_db()
    if is_of_before:
        assert report.document is not None
        for site in (*report.document["open_sites"], *report.document["closed_sites"]):
            del site["result"]
            site.pop("became", None)
        report.save(update_fields=["document"])
    return report


def told(report: MigrationReport) -> dict[str, bytes]:
    report = MigrationReport.objects.get(pk=report.pk)
    document = document_of(report)
    # The clock of a PDF is the report's own.
    found = {key: written(one, report, document) for key, one in FORMATS.items()}
    return {**found, "zip": report_archive(report)}


def states(formats: dict[str, bytes]) -> Counter[str]:
    results: list[dict[str, Any]] = json.loads(formats["sarif"])["runs"][0]["results"]
    return Counter(one["baselineState"] for one in results)


def site(result: Result) -> FallbackSite:
    return FallbackSite.objects.get(symbol=result.symbol)


@pytest.mark.parametrize("is_of_before", [False, True])
@pytest.mark.parametrize("ends", ["open", "closed", "not seen"])
def test_sites_that_are_merged_and_parted_again_stay_as_the_report_told_them(
    repository: Repository, ada: User, ends: str, is_of_before: bool
) -> None:
    first = scan(repository, RELU)
    scan(repository, CLAMP)
    if ends != "open":
        scan(repository, is_told=ends == "closed")
    report = report_of(repository, first, is_of_before=is_of_before)
    before = told(report)
    document = document_of(report)
    found = states(before)
    assert found.total() == document.open_count + document.closed_count == 3
    assert (found["absent"], found["new"]) == (document.closed_count, document.new_count)
    later = site(CLAMP)
    ruling = lineage_join(later=later, earlier=site(RELU), actor=ada, reason="It was written anew.")
    assert not later.results.exists()
    assert states(told(report)) == found
    assert is_of_before or told(report) == before
    lineage_undo(ruling=LineageRuling.objects.get(pk=ruling.pk), actor=ada)
    assert told(report) == before


@pytest.mark.parametrize("is_of_before", [False, True])
def test_a_site_that_is_split_stays_as_the_report_told_it(
    repository: Repository, ada: User, is_of_before: bool
) -> None:
    first = scan(repository, RELU)
    scan(repository, MOVED)
    report = report_of(repository, first, is_of_before=is_of_before)
    before = told(report)
    lineage = Lineage.objects.filter(site=site(RELU)).latest("pk")
    lineage_rule(lineage=lineage, decision=LineageDecision.NEW, actor=ada, reason="It is another one.")
    assert FallbackSite.objects.count() == 3
    assert told(report) == before


def test_what_became_of_a_site_is_kept_with_the_places_that_show_it(
    repository: Repository, ada: User
) -> None:
    first = scan(repository, RELU)
    steps = RELU.evidence[:1]
    became = SiteOutcome(Outcome.STRUCTURED_ERROR, "`relu` returns a structured error", steps, {"a": "b"})
    report = make_report([OTHER, CLAMP], files=FILES)
    object.__setattr__(report, "outcomes", {site(RELU).pk: became})
    ingest(repository, report)
    kept = report_of(repository, first, is_of_before=False)
    before = told(kept)
    (gone,) = document_of(kept).closed_sites
    assert gone.became == became
    lineage_join(later=site(CLAMP), earlier=site(RELU), actor=ada, reason="It was written anew.")
    assert told(kept) == before


def test_what_is_new_since_an_older_scan_is_new_in_sarif_too(repository: Repository) -> None:
    first = scan(repository)
    scan(repository, RELU)
    scan(repository, RELU)
    report = report_of(repository, first, is_of_before=False)
    assert document_of(report).new_count == states(told(report))["new"] == 1


def test_an_old_report_s_json_gains_no_facts(repository: Repository) -> None:
    scan(repository, RELU)
    kept = report_of(repository, None, is_of_before=True)
    facts = json.loads(told(kept)["json"])
    assert facts.pop("digest") == f"sha256:{kept.digest}"
    assert facts == kept.document
    assert "result" not in facts["open_sites"][0]
