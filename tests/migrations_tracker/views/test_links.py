"""No page leads nowhere: every link and every anchor on every page is followed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest
from django.test import Client
from django.urls import Resolver404, resolve

from migrations_tracker.services.search import search_refresh
from tests.migrations_tracker.views.test_access import addresses as addresses

# So many addresses of one view are opened: the pages of a hundred sites are made by the same template.
OF_EACH_VIEW = 6
ELSEWHERE = re.compile(r"^(?:https?:|mailto:|data:|javascript:)")


class Page(HTMLParser):
    """The addresses that a page leads to, and the places of its own that can be led to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.leads: set[str] = set()
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take what an element says of addresses and places."""
        told = {name: unescape(value or "") for name, value in attrs}
        if "id" in told:
            self.places.add(told["id"])
        if tag in {"a", "link"} and told.get("href") and not ELSEWHERE.match(told["href"]):
            self.leads.add(told["href"])
        for name in ("hx-get", "src"):
            if told.get(name) and not ELSEWHERE.match(told[name]):
                self.leads.add(told[name])


def crawl(client: Client, start: list[str]) -> Iterator[tuple[str, str, str]]:
    """Follow every link from some pages on; yield page, link and what is wrong with it.

    What is started from may refuse to be read; what a page leads to may not.
    """
    waiting = [("", address) for address in start]
    seen, opened = set(start), Counter[str]()
    pages: dict[str, Page] = {}
    wanted: list[tuple[str, str, str]] = []
    while waiting:
        origin, address = waiting.pop(0)
        response = client.get(address)
        if origin and response.status_code not in {200, 301, 302}:
            yield origin, address, f"answers {response.status_code}"
        is_page = "text/html" in response.get("Content-Type", "") and not response.streaming
        if response.status_code != 200 or not is_page:
            continue
        page = pages[address] = Page(response.content.decode())
        for link in sorted(page.leads):
            target = urlsplit(urljoin(f"http://testserver{address}", link))
            inner = target.path + (f"?{target.query}" if target.query else "")
            if target.path.startswith("/static/"):
                continue
            if target.fragment:
                wanted.append((address, inner, target.fragment))
            try:
                view = resolve(target.path).view_name
            except Resolver404:
                yield address, link, "no such address"
                continue
            if inner not in seen and opened[view] < OF_EACH_VIEW and view != "logout":
                seen.add(inner)
                opened[view] += 1
                waiting.append((address, inner))
    for address, inner, fragment in wanted:
        if inner in pages and fragment not in pages[inner].places:
            yield address, f"{inner}#{fragment}", "no such place on the page"


@pytest.mark.usefixtures("db")
def test_every_link_on_every_page_leads_somewhere(addresses: dict[str, str], root_client: Client) -> None:
    search_refresh(kinds=["clause", "rule", "form", "site", "unit"])
    pages = ["/", "/search/?q=kernel", *addresses.values()]
    broken = list(crawl(root_client, pages))
    assert not broken


def test_a_broken_link_and_a_broken_anchor_are_seen() -> None:
    class Stub(Client):
        def get(self, path: str, *_: object, **__: object) -> object:  # type: ignore[override]
            from django.http import HttpResponse

            text = '<a href="/no/such/">x</a><a href="/rules/#nowhere">y</a><a id="top" href="#top">z</a>'
            return HttpResponse(text if path in {"/", "/rules/"} else "")

    found = {(link, why) for _, link, why in crawl(Stub(), ["/"])}
    assert found == {("/no/such/", "no such address"), ("/rules/#nowhere", "no such place on the page")}
