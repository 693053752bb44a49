"""axe finds nothing on the policy's pages, in both themes, wide and narrow; and they need no JavaScript."""

from __future__ import annotations

from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from audit.models import PrecedentKind, Repository, RepositoryPolicy, SiteState
from audit.services.precedents import precedent_record
from audit.services.repository_policies import policy_clause_publish, policy_levels_publish
from migrations_tracker.services.plan_proposals import plan_propose
from tests.browser.looking import faults, logged_in
from tests.browser.test_first_hour import log_in
from tests.factories import make_own_policy, make_user


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


def test_what_was_published_meanwhile_is_shown_before_it_is_gone_on_from(
    browser: Browser, live_server: LiveServer, sites: None
) -> None:
    repository = Repository.objects.get()
    root = User.objects.get(username="root")
    make_own_policy(repository, root)
    own = f"{live_server.url}{repository.get_absolute_url()}policy/"
    context = browser.new_context(java_script_enabled=False)
    page, other = context.new_page(), context.new_page()
    log_in(page, live_server)
    found: list[str] = []
    page.goto(own)
    other.goto(f"{own}clauses/P1/edit/")
    page.get_by_label("Level of host-readback here").select_option("error")
    page.get_by_label("Level of comment-only-gap here").select_option("error")
    page.get_by_label("Why").fill("It is what the users feel.")
    policy_levels_publish(
        repository=repository,
        levels={"FT014": "warning", "FT018": "none"},
        reason="Agreed on Monday.",
        actor=make_user("hedy"),
        based_on=2,
    )
    page.get_by_role("button", name="Publish these levels").click()
    expect(page.get_by_text("Agreed on Monday.").first).to_be_visible()
    expect(page.get_by_text("you had chosen error, published is warning.")).to_be_visible()
    expect(page.get_by_label("Level of dishonest-report here")).to_have_value("none")
    page.get_by_role("button", name="Publish these levels").click()
    expect(page.get_by_text("Published as version 1+4.")).to_be_visible()
    newest = RepositoryPolicy.objects.latest("number")
    assert newest.levels == {"FT008": "error", "FT014": "warning", "FT018": "none"}
    other.get_by_label("Title").fill("No host body in any solver")
    other.get_by_label("Why this is published").fill("It is more than one.")
    other.get_by_role("button", name="Publish", exact=True).click()
    expect(other.get_by_text("Published meanwhile.")).to_be_visible()
    other.get_by_role("button", name="Publish", exact=True).click()
    expect(other.get_by_text("Published as version 1+5.")).to_be_visible()
    other.goto(f"{own}clauses/P1/?version=2")
    expect(other.get_by_text("Today’s, in version 1+5:")).to_be_visible()
    context.close()
    looked = logged_in(browser, live_server, root)
    for address in (f"{own}clauses/P1/?version=2", f"{live_server.url}/entries/add/"):
        looked.goto(address)
        found += faults(looked)
    looked.goto(own)
    looked.get_by_label("Why").fill("x")
    policy_levels_publish(
        repository=repository, levels={"FT001": "note"}, reason="Again.", actor=root, based_on=5
    )
    looked.get_by_label("Level of silent-fallback here").select_option("warning")
    looked.get_by_role("button", name="Publish these levels").click()
    expect(looked.get_by_text("Again.").first).to_be_visible()
    found += faults(looked)
    looked.goto(f"{own}clauses/P1/edit/")
    looked.get_by_label("Title").fill("Mine")
    looked.get_by_label("Why this is published").fill("x")
    theirs = {**RepositoryPolicy.objects.latest("number").clauses[0], "title": "Theirs", "reason": "Other."}
    policy_clause_publish(
        repository=repository, clause_id="P1", parts=theirs, reason="Reworded.", actor=root, based_on=6
    )
    looked.get_by_role("button", name="Publish", exact=True).click()
    expect(looked.get_by_text("You had typed: Mine")).to_be_visible()
    found += faults(looked)
    looked.goto(f"{own}clauses/P1/?version=2")
    assert found == []
