"""Migration reports: asking for one, its page, its files."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import io
import json
import zipfile
from pathlib import Path

import jsonschema
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from audit.models import FallbackSite, Repository, RowState
from audit.scanner.report import Outcome, SiteOutcome
from audit.services.repository_policies import policy_clause_drop, policy_clause_publish
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import MigrationReport
from migrations_tracker.report_formats import FORMATS, document_of, head_of
from migrations_tracker.reports.document import SITES_SHOWN, document_head
from migrations_tracker.roles import Role
from migrations_tracker.services.migration_reports import report_create, report_execute
from migrations_tracker.services.site_migrations import site_migration_transition
from tests.factories import (
    ingest,
    make_own_policy,
    make_report,
    make_repository,
    make_result,
    make_user,
)
from tests.workers.machines import make_job
from workers.models import Verification, VerifiedFunction
from workers.protocol.codec import to_json

LIST = "/reports/"
GONE = make_result(symbol="minitorch_gpu::ops::gone", path="minitorch-gpu/src/gone.rs")
STAYS = make_result(symbol="minitorch_gpu::ops::stays")
SCHEMA = Path(__file__).parents[2] / "audit" / "scanner" / "schemas" / "sarif-schema-2.1.0.json"


@pytest.fixture
def report(repository: Repository, ada: User) -> MigrationReport:
    """A report since the first of two scans: one site stayed, one is gone, one is new."""
    first = ingest(repository, make_report([GONE, STAYS])).scan_run
    new = make_result(symbol="=cmd()", rule_id="FT008")
    ingest(repository, make_report([STAYS, new], files=["minitorch-gpu/src/gone.rs"]))
    first.refresh_from_db()
    report = report_create(branch=repository.branches.get(), since=first, actor=ada)
    assert report_execute(pk=report.pk)
    report.refresh_from_db()
    return report


def written(client: Client, report: MigrationReport, key: str) -> bytes:
    response = client.get(f"{report.get_absolute_url()}report.{key}")
    assert response.status_code == 200
    assert "attachment" in response["Content-Disposition"]
    return b"".join(response) if response.streaming else response.content


def test_the_report_counts_what_is_open_new_and_closed(report: MigrationReport) -> None:
    assert report.state == RowState.SUCCEEDED
    assert report.document is not None
    counts = {key: report.document[key] for key in ("open_count", "new_count", "closed_count")}
    assert counts == {"open_count": 2, "new_count": 1, "closed_count": 1}


def test_every_format_says_the_same_numbers(ada_client: Client, report: MigrationReport) -> None:
    told = json.loads(written(ada_client, report, "json"))
    assert told["digest"] == f"sha256:{report.digest}"
    rows = list(csv.DictReader(io.StringIO(written(ada_client, report, "csv").decode(), newline="")))
    assert [row["state"] for row in rows].count("open") == told["open_count"]
    assert [row["state"] for row in rows].count("closed") == told["closed_count"]
    markdown = written(ada_client, report, "md").decode()
    assert f"| open | {told['open_count']} |" in markdown
    html = written(ada_client, report, "html").decode()
    assert f"<b>{told['open_count']}</b><span>open</span>" in html
    results = json.loads(written(ada_client, report, "sarif"))["runs"][0]["results"]
    states = [result["baselineState"] for result in results]
    assert (len(states) - states.count("absent"), states.count("absent")) == (2, 1)
    assert sum(line["error"] + line["warning"] + line["note"] for line in told["rules"]) == told["open_count"]
    assert sum(line["count"] for line in told["statuses"]) == told["open_count"] + told["closed_count"]


def test_a_report_names_the_repository_s_own_clauses_as_the_scan_was_judged(
    ada_client: Client, repository: Repository, ada: User
) -> None:
    make_own_policy(repository, make_user("hedy"))
    scan_run = ingest(repository, make_report([STAYS]), policy_version="1+1").scan_run
    report = report_create(branch=repository.branches.get(), since=None, actor=ada)
    assert report_execute(pk=report.pk)
    policy_clause_drop(repository=repository, clause_id="P1", reason="It is gone.", actor=ada, based_on=2)
    report.refresh_from_db()
    clause = f"{reverse('repository-clause', args=[repository.slug, 'P1'])}?version=1"
    assert f'<a href="{clause}">P1</a>' in ada_client.get(report.get_absolute_url()).content.decode()
    (row,) = csv.DictReader(io.StringIO(written(ada_client, report, "csv").decode(), newline=""))
    assert row["rests_on"] == "F1 M2 M4 P1"
    assert "(F1, M2, M4, P1)" in written(ada_client, report, "md").decode()
    rules = json.loads(written(ada_client, report, "sarif"))["runs"][0]["tool"]["driver"]["rules"]
    assert rules[0]["properties"]["clauses"] == ["F1", "M2", "M4", "P1"]
    assert scan_run.policy_version == "1+1"


def test_a_clause_that_rests_on_a_form_alone_is_named_with_what_has_that_form(
    ada_client: Client, repository: Repository, ada: User
) -> None:
    first = make_own_policy(repository, ada)
    parts = {**first.clauses[0], "rules": [], "forms": ["early-return"]}
    policy_clause_publish(
        repository=repository,
        clause_id="",
        parts={key: value for key, value in parts.items() if key != "id"},
        reason="Forms.",
        actor=ada,
        based_on=2,
    )
    early = make_result("minitorch_gpu::ops::early", rule_id="FT005", form="early-return", line=90)
    late = make_result("minitorch_gpu::ops::late", rule_id="FT011", form="other", line=95)
    ingest(repository, make_report([early, late]), policy_version="1+3")
    report = report_create(branch=repository.branches.get(), since=None, actor=ada)
    assert report_execute(pk=report.pk)
    results = json.loads(written(ada_client, report, "sarif"))["runs"][0]["results"]
    clauses = {one["ruleId"]: one["properties"].get("clauses") for one in results}
    assert (clauses["FT005"], clauses["FT011"]) == (["P1", "P2"], None)
    report.refresh_from_db()
    assert report.document is not None
    own = {remedy["rule_id"]: remedy["own_clauses"] for remedy in report.document["remedies"]}
    assert (own["FT005"], own["FT011"]) == (["P1", "P2"], [])


def test_the_sarif_file_is_valid(ada_client: Client, report: MigrationReport) -> None:
    log = json.loads(written(ada_client, report, "sarif"))
    jsonschema.validate(log, json.loads(SCHEMA.read_text()))


def test_the_archive_holds_every_other_format(ada_client: Client, report: MigrationReport) -> None:
    with zipfile.ZipFile(io.BytesIO(written(ada_client, report, "zip"))) as found:
        ends = {name.rpartition(".")[2] for name in found.namelist()}
        assert ends == {"html", "md", "pdf", "csv", "json", "sarif"}
        (name,) = (name for name in found.namelist() if name.endswith(".md"))
        assert found.read(name) == written(ada_client, report, "md")


def test_a_long_report_s_page_shows_the_first_sites_and_its_file_all(
    ada_client: Client, report: MigrationReport
) -> None:
    document = document_of(report)
    first, last = (site.site for site in document.open_sites)
    report.head = to_json(document_head(document, at_most=1))
    report.save()
    page = ada_client.get(report.get_absolute_url()).content.decode()
    assert "Of each list the first 100 sites are shown: every file holds all of them." in page
    assert f">#{first}</a>" in page
    assert f">#{last}</a>" not in page
    file = written(ada_client, report, "html").decode()
    assert f"<td>#{first}" in file
    assert f"<td>#{last}" in file
    assert "Of each list" not in file


def test_the_page_of_a_report_reads_its_head_and_not_the_whole_document(
    ada_client: Client, report: MigrationReport
) -> None:
    with CaptureQueriesContext(connection) as asked:
        page = ada_client.get(report.get_absolute_url()).content.decode()
    assert not any('"document"' in query["sql"] for query in asked)
    assert "Of each list" not in page
    assert "<b>1</b><span>closed, not verified on a GPU</span>" in page


def test_what_is_counted_in_a_long_report_counts_the_sites_that_are_not_shown(
    report: MigrationReport,
) -> None:
    (gone,) = document_of(report).closed_sites
    verified, told = (
        dataclasses.replace(gone, verdict="on-device", outcome=""),
        dataclasses.replace(gone, outcome="removed"),
    )
    document = dataclasses.replace(document_of(report), closed_sites=(verified, *[told] * SITES_SHOWN))
    head = document_head(document)
    assert (head.unverified_count, head.unexplained_count, head.is_whole) == (SITES_SHOWN, 1, False)
    assert head.document.closed_sites == document.closed_sites[:SITES_SHOWN]
    assert head.unverified_remark is not None


@pytest.mark.parametrize("copies", [1, SITES_SHOWN + 1])
def test_reports_written_before_have_the_same_head(report: MigrationReport, copies: int) -> None:
    whole = document_of(report)
    document = dataclasses.replace(
        whole, open_sites=whole.open_sites * copies, closed_sites=whole.closed_sites * copies
    )
    MigrationReport.objects.filter(pk=report.pk).update(document=to_json(document), head={})
    migration = importlib.import_module("migrations_tracker.migrations.0027_report_heads")
    with connection.cursor() as cursor:
        cursor.execute(migration.FILL)
    report.refresh_from_db()
    assert head_of(report) == document_head(document)


def test_the_html_file_asks_nothing_of_a_server(ada_client: Client, report: MigrationReport) -> None:
    html = written(ada_client, report, "html").decode()
    assert "<style>" in html
    assert not any(word in html for word in ("<script", "<link", "src=", "href="))


def test_the_same_scans_give_the_same_facts_again(report: MigrationReport, ada: User) -> None:
    again = report_create(branch=report.branch, since=report.since_scan, actor=ada)
    report_execute(pk=again.pk)
    again.refresh_from_db()
    assert again.digest == report.digest


def test_a_report_that_is_kept_says_the_same_when_the_branch_has_moved_on(
    ada_client: Client, report: MigrationReport
) -> None:
    before = {key: written(ada_client, report, key) for key in (*FORMATS, "zip")}
    ingest(report.branch.repository, make_report([GONE], files=["minitorch-gpu/src/ops.rs"]))
    ingest(report.branch.repository, make_report([], files=[GONE.path]))
    assert {key: written(ada_client, report, key) for key in before} == before


def test_sarif_names_what_the_scan_could_not_see_and_counts_it_as_the_others_do(
    ada_client: Client, repository: Repository, ada: User
) -> None:
    ingest(repository, make_report([GONE, STAYS]))
    ingest(repository, make_report([STAYS], files=[GONE.path]), is_told=False)
    report = report_create(branch=repository.branches.get(), since=None, actor=ada)
    assert report_execute(pk=report.pk)
    results = json.loads(written(ada_client, report, "sarif"))["runs"][0]["results"]
    told = json.loads(written(ada_client, report, "json"))
    assert told["open_count"] == len(results) == 2
    assert ["notSeen" in result["properties"] for result in results] == [False, True]


def test_sarif_says_what_a_person_suppressed_and_why(
    ada_client: Client, repository: Repository, ada: User
) -> None:
    ingest(repository, make_report([GONE, STAYS]))
    lea = make_user("lea", role=Role.LEAD)
    site = FallbackSite.objects.get(symbol=STAYS.symbol)
    site_migration_transition(site=site, to=Status.SUPPRESSED, actor=lea, reason="one number, once")
    report = report_create(branch=repository.branches.get(), since=None, actor=ada)
    assert report_execute(pk=report.pk)
    log = json.loads(written(ada_client, report, "sarif"))
    jsonschema.validate(log, json.loads(SCHEMA.read_text()))
    told = [one for result in log["runs"][0]["results"] for one in result.get("suppressions", ())]
    assert [(one["kind"], one["status"], one["justification"]) for one in told] == [
        ("external", "accepted", "one number, once")
    ]
    suppressed = {
        one["site"]: one["suppressed"]
        for one in json.loads(written(ada_client, report, "json"))["open_sites"]
    }
    assert suppressed.pop(site.pk) == "one number, once"
    assert set(suppressed.values()) == {""}


def test_what_a_scan_told_of_a_closed_site_is_said_with_its_clauses(
    ada_client: Client, repository: Repository, ada: User
) -> None:
    ingest(repository, make_report([GONE]))
    site = FallbackSite.objects.get()
    told = SiteOutcome(Outcome.STRUCTURED_ERROR, "`gone` returns a structured error")
    gone = make_report(files=["minitorch-gpu/src/gone.rs"])
    ingest(repository, dataclasses.replace(gone, outcomes={site.pk: told}))
    report = report_create(branch=repository.branches.get(), since=None, actor=ada)
    report_execute(pk=report.pk)
    page = ada_client.get(report.get_absolute_url()).content.decode()
    assert "now returns Err(..)" in page
    assert 'href="/policy/A1/"' in page


@pytest.mark.parametrize(
    ("verdict", "is_expired", "said"),
    [
        ("on-device", False, "Implemented `gone` on GPU"),
        ("on-device", True, "no run on a GPU has shown it"),
        ("no-kernel", False, "no run on a GPU has shown it"),
    ],
)
def test_a_kernel_is_called_implemented_only_while_its_proof_holds(
    repository: Repository, verdict: str, is_expired: bool, said: str
) -> None:
    ingest(repository, make_report([GONE]))
    told = SiteOutcome(Outcome.DEVICE_KERNEL, "`gone` runs on the device")
    gone = make_report(files=["minitorch-gpu/src/gone.rs"])
    ingest(repository, dataclasses.replace(gone, outcomes={FallbackSite.objects.get().pk: told}))
    job = make_job(repository)
    assert job.commit is not None
    verification = Verification.objects.create(
        job=job,
        repository=repository,
        commit=job.commit,
        position=0,
        crate="c",
        binary="unit",
        test="passes",
        verdict=verdict,
        runner_verdict=verdict,
        reason="as it was seen",
        expectation={},
        evidence={},
    )
    VerifiedFunction.objects.create(
        verification=verification,
        symbol=GONE.symbol,
        digest="0" * 64,
        expired_at=timezone.now() if is_expired else None,
        expired_because="the function changed" if is_expired else "",
    )
    report = report_create(branch=repository.branches.get(), since=None, actor=None)
    report_execute(pk=report.pk)
    report.refresh_from_db()
    assert report.document is not None
    (closed,) = report.document["closed_sites"]
    assert said in closed["sentence"]


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (("on-device", "no-kernel"), "no run on a GPU has shown it"),
        (("no-kernel", "on-device"), "Implemented `gone` on GPU"),
        (("on-device", "inconclusive"), "Implemented `gone` on GPU"),
        (("on-device", "skipped"), "Implemented `gone` on GPU"),
    ],
)
def test_the_last_word_of_a_test_counts_in_a_report(
    repository: Repository, verdicts: tuple[str, ...], said: str
) -> None:
    ingest(repository, make_report([GONE]))
    told = SiteOutcome(Outcome.DEVICE_KERNEL, "`gone` runs on the device")
    gone = make_report(files=["minitorch-gpu/src/gone.rs"])
    ingest(repository, dataclasses.replace(gone, outcomes={FallbackSite.objects.get().pk: told}))
    job = make_job(repository)
    assert job.commit is not None
    for position, verdict in enumerate(verdicts):
        verification = Verification.objects.create(
            job=job,
            repository=repository,
            commit=job.commit,
            position=position,
            crate="c",
            binary="unit",
            test="passes",
            verdict=verdict,
            runner_verdict=verdict,
            reason="as it was seen",
            expectation={},
            evidence={},
        )
        VerifiedFunction.objects.create(verification=verification, symbol=GONE.symbol, digest="0" * 64)
    report = report_create(branch=repository.branches.get(), since=None, actor=None)
    report_execute(pk=report.pk)
    report.refresh_from_db()
    assert report.document is not None
    assert said in report.document["closed_sites"][0]["sentence"]


def test_a_report_is_asked_for_on_the_page(ada_client: Client, site: FallbackSite) -> None:
    branch = site.repository.branches.get()
    response = ada_client.post("/reports/ask/", {"branch": branch.pk, "since": ""}, follow=True)
    report = MigrationReport.objects.get()
    assert response.redirect_chain[-1][0] == report.get_absolute_url()
    assert b"A worker writes the report" in response.content
    assert report.state == RowState.PENDING


@pytest.mark.parametrize("since", ["999999", "x", "last"])
def test_a_scan_that_is_no_earlier_one_is_refused_with_a_reason(
    ada_client: Client, site: FallbackSite, since: str
) -> None:
    branch = site.repository.branches.get()
    value = str(branch.last_scan_id) if since == "last" else since
    response = ada_client.post("/reports/ask/", {"branch": branch.pk, "since": value})
    assert response.status_code == 422
    assert b'role="alert"' in response.content
    assert not MigrationReport.objects.exists()


def test_a_scan_of_another_branch_is_refused(ada_client: Client, site: FallbackSite) -> None:
    other = ingest(make_repository("other"), make_report([STAYS])).scan_run
    ingest(site.repository, make_report([STAYS]))
    branch = site.repository.branches.get()
    response = ada_client.post("/reports/ask/", {"branch": branch.pk, "since": other.pk})
    assert response.status_code == 422
    assert escape(f"Scan #{other.pk} is no earlier scan of main.").encode() in response.content


def test_a_report_that_is_not_written_has_no_files(ada_client: Client, site: FallbackSite, ada: User) -> None:
    report = report_create(branch=site.repository.branches.get(), since=None, actor=ada)
    assert ada_client.get(f"{report.get_absolute_url()}report.md").status_code == 404
    report_execute(pk=report.pk)
    assert ada_client.get(f"{report.get_absolute_url()}report.md").status_code == 200
    assert ada_client.get(f"{report.get_absolute_url()}report.exe").status_code == 404


def test_the_list_says_what_to_do_when_nothing_is_scanned(ada_client: Client) -> None:
    assert b"An administrator can add one" in ada_client.get(LIST).content


@pytest.mark.parametrize("path", ["{list}", "{report}"])
def test_the_pages_ask_few_questions_of_the_database(
    ada_client: Client,
    report: MigrationReport,
    django_assert_max_num_queries: object,
    path: str,
) -> None:
    url = path.format(list=LIST, report=report.get_absolute_url())
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        assert ada_client.get(url).status_code == 200
