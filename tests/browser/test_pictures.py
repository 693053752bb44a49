"""The documentation's pictures show the pages as they are: each can be made, is small, and is used."""

from __future__ import annotations

import os
import re
from pathlib import Path

from django.contrib.auth.models import User
from playwright.sync_api import Browser
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from tests.browser.looking import logged_in
from tests.browser.pictures import FOLDER, MOST_BYTES, PICTURES, make_scene, take
from tests.browser.test_first_hour import SAMPLE

ROOT = FOLDER.parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")


def test_every_picture_is_used_and_every_used_one_can_be_made() -> None:
    used = {
        (page.parent / address).resolve()
        for page in PAGES
        for _, address in _IMAGE.findall(page.read_text(encoding="utf-8"))
    }
    assert used == {FOLDER / name for name in PICTURES} == set(FOLDER.iterdir())


def test_every_picture_says_in_words_what_it_shows() -> None:
    texts = [text for page in PAGES for text, _ in _IMAGE.findall(page.read_text(encoding="utf-8"))]
    assert all(len(text.split()) > 4 for text in texts), texts


def test_no_kept_picture_is_large() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.stat().st_size > MOST_BYTES} == set()


def test_each_picture_can_be_made(
    transactional_db: None, browser: Browser, live_server: LiveServer, settings: Settings, tmp_path: Path
) -> None:
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    # `make screenshots` names docs/images here; the suite itself writes nothing that is kept.
    folder = Path(os.environ.get("FERROAUDIT_SCREENSHOTS") or tmp_path)
    scene = make_scene(tmp_path / "minitorch", SAMPLE)
    page = logged_in(browser, live_server, User.objects.get(username="lead"))
    for name in PICTURES:
        made = take(page, live_server.url, scene, name, folder)
        assert 10_000 < made.stat().st_size < MOST_BYTES, name
    page.context.close()
