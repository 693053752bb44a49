"""What each kind of people comes for, done by clicking and typing as they would, with JavaScript and without.

The jobs of one kind of people are done one after the other in one browser, each with its own assertions on
the page and in the database: to build what they work on takes longer than most of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from audit.models import FallbackSite, Repository, RowState, ScanRequest, SiteEvent, SiteState
from migrations_tracker import cli
from migrations_tracker.models import (
    ApiToken,
    BulkChange,
    Comment,
    MigrationReport,
    Person,
    Plan,
    Schedule,
    SiteMigration,
    Transition,
)
from migrations_tracker.roles import Role
from migrations_tracker.services.bulk_changes import bulk_change_execute
from migrations_tracker.services.migration_reports import report_execute
from tests.browser.looking import logged_in
from tests.browser.test_first_hour import go_where_it_leads
from tests.factories import make_repository, make_result, make_user
from tests.migrations_tracker.plan_fixture import results, scan
from tests.workers.machines import make_job, make_runner
from workers.models import Runner, VerificationJob, VerificationRequest

SITES = 8


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a job is done: the browser's page, whose it is, and the server."""

    page: Page
    server: LiveServer
    user: User
    repository: Repository

    def go(self, name: str) -> None:
        """Go to a part of the site by its link in the header, as one who has just come."""
        self.page.goto(self.server.url)
        self.page.get_by_role("navigation", name="Main").get_by_role("link", name=name, exact=True).click()

    def press(self, name: str) -> None:
        self.page.locator("main").get_by_role("button", name=name).first.click()

    def follow(self, name: str | re.Pattern[str]) -> None:
        self.page.locator("main").get_by_role("link", name=name).first.click()

    def open_site(self, site: FallbackSite) -> None:
        """Find a site in the list by its symbol, and open it."""
        self.go("Sites")
        self.page.get_by_label("Symbol or path", exact=True).fill(site.symbol)
        self.press("Apply")
        name = site.symbol.rpartition("::")[2]
        go_where_it_leads(self.page, self.page.locator("table.sites .place a").filter(has_text=name).first)
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(name)


def lead_sees_what_is_left(scene: Scene) -> None:
    scene.go("Overview")
    scene.follow("minitorch")
    scene.follow("Dashboard")
    count = SiteState.objects.filter(is_open=True).count()
    expect(scene.page.locator(".stat").first).to_contain_text(str(count))
    scene.page.locator(".stat a").first.click()
    expect(scene.page.locator(".result-count")).to_contain_text(f"{count} sites open")


def lead_sees_whether_it_goes_down(scene: Scene) -> None:
    scene.go("Overview")
    scene.follow("minitorch")
    scene.follow("History")
    scans = scene.repository.scan_runs.filter(state=RowState.SUCCEEDED).count()
    expect(scene.page.locator("table.data tbody tr")).to_have_count(scans)
    expect(scene.page.locator(".legend").first).to_contain_text("FT001")


def lead_plans_who_does_what_next(scene: Scene) -> None:
    scene.go("Plan")
    scene.press("Propose a plan")
    expect(scene.page.get_by_role("link", name="People")).to_be_visible()
    plan = Plan.objects.get(repository=scene.repository)
    assert plan.units.filter(item_count__gt=0).exists()
    scene.follow("People")
    scene.page.wait_for_load_state()
    scene.page.get_by_label("Name").first.fill("grace")
    for box in scene.page.get_by_role("checkbox").all():
        box.check()
    scene.press("Save")
    expect(scene.page.locator("table.data")).to_contain_text("grace")
    assert Person.objects.get(plan=plan).name == "grace"
    scene.page.goto(f"{scene.server.url}{plan.get_absolute_url()}")
    scene.press("Schedule")
    expect(scene.page).to_have_url(re.compile("/schedules/"))
    expect(scene.page.get_by_role("heading", level=1)).to_contain_text("Schedule")
    schedule = Schedule.objects.get(plan=plan)
    assert schedule.requested_by == scene.user


def lead_tells_the_others(scene: Scene) -> None:
    scene.go("Reports")
    scene.press("Write the report")
    expect(scene.page.get_by_role("status").first).to_contain_text("The report is being written.")
    report = MigrationReport.objects.get()
    assert report.requested_by == scene.user
    assert report_execute(pk=report.pk)
    scene.page.goto(f"{scene.server.url}{report.get_absolute_url()}")
    heading = scene.page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Migration report of minitorch")
    with scene.page.expect_download() as download:
        scene.page.get_by_role("link", name="Markdown").click()
    assert download.value.path().read_text().startswith("# ")


def lead_changes_many_at_once(scene: Scene) -> None:
    scene.go("Sites")
    scene.page.locator("#filter-rule").select_option("FT008")
    scene.press("Apply")
    expect(scene.page).to_have_url(re.compile("rule=FT008"))
    go_where_it_leads(scene.page, scene.page.get_by_role("link", name=re.compile("^Change all")))
    scene.page.locator("#id_to").select_option("accepted")
    scene.page.get_by_label("Reason").fill("they read back on each call")
    scene.press("Change ")
    expect(scene.page).to_have_url(re.compile("/bulk-changes/"))
    change = BulkChange.objects.get()
    assert bulk_change_execute(pk=change.pk)
    scene.page.reload()
    expect(scene.page.locator("main")).to_contain_text(f"{SITES} changed")
    moved = SiteMigration.objects.filter(status="accepted", site__rule_id="FT008").count()
    assert moved == change.item_count == SITES


def engineer_sees_why_a_site_is_wrong(scene: Scene) -> None:
    site = FallbackSite.objects.filter(rule_id="FT001").earliest("pk")
    scene.open_site(site)
    expect(scene.page.locator(".code .flagged").first).to_be_visible()
    state = SiteState.objects.get(site=site)
    expect(scene.page.locator(".location").first).to_contain_text(f":{state.start_line}")
    expect(scene.page.locator(".evidence > li")).to_have_count(2)
    scene.page.get_by_role("link", name="FT001").first.click()
    expect(scene.page.get_by_role("heading", level=1)).to_contain_text("silent-fallback")
    expect(scene.page.locator(".example").first).to_be_visible()


def engineer_takes_a_site_and_moves_it_on(scene: Scene) -> None:
    site = FallbackSite.objects.filter(rule_id="FT001").earliest("pk")
    scene.open_site(site)
    scene.press("Take it")
    expect(scene.page.locator(".truths")).to_contain_text(f"Assigned to {scene.user.username}")
    scene.page.get_by_label("Next status").select_option("accepted")
    scene.page.get_by_label("Reason").fill("the kernel is missing")
    scene.press("Change status")
    expect(scene.page.get_by_role("status").first).to_have_text("The site is accepted now.")
    migration = SiteMigration.objects.get(site=site)
    assert (migration.status, migration.assignee) == ("accepted", scene.user)
    step = Transition.objects.filter(site_migration=migration).latest("pk")
    assert (step.actor, step.reason) == (scene.user, "the kernel is missing")


def engineer_asks_whether_the_fix_works(scene: Scene) -> None:
    scene.open_site(FallbackSite.objects.filter(rule_id="FT001").earliest("pk"))
    scene.press("Verify on a GPU")
    expect(scene.page).to_have_url(re.compile("/verification-requests/"))
    expect(scene.page.get_by_role("heading", level=1)).to_be_visible()
    wish = VerificationRequest.objects.get()
    assert (wish.text, wish.requested_by) == (
        FallbackSite.objects.filter(rule_id="FT001").earliest("pk").symbol,
        scene.user,
    )
    scene.go("Overview")
    scene.follow("minitorch")
    scene.press("Scan")
    expect(scene.page.locator("main")).to_contain_text("Waiting")
    assert ScanRequest.objects.get(repository=scene.repository).requested_by == scene.user


def reviewer_sees_what_a_change_adds(scene: Scene) -> None:
    scene.go("Overview")
    scene.follow("minitorch")
    scene.follow("History")
    scene.follow("Compare two commits")
    scene.page.get_by_role("navigation", name="Kinds of change").get_by_role("link", name="New").click()
    added = SiteEvent.objects.filter(kind="new", branch_scan__position=2)
    expect(scene.page.locator("table.sites tbody tr")).to_have_count(added.count())
    expect(scene.page.locator("table.sites")).to_contain_text("op_added")


def reviewer_says_so_at_the_site(scene: Scene) -> None:
    site = FallbackSite.objects.get(symbol__endswith="op_added")
    scene.open_site(site)
    scene.page.get_by_label("Add a comment").fill("This change **adds** a fallback.")
    scene.press("Comment")
    expect(scene.page.locator(".comment strong")).to_have_text("adds")
    comment = Comment.objects.get()
    assert (comment.author, comment.site) == (scene.user, site)


def owner_sees_what_runs_on_the_machine(scene: Scene) -> None:
    job = VerificationJob.objects.get(runner__name="rack-1")
    scene.page.goto(f"{scene.server.url}/runners/")
    scene.follow("rack-1")
    expect(scene.page.get_by_role("heading", name="Last jobs")).to_be_visible()
    expect(scene.page.locator(f'main a[href="{job.get_absolute_url()}"]').first).to_be_visible()


def owner_lets_the_machine_run_empty(scene: Scene) -> None:
    scene.page.goto(f"{scene.server.url}/runners/rack-1/")
    scene.press("Drain")
    expect(scene.page.get_by_role("button", name="Enable")).to_be_visible()
    assert Runner.objects.get(name="rack-1").state == "draining"


def owner_lets_a_strangers_code_run(scene: Scene) -> None:
    job = VerificationJob.objects.get(runner=None)
    scene.page.goto(f"{scene.server.url}{job.get_absolute_url()}")
    scene.press("Approve and run")
    expect(scene.page.get_by_role("heading", level=1)).to_be_visible()
    expect(scene.page.get_by_role("button", name="Approve and run")).to_have_count(0)
    assert job.events.filter(actor=scene.user).exists()


def owner_adds_a_machine(scene: Scene) -> None:
    scene.page.goto(f"{scene.server.url}/runners/")
    scene.page.get_by_label("Name", exact=True).fill("rack-2")
    scene.press("Add")
    expect(scene.page.get_by_role("heading", name="Registration token")).to_be_visible()
    assert Runner.objects.get(name="rack-2").registered_at is None


def program_works_with_a_token(scene: Scene) -> None:
    scene.page.goto(f"{scene.server.url}/account/")
    scene.page.get_by_label("Name").fill("agent")
    scene.page.locator("#id_scope").select_option("write")
    scene.press("Make a token")
    token = scene.page.locator("code.token").inner_text()
    site = FallbackSite.objects.filter(rule_id="FT008").earliest("pk")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FERROAUDIT_URL", scene.server.url)
        patch.setenv("FERROAUDIT_TOKEN", token)
        assert cli.main(["site", str(site.pk)]) == 0
        assert cli.main(["move", str(site.pk), "accepted", "--reason", "read"]) == 0
    assert SiteMigration.objects.get(site=site).status == "accepted"
    assert Transition.objects.latest("pk").actor == scene.user
    scene.page.goto(f"{scene.server.url}/account/")
    scene.page.get_by_role("button", name="Revoke the token agent", exact=True).click()
    expect(scene.page.get_by_role("status").first).to_contain_text("The token “agent” is revoked.")
    expect(scene.page.get_by_role("button", name="Revoke the token agent", exact=True)).to_have_count(0)
    assert not ApiToken.objects.filter(name="agent", revoked_at=None).exists()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of people: what they are in the repository, and what they come for."""

    role: Role
    jobs: tuple[Callable[[Scene], None], ...]


PEOPLE: Mapping[str, Kind] = {
    "lead": Kind(
        Role.LEAD,
        (
            lead_sees_what_is_left,
            lead_sees_whether_it_goes_down,
            lead_plans_who_does_what_next,
            lead_tells_the_others,
            lead_changes_many_at_once,
        ),
    ),
    "engineer": Kind(
        Role.ENGINEER,
        (
            engineer_sees_why_a_site_is_wrong,
            engineer_takes_a_site_and_moves_it_on,
            engineer_asks_whether_the_fix_works,
        ),
    ),
    "reviewer": Kind(Role.ENGINEER, (reviewer_sees_what_a_change_adds, reviewer_says_so_at_the_site)),
    "owner": Kind(
        Role.ADMINISTRATOR,
        (
            owner_sees_what_runs_on_the_machine,
            owner_lets_the_machine_run_empty,
            owner_lets_a_strangers_code_run,
            owner_adds_a_machine,
        ),
    ),
    "program": Kind(Role.ENGINEER, (program_works_with_a_token,)),
}


@pytest.fixture
def scanned(transactional_db: None) -> Repository:
    """A repository of two scans, of which the second found one site more; a runner and its jobs."""
    found = make_repository()
    scan(found, results(SITES))
    scan(found, [*results(SITES), make_result("minitorch_gpu::ops::op_added", line=900)])
    make_job(found)
    VerificationJob.objects.update(runner=make_runner())
    make_job(found, wants_approval=True)
    return found


@pytest.mark.parametrize("has_script", [True, False], ids=["with JavaScript", "without JavaScript"])
@pytest.mark.parametrize("who", PEOPLE)
def test_people_get_done_what_they_come_for(
    browser: Browser, live_server: LiveServer, scanned: Repository, who: str, has_script: bool
) -> None:
    user = make_user(f"{who}-1", role=PEOPLE[who].role)
    page = logged_in(browser, live_server, user, java_script_enabled=has_script)
    scene = Scene(page, live_server, user, scanned)
    for job in PEOPLE[who].jobs:
        job(scene)
    page.context.close()


def test_every_job_belongs_to_somebody() -> None:
    named = {job.__name__ for kind in PEOPLE.values() for job in kind.jobs}
    starts = tuple(f"{who}_" for who in PEOPLE)
    assert named == {name for name in globals() if name.startswith(starts)}
