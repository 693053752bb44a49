"""axe finds nothing on any page in any state, in both themes, wide and narrow; and nothing is too wide."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from django.db.models.functions import Now
from django.urls import reverse
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from audit.models import FallbackSite, Repository, RowState
from audit.parity.capability import State
from audit.services.parity import parity_dumps_import_shipped
from migrations_tracker.roles import PAGES
from migrations_tracker.selectors.site_columns import COLUMNS
from tests.browser.looking import faults, logged_in
from tests.factories import make_capability, make_scan_run, make_user, store_capabilities
from tests.migrations_tracker.views.conftest import repository, site
from tests.migrations_tracker.views.test_access import addresses
from tests.migrations_tracker.views.test_roles import BY_POST, everything

__all__ = ["addresses", "everything", "repository", "site"]

GOES_ON = "goes on to another page, which is looked at itself"
A_FILE = "gives a file"
A_FORM = "takes a form, and goes on to a page"
WITH_A_PROVIDER = "is there with a provider of log-ins only"
WITH_A_FACTOR = "is there with a second factor only"
#: What is not looked at, and why. All other names of the table of roles are.
NOT_LOOKED_AT = {
    **dict.fromkeys((*BY_POST, "session-end", "theme", "watch-settings"), A_FORM),
    **{name: "answers programs" for name in PAGES if name.startswith("api-")},
    **{name: WITH_A_PROVIDER for name in PAGES if name.startswith(("socialaccount_", "openid_connect_"))},
    **dict.fromkeys(("plan-list", "operator-anywhere", "admin-log-in", "logout", "parent"), GOES_ON),
    **dict.fromkeys(("account_login", "account_logout", "account_signup", "account_inactive"), GOES_ON),
    **dict.fromkeys(("site-export", "capability-export", "plan-export", "report-file"), A_FILE),
    **dict.fromkeys(("unit-issue", "verification-report-file", "label-export", "attachment-file"), A_FILE),
    **{name: WITH_A_FACTOR for name in PAGES if name.startswith("mfa_") and name != "mfa_index"},
    "repository-policy-profile": A_FILE,
    "account_reauthenticate": WITH_A_FACTOR,
    "login": "is looked at by itself: nobody is logged in there",
    "verification-detail": "is looked at with a GPU's evidence behind it, in test_verification_pages",
}
OWN = ("account", "mfa_index", "inbox", "watch-list")
LISTS_OF_FIVE = [
    "/sites/?" + "&".join(f"columns={column}" for column in five)
    for five in itertools.islice(itertools.combinations(COLUMNS, 5), 0, None, 29)
]


@pytest.fixture
def looked_at(everything: dict[str, str]) -> dict[str, str]:
    """The addresses of all pages, with something real behind each."""
    own = {name: reverse(name) for name in OWN}
    return {name: one for name, one in {**everything, **own}.items() if name not in NOT_LOOKED_AT}


def states(repository: Repository, site: FallbackSite) -> Iterator[str]:
    """Name pages in other states: nothing found, nothing there, under way, failed, and every column."""
    yield from (f"/{one}/?q=nowhere" for one in ("sites", "capabilities", "gaps", "entries", "search"))
    yield from ("/search/?q=relu", "/nowhere/", "/sites/?seen=any&q=op&status=open")
    yield "/sites/?" + "&".join(f"columns={column}" for column in COLUMNS)
    yield from LISTS_OF_FIVE
    yield make_scan_run(repository).get_absolute_url()
    failed = make_scan_run(repository, state=RowState.FAILED, failure_reason="`x`", finished_at=Now())
    yield failed.get_absolute_url()
    yield f"{repository.get_absolute_url()}dashboard/?fresh=1"


def test_every_page_is_looked_at_or_says_why_not(looked_at: dict[str, str]) -> None:
    assert set(looked_at) | set(NOT_LOOKED_AT) == set(PAGES)


def test_nothing_is_found_on_any_page(
    transactional_db: None,
    browser: Browser,
    live_server: LiveServer,
    looked_at: dict[str, str],
    repository: Repository,
    site: FallbackSite,
) -> None:
    root = make_user("root", is_superuser=True)
    store_capabilities(site.first_seen_scan, [make_capability(state=state, dtype=state) for state in State])
    parity_dumps_import_shipped()
    page = logged_in(browser, live_server, root)
    found: list[str] = []
    for address in (*looked_at.values(), *states(repository, site)):
        answer = page.goto(f"{live_server.url}{address}")
        assert answer is not None
        assert answer.status < 500, address
        found += faults(page)
    found += faults_of_states(page, live_server)
    page.context.close()
    assert found == []


def faults_of_states(page: Page, live_server: LiveServer) -> Iterator[str]:
    """Yield what is wrong where a dialog or a menu is open, and where a form has errors."""
    page.goto(f"{live_server.url}/sites/")
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()
    yield from faults(page)
    page.goto(f"{live_server.url}/sites/")
    page.locator("main summary").first.click()
    yield from faults(page)
    for address in ("/repositories/add/", "/sites/change/"):
        page.goto(f"{live_server.url}{address}")
        form = page.locator("main form").last
        form.evaluate("(form) => { form.noValidate = true; }")
        form.get_by_role("button").first.click()
        page.locator(".field-error, .notice.error").first.wait_for()
        yield from faults(page)


def test_nothing_is_found_where_nothing_is_there_yet(
    transactional_db: None, browser: Browser, live_server: LiveServer
) -> None:
    page = browser.new_page()
    page.goto(f"{live_server.url}/login/")
    found = list(faults(page))
    page.get_by_label("Username").fill("nobody")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").first.wait_for()
    found += faults(page)
    page.close()
    page = logged_in(browser, live_server, make_user("root", is_superuser=True))
    for name in EMPTY:
        page.goto(f"{live_server.url}{reverse(name)}")
        found += faults(page)
    page.context.close()
    assert found == []


#: Pages that are there before anything else is.
EMPTY = (
    *("overview", "site-list", "rule-list", "form-list", "search", "capability-list", "capability-backend"),
    *("gap-list", "match-list", "parity-changes", "report-list", "plan-list", "bulk-change-list", "policy"),
    *("notice-list", "account", "imported-audit-list", "entry-list", "precedent-list", "runner-list"),
    *("verification-list", "verification-report-list"),
)
