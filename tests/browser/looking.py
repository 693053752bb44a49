"""What a page is asked in each theme and at each width: whether axe finds something, and whether it fits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

WIDTHS = (1440, 390)
HEIGHT = 900
TAGS = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21aa"]}}
# The dark theme changes colours and nothing else.
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
THEMES: tuple[tuple[Literal["light", "dark"], object], ...] = (("light", TAGS), ("dark", COLOURS))
RUN = """async (options) => (await axe.run(document, options)).violations.flatMap(
    (found) => found.nodes.map((node) => `${found.id}: ${node.html.slice(0, 120)}`))"""
# What reaches over the edge, without what stands in something that scrolls by itself or is out of sight.
TOO_WIDE = """() => {
    const most = document.documentElement.clientWidth;
    const wide = document.documentElement.scrollWidth;
    if (wide <= most) return [];
    const isKept = (one) => one.closest(".table-scroll, .code-frame, .plain-code, .gantt, .chart-scroll");
    const over = [...document.querySelectorAll("body *")]
        .filter((one) => one.getBoundingClientRect().right > most + 0.5 && !isKept(one))
        .map((one) => one.outerHTML.slice(0, 80));
    return [`${wide} px wide on a screen of ${most}: ${over.slice(-1)}`];
}"""


def faults(page: Page) -> Iterator[str]:
    """Yield what is wrong with the page once it is loaded, in both themes and at both widths."""
    # After a click there is a moment in which the next page is there and empty, hence faultless.
    page.wait_for_load_state()
    page.evaluate(AXE_SCRIPT)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        for theme, rules in THEMES:
            # A colour on its way from one theme to the other is neither's.
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            for fault in page.evaluate(RUN, rules):
                yield f"{page.url} ({width} px, {theme}): {fault}"
        for fault in page.evaluate(TOO_WIDE):
            yield f"{page.url}: {fault}"


def logged_in(browser: Browser, live_server: LiveServer, user: User, **options: Any) -> Page:
    """Open a page in a context of its own in which a person is logged in, without typing a password."""
    client = Client()
    client.force_login(user, backend="migrations_tracker.access.RoleBackend")
    context = browser.new_context(**options)
    context.set_default_timeout(30_000)
    session = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    return context.new_page()
