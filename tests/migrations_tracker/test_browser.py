"""A page in a real browser."""

from __future__ import annotations

from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer


def test_the_admin_asks_who_is_there(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/admin/")
    assert page.title().startswith("Log in")
    assert page.get_by_label("Password").is_visible()
