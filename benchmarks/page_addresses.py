"""The addresses that `benchmarks.pages` asks for: every page, every reading operation of the API, every file.

Beside each list as it opens stand its deepest page and its rarest filters. `missing` compares with the table
of roles, which names every page and operation there is.
"""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from benchmarks.large_repository import COMMONEST_RULE, RARE_CRATE, RARE_RULE, RARE_WORD

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.urls import URLPattern, URLResolver

    from audit.models import Branch

SEED = 20261128
OPERATOR = "aten::exp"
API = "/api/v1"
#: What has no page of its own to measure.
GO_ON = frozenset(
    {
        "plan-list",
        "operator-anywhere",
        # What the library that logs in names so leads to our page, or shows nothing without its provider.
        "parent",
        "account_login",
        "account_logout",
        "account_signup",
        "account_inactive",
        "mfa_activate_totp",
        "mfa_authenticate",
        "mfa_reauthenticate",
        "mfa_deactivate_totp",
        "mfa_view_recovery_codes",
        "mfa_generate_recovery_codes",
        "mfa_download_recovery_codes",
        "socialaccount_login_cancelled",
        "socialaccount_login_error",
        "socialaccount_signup",
        "openid_connect_login",
        "openid_connect_callback",
    }
)


def pages(branch: Branch) -> Iterator[str]:
    """Yield the pages."""
    yield from (
        "/",
        "/rules/",
        "/rules/FT001/",
        f"/rules/{COMMONEST_RULE}/",
        "/policy/",
        "/policy/F1/",
        "/policy/compare/",
    )
    yield from ("/forms/", "/forms/early-return/", "/parity/", "/repositories/add/")
    yield from _of_the_person()
    yield from _of_the_repository(branch)
    yield from _sites(branch)
    yield from _of_a_site(branch)
    yield from _parity(branch)
    yield from _plan(branch)
    yield from _knowledge(branch)
    yield from _machines(branch)
    yield from (f"/search/?q={text}" for text in _SEARCHED)


_SEARCHED = ("silent+fallback", "operation_4711", "oepration_4711", "why+is+a+host+readback+reported", "op")


def _deep(rows: QuerySet[Any], *columns: str, is_backward: bool = False) -> str:
    """Return the cursor of a list's last page; a column that counts down begins with a minus."""
    from migrations_tracker.selectors.site_list import Cursor

    flipped = (column.removeprefix("-") if column[0] == "-" else f"-{column}" for column in columns)
    row = rows.order_by(*flipped)[min(30, rows.count() - 1)]
    key = tuple(getattr(row, column.removeprefix("-")) for column in columns)
    return Cursor(key, is_backward=is_backward).encode()


def _of_the_person() -> Iterator[str]:
    from migrations_tracker.models import Delivery, Notice, Watch

    told = Notice.objects.exclude(people=None)
    yield from ("/account/", "/account/second-factor/")
    yield from ("/account/again/", "/account/providers/")
    yield from ("/account/inbox/", "/account/inbox/?kind=due", f"/account/inbox/?page={_deep(told, '-id')}")
    yield from ("/account/watched/", "/account/watched/?kind=gap", "/account/watched/?kind=unit")
    yield f"/account/watched/?page={_deep(Watch.objects.all(), '-id')}"
    yield from ("/notices/", "/notices/?state=failed")
    yield f"/notices/?page={_deep(Delivery.objects.all(), '-id')}"


def _of_the_repository(branch: Branch) -> Iterator[str]:
    from audit.models import HeldDrop, HeldSite, Lineage, PullRequest, ScanRequest
    from migrations_tracker.models import BulkChange, BulkChangeItem, MigrationReport

    slug, newest, first = branch.repository.slug, branch.last_scan, branch.scan_runs.earliest("pk")
    assert newest is not None
    base = f"/repositories/{slug}"
    yield from (
        f"{base}/{rest}" for rest in ("", "dashboard/", "settings/", "people/", "policy/", "suppressions/")
    )
    yield from (f"{base}/policy/clauses/{rest}" for rest in ("add/", "P1/", "P1/edit/"))
    yield from (f"{base}/history/{rest}" for rest in ("", "?by=rule", "?by=crate", "?by=outcome"))
    yield from (f"{base}/changes/?from={first.pk}&to={newest.pk}{rest}" for rest in ("", "&kind=closed"))
    links = Lineage.objects.filter(confidence__lt=0.7)
    yield from (f"{base}/guesses/{rest}" for rest in ("", "?ruled=yes"))
    yield f"{base}/guesses/?before={links.order_by('pk')[10].pk}"
    yield from (f"{base}/held/", f"{base}/held/?ruled=yes")
    drop = HeldDrop.objects.latest("id")
    held = HeldSite.objects.filter(drop=drop).latest("id").pk - 20
    yield from (drop.get_absolute_url(), f"{drop.get_absolute_url()}?after={held}")
    asked = PullRequest.objects.filter(repository=branch.repository)
    yield from (f"{base}/pull-requests/", f"{base}/pull-requests/?state=closed")
    yield f"{base}/pull-requests/?cursor={_deep(asked.filter(is_open=True), '-number')}"
    yield asked.latest("number").get_absolute_url()
    yield from (newest.get_absolute_url(), first.get_absolute_url())
    yield ScanRequest.objects.latest("id").get_absolute_url()
    change = BulkChange.objects.latest("item_count")
    items = BulkChangeItem.objects.filter(bulk_change=change)
    yield from ("/bulk-changes/", f"/bulk-changes/?page={_deep(BulkChange.objects.all(), '-id')}")
    yield from (change.get_absolute_url(), f"{change.get_absolute_url()}?state=refused")
    yield f"{change.get_absolute_url()}?page={_deep(items, 'id')}"
    yield from (
        f"/sites/change/?repository={slug}{rest}" for rest in ("", f"&q={RARE_WORD}", "&crate=crate-3")
    )
    reports = MigrationReport.objects.filter(branch=branch)
    yield from (f"/reports/?repository={slug}", f"/reports/?repository={slug}&page={_deep(reports, '-id')}")
    yield from (reports.earliest("id").get_absolute_url(), reports.latest("id").get_absolute_url())
    yield "/reports/schedules/"


def _sites(branch: Branch) -> Iterator[str]:
    from migrations_tracker.selectors.site_list import SORT_ORDERS

    sites = f"/sites/?repository={branch.repository.slug}"
    states = branch.site_states.filter(is_open=True)
    yield sites
    yield from (f"{sites}&{rest}" for rest in _NARROWED)
    for key, order in SORT_ORDERS.items():
        if key == "due":
            yield from (f"{sites}&sort=due", f"{sites}&sort=due&due=dated", f"{sites}&due=overdue")
            continue
        columns = [f"-{column}" if order.is_descending else column for column in order.columns]
        for is_backward in (False, True):
            yield f"{sites}&sort={key}&page={_deep(states, *columns, is_backward=is_backward)}"


_NARROWED = (
    "seen=any",
    "seen=absent",
    "seen=left",
    f"rule={RARE_RULE}",
    f"crate={RARE_CRATE}",
    "form=match-arm",
    f"q={RARE_WORD}",
    f"q={RARE_WORD}&seen=any",
    "q=nothing_like_it",
    "q=operation",
    "q=op",
    "q=module+operation&level=note&sort=symbol",
    "status=in-review",
    "status=open&sort=newest",
    "status=verified&seen=any&sort=rule",
    "seen=absent&outcome=composite",
    "seen=any&outcome=not-told",
    "rule=FT001&crate=crate-3&level=error&status=planned&q=operation_9&sort=crate",
)


def _of_a_site(branch: Branch) -> Iterator[str]:
    """Yield the pages of the site with the most beside it, of one that is open, and of one that is gone."""
    from audit.models import FallbackSite

    open_sites = FallbackSite.objects.filter(states__in=branch.site_states.filter(is_open=True))
    gone = FallbackSite.objects.filter(states__in=branch.site_states.filter(is_open=False)).latest("id")
    for site in (open_sites.earliest("id"), open_sites.latest("id"), gone):
        yield site.get_absolute_url()
    base = open_sites.earliest("id").get_absolute_url()
    yield from (f"{base}timeline/", f"{base}identity/")


def _parity(branch: Branch) -> Iterator[str]:
    from audit.models import CapabilityGap, OperationMatch
    from migrations_tracker.selectors import gap_list, match_list

    slug = branch.repository.slug
    gaps = CapabilityGap.objects.filter(repository=branch.repository)
    yield from (f"/capabilities/?repository={slug}{rest}" for rest in _MATRIX)
    yield from (f"/capabilities/{slug}/{OPERATOR}/", f"/operators/{slug}/{OPERATOR}/")
    yield from (
        f"/gaps/?repository={slug}{rest}" for rest in ("", "&seen=any&q=add", "&device=cpu", "&q=zzz")
    )
    yield f"/gaps/?repository={slug}&page={_deep(gaps.filter(is_open=True), *gap_list.COLUMNS)}"
    yield gaps.earliest("id").get_absolute_url()
    yield from (f"/matches/?repository={slug}{rest}" for rest in ("", "&verdict=", "&ruled=1", "&q=zzz"))
    matches = OperationMatch.objects.filter(repository=branch.repository)
    yield f"/matches/?repository={slug}&verdict=&page={_deep(matches, *match_list.COLUMNS)}"
    yield from (matches.earliest("id").get_absolute_url(), matches.latest("id").get_absolute_url())
    yield from (f"/backend/?repository={slug}", "/parity/?q=zzz")


_MATRIX = ("", "&page=30", "&gaps=1&family=linalg", "&state=fallback&q=add", "&only=pytorch", "&q=nothing")


def _plan(branch: Branch) -> Iterator[str]:
    from migrations_tracker.models import Plan, Schedule, UnitMember
    from migrations_tracker.selectors import plan_board

    plan = Plan.objects.get(repository=branch.repository)
    base = f"/plan/{branch.repository.slug}"
    yield from (f"{base}/", f"{base}/?crate=crate-3", f"{base}/units/", f"{base}/units/?phase=3&q=readback")
    yield from (
        f"{base}/units/?q=zzz",
        f"{base}/missing/",
        f"{base}/people/",
        f"{base}/people/?edit=person-0",
    )
    yield f"{base}/units/?page={_deep(plan.units.all(), *plan_board.COLUMNS)}"
    yield from (f"{base}/people/person-0/", f"{base}/schedules/")
    yield plan.units.order_by("-item_count", "pk")[0].get_absolute_url()
    yield UnitMember.objects.filter(unit__plan=plan, gap__isnull=False).earliest("pk").unit.get_absolute_url()
    schedule = Schedule.objects.latest("id")
    yield from (schedule.get_absolute_url(), f"{schedule.get_absolute_url()}?zoom=day")
    beside = f"/plan/{schedule.plan.repository.slug}"
    yield from (f"{beside}/", f"{beside}/schedules/")
    yield schedule.plan.units.get(status="under-way").get_absolute_url()


def _knowledge(branch: Branch) -> Iterator[str]:
    from audit.models import ImportedAudit, ImportedFinding, KnowledgeEntry, Precedent

    slug = branch.repository.slug
    entry = KnowledgeEntry.objects.latest("id").get_absolute_url()
    yield from ("/entries/", "/entries/?q=kernel", "/entries/?q=zzz", "/entries/add/")
    yield f"/entries/?page={_deep(KnowledgeEntry.objects.all(), '-id')}"
    yield from (entry, f"{entry}history/", f"{entry}edit/")
    precedents = f"/precedents/?repository={slug}"
    yield from (f"{precedents}{rest}" for rest in ("", "&kind=suppressed", "&rule=FT014", "&q=zzz"))
    yield f"{precedents}&page={_deep(Precedent.objects.all(), '-id')}"
    yield f"/precedents/contradictions/?repository={slug}"
    yield Precedent.objects.latest("id").get_absolute_url()
    yield f"/references/{slug}/issue/7/"
    yield f"/crates/{slug}/crate-3/"
    audit = ImportedFinding.objects.latest("id").audit
    findings = ImportedFinding.objects.filter(audit=audit)
    audits = ImportedAudit.objects.filter(repository=branch.repository)
    yield from (f"/audits/?repository={slug}", f"/audits/?repository={slug}&page={_deep(audits, '-id')}")
    yield "/audits/import/"
    yield from (f"{audit.get_absolute_url()}{rest}" for rest in ("", "?about=all", "?today=gone", "?q=zzz"))
    yield f"{audit.get_absolute_url()}?page={_deep(findings, 'position', 'id')}"
    yield findings.earliest("id").get_absolute_url()


def _machines(branch: Branch) -> Iterator[str]:
    from workers.models import MechanicalReport, Verification, VerificationJob, VerificationRequest

    slug = branch.repository.slug
    done = Verification.objects.filter(repository=branch.repository)
    yield from ("/runners/", "/runners/runner-0/")
    yield from (f"/verifications/?repository={slug}{rest}" for rest in _PROOFS)
    yield f"/verifications/?repository={slug}&page=-{done.earliest('id').pk + 9000}"
    yield f"/verifications/nightly/?repository={slug}"
    yield from (done.latest("id").get_absolute_url(), VerificationJob.objects.latest("id").get_absolute_url())
    yield VerificationRequest.objects.latest("id").get_absolute_url()
    report = MechanicalReport.objects.latest("id")
    yield from (f"/verification-reports/?repository={slug}", report.get_absolute_url())
    yield f"/verification-reports/?repository={slug}&before={MechanicalReport.objects.earliest('id').pk + 60}"


_PROOFS = ("", "&shows=nothing-proved", "&shows=without-gpu", "&verdict=failed", "&crate=crate-3", "&q=zzz")


def operations(branch: Branch) -> Iterator[str]:
    """Yield what the API answers, each list as it opens, most with its deepest page or a rare filter."""
    from audit.models import CapabilityGap, FallbackSite, PullRequest, ScanRequest
    from migrations_tracker.models import BulkChange, MigrationReport, Notice, Plan, Schedule, Watch
    from workers.models import VerificationRequest

    slug, states = branch.repository.slug, branch.site_states.filter(is_open=True)
    site = FallbackSite.objects.filter(states__in=states).earliest("id")
    gaps = CapabilityGap.objects.filter(repository=branch.repository)
    unit = Plan.objects.get(repository=branch.repository).units.order_by("-item_count", "pk")[0]
    base = f"{API}/repositories/{slug}"
    yield from (f"{API}/repositories", base, f"{base}/policy", f"{base}/scans", f"{base}/roles")
    yield from (
        f"{base}/pull-requests",
        f"{base}/pull-requests/{PullRequest.objects.latest('number').number}",
    )
    yield from (
        f"{API}/scan-requests/{ScanRequest.objects.latest('id').pk}",
        f"{API}/scans/{branch.last_scan_id}",
    )
    yield from (f"{base}/filters", f"{base}/sites", f"{base}/sites?seen=any&sort=symbol")
    yield from (f"{base}/sites?q={RARE_WORD}&seen=any", f"{base}/sites?status=verified&seen=any&sort=rule")
    yield f"{base}/sites?cursor={_deep(states, 'path', 'start_line', 'id')}"
    yield from (f"{API}/sites/{site.pk}", f"{API}/sites/{site.pk}/proofs")
    yield f"{API}/watches?cursor={_deep(Watch.objects.all(), '-id')}"
    yield f"{API}/inbox?cursor={_deep(Notice.objects.exclude(people=None), '-id')}"
    yield from (f"{API}/watches", f"{API}/inbox", f"{base}/gaps", f"{API}/gaps/{gaps.earliest('id').pk}")
    yield from (f"{base}/units", f"{base}/next-units?person=person-0", f"{API}/units/{unit.pk}")
    yield from (f"{base}/reports", f"{base}/report-schedules")
    yield f"{API}/reports/{MigrationReport.objects.filter(branch=branch).latest('id').pk}"
    yield f"{API}/bulk-changes/{BulkChange.objects.latest('item_count').pk}"
    yield f"{base}/suppressions"
    yield from (f"{base}/people", f"{API}/schedules/{Schedule.objects.latest('id').pk}")
    yield f"{API}/verification-requests/{VerificationRequest.objects.latest('id').pk}"
    yield from (f"{API}/rules", f"{API}/rules/FT001", f"{API}/clauses", f"{API}/clauses/F1")
    # What came before the versioned API and is still answered.
    yield from (f"/api/capabilities?repository={slug}&op=exp", "/api/search?q=exp")
    yield f"/api/scan-requests/{ScanRequest.objects.latest('id').pk}"
    yield f"/api/scans/{branch.last_scan_id}"


def files(branch: Branch) -> Iterator[str]:
    """Yield what is downloaded: as long as what it holds, so that no bar of pages is held to it."""
    from migrations_tracker.models import Attachment, MigrationReport, Plan
    from migrations_tracker.report_formats import FORMATS
    from workers.models import MechanicalReport

    slug = branch.repository.slug
    report = MigrationReport.objects.latest("id").pk
    attachment = Attachment.objects.latest("id").pk
    unit = Plan.objects.get(repository=branch.repository).units.order_by("-item_count", "pk")[0]
    yield f"{API}/openapi.json"
    yield from (f"/reports/{report}/report.{key}" for key in FORMATS)
    yield f"{API}/reports/{report}/files/md"
    yield from (f"/attachments/{attachment}/", f"{API}/attachments/{attachment}")
    yield f"/repositories/{slug}/policy/levels.toml"
    yield from (f"/precedents/{slug}/labels.jsonl", f"{API}/repositories/{slug}/labels")
    yield from (f"/capabilities.{key}?repository={slug}" for key in ("csv", "json"))
    # All cells and all last words, which a build and a check read whole.
    yield from (f"/api/capabilities?repository={slug}", f"/api/verifications/{slug}")
    yield from (f"/plan/{slug}/plan.{key}" for key in ("md", "csv", "json", "ics"))
    yield f"/units/{unit.pk}/issue.md"
    yield f"/verification-reports/{MechanicalReport.objects.latest('id').pk}.md"
    yield f"/sites.csv?repository={slug}&q={RARE_WORD}"


def lists(slug: str, count: int) -> Iterator[str]:
    """Draw lists of sites: each filter not at all, or something common, something rare, or nothing at all."""
    from migrations_tracker.selectors.site_list import SORT_ORDERS

    draw = random.Random(SEED)
    axes = {
        "crate": ("crate-21", "crate-3", RARE_CRATE),
        "rule": ("FT001", "FT014", RARE_RULE),
        "level": ("note", "error"),
        "status": ("open", "verified", "in-review", "suppressed", "reopened"),
        "outcome": ("composite", "not-told"),
        "q": (RARE_WORD, "operation", "op", "nothing_like_it", "crate_21 operation_9"),
    }
    for _ in range(count):
        chosen = {name: draw.choice(values) for name, values in axes.items() if draw.random() < 0.4}
        chosen |= {"seen": draw.choice(("open", "absent", "any")), "sort": draw.choice(list(SORT_ORDERS))}
        yield f"/sites/?repository={slug}&{urlencode(chosen, quote_via=quote)}"


def missing(asked: Iterable[str]) -> list[str]:
    """Name the pages and reading operations of the table of roles that none of the addresses leads to."""
    from django.urls import get_resolver, resolve

    from migrations_tracker.roles import OPERATIONS, PAGES, Scope

    found = [resolve(address.partition("?")[0]) for address in asked]
    names = {match.url_name for match in found}
    routes = {f"GET {_template(match.route)}" for match in found}
    machines = {Scope.PUBLIC, Scope.RUNNER, Scope.SIGNED}
    left = {name for name, need in PAGES.items() if need.scope not in machines} - names - GO_ON
    # What all addresses of the API begin with is none itself.
    reading = {one for one in OPERATIONS if one.startswith("GET ")} - {"GET /"}
    views = dict(_views(get_resolver().url_patterns))
    # What is not allowed is what is asked here, no news for the log.
    logging.getLogger("django.request").setLevel(logging.ERROR)
    return sorted(reading - routes) + sorted(name for name in left if _is_read(views[name]))


def _template(route: str) -> str:
    return re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", f"/{route}").removeprefix(API)


def _views(patterns: Iterable[URLPattern | URLResolver]) -> Iterator[tuple[str, Callable[..., object]]]:
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            yield from _views(pattern.url_patterns)
        elif pattern.name:
            yield pattern.name, pattern.callback


def _is_read(view: Callable[..., Any]) -> bool:
    """Whether a view answers GET. What takes POST alone says so before it looks at its arguments."""
    from django.contrib.auth.models import User
    from django.test import RequestFactory

    request = RequestFactory().get("/")
    request.user = User.objects.get(username="benchmark")
    try:
        answer = view(request)
    except TypeError:
        return True
    return int(answer.status_code) != HTTPStatus.METHOD_NOT_ALLOWED
