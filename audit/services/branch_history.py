"""Keeping what each scan changed on a branch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db import connection

from audit.models import Branch, BranchScan, Commit, ScanRun, SiteEvent, SiteEventKind, SiteTally
from audit.scanner.report import EvidenceStep, SiteOutcome
from audit.services import git_repository
from audit.services.copying import as_json, rows_copy

TallyKey = tuple[bool, str, str, str]

_TALLY = f"""
INSERT INTO {SiteTally._meta.db_table} (branch_scan_id, is_open, rule_id, crate, outcome, count)
SELECT %(branch_scan)s, is_open, rule_id, crate, outcome, count(*)
FROM audit_sitestate WHERE branch_id = %(branch)s
GROUP BY is_open, rule_id, crate, outcome
"""  # noqa: S608 -- a table name of this program


@dataclass(frozen=True, slots=True)
class Change:
    """What a scan did to the sites of a branch, and how many are open after it."""

    open_count: int
    new: Sequence[int]
    reopened: Sequence[int]
    closed: Sequence[int]
    outcomes: Mapping[int, SiteOutcome]
    held: Sequence[int] = ()

    @property
    def open_before(self) -> int:
        """How many were open before it."""
        return self.open_count - len(self.new) - len(self.reopened) + len(self.closed)


def branch_scan_write(
    *,
    branch: Branch,
    scan_run: ScanRun,
    previous: BranchScan | None,
    position: int,
    change: Change,
    tallies: Counter[TallyKey] | None = None,
) -> BranchScan:
    """Keep what a scan changed since the `previous` one of its branch.

    Without `tallies` they are taken from the branch's states, which must be those after the scan.
    """
    branch_scan = BranchScan.objects.create(
        branch=branch,
        scan_run=scan_run,
        previous=previous,
        position=position,
        open_count=change.open_count,
        new_count=len(change.new),
        reopened_count=len(change.reopened),
        closed_count=len(change.closed),
    )
    rows_copy(
        table=SiteEvent._meta.db_table,
        columns=("branch_scan_id", "site_id", "kind", "outcome", "outcome_evidence"),
        rows=_event_rows(branch_scan, change),
    )
    if tallies is None:
        with connection.cursor() as cursor:
            cursor.execute(_TALLY, {"branch_scan": branch_scan.pk, "branch": branch.pk})
    else:
        rows_copy(
            table=SiteTally._meta.db_table,
            columns=("branch_scan_id", "is_open", "rule_id", "crate", "outcome", "count"),
            rows=((branch_scan.pk, *key, count) for key, count in sorted(tallies.items())),
        )
    return branch_scan


def next_position(*, branch: Branch, previous: BranchScan | None, commit: Commit) -> int:
    """Return where a scan stands that its branch moves on to now: behind all others, even rewritten ones."""
    after = 1 if previous is None else previous.position + 1
    if commit.is_snapshot:
        return after
    git_dir = git_repository.git_dir_of(branch.repository)
    return max(after, git_repository.depth_of(git_dir=git_dir, object_id=commit.object_id))


def _event_rows(branch_scan: BranchScan, change: Change) -> Iterator[tuple[object, ...]]:
    for kind, site_ids in ((SiteEventKind.NEW, change.new), (SiteEventKind.REOPENED, change.reopened)):
        for site_id in site_ids:
            yield (branch_scan.pk, site_id, kind.value, "", "{}")
    for site_id in change.closed:
        outcome, evidence = outcome_columns(change.outcomes.get(site_id))
        yield (branch_scan.pk, site_id, SiteEventKind.CLOSED.value, outcome, evidence)


def outcome_columns(outcome: SiteOutcome | None) -> tuple[str, str]:
    """Return an outcome and its evidence as two columns keep them; both are empty where none was told."""
    if outcome is None:
        return "", as_json({})
    evidence = {
        "text": outcome.text,
        "steps": [step_json(step) for step in outcome.steps],
        "properties": dict(outcome.properties),
    }
    return outcome.outcome.value, as_json(evidence)


def step_json(step: EvidenceStep) -> dict[str, object]:
    """Return a step of evidence as it is stored."""
    return step._asdict() | {"region": step.region._asdict()}
