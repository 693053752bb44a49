"""What is asked of a page is asked of the whole page, however slowly it comes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Page

from tests.browser.looking import THEMES, WIDTHS, faults

FIRST = b"<!doctype html><html lang=en><title>First</title><a href=/second>On</a>"
SECOND = (b"<!doctype html><html lang=en><title>Second</title>", b"<p>It is here.</p><img src=data:,>")
PAUSE_SECONDS = 2


class Halting(BaseHTTPRequestHandler):
    """Answers with a page, or with one whose second half is a while in coming."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        if self.path != "/second":
            self.wfile.write(FIRST)
            return
        first, second = SECOND
        self.wfile.write(first)
        self.wfile.flush()
        time.sleep(PAUSE_SECONDS)
        self.wfile.write(second)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def halting() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Halting)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_fault_in_the_second_half_of_a_slow_page_is_found_at_the_first_look(
    page: Page, halting: str
) -> None:
    page.goto(halting)
    page.get_by_role("link", name="On").click()
    first = f"({WIDTHS[0]} px, {THEMES[0][0]})"
    assert any("image-alt" in fault and first in fault for fault in faults(page))
