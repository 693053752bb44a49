"""What came or went with the scanner is not told as if the code had changed."""

from __future__ import annotations

import pytest
from django.test import Client

from audit.models import Branch, Commit, FallbackSite, Repository, ScanRun
from audit.selectors.history import pace
from migrations_tracker.models import Notice
from migrations_tracker.selectors.dashboard import dashboard
from migrations_tracker.services.notices import notices_collect
from tests.factories import ingest, make_report, make_repository, make_result, make_user

FIRST = make_result("minitorch_gpu::ops::relu")
SECOND = make_result(
    "minitorch_gpu::linalg::solve",
    line=40,
    rule_id="FT008",
    form="download",
    snippet="let host = x.to_vec()?;\n",
)


@pytest.fixture
def repository(db: None) -> Repository:
    return make_repository()


@pytest.fixture
def page(client: Client, repository: Repository) -> Client:
    client.force_login(make_user())
    return client


def scan(repository: Repository, commit: Commit, scanner: str, *results: object) -> ScanRun:
    report = make_report(results, files=[FIRST.path, SECOND.path])  # type: ignore[arg-type]
    return ingest(repository, report, commit=commit, scanner_version=scanner, attempts=1).scan_run


def commit_of(repository: Repository, number: int) -> Commit:
    return Commit.objects.create(
        repository=repository, object_id=f"{number:040x}", committed_at=f"2026-11-{number:02}T12:00Z"
    )


def text_of(page: Client, address: str) -> str:
    return " ".join(page.get(address).content.decode().split())


def test_the_scan_the_site_and_its_timeline_say_that_the_scanner_changed(
    page: Client, repository: Repository
) -> None:
    commit = commit_of(repository, 1)
    scan(repository, commit, "1.0", FIRST)
    again = scan(repository, commit, "2.0", SECOND)
    site = FallbackSite.objects.earliest("id")

    assert "came with that, not with the code" in text_of(page, again.get_absolute_url())
    assert "the scanner changed, not the site" in text_of(page, site.get_absolute_url())
    timeline = text_of(page, f"{site.get_absolute_url()}timeline/")
    assert "No longer reported: the scanner changed, the code is the same" in timeline


def test_at_another_commit_it_is_the_code_that_is_asked(page: Client, repository: Repository) -> None:
    scan(repository, commit_of(repository, 1), "1.0", FIRST)
    later = scan(repository, commit_of(repository, 2), "1.0", SECOND)
    site = FallbackSite.objects.earliest("id")

    assert "another scanner" not in text_of(page, later.get_absolute_url())
    timeline = text_of(page, f"{site.get_absolute_url()}timeline/")
    assert "No longer seen" in timeline
    assert "the scanner changed" not in timeline + text_of(page, site.get_absolute_url())


def test_where_code_and_scanner_both_changed_the_scan_says_that_either_may_be_why(
    page: Client, repository: Repository
) -> None:
    scan(repository, commit_of(repository, 1), "1.0", FIRST)
    later = scan(repository, commit_of(repository, 2), "2.0", SECOND)
    assert "some of what is new or gone may have come with that" in text_of(page, later.get_absolute_url())


def test_a_site_that_the_scanner_sees_again_is_no_regression(page: Client, repository: Repository) -> None:
    commit = commit_of(repository, 1)
    scan(repository, commit, "1.0", FIRST)
    scan(repository, commit, "2.0")
    scan(repository, commit, "3.0", FIRST)
    timeline = text_of(page, f"{FallbackSite.objects.get().get_absolute_url()}timeline/")
    assert "Back again: the scanner sees it, the code is the same" in timeline
    assert "a regression" not in timeline
    notices_collect()
    titles = Notice.objects.filter(kind="regressions").values_list("title", flat=True)
    assert [
        title for title in titles if not title.endswith("the code is the same, the scanner is another")
    ] == []
    assert len(titles) == 1


def test_the_pace_of_the_work_counts_only_what_the_code_changed(repository: Repository) -> None:
    first, second = commit_of(repository, 1), commit_of(repository, 2)
    scan(repository, first, "1.0", FIRST)
    scan(repository, second, "1.0", FIRST, SECOND)
    scan(repository, second, "2.0")
    found = pace(branch=Branch.objects.get())
    assert found is not None
    assert (found.added, found.closed) == (1, 0)
    shown = dashboard(repository=repository)
    assert shown is not None
    assert (shown.recent.new, shown.recent.closed) == (1, 0)
