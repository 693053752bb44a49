"""axe finds nothing on the policy's pages, in both themes, wide and narrow; and they need no JavaScript."""

from __future__ import annotations

from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from audit.models import PrecedentKind, Repository, SiteState
from audit.services.precedents import precedent_record
from migrations_tracker.services.plan_proposals import plan_propose
from tests.browser.looking import faults
from tests.browser.test_first_hour import log_in
from tests.factories import make_own_policy


def test_nothing_is_found_on_the_pages_of_the_policy(
    page: Page, live_server: LiveServer, sites: None
) -> None:
    repository = Repository.objects.get()
    root = User.objects.get(username="root")
    make_own_policy(repository, root)
    site = SiteState.objects.earliest("pk").site
    precedent_record(
        site=site,
        actor=root,
        kind=PrecedentKind.ACCEPTED,
        reason="It says that it transfers.",
        clause_id="M2",
    )
    plan = plan_propose(repository=repository, actor=None).plan
    log_in(page, live_server)
    own = f"{repository.get_absolute_url()}policy/"
    found: list[str] = []
    for address in (
        "/policy/",
        "/policy/M2/",
        "/policy/compare/",
        f"/policy/compare/?from=1&to={repository.slug}:1%2B2",
        own,
        f"{own}?version=1",
        f"{own}clauses/P1/",
        f"{own}clauses/P1/edit/",
        f"{own}clauses/add/",
        site.get_absolute_url(),
        plan.units.earliest("pk").get_absolute_url(),
    ):
        page.goto(f"{live_server.url}{address}")
        found += faults(page)
    assert found == []


def test_levels_are_published_and_versions_compared_without_javascript(
    browser: Browser, live_server: LiveServer, sites: None
) -> None:
    repository = Repository.objects.get()
    make_own_policy(repository, User.objects.get(username="root"))
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    log_in(page, live_server)
    page.goto(f"{live_server.url}{repository.get_absolute_url()}policy/")
    page.get_by_label("Level of host-readback here").select_option("error")
    page.get_by_label("Why").fill("It is what the users feel.")
    page.get_by_role("button", name="Publish these levels").click()
    expect(page.get_by_text("Published as version 1+3.")).to_be_visible()
    page.get_by_role("link", name="What version 3 changed").click()
    expect(page.get_by_text("1 level changed")).to_be_visible()
    page.get_by_label("From").select_option("1")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("1 clause added, 0 removed, 0 changed, 2 levels changed")).to_be_visible()
    page.get_by_role("link", name="P1 No host body in the solver").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("No host body in the solver")
    context.close()
