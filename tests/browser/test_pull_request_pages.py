"""Pull requests and held sites in a browser: axe finds nothing, nothing is too wide or needs scripts."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db.models.functions import Now
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from audit.models import (
    BranchScan,
    FallbackSite,
    HeldDrop,
    HeldSite,
    PullRequest,
    PullRequestCheck,
    PullRequestSite,
    Repository,
    RepositoryKind,
    RowState,
)
from tests.browser.looking import faults
from tests.browser.test_first_hour import log_in

COMMITS = {"head_id": "a" * 40, "base_id": "b" * 40}
BODY = (
    "Makes the operators honest.\n\n- No silent fallback in `op1` any more.\n- `op2` runs on the GPU.\n"
    + "x" * 300
)


@pytest.fixture
def addresses(sites: None) -> list[str]:
    Repository.objects.update(kind=RepositoryKind.GIT_PATH)
    repository = Repository.objects.get()
    scan = FallbackSite.objects.earliest("id").first_seen_scan
    rows = [
        PullRequest.objects.create(
            repository=repository,
            number=number,
            title="Refuse what has no kernel, operator by operator",
            body=BODY,
            head_name="a-branch-with-a-name-that-goes-on-and-on-for-longer-than-a-narrow-screen",
            base_name="main",
            url="https://example.org/pull/7",
            changed_at=datetime(2026, 6, 1, tzinfo=UTC),
            **COMMITS,
        )
        for number in (7, 8, 9)
    ]
    done = PullRequestCheck.objects.create(
        pull_request=rows[0],
        state=RowState.SUCCEEDED,
        finished_at=Now(),
        head_scan=scan,
        start_scan=scan,
        **COMMITS,
    )
    PullRequestCheck.objects.create(
        pull_request=rows[1], state=RowState.FAILED, failure_reason="no `x`", finished_at=Now(), **COMMITS
    )
    PullRequestCheck.objects.create(pull_request=rows[2], **COMMITS)
    for number, site in enumerate(FallbackSite.objects.order_by("id")[:6]):
        outcome = "structured-error" if number in (0, 2) else ""
        text = "`op` returns an error" if outcome else ""
        PullRequestSite.objects.create(
            check_row=done, site=site, is_new=number > 3, outcome=outcome, outcome_text=text
        )
    drop = HeldDrop.objects.create(
        branch_scan=BranchScan.objects.earliest("pk"), open_before=60, site_count=1
    )
    HeldSite.objects.create(drop=drop, site=FallbackSite.objects.latest("id"))
    site = FallbackSite.objects.earliest("id")
    return [
        f"{repository.get_absolute_url()}pull-requests/",
        f"{repository.get_absolute_url()}pull-requests/?state=closed",
        *(row.get_absolute_url() for row in rows),
        f"{site.get_absolute_url()}timeline/",
        f"{repository.get_absolute_url()}held/",
        drop.get_absolute_url(),
        scan.get_absolute_url(),
    ]


def test_nothing_is_found_in_either_theme_at_either_width(
    browser: Browser, live_server: LiveServer, addresses: list[str]
) -> None:
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    log_in(page, live_server)
    found: list[str] = []
    for number, address in enumerate(addresses):
        response = page.goto(f"{live_server.url}{address}")
        assert response is not None
        assert response.status == 200
        found += faults(page)
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=Path(folder) / f"{number}.png", full_page=True)
    context.close()
    assert found == []


def test_without_scripts_the_list_leads_to_the_sites(
    browser: Browser, live_server: LiveServer, addresses: list[str]
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    log_in(page, live_server)
    page.goto(f"{live_server.url}{addresses[0]}")
    page.get_by_role("link", name="#7").click()
    expect(page.get_by_text("No site of what is named was open before").first).to_be_visible()
    site = FallbackSite.objects.earliest("id")
    page.get_by_role("link", name=f"#{site.pk}", exact=True).click()
    expect(page).to_have_url(f"{live_server.url}{site.get_absolute_url()}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    context.close()
