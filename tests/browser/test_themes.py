"""The switch between light and dark, with and without JavaScript."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.browser.looking import faults, logged_in
from tests.browser.test_first_hour import log_in
from tests.factories import make_user

LIGHT, DARK = "rgb(246, 245, 242)", "rgb(22, 20, 18)"


def choose(page: Page, theme: str) -> None:
    page.get_by_role("form", name="Theme").get_by_role("button", name=theme).click()
    pressed = page.get_by_role("button", name=theme, exact=True)
    expect(pressed).to_have_attribute("aria-pressed", "true")


def has_background(page: Page, colour: str) -> None:
    expect(page.locator("body")).to_have_css("background-color", colour)


@pytest.mark.parametrize("has_script", [True, False], ids=["with JavaScript", "without JavaScript"])
@pytest.mark.parametrize("system", ["light", "dark"])
def test_what_was_chosen_stands_above_the_system_on_every_page(
    transactional_db: None, browser: Browser, live_server: LiveServer, system: str, has_script: bool
) -> None:
    root = make_user("root", is_superuser=True)
    page = logged_in(browser, live_server, root, color_scheme=system, java_script_enabled=has_script)
    for theme, background in (("Dark", DARK), ("Light", LIGHT)):
        page.goto(f"{live_server.url}/rules/?level=error")
        choose(page, theme)
        expect(page).to_have_url(f"{live_server.url}/rules/?level=error")
        page.goto(f"{live_server.url}/sites/")
        has_background(page, background)
    choose(page, "System")
    has_background(page, DARK if system == "dark" else LIGHT)
    page.context.close()


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_axe_finds_nothing_in_a_theme_that_was_chosen(
    transactional_db: None, browser: Browser, live_server: LiveServer, theme: str
) -> None:
    page = logged_in(browser, live_server, make_user("root", is_superuser=True))
    page.goto(f"{live_server.url}/account/")
    choose(page, theme)
    assert list(faults(page)) == []
    page.context.close()


def test_paper_is_white_whatever_was_chosen(
    transactional_db: None, browser: Browser, live_server: LiveServer
) -> None:
    page = logged_in(browser, live_server, make_user("root", is_superuser=True), color_scheme="dark")
    page.goto(f"{live_server.url}/account/")
    choose(page, "Dark")
    page.emulate_media(media="print")
    has_background(page, LIGHT)
    expect(page.get_by_role("form", name="Theme")).to_be_hidden()
    page.context.close()


def test_what_can_only_be_pressed_is_not_on_paper(page: Page, live_server: LiveServer, sites: None) -> None:
    log_in(page, live_server)
    page.goto(f"{live_server.url}/sites/")
    page.locator("table.sites .place a").first.click()
    expect(page.get_by_role("heading", name="Move it on")).to_be_visible()
    page.wait_for_load_state()
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", name="Move it on")).to_be_hidden()
    assert [one for one in page.locator("button, input, select, textarea").all() if one.is_visible()] == []
    expect(page.locator(".evidence").first).to_be_visible()
