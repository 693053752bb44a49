"""The documentation's pictures: what each shows, and a product with something to show.

`make screenshots` writes them into docs/images. The sample workspace is scanned twice: as it is, and with a
fallback mended. Times and folders are the same in every run, so that a picture changes with its page alone.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from django.contrib.auth.models import User
from django.urls import reverse
from PIL import Image
from playwright.sync_api import Page

from audit.models import FallbackSite, Repository, ScanRun
from audit.services.parity import parity_dumps_import_shipped
from audit.services.repositories import repository_add
from audit.services.scan_runs import scan_run_execute
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import MigrationReport, Plan, Schedule
from migrations_tracker.scheduling.problem import SolveOptions
from migrations_tracker.services.comments import comment_create
from migrations_tracker.services.follow_up import scan_run_follow_up
from migrations_tracker.services.migration_reports import report_create, report_execute
from migrations_tracker.services.plan_people import person_set
from migrations_tracker.services.plan_proposals import plan_propose
from migrations_tracker.services.scans import scan_ask
from migrations_tracker.services.schedules import schedule_execute, schedule_request
from migrations_tracker.services.search import search_refresh
from migrations_tracker.services.site_migrations import site_migration_assign, site_migration_transition
from migrations_tracker.supervisor.up import SAMPLE_PROFILE
from tests.factories import make_user

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "images"
MOST_BYTES = 150_000
WIDTH = 1280
START = datetime(2026, 6, 1, 9, tzinfo=UTC)
WEEK = ((0, 540, 1020), (1, 540, 1020), (2, 540, 1020), (3, 540, 1020), (4, 540, 1020))
SKILLS = ("autograd", "build", "kernel")
#: The fallback that the second commit mends, and how.
MENDED = "minitorch-gpu/src/elementwise.rs"
FALLBACK = "None => cpu_fallback_binary(a, b, device, f32::max), //~ FT001"
ERROR = 'None => Err(GpuError::PtxCompileFailed { kernel: "max_kernel" }),'
# Times are of the day on which a picture is made, and so is the folder that was scanned.
SETTLE = """(folder) => {
    for (const one of document.querySelectorAll("time")) one.textContent = "2026-06-01 09:00";
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const text = walker.currentNode.nodeValue;
        if (text.includes(folder)) walker.currentNode.nodeValue = text.replaceAll(folder, "/srv/minitorch");
    }
}"""


@dataclass(frozen=True, slots=True)
class Scene:
    """What the pictures are taken of."""

    repository: Repository
    first_scan: ScanRun
    site: FallbackSite
    schedule: Schedule
    report: MigrationReport
    folder: Path


@dataclass(frozen=True, slots=True)
class Picture:
    """A page, what must be on it, and how much of it is shown."""

    address: Callable[[Scene], str]
    shows: str
    height: int = 860


PICTURES: Mapping[str, Picture] = {
    "dashboard.png": Picture(
        lambda scene: reverse("repository-dashboard", args=[scene.repository.slug]), "minitorch"
    ),
    "sites.png": Picture(lambda scene: f"{reverse('site-list')}?rule=FT001", "sites open"),
    "site.png": Picture(lambda scene: scene.site.get_absolute_url(), "What PyTorch does", 1040),
    "rule.png": Picture(lambda scene: reverse("rule-detail", args=["FT001"]), "silent-fallback"),
    "gantt.png": Picture(lambda scene: scene.schedule.get_absolute_url(), "Schedule"),
    "report.png": Picture(lambda scene: scene.report.get_absolute_url(), "Migration report", 700),
    "first-run.png": Picture(lambda scene: scene.first_scan.get_absolute_url(), "What was looked at", 900),
}


def make_scene(folder: Path, sample: Path) -> Scene:
    """Scan the sample, mend a site, scan again, plan, and write a report."""
    parity_dumps_import_shipped()
    lead, ada, grace = (make_user("lead", is_superuser=True), make_user("ada"), make_user("grace"))
    subprocess.run(["cp", "-r", str(sample), str(folder)], check=True)
    _commit(folder, "Add the workspace", day=1)
    repository = repository_add(location=str(folder), profile=SAMPLE_PROFILE, actor=lead)
    first = _scan(repository, lead)
    place = folder / MENDED
    text = place.read_text(encoding="utf-8")
    if text.count(FALLBACK) != 1:
        raise LookupError(f"`{MENDED}` of the sample has not the fallback that the second commit mends.")
    place.write_text(text.replace(FALLBACK, ERROR), encoding="utf-8")
    _commit(folder, "Return an error where the max kernel is missing", day=2)
    _scan(repository, lead)
    site = FallbackSite.objects.get(rule_id="FT001", symbol__endswith="::gpu_sub")
    migration = site_migration_transition(
        site=site, to=Status.ACCEPTED, actor=lead, reason="It computes on the host."
    )
    site_migration_assign(migration=migration, assignee=ada, actor=lead)
    comment_create(subject=site, author=ada, text="The kernel is there: only its failure is swallowed.")
    plan = plan_propose(repository=repository, actor=lead).plan
    for user in (ada, grace):
        _works_on(plan, user, lead)
    schedule = schedule_request(plan=plan, actor=lead, now=START)
    schedule_execute(pk=schedule.pk, options=SolveOptions(evaluations=400, deterministic_time=1.0))
    report = report_create(branch=repository.branches.get(), since=first, actor=lead)
    report_execute(pk=report.pk)
    search_refresh()
    return Scene(Repository.objects.get(), first, site, schedule, report, folder)


def take(page: Page, server: str, scene: Scene, name: str, folder: Path) -> Path:
    """Take one picture; raises where the page is not what it is to show."""
    picture = PICTURES[name]
    page.set_viewport_size({"width": WIDTH, "height": picture.height})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.goto(f"{server}{picture.address(scene)}")
    page.locator("main").get_by_text(picture.shows).first.wait_for()
    page.evaluate(SETTLE, str(scene.folder))
    taken = Image.open(BytesIO(page.screenshot(animations="disabled", caret="hide"))).convert("RGB")
    path = folder / name
    # Pages have few colours: a palette holds them in a third of the bytes.
    taken.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    return path


def _commit(folder: Path, message: str, *, day: int) -> None:
    when = f"2026-06-{day:02} 09:00:00 +0000"
    identity = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"), ("DATE", when))
    }
    for command in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "--all"],
        ["commit", "-qm", message],
    ):
        subprocess.run(["git", "-C", str(folder), *command], check=True, env={**os.environ, **identity})


def _scan(repository: Repository, actor: User) -> ScanRun:
    scan_run = scan_ask(repository=repository, actor=actor)
    if not isinstance(scan_run, ScanRun) or not scan_run_execute(
        pk=scan_run.pk, after_ingest=scan_run_follow_up
    ):
        raise LookupError("The sample was not scanned.")
    return ScanRun.objects.get(pk=scan_run.pk)


def _works_on(plan: Plan, user: User, actor: User) -> None:
    person_set(
        plan=plan,
        name=user.username,
        skills=SKILLS,
        capacity=1,
        time_zone="UTC",
        hours=WEEK,
        actor=actor,
        user=user,
    )
