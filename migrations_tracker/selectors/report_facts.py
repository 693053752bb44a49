"""The facts of a migration report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from audit.models import (
    Repository,
    ScanFile,
    ScanRule,
    ScanRun,
    SiteEventKind,
    SiteState,
)
from audit.policy.clauses import CURRENT_VERSION
from audit.rules.doc import plain
from audit.scanner.report import FileStatus, Outcome, RuleStatus
from audit.selectors.branch_periods import last_results, position_of, sites_changed_since
from audit.selectors.repository_policies import own_clauses_by_form, own_clauses_by_rule
from audit.selectors.rules import rule_get
from audit.selectors.scan_reports import site_outcome
from migrations_tracker.lifecycle import Status, fitting
from migrations_tracker.models import MigrationReport, SiteMigration, Suppression, SuppressionStatus
from migrations_tracker.models.site_migration import STATUS_LABELS
from migrations_tracker.reports.document import (
    SCHEMA,
    ClosedSite,
    CountLine,
    Judge,
    LevelLine,
    NotSeen,
    OpenSite,
    Remedy,
    ReportDocument,
    ScanLine,
)
from migrations_tracker.reports.sentences import closed_sentence
from migrations_tracker.selectors.report_gaps import gap_counts
from workers.protocol.outcome import Verdict
from workers.selectors.verifications import verdicts_standing

_WHOLE = (FileStatus.SCANNED.value, FileStatus.UNCHANGED.value)
_NOT_PLANNED = "not planned"
_GRAVE = frozenset({"error", "warning"})


def report_facts(*, report: MigrationReport) -> ReportDocument:
    """Gather what a report says, from the rows of its scan and the sites' states on its branch."""
    scan_run, branch = report.scan_run, report.branch
    states = SiteState.objects.filter(branch=branch).select_related(
        "site__migration__assignee", "closed_scan__commit"
    )
    since = position_of(branch=branch, scan_run=report.since_scan)
    new = sites_changed_since(branch=branch, position=since, kind=SiteEventKind.NEW)
    ended = sites_changed_since(branch=branch, position=since, kind=SiteEventKind.CLOSED)
    opened = list(states.filter(is_open=True).order_by("path", "start_line", "id"))
    gone = states.filter(is_open=False).order_by("path", "start_line", "id")
    closed = [state for state in gone if state.site_id in ended]
    ruled = _suppressed(branch.repository_id)
    open_sites = tuple(
        _open_site(state, is_new=state.site_id in new, suppressed=ruled.get(state.site_id, ""))
        for state in opened
    )
    standing = verdicts_standing(
        repository_id=branch.repository_id, symbols=[state.symbol for state in closed]
    )
    shown = last_results(
        branch=branch,
        before=position_of(branch=branch, scan_run=scan_run),
        sites=[state.site_id for state in closed],
    )
    closed_sites = tuple(
        _closed_site(state, _verdict(state, standing), shown.get(state.site_id, 0)) for state in closed
    )
    gaps = gap_counts(branch=branch, scan_run=scan_run, since=report.since_scan)
    return ReportDocument(
        schema=SCHEMA,
        repository=branch.repository.slug,
        repository_name=branch.repository.name,
        branch=branch.name,
        scan=_scan_line(scan_run),
        since=_scan_line(report.since_scan) if report.since_scan else None,
        judge=Judge(
            scanner_version=scan_run.scanner_version,
            profile=scan_run.profile_name,
            profile_hash=scan_run.profile_hash,
            ptxas_version=scan_run.ptxas_version,
            policy_version=scan_run.policy_version or CURRENT_VERSION,
        ),
        file_count=scan_run.file_count,
        line_count=scan_run.line_count,
        open_count=len(open_sites),
        new_count=sum(site.is_new for site in open_sites),
        closed_count=len(closed_sites),
        gaps_open=gaps.open,
        gaps_closed=gaps.closed,
        rules=_levels([(site.rule_id, site.level) for site in open_sites], titled=True),
        crates=_levels([(site.crate or "(no crate)", site.level) for site in open_sites], titled=False),
        statuses=_statuses(open_sites, closed_sites),
        outcomes=_outcomes(closed_sites),
        remedies=_remedies(
            open_sites,
            _own_clauses(branch.repository, scan_run.policy_version, opened),
        ),
        open_sites=open_sites,
        closed_sites=closed_sites,
        files_not_scanned=tuple(
            NotSeen(file.path, file.status, file.reason)
            for file in ScanFile.objects.filter(scan_run=scan_run).exclude(status__in=_WHOLE)
        ),
        rules_not_run=tuple(
            NotSeen(rule.rule_id, rule.status, rule.reason)
            for rule in ScanRule.objects.filter(scan_run=scan_run).exclude(status=RuleStatus.RAN.value)
        ),
        gaps_unknown=gaps.unknown,
    )


def _scan_line(scan_run: ScanRun) -> ScanLine:
    return ScanLine(
        number=scan_run.pk,
        commit=scan_run.commit.object_id,
        committed_at=_instant(scan_run.commit.committed_at),
        finished_at=_instant(scan_run.finished_at),
    )


def _instant(moment: datetime | None) -> str:
    return moment.isoformat(timespec="seconds") if moment else ""


def _migration(state: SiteState) -> SiteMigration | None:
    # A reverse one-to-one field raises where there is no row.
    found: SiteMigration | None = getattr(state.site, "migration", None)
    return found


def _suppressed(repository_id: int) -> dict[int, str]:
    """Return by what reason sites are suppressed now."""
    ruled = Suppression.objects.filter(
        site__repository=repository_id, status=SuppressionStatus.ACCEPTED, ended_at=None
    )
    return dict(ruled.values_list("site_id", "justification"))


def _open_site(state: SiteState, *, is_new: bool, suppressed: str) -> OpenSite:
    migration = _migration(state)
    return OpenSite(
        site=state.site_id,
        rule_id=state.rule_id,
        rule_name=rule_get(rule_id=state.rule_id).name,
        level=state.level,
        crate=state.crate,
        path=state.path,
        line=state.start_line,
        symbol=state.symbol,
        message=state.message,
        status=migration.status if migration else _NOT_PLANNED,
        assignee=str(migration.assignee) if migration and migration.assignee else "",
        is_new=is_new,
        suppressed=suppressed,
        result=state.result_id or 0,
    )


def _verdict(state: SiteState, standing: Mapping[str, Sequence[Verdict]]) -> str:
    """Return what GPU runs showed of a closed site: what bears its outcome out, else the newest."""
    shown = standing.get(state.symbol, ())
    fit = fitting(state.outcome)
    return next((one.value for one in shown if one in fit), shown[0].value if shown else "")


def _closed_site(state: SiteState, verdict: str, result: int) -> ClosedSite:
    migration = _migration(state)
    sentence = closed_sentence(
        rule_id=state.rule_id, symbol=state.symbol, outcome=state.outcome, verdict=verdict
    )
    return ClosedSite(
        site=state.site_id,
        rule_id=state.rule_id,
        rule_name=rule_get(rule_id=state.rule_id).name,
        crate=state.crate,
        path=state.path,
        line=state.start_line,
        symbol=state.symbol,
        outcome=state.outcome,
        shown_by=str(state.outcome_evidence.get("text", "")),
        commit=state.closed_scan.commit.object_id if state.closed_scan else "",
        status=migration.status if migration else _NOT_PLANNED,
        verdict=verdict,
        sentence=sentence.text,
        clauses=sentence.clauses,
        result=result,
        became=site_outcome(outcome=state.outcome, evidence=state.outcome_evidence),
    )


def _levels(seen: Sequence[tuple[str, str]], *, titled: bool) -> tuple[LevelLine, ...]:
    counts = Counter(seen)
    keys = sorted({key for key, _ in seen})
    return tuple(
        LevelLine(
            key=key,
            title=f"{key} {rule_get(rule_id=key).name}" if titled else key,
            error=counts[key, "error"],
            warning=counts[key, "warning"],
            note=sum(count for (of, level), count in counts.items() if of == key and level not in _GRAVE),
        )
        for key in keys
    )


def _statuses(opened: Sequence[OpenSite], closed: Sequence[ClosedSite]) -> tuple[CountLine, ...]:
    counts = Counter([site.status for site in opened] + [site.status for site in closed])
    lines = [CountLine(status.value, STATUS_LABELS[status], counts[status.value]) for status in Status]
    if counts[_NOT_PLANNED]:
        lines.append(CountLine(_NOT_PLANNED, "Not planned", counts[_NOT_PLANNED]))
    return tuple(lines)


def _outcomes(closed: Sequence[ClosedSite]) -> tuple[CountLine, ...]:
    counts = Counter(site.outcome for site in closed)
    lines = [CountLine(o.value, o.value, counts[o.value]) for o in Outcome if counts[o.value]]
    if counts[""]:
        lines.append(CountLine("", "not known", counts[""]))
    return tuple(lines)


def _own_clauses(
    repository: Repository, version: str, opened: Sequence[SiteState]
) -> dict[str, tuple[str, ...]]:
    """Return a repository's own clauses by rule: those of the rule, and of the forms in which it is open."""
    found = own_clauses_by_rule(repository=repository, version=version)
    by_form = own_clauses_by_form(repository=repository, version=version)
    for rule_id, form in sorted({(state.rule_id, state.form) for state in opened if state.form in by_form}):
        found[rule_id] = tuple(dict.fromkeys((*found.get(rule_id, ()), *by_form[form])))
    return found


def _remedies(opened: Sequence[OpenSite], own_clauses: Mapping[str, tuple[str, ...]]) -> tuple[Remedy, ...]:
    counts = Counter(site.rule_id for site in opened)
    found = []
    for rule_id, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        rule = rule_get(rule_id=rule_id)
        text = plain(rule.sections.get("Use instead", ""))
        found.append(Remedy(rule_id, rule.name, count, text, own_clauses.get(rule_id, ())))
    return tuple(found)
