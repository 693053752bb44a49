"""Imported audits, their findings, and what became of the sites these speak of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Case, Count, F, Model, Q, QuerySet, Value, When
from django.http import QueryDict

from audit.models import (
    AuditUpload,
    FallbackSite,
    FindingSite,
    ImportedAudit,
    ImportedFinding,
    Judgement,
    Repository,
    SiteState,
    Standing,
)
from migrations_tracker.selectors.keyset import KeysetPage, keyset_page

PAGE_SIZE = 30
AUDITS_SHOWN = 50
UPLOADS_SHOWN = 20
SITES_SHOWN = 200
STANDING_LABELS = dict(Standing.choices)
TODAY_LABELS = {"open": "A site is still open", "gone": "Every site is gone"}


@dataclass(frozen=True, slots=True)
class FindingFilters:
    """What the list is narrowed to; an empty field does not narrow."""

    about: str = "device"
    standing: str = ""
    judgement: str = ""
    today: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Today:
    """How the sites of a finding stand on the default branch."""

    open: int = 0
    gone: int = 0
    outcomes: tuple[tuple[str, int], ...] = ()

    @property
    def total(self) -> int:
        """All sites that the default branch has seen."""
        return self.open + self.gone


@dataclass(frozen=True, slots=True)
class AuditPage:
    """An audit's page: counts over what it holds, and some of its findings."""

    audit: ImportedAudit
    page: KeysetPage[ImportedFinding]
    today: Mapping[int, Today]
    total: int
    finding_total: int
    device_total: int
    standings: Sequence[tuple[str, str, int]]
    judgements: Sequence[tuple[str, str, int]]
    open_total: int
    gone_total: int
    uploads: Sequence[AuditUpload]


@dataclass(frozen=True, slots=True)
class _Count:
    """How many findings stand alike, and how many of them have the words that are asked for."""

    standing: str
    judgement: str
    today: str
    count: int
    worded: int

    def fits(self, filters: FindingFilters) -> bool:
        """Whether they are in the list, as far as it is not narrowed by words."""
        return (
            filters.standing in ("", self.standing)
            and filters.judgement in ("", self.judgement or "none")
            and filters.today in ("", self.today)
        )


@dataclass(frozen=True, slots=True)
class FindingPage:
    """A finding's page."""

    finding: ImportedFinding
    links: Sequence[tuple[FindingSite, SiteState | None]]
    today: Today
    earlier: Sequence[object]


def filters_read(query: QueryDict) -> FindingFilters:
    """Read the filters from a URL; a value that is none is left out."""
    about, standing = query.get("about", "device"), query.get("standing", "")
    judgement, today = query.get("judgement", ""), query.get("today", "")
    return FindingFilters(
        about=about if about in ("device", "all") else "device",
        standing=standing if standing in Standing.values else "",
        judgement=judgement if judgement in ("none", *Judgement.values) else "",
        today=today if today in TODAY_LABELS else "",
        text=query.get("q", "").replace("\0", "").strip()[:200],
    )


def imported_audit_list(*, repository: Repository, cursor: str) -> KeysetPage[ImportedAudit]:
    """List a repository's imported audits, the newest first."""
    audits = ImportedAudit.objects.filter(repository=repository).annotate(
        finding_count=Count("findings"),
        matched_count=Count("findings", filter=Q(findings__standing=Standing.MATCHED)),
        device_count=Count("findings", filter=Q(findings__is_about_device=True)),
    )
    return keyset_page(audits, columns=("id",), cursor=cursor, size=AUDITS_SHOWN, is_descending=True)


def imported_audit_page(*, audit: ImportedAudit, filters: FindingFilters, cursor: str) -> AuditPage:
    """Gather what an audit's page shows."""
    findings = ImportedFinding.objects.filter(audit=audit)
    of_subject = findings.filter(is_about_device=True) if filters.about == "device" else findings
    fitting = _narrowed(of_subject, filters)
    page = keyset_page(
        fitting.select_related("judged_by"), columns=("position", "id"), cursor=cursor, size=PAGE_SIZE
    )
    totals = findings.aggregate(all=Count("pk"), device=Count("pk", filter=Q(is_about_device=True)))
    counts = _counts(of_subject, filters)
    return AuditPage(
        audit=audit,
        page=page,
        today=_today([finding.pk for finding in page.rows]),
        total=sum(one.worded for one in counts if one.fits(filters)),
        finding_total=totals["all"],
        device_total=totals["device"],
        standings=[
            (value, label, sum(one.count for one in counts if one.standing == value))
            for value, label in Standing.choices
        ],
        judgements=[
            (value or "none", label, sum(one.count for one in counts if one.judgement == value))
            for value, label in (("", "Not judged"), *Judgement.choices)
        ],
        open_total=sum(one.count for one in counts if one.today == "open"),
        gone_total=sum(one.count for one in counts if one.today == "gone"),
        uploads=list(audit.uploads.select_related("actor")[:UPLOADS_SHOWN]),
    )


def finding_page(*, finding: ImportedFinding) -> FindingPage:
    """Gather what a finding's page shows."""
    links = list(finding.finding_sites.select_related("site", "linked_by")[:SITES_SHOWN])
    states = {
        state.site_id: state
        for state in _states().filter(site__in=[link.site_id for link in links]).select_related("branch")
    }
    return FindingPage(
        finding=finding,
        links=[(link, states.get(link.site_id)) for link in links],
        today=_today([finding.pk]).get(finding.pk, Today()),
        earlier=list(_events(finding).select_related("judged_by").exclude(judgement="").order_by("-pgh_id")),
    )


def _events(finding: ImportedFinding) -> QuerySet[Model]:
    """Return what pghistory keeps of a finding, by a model that it makes at run time."""
    events: QuerySet[Model] = finding.events.all()  # type: ignore[attr-defined]
    return events


def findings_of_site(*, site: FallbackSite) -> list[FindingSite]:
    """List the findings of imported audits that speak of a site."""
    return list(
        FindingSite.objects.filter(site=site).select_related("finding__audit").order_by("-finding_id")[:20]
    )


def _narrowed(findings: QuerySet[ImportedFinding], filters: FindingFilters) -> QuerySet[ImportedFinding]:
    if filters.standing:
        findings = findings.filter(standing=filters.standing)
    if filters.judgement:
        findings = findings.filter(judgement="" if filters.judgement == "none" else filters.judgement)
    if filters.today:
        findings = findings.annotate(stands=_stands_today(findings)).filter(stands=filters.today)
    return findings.filter(_worded(filters))


def _worded(filters: FindingFilters) -> Q:
    found = Q()
    for word in filters.text.split():
        found &= Q(title__icontains=word) | Q(text__icontains=word) | Q(crate__icontains=word)
    return found


def _counts(findings: QuerySet[ImportedFinding], filters: FindingFilters) -> list[_Count]:
    """Count findings by all that the page tells of them at once."""
    rows = findings.order_by().annotate(stands=_stands_today(findings))
    counted = rows.values_list("standing", "judgement", "stands").annotate(
        number=Count("*"), worded=Count("pk", filter=_worded(filters))
    )
    return [_Count(*row) for row in counted]


def _stands_today(findings: QuerySet[ImportedFinding]) -> Case:
    """Tell `open` where a site of a finding is, `gone` where it has some and none is, else nothing."""
    linked = FindingSite.objects.order_by().filter(finding__in=findings.values("pk"))
    is_open = linked.filter(site__in=_states().filter(is_open=True).values("site"))
    return Case(
        When(pk__in=is_open.values("finding"), then=Value("open")),
        When(pk__in=linked.values("finding"), then=Value("gone")),
        default=Value(""),
    )


def _states() -> QuerySet[SiteState]:
    return SiteState.objects.filter(branch__name=F("branch__repository__default_branch"))


def _today(findings: Sequence[int]) -> dict[int, Today]:
    pairs = FindingSite.objects.filter(finding__in=findings).values_list("finding_id", "site_id")
    sites_of: dict[int, list[int]] = {}
    for finding, site in pairs:
        sites_of.setdefault(finding, []).append(site)
    wanted = {site for sites in sites_of.values() for site in sites}
    states = {
        site: (is_open, outcome)
        for site, is_open, outcome in _states()
        .filter(site__in=wanted)
        .values_list("site_id", "is_open", "outcome")
    }
    today = {}
    for finding, sites in sites_of.items():
        seen = [states[site] for site in sites if site in states]
        gone = Counter(outcome or "not known" for is_open, outcome in seen if not is_open)
        today[finding] = Today(
            open=sum(is_open for is_open, _ in seen),
            gone=sum(gone.values()),
            outcomes=tuple(gone.most_common()),
        )
    return today
