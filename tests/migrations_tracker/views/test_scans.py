"""A scan's page: while it waits, while it runs, and once it is over."""

from __future__ import annotations

from pathlib import Path

from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from audit.models import FallbackSite, Repository, RowState, ScanRun
from audit.scanner.report import FileStatus, ManifestEntry, RuleRun, RuleStatus
from audit.services.leases import lease_claim
from audit.services.repositories import repository_add
from migrations_tracker.services.scans import scan_ask
from tests.factories import ingest, make_report, make_result, make_scan_run
from tests.git import commit_files
from workers.models import VerificationJob

HTMX = {"HX-Request": "true"}


def test_a_waiting_scan_tells_how_many_are_before_it(ada_client: Client, repository: Repository) -> None:
    make_scan_run(repository)
    scan_run = make_scan_run(repository)
    response = ada_client.get(scan_run.get_absolute_url())
    assert b"behind 1 other scan" in response.content
    assert b"Refresh" in response.content


def test_a_running_scan_shows_its_progress_and_the_fragment_alone(
    ada_client: Client, repository: Repository
) -> None:
    scan_run = make_scan_run(repository)
    lease_claim(model=ScanRun, pk=scan_run.pk)
    ScanRun.objects.update(phase="extract", done=120, total=381)
    page = ada_client.get(scan_run.get_absolute_url())
    fragment = ada_client.get(scan_run.get_absolute_url(), headers=HTMX)
    for response in (page, fragment):
        assert b"120 of 381" in response.content
        assert b'<progress max="381" value="120"' in response.content
        assert "HX-Request" in response["Vary"]
    assert b"<html" in page.content
    assert b"<html" not in fragment.content


def test_the_page_reloads_itself_when_the_scan_is_over(ada_client: Client, site: FallbackSite) -> None:
    response = ada_client.get(site.first_seen_scan.get_absolute_url(), headers=HTMX)
    assert response["HX-Refresh"] == "true"


def test_a_finished_scan_counts_and_says_what_it_did_not_look_at(
    ada_client: Client, repository: Repository
) -> None:
    report = make_report(
        [make_result(), make_result("minitorch_nn::loss::mse", rule_id="FT008")],
        files=[ManifestEntry("src/latin1.rs", "", FileStatus.FAILED, "not UTF-8: byte 0xe9 in line 3")],
        rules=["FT001", "FT008", RuleRun("FT017", RuleStatus.NOT_RUN, "no ptxas was found")],
    )
    scan_run = ingest(repository, report).scan_run
    text = ada_client.get(scan_run.get_absolute_url()).content.decode()
    for expected in ("minitorch-gpu", "minitorch-nn", "byte 0xe9 in line 3", "no ptxas was found", "FT017"):
        assert expected in text


def test_a_failed_scan_says_why(ada_client: Client, repository: Repository) -> None:
    scan_run = make_scan_run(
        repository, state=RowState.FAILED, failure_reason="`HEAD` names no commit.", finished_at=Now()
    )
    text = ada_client.get(scan_run.get_absolute_url()).content.decode()
    assert "<code>HEAD</code> names no commit." in text
    assert "It changed no site." in text


def test_a_waiting_scan_can_be_cancelled_once(ada_client: Client, repository: Repository) -> None:
    scan_run = make_scan_run(repository)
    address = reverse("scan-cancel", args=[scan_run.pk])
    assert b"The scan was cancelled by ada" in ada_client.post(address, follow=True).content
    assert b"was over already" in ada_client.post(address, follow=True).content


def test_a_failed_request_says_why_and_a_met_one_leads_to_its_scan(
    ada_client: Client, repository: Repository
) -> None:
    request = repository.scan_requests.create(
        state=RowState.FAILED, failure_reason="git can't fetch it", finished_at=Now()
    )
    assert b"git can&#x27;t fetch it" in ada_client.get(request.get_absolute_url()).content
    scan_run = make_scan_run(repository)
    met = repository.scan_requests.create(state=RowState.SUCCEEDED, scan_run=scan_run, finished_at=Now())
    assert ada_client.get(met.get_absolute_url())["Location"] == scan_run.get_absolute_url()
    assert ada_client.get(met.get_absolute_url(), headers=HTMX)["HX-Redirect"] == scan_run.get_absolute_url()


def test_an_overtaken_scan_points_to_the_newest_and_links_no_counts(
    ada_client: Client, repository: Repository
) -> None:
    first = ingest(repository, make_report([make_result()])).scan_run
    assert b"rule=FT001" in ada_client.get(first.get_absolute_url()).content
    second = ingest(repository, make_report([make_result()])).scan_run
    text = ada_client.get(first.get_absolute_url()).content.decode()
    assert f'href="{second.get_absolute_url()}">scan #{second.pk}</a>' in text
    assert "rule=FT001" not in text


def test_a_failed_scan_is_tried_again_from_its_page(ada_client: Client, tmp_path: Path) -> None:
    commit_files(tmp_path / "tree", {"src/lib.rs": "fn f() {}\n"})
    scan_run = scan_ask(repository=repository_add(location=str(tmp_path / "tree"), actor=None), actor=None)
    ScanRun.objects.update(state=RowState.FAILED, failure_reason="x", finished_at=Now(), attempts=3)
    assert b"Try again" in ada_client.get(scan_run.get_absolute_url()).content
    response = ada_client.post(reverse("scan-again", args=[scan_run.pk]))
    assert response["Location"] == scan_run.get_absolute_url()
    again = ScanRun.objects.get()
    assert (again.state, again.attempts, str(again.requested_by)) == ("pending", 0, "ada")


def test_a_scan_tells_what_the_tests_of_its_commit_took_on_gpus(
    ada_client: Client, repository: Repository
) -> None:
    scan_run = ingest(repository, make_report()).scan_run
    other = ingest(repository, make_report()).scan_run

    def ran(at: ScanRun, seconds: float, done: int, state: str = "finished") -> None:
        VerificationJob.objects.create(
            repository=repository,
            commit=at.commit,
            kind="verify",
            spec={"number": VerificationJob.objects.count()},
            done=done,
            gpu_seconds=seconds,
            outcome_state=state,
        )

    ran(other, 60, 5)
    address = scan_run.get_absolute_url()
    assert "no test of the commit was run" in ada_client.get(address).content.decode()
    ran(scan_run, 60, 3)
    ran(scan_run, 120, 1200)
    ran(scan_run, 600, 9, "")
    told = ada_client.get(address).content.decode()
    assert "3.0 minutes, 1,203 tests of the commit in 2 jobs" in told
