"""Search is one key away from every page, and what people know is read with and without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from audit.models import FallbackSite, KnowledgeEntry, Precedent, PrecedentKind, Stance
from audit.services.knowledge_entries import entry_create, entry_save
from audit.services.precedents import precedent_opinion_add, precedent_record
from migrations_tracker.services.search import search_refresh
from tests.browser.looking import faults
from tests.browser.test_first_hour import log_in
from tests.factories import ingest, make_report, make_result, make_user


@pytest.fixture
def known(sites: None) -> FallbackSite:
    """Rulings of both kinds, one differed from, an entry in two revisions, and sites that are gone."""
    ruth = make_user("ruth")
    first, second, third = FallbackSite.objects.order_by("pk")[:3]
    precedent = precedent_record(site=first, kind=PrecedentKind.NOT_A_SITE, reason="Shape data.", actor=ruth)
    precedent_record(site=second, kind=PrecedentKind.ACCEPTED, reason="See #12.", actor=ruth)
    precedent_opinion_add(
        precedent=precedent, site=third, stance=Stance.DIFFER, reason="A tensor.", actor=ruth
    )
    entry = entry_create(actor=ruth, title="How we mend it")
    for text in ("Look.", f"See [[rule:FT001]], [[site:{first.pk}]].\n\n- one\n- two"):
        entry_save(
            entry=entry,
            actor=ruth,
            title="How we mend it",
            text=text,
            attached=[f"site:{first.pk}"],
            is_draft=False,
        )
    kept = [make_result(f"minitorch_gpu::ops::op{number}", line=number + 1) for number in range(55)]
    ingest(first.repository, make_report(kept))
    search_refresh(kinds=["site", "rule", "entry", "precedent", "clause"])
    return first


def addresses(site: FallbackSite) -> Iterator[str]:
    entry, precedent = KnowledgeEntry.objects.get(), Precedent.objects.earliest("pk")
    yield from ("/rules/", "/rules/FT001/", "/forms/", "/forms/failed-attempt/", "/search/?q=op1")
    yield from ("/precedents/", "/precedents/contradictions/", precedent.get_absolute_url())
    yield from ("/entries/", entry.get_absolute_url(), f"{entry.get_absolute_url()}history/")
    yield from (site.get_absolute_url(), "/crates/minitorch/minitorch-gpu/", "/sites/?form=match-arm")
    yield from ("/references/minitorch/issue/12/", "/audits/", "/audits/import/", "/entries/add/")


def test_axe_finds_nothing_on_what_people_know(
    page: Page, live_server: LiveServer, known: FallbackSite
) -> None:
    log_in(page, live_server)
    found: list[str] = []
    for address in addresses(known):
        page.goto(f"{live_server.url}{address}")
        found += faults(page)
    assert found == []


def test_slash_goes_to_the_search_from_every_page_and_is_a_letter_in_a_field(
    page: Page, live_server: LiveServer, known: FallbackSite
) -> None:
    log_in(page, live_server)
    others = ("/", "/sites/", "/capabilities/", "/plan/", "/policy/", "/reports/", "/account/", "/nowhere/")
    for address in (*others, *addresses(known)):
        page.goto(f"{live_server.url}{address}")
        page.locator("h1").first.click()
        page.keyboard.press("/")
        focused = page.locator(":focus")
        expect(focused).to_have_attribute("name", "q")
        expect(focused).to_have_attribute("type", "search")
        assert focused.input_value() in ("", "op1"), address
        assert page.evaluate("document.activeElement.form.action").endswith("/search/"), address
    page.goto(f"{live_server.url}/sites/")
    page.keyboard.press("/")
    page.keyboard.type("op1/op")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{live_server.url}/search/?q=op1%2Fop")
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_everything_is_read_and_ruled_without_javascript(
    browser: Browser, live_server: LiveServer, known: FallbackSite
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    log_in(page, live_server)
    page.goto(f"{live_server.url}/rules/FT001/")
    expect(page.get_by_text("of 2 sites that people judged, 1 is none")).to_be_visible()
    page.get_by_role("link", name="1 rulings: not a site").click()
    expect(page.get_by_role("row")).to_have_count(2)
    page.goto(f"{live_server.url}/rules/FT001/")
    with page.expect_download() as download:
        page.get_by_role("link", name="2 labels of minitorch as JSON lines").click()
    assert len(download.value.path().read_text().splitlines()) == 2
    page.goto(f"{live_server.url}/rules/FT001/")
    page.get_by_role("link", name="55", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("55 sites open")
    page.locator("#filter-form").select_option("failed-attempt")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("No site matches")).to_be_visible()
    root = User.objects.get(username="root")
    page.goto(f"{live_server.url}{known.get_absolute_url()}")
    page.get_by_text("Rule on this site").click()
    page.get_by_label("Ruling", exact=True).select_option("category:B")
    page.get_by_label("Why this ruling").fill("It is one.")
    page.get_by_role("button", name="Rule", exact=True).click()
    expect(page.get_by_text("Ruled. It is offered")).to_be_visible()
    ruling = Precedent.objects.get(site=known, ended_at=None)
    assert (ruling.kind, ruling.decided_by) == (PrecedentKind.CATEGORY, root)
    page.goto(f"{live_server.url}/rules/FT001/")
    expect(page.get_by_text("of 2 sites that people judged, 0 are none")).to_be_visible()
    context.close()
