"""The stored results that show the sites of a kept report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db.models import QuerySet

from audit.models import Result, SiteEvent, SiteEventKind
from audit.scanner.baseline import Comparison
from audit.scanner.report import SiteOutcome
from audit.selectors.branch_periods import last_results, position_of
from audit.selectors.scan_reports import GoneResult, StandingResult, scan_comparison, site_outcome
from audit.services.copying import ids_among
from migrations_tracker.models import MigrationReport
from migrations_tracker.reports.document import ClosedSite, OpenSite, ReportDocument

Site = OpenSite | ClosedSite
_Place = tuple[str, str, int, str]


def report_comparison(*, report: MigrationReport, document: ReportDocument) -> Comparison:
    """Set the results of a report's scan beside what it did not see and what is gone, as they were then."""
    open_results = {site.site: site.result for site in document.open_sites if site.result}
    gone_results = {site.site: site.result for site in document.closed_sites if site.result}
    became = {site.site: site.became for site in document.closed_sites}
    if len(open_results) + len(gone_results) < len(document.open_sites) + len(document.closed_sites):
        earlier = _Earlier(report)
        open_results = earlier.results(document.open_sites)
        gone_results = earlier.results_before(document.closed_sites)
        became = earlier.became(document.closed_sites)
    return scan_comparison(
        scan_run=report.scan_run,
        standing=[
            StandingResult(open_results[site.site], site.suppressed, site.is_new)
            for site in document.open_sites
            if site.site in open_results
        ],
        gone=[
            GoneResult(gone_results[site.site], became[site.site])
            for site in document.closed_sites
            if site.site in gone_results
        ],
    )


class _Earlier:
    """Finds the results of a report that was written before it kept them.

    A site that was merged or split since has lost its results to another one, and what it was called: its
    rule, place and symbol are as the report has them, so these are looked for first.
    """

    def __init__(self, report: MigrationReport) -> None:
        self._report = report
        self._at = position_of(branch=report.branch, scan_run=report.scan_run)

    def results(self, sites: Sequence[OpenSite]) -> dict[int, int]:
        """Return the results of sites that are open: of the report's scan, else the last before it."""
        found = _placed(sites, Result.objects.filter(scan_run=self._report.scan_run))
        return found | self.results_before([site for site in sites if site.site not in found])

    def results_before(self, sites: Sequence[Site]) -> dict[int, int]:
        """Return the last results of sites that the branch had before the report's scan."""
        named = Result.objects.filter(
            scan_run__branch_scans__branch=self._report.branch,
            scan_run__branch_scans__position__lt=self._at,
            path__in={site.path for site in sites},
            symbol__in={site.symbol for site in sites},
        )
        found = _placed(sites, named.order_by("-scan_run__branch_scans__position", "-id"))
        rest = [site.site for site in sites if site.site not in found]
        return found | last_results(branch=self._report.branch, before=self._at, sites=rest)

    def became(self, sites: Sequence[ClosedSite]) -> dict[int, SiteOutcome | None]:
        """Return what became of sites, with the places that show it where the history still has them."""
        ends = SiteEvent.objects.filter(
            site_id__in=ids_among([site.site for site in sites]),
            kind=SiteEventKind.CLOSED,
            branch_scan__branch=self._report.branch,
            branch_scan__position__lte=self._at,
        ).order_by("site_id", "-branch_scan__position")
        kept = {(end.site_id, end.outcome): end.outcome_evidence for end in ends.distinct("site_id")}
        return {
            site.site: site_outcome(
                outcome=site.outcome, evidence=kept.get((site.site, site.outcome), {"text": site.shown_by})
            )
            for site in sites
        }


def _placed(sites: Iterable[Site], results: QuerySet[Result]) -> dict[int, int]:
    """Give each site a result of its rule, place and symbol: its own if that is one, else the first left."""
    there: dict[_Place, dict[int, int]] = {}
    for pk, site_id, rule_id, path, line, symbol in results.values_list(
        "pk", "site_id", "rule_id", "path", "start_line", "symbol"
    ):
        there.setdefault((rule_id, path, line, symbol), {}).setdefault(site_id, pk)
    found: dict[int, int] = {}
    # Who has a result of its own there takes it before another could.
    for site in sorted(sites, key=lambda one: one.site not in there.get(_place(one), {})):
        left = there.get(_place(site), {})
        if left:
            found[site.site] = left.pop(site.site if site.site in left else next(iter(left)))
    return found


def _place(site: Site) -> _Place:
    return site.rule_id, site.path, site.line, site.symbol
