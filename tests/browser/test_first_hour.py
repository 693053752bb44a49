"""A person's way from the log-in to a site that is moved on, with a real worker behind the pages."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.factories import PASSWORD, make_user
from tests.fixtures.worker import ROOT, WorkerProcess

SAMPLE = ROOT / "tests" / "samples" / "minitorch"
SCAN_PATIENCE_MS = 120_000


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A copy of the sample workspace, outside every git repository."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "minitorch"))


@pytest.fixture(params=["with JavaScript", "without JavaScript"])
def any_page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    context = browser.new_context(java_script_enabled=request.param == "with JavaScript")
    yield context.new_page()
    context.close()


def log_in(page: Page, server: LiveServer) -> None:
    page.goto(server.url)
    page.get_by_label("Username").fill("root")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def go_where_it_leads(page: Page, link: Locator) -> None:
    """Go where a link of a list leads: a click into a list that is just being replaced is lost."""
    page.goto(urljoin(page.url, link.get_attribute("href")))


def wait_for_the_scan(page: Page, *, has_script: bool) -> None:
    """Wait until the scan's page shows its results: by itself, or by its link where there is no script."""
    done = page.get_by_role("heading", name="What was looked at")
    refresh = page.get_by_role("link", name="Refresh")
    if not has_script:
        deadline = time.monotonic() + SCAN_PATIENCE_MS / 1000
        while time.monotonic() < deadline:
            expect(done.or_(refresh)).to_be_visible()
            if done.is_visible():
                break
            refresh.click()
            page.wait_for_timeout(200)
    expect(done).to_be_visible(timeout=SCAN_PATIENCE_MS if has_script else None)


def test_a_repository_is_added_scanned_and_a_site_is_moved_on(
    any_page: Page,
    live_server: LiveServer,
    start_worker: Callable[..., WorkerProcess],
    sample: Path,
    request: pytest.FixtureRequest,
) -> None:
    make_user("root", is_superuser=True)
    start_worker(environment={"SCAN_CACHE_DIR": str(sample.parent / "cache")})
    page = any_page
    has_script = "without" not in request.node.name
    log_in(page, live_server)

    page.get_by_role("link", name="Add a repository").click()
    page.get_by_label("URL or path").fill("/nonexistent")
    page.get_by_role("button", name="Add and scan").click()
    expect(page.locator(".field-error")).to_contain_text("does not exist")
    expect(page.get_by_label("URL or path")).to_have_value("/nonexistent")

    page.get_by_label("URL or path").fill(str(sample))
    page.get_by_role("button", name="Add and scan").click()
    wait_for_the_scan(page, has_script=has_script)

    page.get_by_role("link", name="Show the sites").click()
    page.locator("#filter-rule").select_option("FT001")
    page.get_by_role("button", name="Apply").click()
    expect(page).to_have_url(re.compile("rule=FT001"))
    go_where_it_leads(page, page.locator("table.sites .place a").first)
    expect(page.locator(".code .flagged").first).to_be_visible()

    page.get_by_label("Next status").select_option("accepted")
    page.get_by_label("Reason").fill("it computes on the host")
    page.get_by_role("button", name="Change status").click()
    expect(page.get_by_role("status")).to_have_text("The site is accepted now.")
    expect(page.locator(".timeline").first).to_contain_text("it computes on the host")

    page.get_by_label("Add a comment").fill("starts with the relu kernel")
    page.get_by_role("button", name="Comment").click()
    expect(page.locator(".comment")).to_contain_text("starts with the relu kernel")

    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in to Ferroaudit")


def test_the_list_narrows_while_one_types(page: Page, live_server: LiveServer, sites: None) -> None:
    log_in(page, live_server)
    page.get_by_role("link", name="Sites", exact=True).click()
    expect(page.locator(".result-count")).to_contain_text("60 sites")
    # What is typed before the scripts are there is heard by nobody.
    page.wait_for_load_state()
    page.get_by_label("Symbol or path", exact=True).fill("op17")
    expect(page.locator(".result-count")).to_contain_text("1 site open")
    expect(page).to_have_url(re.compile("q=op17"))
    page.reload()
    expect(page.get_by_label("Symbol or path", exact=True)).to_have_value("op17")


def test_pages_are_turned_forward_and_back(page: Page, live_server: LiveServer, sites: None) -> None:
    log_in(page, live_server)
    page.goto(f"{live_server.url}/sites/")
    first = page.locator("table.sites .place a").first.inner_text()
    page.get_by_role("link", name="Next").click()
    expect(page.locator("table.sites tbody tr")).to_have_count(10)
    page.get_by_role("link", name="Previous").click()
    expect(page.locator("table.sites .place a").first).to_have_text(first)
