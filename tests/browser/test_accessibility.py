"""axe finds nothing on any page, in both themes, wide and narrow; and nothing is wider than the screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from django.contrib.auth.models import User
from django.db.models.functions import Now
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from audit.models import Capability, FallbackSite, Repository, RowState
from audit.parity.capability import State
from audit.services.parity import parity_dumps_import_shipped
from migrations_tracker.models import Person
from migrations_tracker.services.comments import comment_create
from migrations_tracker.services.notices import notices_collect
from migrations_tracker.services.plan_proposals import plan_propose
from migrations_tracker.services.schedules import schedule_request
from migrations_tracker.services.watching import watch_start
from tests.browser.test_first_hour import log_in
from tests.factories import make_capability, make_scan_run, make_user, store_capabilities

ALL = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21aa"]}}
# The dark theme changes colours and nothing else.
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def problems(page: Page, rules: Mapping[str, object]) -> list[str]:
    """List what axe finds, and whether the page scrolls sideways."""
    found = Axe().run(page, options=rules).response["violations"]
    lines = [f"{v['id']}: {node['html'][:120]}" for v in found for node in v["nodes"]]
    if page.evaluate(OVERFLOW) > 0:
        lines.append(f"{page.evaluate(OVERFLOW)} px wider than the screen")
    return [f"{page.url}: {line}" for line in lines]


@pytest.mark.parametrize(
    ("theme", "width", "rules"),
    [("light", 1440, ALL), ("light", 390, ALL), ("dark", 1440, COLOURS), ("dark", 390, COLOURS)],
)
def test_nothing_is_found_on_any_page(
    browser: Browser,
    live_server: LiveServer,
    sites: None,
    theme: Literal["light", "dark"],
    width: int,
    rules: Mapping[str, object],
) -> None:
    repository = Repository.objects.get()
    site = FallbackSite.objects.earliest("id")
    store_capabilities(site.first_seen_scan, [make_capability(state=state, dtype=state) for state in State])
    parity_dumps_import_shipped()
    waiting = make_scan_run(repository)
    failed = make_scan_run(repository, state=RowState.FAILED, failure_reason="`x`", finished_at=Now())
    plan = plan_propose(repository=repository, actor=None).plan
    Person.objects.create(plan=plan, name="grace", skills=["kernel", "build"], hours=[[0, 540, 1020]])
    schedule = schedule_request(plan=plan, actor=None)
    root = User.objects.get(username="root")
    watch_start(person=root, subject=site)
    comment_create(subject=site, author=make_user("lin"), text="@root **why**? `let x = 1;`")
    notices_collect()
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    page = context.new_page()
    page.goto(f"{live_server.url}/login/")
    found = problems(page, rules)
    log_in(page, live_server)
    for address in (
        "/",
        "/repositories/add/",
        repository.get_absolute_url(),
        f"{repository.get_absolute_url()}settings/",
        f"{repository.get_absolute_url()}dashboard/",
        "/account/",
        "/notices/",
        "/reports/schedules/?repository=minitorch",
        "/sites/?columns=due&sort=due",
        "/account/inbox/",
        "/account/watched/",
        "/account/watched/?kind=gap",
        site.first_seen_scan.get_absolute_url(),
        waiting.get_absolute_url(),
        failed.get_absolute_url(),
        "/sites/",
        "/sites/?q=nowhere",
        "/sites/change/",
        "/bulk-changes/",
        site.get_absolute_url(),
        f"{site.get_absolute_url()}identity/",
        "/rules/",
        "/rules/FT001/",
        "/capabilities/",
        "/capabilities/?q=nowhere",
        Capability.objects.earliest("id").address(repository),
        "/operators/minitorch/aten::exp/",
        "/crates/minitorch/minitorch-gpu/",
        "/runners/",
        "/verifications/",
        "/verifications/nightly/?repository=minitorch",
        "/verification-reports/",
        plan.get_absolute_url(),
        plan.units.earliest("pk").get_absolute_url(),
        schedule.get_absolute_url(),
        "/policy/",
        "/policy/F1/",
        "/nowhere/",
    ):
        page.goto(f"{live_server.url}{address}")
        found += problems(page, rules)
    page.goto(f"{live_server.url}/repositories/add/")
    page.get_by_role("button", name="Add and scan").click()
    found += problems(page, rules)
    context.close()
    assert found == []
