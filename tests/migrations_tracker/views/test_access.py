"""Every address: who may, by which method, and how many queries it costs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse

from audit.models import (
    BranchScan,
    CapabilityGap,
    FallbackSite,
    HeldDrop,
    Lineage,
    PullRequest,
    PullRequestCheck,
    Repository,
    RowState,
)
from audit.parity.capability import State
from audit.scanner.report import FileStatus, ManifestEntry, RuleRun, RuleStatus
from audit.services.lineage_rulings import lineage_confirm
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import (
    Absence,
    Delivery,
    Person,
    ReportSchedule,
    SavedFilter,
    SiteMigration,
    Subscription,
)
from migrations_tracker.roles import PAGES
from migrations_tracker.selectors.site_list import SiteFilters
from migrations_tracker.services.api_tokens import api_token_create
from migrations_tracker.services.bulk_changes import bulk_change_create
from migrations_tracker.services.comments import comment_create
from migrations_tracker.services.migration_reports import report_create, report_execute
from migrations_tracker.services.plan_proposals import plan_propose
from migrations_tracker.services.schedules import schedule_request
from migrations_tracker.services.search import search_refresh
from migrations_tracker.services.site_migrations import site_migration_transition
from tests.factories import (
    ingest,
    make_capability,
    make_match,
    make_own_policy,
    make_report,
    make_repository,
    make_result,
    make_scan_run,
    make_user,
    store_capabilities,
)

PUBLIC = {"login", "logout", "health", "admin-log-in", "theme"}
POST_ONLY = {
    "site-suppression",
    "site-suppression-reject",
    "gap-suppression",
    "gap-suppression-reject",
    "attachment-remove",
    "report-schedule-add",
    "report-schedule-end",
    "site-due",
    "gap-due",
    "site-watch",
    "gap-watch",
    "unit-watch",
    "filter-keep",
    "filter-drop",
    "held-drop-rule",
    "bulk-change-undo",
    "repository-scan",
    "gap-transition",
    "gap-assign",
    "gap-comment",
    "site-assign",
    "report-ask",
    "repository-follow",
    "repository-policy-levels",
    "repository-pushes",
    "token-revoke",
    "subscription-stop",
    "delivery-resend",
    "lineage-rule",
    "lineage-undo",
    "scan-cancel",
    "scan-again",
    "scan-request-cancel",
    "site-merge",
    "site-transition",
    "site-comment",
    "match-ruling",
    "match-ruling-end",
    "plan-renew",
    "plan-settings",
    "plan-unit-add",
    "absence-create",
    "absence-delete",
    "schedule-ask",
    "schedule-pin",
    "schedule-baseline",
    "unit-hours",
    "unit-spent",
    "unit-rename",
    "unit-deadline",
    "unit-split",
    "unit-move",
    "unit-merge",
    "unit-confirm",
    "unit-start",
    "unit-finish",
    "unit-wait",
    "precedence-cut",
    "precedence-restore",
}
# Goes on to a page that is looked at itself.
GOES_ON = {"plan-list", "operator-anywhere"}
UNIT_ADDRESSES = ("unit-detail", "unit-issue", *(name for name in POST_ONLY if name.startswith("unit-")))
SKILLS = ["autograd", "build", "kernel"]
EARLY, LATE = datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 8, tzinfo=UTC)
MAX_QUERIES = 12
KEYS = {
    "clause-detail": "F1",
    "repository-clause": "P1",
    "repository-clause-edit": "P1",
    "capability-detail": "aten::exp",
    "operator-detail": "aten::exp",
    "form-detail": "early-return",
    "operator-anywhere": "aten::exp",
    "capability-export": "csv",
    "report-file": "md",
    "plan-export": "csv",
    "plan-person": "ada",
}


@pytest.fixture
def addresses(site: FallbackSite, repository: Repository) -> dict[str, str]:
    """Every named address of the pages, with something real behind each."""
    scan = site.first_seen_scan_id
    store_capabilities(
        site.first_seen_scan, [make_capability(), make_capability(dtype="float64", state=State.FALLBACK)]
    )
    gap = CapabilityGap.objects.get().pk
    match = make_match(site.first_seen_scan)
    request = repository.scan_requests.create(revision="main")
    report = report_create(branch=repository.branches.get(), since=None, actor=None)
    assert report_execute(pk=report.pk)
    wish = Subscription.objects.create(owner=make_user("lin"), kinds=["new-sites"], channel="email")
    delivery = Delivery.objects.create(subscription=wish, key="x")
    plan = plan_propose(repository=repository, actor=None).plan
    unit = plan.units.filter(item_count__gt=0).earliest("pk")
    person = Person.objects.create(plan=plan, name="ada", skills=SKILLS, hours=[[0, 540, 1020]])
    kept = SavedFilter.objects.create(
        owner=make_user("joan"), repository=repository, name="x", query="repository=minitorch", is_shared=True
    )
    said = comment_create(subject=site, author=make_user("emmy"), text="x", files=[("a.txt", b"x")])
    attachment = said.attachments.get()
    mailed = ReportSchedule.objects.create(
        branch=repository.branches.get(), period="weekly", made_by=make_user("vera")
    )
    away = Absence.objects.create(person=person, starts_at=EARLY, ends_at=LATE)
    change = bulk_change_create(
        branch=repository.branches.get(),
        filters=SiteFilters(),
        to=Status.ACCEPTED,
        sets_assignee=False,
        assignee=None,
        reason="",
        actor=make_user("ruth"),
        seen_count=SiteMigration.objects.exclude(site=None).count(),
    )
    make_own_policy(repository, make_user("hedy"))
    schedule = schedule_request(plan=plan, actor=None)
    lineage = Lineage.objects.earliest("pk")
    ruling = lineage_confirm(lineage=lineage, actor=make_user("mary"))
    drop = HeldDrop.objects.create(branch_scan=BranchScan.objects.earliest("pk"), open_before=9, site_count=6)
    commits = {"head_id": "a" * 40, "base_id": "b" * 40}
    told = PullRequest.objects.create(repository=repository, number=7, changed_at=EARLY, **commits)
    PullRequestCheck.objects.create(pull_request=told, **commits)
    numbers = {
        "pull-request-detail": told.pk,
        **dict.fromkeys(("held-drop", "held-drop-rule"), drop.pk),
        **dict.fromkeys(("bulk-change-detail", "bulk-change-undo"), change.pk),
        "lineage-rule": lineage.pk,
        "lineage-undo": ruling.pk,
        **dict.fromkeys(("attachment-file", "attachment-remove"), attachment.pk),
        "report-schedule-end": mailed.pk,
        "absence-delete": away.pk,
        "filter-drop": kept.pk,
        **dict.fromkeys(("schedule-detail", "schedule-pin", "schedule-baseline"), schedule.pk),
        **dict.fromkeys(UNIT_ADDRESSES, unit.pk),
        **dict.fromkeys(("precedence-cut", "precedence-restore"), unit.edges_in.earliest("pk").pk),
        "scan-detail": scan,
        "scan-cancel": scan,
        "subscription-stop": delivery.subscription_id,
        "delivery-resend": delivery.pk,
        "token-revoke": api_token_create(owner=make_user("grace"), name="CI")[0].pk,
        "scan-again": scan,
        "scan-request-detail": request.pk,
        "scan-request-cancel": request.pk,
        **dict.fromkeys(("match-detail", "match-ruling", "match-ruling-end"), match.pk),
        **dict.fromkeys(("gap-detail", "gap-transition", "gap-assign", "gap-watch", "gap-due"), gap),
        **dict.fromkeys(("report-detail", "report-file"), report.pk),
    }
    found = {}
    for pattern in get_resolver().url_patterns:
        if not isinstance(pattern, URLPattern) or pattern.name in PUBLIC:
            continue
        assert pattern.name
        words = {
            "slug": repository.slug,
            "key": KEYS.get(pattern.name, "FT001"),
            "pk": numbers.get(pattern.name, site.pk),
        }
        names = pattern.pattern.converters
        found[pattern.name] = reverse(pattern.name, kwargs={name: words[name] for name in names})
    found["api-search"] += "?q=exp"
    assert len(found) >= 12
    return found


def test_an_anonymous_person_is_sent_to_the_login(addresses: dict[str, str], client: Client) -> None:
    for name, address in addresses.items():
        response = client.post(address) if name in POST_ONLY else client.get(address)
        assert response.status_code == 302, name
        assert response["Location"].startswith(f"{reverse('login')}?next="), name


def test_a_page_refuses_other_methods(addresses: dict[str, str], root_client: Client) -> None:
    for name, address in addresses.items():
        wrong = root_client.get if name in POST_ONLY else root_client.delete
        assert wrong(address).status_code == 405, name


def test_a_page_is_shown_with_a_strict_policy(addresses: dict[str, str], root_client: Client) -> None:
    for name, address in addresses.items():
        if name in POST_ONLY or name in GOES_ON:
            continue
        response = root_client.get(address)
        assert response.status_code == 200, name
        assert "unsafe" not in response["Content-Security-Policy"], name
        if "attachment" in response.get("Content-Disposition", ""):
            continue
        text = b"".join(response).decode()
        assert " style=" not in text, name
        assert "<script>" not in text, name


def test_a_form_from_elsewhere_is_refused(addresses: dict[str, str]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user("eve", is_superuser=True))
    for name in [*POST_ONLY, "repository-add"]:
        response = client.post(addresses[name])
        assert response.status_code == 403, name


def test_an_address_with_nothing_behind_it_is_not_found(root_client: Client, repository: Repository) -> None:
    for address in (
        "/sites/999/",
        "/scans/999/",
        "/scan-requests/999/",
        "/rules/FT999/",
        "/policy/X9/",
        "/capabilities/minitorch/aten::nothing/",
        "/capabilities/nowhere/aten::exp/",
        "/capabilities.exe",
        "/operators/minitorch/aten::nothing/",
        "/gaps/999/",
        "/matches/999/",
        "/repositories/nowhere/",
        "/nowhere/",
    ):
        response = root_client.get(address)
        assert response.status_code == 404, address
        assert b"There is nothing at this address" in response.content


@pytest.fixture
def busy_repository(repository: Repository) -> Repository:
    """A repository with many of everything that a page shows."""
    ada = make_user("ada2")
    results = [
        make_result(f"minitorch_{crate}::ops::op{number}", rule_id=rule, line=number + 1)
        for crate in ("gpu", "nn", "core")
        for rule in ("FT001", "FT008")
        for number in range(12)
    ]
    files = [ManifestEntry(f"src/bad{number}.rs", "", FileStatus.FAILED, "not UTF-8") for number in range(5)]
    rules: list[str | RuleRun] = ["FT001", "FT008", RuleRun("FT017", RuleStatus.NOT_RUN, "no ptxas")]
    for _ in range(5):
        ingest(repository, make_report(results, files=files, rules=rules))
    for number in range(4):
        make_repository(f"other-{number}")
    for site in FallbackSite.objects.all()[:10]:
        site_migration_transition(site=site, to=Status.ACCEPTED, actor=ada)
        site.migration.__class__.objects.filter(site=site).update(assignee=ada)
        for number in range(4):
            comment_create(subject=site, author=ada, text=f"remark {number}")
    make_scan_run(repository, state=RowState.PENDING)
    return repository


def test_no_page_takes_more_queries_when_there_is_more_to_show(
    busy_repository: Repository,
    root_client: Client,
    django_assert_max_num_queries: Callable[[int], AbstractContextManager[object]],
) -> None:
    site = FallbackSite.objects.earliest("id")
    scans = busy_repository.scan_runs
    cells = [make_capability(f"aten::op{number}", state=State.FALLBACK) for number in range(60)]
    store_capabilities(scans.latest("id"), cells)
    gap = CapabilityGap.objects.earliest("id")
    search_refresh()
    for address in (
        reverse("overview"),
        busy_repository.get_absolute_url(),
        scans.earliest("id").get_absolute_url(),
        scans.latest("id").get_absolute_url(),
        reverse("site-list"),
        reverse("site-list") + "?sort=level&status=accepted&q=op&crate=minitorch-gpu&seen=any",
        site.get_absolute_url(),
        reverse("rule-list"),
        reverse("rule-detail", args=["FT001"]),
        reverse("policy"),
        reverse("clause-detail", args=["F1"]),
        reverse("form-list"),
        reverse("form-detail", args=["failed-attempt"]),
        reverse("search") + "?q=op1+on+the+device",
        reverse("repository-add"),
        reverse("gap-list"),
        reverse("parity-changes"),
        reverse("match-list"),
        reverse("match-list") + "?verdict=",
        make_match(scans.latest("id")).get_absolute_url(),
        reverse("gap-list") + "?seen=any&device=cuda&state=fallback&status=accepted&q=op",
        gap.get_absolute_url(),
        reverse("repository-settings", args=[busy_repository.slug]),
        reverse("bulk-change-ask"),
        reverse("bulk-change-list"),
        reverse("repository-dashboard", args=[busy_repository.slug]),
    ):
        with django_assert_max_num_queries(MAX_QUERIES):
            assert root_client.get(address).status_code == 200, address


FORMS_THAT_NAME = sorted(name for name, need in PAGES.items() if need.owner and need.owner.is_field)


@pytest.mark.parametrize("name", FORMS_THAT_NAME)
def test_a_form_that_names_what_nothing_can_be_named_is_refused(root_client: Client, name: str) -> None:
    need = PAGES[name]
    assert need.owner is not None
    assert root_client.post(reverse(name), {need.owner.names: "a\0"}).status_code in {404, 405}
