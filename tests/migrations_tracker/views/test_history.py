"""Pages of the past: a branch over time, what changed, a site's versions."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from audit.models import Commit, FallbackSite, Repository, ScanRun, SiteState
from audit.scanner.report import Outcome, SiteOutcome
from tests.factories import ingest, make_report, make_result

RELU, GELU = "minitorch_gpu::ops::relu", "minitorch_nn::ops::gelu"


@pytest.fixture
def past(repository: Repository) -> Repository:
    """Give a branch three scans: two sites, one of them gone with an outcome, and back again."""
    relu = make_result(RELU, snippet="read_relu(x)")
    gelu = make_result(GELU, rule_id="FT008", snippet="read_gelu(x)")
    ingest(repository, make_report([relu, gelu]))
    site = FallbackSite.objects.get(symbol=GELU)
    outcomes = {site.pk: SiteOutcome(Outcome.COMPOSITE, "`gelu` is made of operators")}
    ingest(repository, replace(make_report([relu], files=[gelu.path]), outcomes=outcomes))
    return repository


def page(client: Client, url: str, **query: str) -> str:
    response = client.get(url, query)
    assert response.status_code == 200
    return response.content.decode()


def numbers_of_legend(html: str) -> list[tuple[str, int]]:
    """Return the addresses and counts that the legend names."""
    legend = html.split('<ul class="legend">')[1].split("</ul>")[0]
    return [
        (unescape(url), int(count)) for url, count in re.findall(r'href="([^"]*)".*?<b>(\d+)</b>', legend)
    ]


@pytest.mark.parametrize("by", ["rule", "crate", "outcome"])
def test_each_total_of_the_chart_is_the_total_of_the_list_it_links_to(
    past: Repository, ada_client: Client, by: str
) -> None:
    html = page(ada_client, reverse("repository-history", args=[past.slug]), by=by)
    entries = numbers_of_legend(html)
    assert len(entries) == 1
    for url, count in entries:
        listed = page(ada_client, url)
        assert re.search(rf"<b>{count}</b> site", listed)
    gone = by == "outcome"
    assert sum(count for _, count in entries) == SiteState.objects.filter(is_open=not gone).count()


def test_the_chart_has_a_shape_for_each_series(past: Repository, ada_client: Client) -> None:
    html = page(ada_client, reverse("repository-history", args=[past.slug]))
    assert html.count("<polygon") == 2
    assert "FT001" in html
    assert "style=" not in html


def test_the_commits_link_to_what_each_changed(past: Repository, ada_client: Client) -> None:
    html = page(ada_client, reverse("repository-history", args=[past.slug]))
    [url] = re.findall(r'href="([^"]*kind=absent)"', html)
    changes = page(ada_client, unescape(url))
    assert "`" not in changes.split("What it became")[1].split("</table>")[0]
    assert "made of operators" in changes
    assert GELU.rpartition("::")[2] in changes


def test_a_branch_that_is_not_going_down_has_no_last_day(past: Repository, ada_client: Client) -> None:
    for number, commit in enumerate(Commit.objects.order_by("pk")):
        commit.committed_at = f"2026-05-0{number + 1}T12:00:00Z"
        commit.save()
    html = page(ada_client, reverse("repository-history", args=[past.slug]))
    assert "0.3 fewer a week" in html
    back = make_result(GELU, rule_id="FT008", snippet="read_gelu(x)")
    ingest(past, make_report([make_result(RELU, snippet="read_relu(x)"), back]))
    Commit.objects.filter(committed_at=None).update(committed_at="2026-05-03T12:00:00Z")
    html = page(ada_client, reverse("repository-history", args=[past.slug]))
    assert "come to an end" in html


def test_a_repository_without_a_scan_says_what_to_do(repository: Repository, ada_client: Client) -> None:
    html = page(ada_client, reverse("repository-history", args=[repository.slug]))
    assert "manage.py backfill minitorch" in html


def test_two_commits_can_be_compared_by_name(past: Repository, ada_client: Client) -> None:
    earlier, later = (scan.commit.object_id for scan in ScanRun.objects.order_by("pk"))
    url = reverse("repository-changes", args=[past.slug])
    html = page(ada_client, url, **{"from": later[:16], "to": earlier[:16]})
    assert re.search(r"<b>1</b>\s*New", html)


def test_an_unknown_commit_is_said_to_be_unknown(past: Repository, ada_client: Client) -> None:
    html = page(ada_client, reverse("repository-changes", args=[past.slug]), **{"from": "abcdef1234567"})
    assert "No finished scan of a commit <code>abcdef1234567</code>" in html


def test_a_sites_timeline_has_the_code_of_each_version(past: Repository, ada_client: Client) -> None:
    edited = make_result(RELU, form="if-let", snippet="read_relu_again(x)")
    back = make_result(GELU, rule_id="FT008", snippet="read_gelu(x)")
    ingest(past, make_report([edited, back]))
    relu, gelu = (FallbackSite.objects.get(symbol=symbol) for symbol in (RELU, GELU))
    html = page(ada_client, reverse("site-timeline", args=[relu.pk]))
    assert [html.count(word) for word in ("Seen for the first time", "Changed", "No longer seen")] == [
        1,
        1,
        0,
    ]
    assert "read_relu_again" in html
    html = page(ada_client, reverse("site-timeline", args=[gelu.pk]))
    assert "Back again: a regression" in html
    assert "made of operators" in html


def test_the_list_can_be_narrowed_to_an_outcome(past: Repository, ada_client: Client) -> None:
    query = {"repository": past.slug, "seen": "absent"}
    assert "<b>1</b> site" in page(ada_client, reverse("site-list"), **query, outcome="composite")
    assert "<b>0</b> site" in page(ada_client, reverse("site-list"), **query, outcome="removed")
    assert "<b>0</b> site" in page(ada_client, reverse("site-list"), **query, outcome="not-told")
