"""Logging in at a provider in a browser that keeps to the pages' policy."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.fixtures.provider import Provider


def test_the_button_leads_to_the_provider_and_back_in(
    transactional_db: None, page: Page, live_server: LiveServer, provider: Provider
) -> None:
    page.goto(f"{live_server.url}/login/?next=/rules/")
    page.get_by_role("button", name="Log in by Example").click()
    expect(page).to_have_url(re.compile(r"/rules/$"))
    expect(page.get_by_role("link", name="lin", exact=True)).to_be_visible()
