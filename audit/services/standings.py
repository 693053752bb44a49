"""What stood open and closed on a branch at some place of its history, followed from scan to scan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from django.db import connection

from audit.models import BranchScan, Result, SiteEventKind
from audit.scanner.report import SiteOutcome
from audit.services.branch_history import Change, TallyKey
from audit.services.coverage import Coverage
from audit.services.held_drops import vanished_divide

# Of each site the last thing that happened to it on the branch, and the last result up to there.
_STANDING = """
SELECT last.site_id, last.kind, last.outcome, result.rule_id, result.crate, result.path
FROM (
    SELECT DISTINCT ON (event.site_id) event.site_id, event.kind, event.outcome
    FROM audit_siteevent AS event
    JOIN audit_branchscan AS at ON at.id = event.branch_scan_id
    WHERE at.branch_id = %(branch)s AND at.position <= %(position)s
    ORDER BY event.site_id, at.position DESC, event.id DESC
) AS last
CROSS JOIN LATERAL (
    SELECT result.rule_id, result.crate, result.path
    FROM audit_result AS result
    JOIN audit_branchscan AS at ON at.scan_run_id = result.scan_run_id
    WHERE result.site_id = last.site_id AND at.branch_id = %(branch)s AND at.position <= %(position)s
    ORDER BY at.position DESC LIMIT 1
) AS result
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a site stands: where it was seen last and, when it is closed, what it became."""

    is_open: bool
    rule_id: str
    crate: str
    path: str
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """A site as a scan saw it."""

    site_id: int
    rule_id: str
    crate: str
    path: str


class Standings:
    """The sites of a branch at one place of its history."""

    def __init__(self, sites: dict[int, Standing]) -> None:
        self._sites = sites

    @classmethod
    def at(cls, branch_scan: BranchScan | None) -> Standings:
        """Read them as they were after a scan of the branch; without one, before the first."""
        if branch_scan is None:
            return cls({})
        keys = {"branch": branch_scan.branch_id, "position": branch_scan.position}
        with connection.cursor() as cursor:
            cursor.execute(_STANDING, keys)
            rows = cursor.fetchall()
        return cls(
            {
                site_id: Standing(kind != SiteEventKind.CLOSED.value, rule_id, crate, path, outcome)
                for site_id, kind, outcome, rule_id, crate, path in rows
            }
        )

    @property
    def open_ids(self) -> list[int]:
        """The sites that are open."""
        return [site_id for site_id, standing in self._sites.items() if standing.is_open]

    @property
    def closed_ids(self) -> list[int]:
        """The sites that were open once."""
        return [site_id for site_id, standing in self._sites.items() if not standing.is_open]

    def follow(
        self,
        found: Iterable[Seen],
        coverage: Coverage,
        outcomes: Mapping[int, SiteOutcome],
        held_before: Collection[int] = (),
    ) -> Change:
        """Move on to the next scan and say what it changed; what is held stays open."""
        new, reopened = [], []
        seen = {one.site_id: one for one in found}
        for site_id, one in seen.items():
            before = self._sites.get(site_id)
            if before is None:
                new.append(site_id)
            elif not before.is_open:
                reopened.append(site_id)
            self._sites[site_id] = Standing(True, one.rule_id, one.crate, one.path)
        absent = [
            site_id
            for site_id, one in self._sites.items()
            if one.is_open and site_id not in seen and coverage.could_see(rule_id=one.rule_id, path=one.path)
        ]
        vanished = vanished_divide(absent=absent, outcomes=outcomes, held_before=held_before)
        for site_id in vanished.closed:
            last, told = self._sites[site_id], outcomes.get(site_id)
            outcome = told.outcome.value if told is not None else ""
            self._sites[site_id] = replace(last, is_open=False, outcome=outcome)
        return Change(len(self.open_ids), new, reopened, vanished.closed, outcomes, vanished.held)

    def tallies(self) -> Counter[TallyKey]:
        """Count them as a branch's charts do."""
        return Counter((one.is_open, one.rule_id, one.crate, one.outcome) for one in self._sites.values())


def seen_by(*, scan_run_id: int) -> list[Seen]:
    """Read the sites that a stored scan saw."""
    rows = Result.objects.filter(scan_run_id=scan_run_id).order_by("id")
    return [Seen(*row) for row in rows.values_list("site_id", "rule_id", "crate", "path")]
