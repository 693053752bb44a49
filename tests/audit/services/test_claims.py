"""Reading commits that were scanned, and showing what they claim."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from audit.models import (
    Claim,
    Commit,
    CommitReading,
    FallbackSite,
    PullRequest,
    PullRequestCheck,
    PullRequestSite,
    Repository,
    RowState,
    ScanRun,
)
from audit.selectors.claims import claims_of
from audit.services.claims import claims_read
from audit.services.repositories import repository_add
from tests.factories import ingest, make_report, make_repository, make_result, make_scan_run, make_user
from tests.git import commit_files

pytestmark = pytest.mark.django_db

MESSAGE = "gpu: Migrate elementwise\n\nMigrated 2 sites.\nImplemented `gpu_relu` on GPU.\n"


@pytest.fixture
def repository(tmp_path: Path, settings: Settings) -> Repository:
    settings.REPOSITORIES_DIR = tmp_path / "clones"
    commit_files(tmp_path / "tree", {"CHANGELOG.md": "# Changes\n\n- Old: migrated 9 GPU sites.\n"})
    added = "# Changes\n\n- All unary ops now run on the GPU.\n- Old: migrated 9 GPU sites.\n"
    object_id = commit_files(tmp_path / "tree", {"CHANGELOG.md": added, "src/lib.rs": ""}, MESSAGE)
    found = repository_add(location=str(tmp_path / "tree"), actor=None)
    branch = found.branches.create(name="main")
    commit = Commit.objects.create(repository=found, object_id=object_id)
    report = make_report([make_result("minitorch_gpu::ops::gpu_relu")])
    ingest(found, report, commit=commit, branch=branch)
    return found


def test_a_scanned_commit_is_read_once_with_what_it_added_to_the_changelog(repository: Repository) -> None:
    assert claims_read() == 1
    assert [(c.source, c.kind, c.line, c.count) for c in Claim.objects.all()] == [
        ("changelog", "coverage", 1, None),
        ("message", "counted", 3, 2),
        ("message", "on-device", 3, None),
    ]
    assert claims_read() == 0
    CommitReading.objects.update(words_version=0)
    assert claims_read() == 1
    assert Claim.objects.count() == 3


def test_what_was_not_scanned_or_is_no_commit_is_not_read(repository: Repository) -> None:
    ScanRun.objects.update(state=RowState.PENDING, finished_at=None)
    ingest(make_repository("folder"), make_report())
    assert claims_read() == 0


def test_a_commit_that_git_no_longer_has_is_not_asked_for_ever(repository: Repository) -> None:
    Commit.objects.update(object_id="0" * 40)
    assert claims_read() == 1
    assert claims_read() == 0
    assert not Claim.objects.exists()


def test_a_commit_that_is_gone_takes_no_other_s_claims_with_it(repository: Repository) -> None:
    gone = Commit.objects.create(repository=repository, object_id="1" * 40)
    ingest(repository, make_report(), commit=gone)
    assert claims_read() == 2
    assert Claim.objects.exclude(commit=gone).count() == 3


def test_the_scan_s_page_holds_each_claim_against_what_was_measured(repository: Repository) -> None:
    claims_read()
    scan_run = ScanRun.objects.get()
    bearings = [(view.held.claim.kind, view.held.bearing) for view in claims_of(scan_run=scan_run)]
    assert bearings == [
        ("coverage", "not-told"),
        ("counted", "not-borne-out"),
        ("on-device", "not-borne-out"),
    ]
    client = Client()
    client.force_login(make_user())
    text = client.get(scan_run.get_absolute_url()).content.decode()
    for expected in (
        "The scan does not bear it out",
        "2 claimed; 0 sites ended with a known outcome",
        "Still open at this commit",
        "<code>gpu_relu</code>",
    ):
        assert expected in text


def test_a_scan_without_claims_shows_none() -> None:
    assert claims_of(scan_run=make_scan_run(make_repository())) == []


def test_no_page_of_a_scan_that_is_claimed_of_takes_more_queries_than_it_may(
    repository: Repository, client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    """Also of the head of pull requests that claim something."""
    claims_read()
    scan_run = ScanRun.objects.get()
    for number in (7, 8):
        told = PullRequest.objects.create(
            repository=repository,
            number=number,
            title="Run relu on the device",
            body="Implemented `gpu_relu` on GPU.",
            head_id=scan_run.commit.object_id,
            base_id="b" * 40,
            changed_at=timezone.now(),
        )
        check = PullRequestCheck.objects.create(
            pull_request=told,
            head_id=told.head_id,
            base_id=told.base_id,
            head_scan=scan_run,
            start_scan=scan_run,
            state=RowState.SUCCEEDED,
            finished_at=timezone.now(),
        )
        PullRequestSite.objects.create(check_row=check, site=FallbackSite.objects.get(), is_new=True)
    client.force_login(make_user())
    first = client.get(scan_run.get_absolute_url()).content
    with django_assert_max_num_queries(12):
        again = client.get(scan_run.get_absolute_url()).content
    assert [view.source.split(",")[0] for view in claims_of(scan_run=scan_run)][-4:] == [
        "pull request #8",
        "changelog",
        "commit message",
        "commit message",
    ]
    for page in (first, again):
        assert page.count(b"pull request #7") == page.count(b"pull request #8") > 0
