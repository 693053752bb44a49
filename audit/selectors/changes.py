"""What changed between two scans of a repository, site by site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import connection

from audit.models import BranchScan, RowState, ScanRun

PAGE_SIZE = 50
_OBJECT_ID_LENGTHS = range(7, 100)


class ChangeKind(StrEnum):
    """What became of a site from one scan to another. A site that is in another line is unchanged.

    One that a scan lacks is unsettled, neither new nor absent, where that scan did not read its file whole or
    did not run its rule, and where it is held because nothing told what became of it.
    """

    NEW = "new"
    ABSENT = "absent"
    UNSETTLED = "unsettled"
    MOVED = "moved"
    EDITED = "edited"
    UNCHANGED = "unchanged"


_SIDE = """
    SELECT id, site_id, rule_id, level, path, start_line, symbol, crate, message, form,
        partial_fingerprints ->> 'site/v1' AS fingerprint
    FROM audit_result WHERE scan_run_id = %({side})s
"""
_NOT_LOOKED_AT = """
    EXISTS (
        SELECT FROM audit_scanfile AS file
        WHERE file.scan_run_id = %({lacking})s AND file.path = {having}.path
            AND NOT file.status IN ('scanned', 'unchanged')
    ) OR EXISTS (
        SELECT FROM audit_scanrule AS rule
        WHERE rule.scan_run_id = %({lacking})s AND rule.rule_id = {having}.rule_id AND rule.status <> 'ran'
    )
"""
# Scans of a branch that has both: after the earlier one, up to the later one.
_BETWEEN = """
    SELECT at.id, at.position FROM audit_branchscan AS at
    JOIN audit_branchscan AS "from" ON "from".branch_id = at.branch_id AND "from".scan_run_id = %(earlier)s
    JOIN audit_branchscan AS "to" ON "to".branch_id = at.branch_id AND "to".scan_run_id = %(later)s
    WHERE at.position > "from".position AND at.position <= "to".position
"""
_COMPARED = f"""
WITH earlier AS ({_SIDE.format(side="earlier")}), later AS ({_SIDE.format(side="later")}),
between_them AS ({_BETWEEN}), held AS (
    SELECT held.site_id FROM audit_heldsite AS held
    JOIN audit_helddrop AS held_drop ON held_drop.id = held.drop_id
    JOIN between_them ON between_them.id = held_drop.branch_scan_id
    EXCEPT SELECT event.site_id FROM audit_siteevent AS event
    JOIN between_them ON between_them.id = event.branch_scan_id WHERE event.kind = 'closed'
), compared AS (
    SELECT
        coalesce(later.site_id, earlier.site_id) AS site_id,
        coalesce(later.rule_id, earlier.rule_id) AS rule_id,
        coalesce(later.level, earlier.level) AS level,
        coalesce(later.symbol, earlier.symbol) AS symbol,
        coalesce(later.path, earlier.path) AS sort_path,
        coalesce(later.start_line, earlier.start_line) AS sort_line,
        earlier.rule_id AS old_rule_id, earlier.symbol AS old_symbol,
        earlier.path AS old_path, earlier.start_line AS old_line, later.path, later.start_line AS line,
        CASE
            WHEN earlier.id IS NULL AND ({_NOT_LOOKED_AT.format(lacking="earlier", having="later")})
                THEN 'unsettled'
            WHEN earlier.id IS NULL THEN 'new'
            WHEN later.id IS NULL AND (
                earlier.site_id IN (SELECT site_id FROM held)
                OR {_NOT_LOOKED_AT.format(lacking="later", having="earlier")}
            ) THEN 'unsettled'
            WHEN later.id IS NULL THEN 'absent'
            WHEN (earlier.path, earlier.symbol) <> (later.path, later.symbol) THEN 'moved'
            WHEN (earlier.rule_id, earlier.level, earlier.message, earlier.form)
                    <> (later.rule_id, later.level, later.message, later.form)
                OR earlier.fingerprint IS DISTINCT FROM later.fingerprint THEN 'edited'
            ELSE 'unchanged'
        END AS kind
    FROM earlier FULL JOIN later ON earlier.site_id = later.site_id
)
"""  # noqa: S608 -- a text of this module
_COUNT = f"{_COMPARED} SELECT kind, count(*) FROM compared GROUP BY kind"  # noqa: S608
# The last closing between the two, on a branch that has both.
_OUTCOMES = f"""
WITH between_them AS ({_BETWEEN})
SELECT DISTINCT ON (event.site_id) event.site_id, event.outcome, event.outcome_evidence ->> 'text'
FROM audit_siteevent AS event
JOIN between_them ON between_them.id = event.branch_scan_id
WHERE event.site_id = ANY(%(sites)s) AND event.kind = 'closed'
ORDER BY event.site_id, between_them.position DESC
"""  # noqa: S608 -- a text of this module
_PAGE = (
    _COMPARED
    + """
SELECT site_id, rule_id, level, symbol, sort_path, sort_line, old_rule_id, old_symbol, old_path, old_line,
    path, line
FROM compared
WHERE kind = %(kind)s AND (sort_path, sort_line, site_id) > (%(path)s, %(line)s, %(site)s)
ORDER BY sort_path, sort_line, site_id
LIMIT %(limit)s
"""
)


@dataclass(frozen=True, slots=True)
class SiteChange:
    """A site in both scans; what it was is empty for a new one, what it is for one that is absent."""

    site_id: int
    rule_id: str
    level: str
    symbol: str
    sort_path: str
    sort_line: int
    old_rule_id: str | None
    old_symbol: str | None
    old_path: str | None
    old_line: int | None
    path: str | None
    line: int | None
    outcome: str = ""
    outcome_text: str = ""


@dataclass(frozen=True, slots=True)
class ChangePage:
    """A page of changes; `next` is where the following one begins, None at the end."""

    changes: Sequence[SiteChange]
    next: tuple[str, int, int] | None


def change_counts(*, earlier: ScanRun, later: ScanRun) -> dict[ChangeKind, int]:
    """Count the sites of two scans by what became of them."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, {"earlier": earlier.pk, "later": later.pk})
        found: Mapping[str, int] = dict(cursor.fetchall())
    return {kind: found.get(kind.value, 0) for kind in ChangeKind}


def change_page(
    *,
    earlier: ScanRun,
    later: ScanRun,
    kind: ChangeKind,
    after: tuple[str, int, int] = ("", 0, 0),
    size: int = PAGE_SIZE,
) -> ChangePage:
    """List the sites of one kind by place; an absent one tells what it became."""
    keys: dict[str, Any] = {"earlier": earlier.pk, "later": later.pk, "kind": kind.value, "limit": size + 1}
    keys |= dict(zip(("path", "line", "site"), after, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(_PAGE, keys)
        rows = cursor.fetchall()
        gone = [row[0] for row in rows] if kind is ChangeKind.ABSENT else []
        cursor.execute(_OUTCOMES, {**keys, "sites": gone})
        told = {site_id: (outcome, text or "") for site_id, outcome, text in cursor.fetchall()}
    is_absent = kind is ChangeKind.ABSENT
    changes = [
        SiteChange(*row, *(told.get(row[0], ("", "")) if is_absent else ("", ""))) for row in rows[:size]
    ]
    last = changes[-1] if len(rows) > size else None
    return ChangePage(changes, (last.sort_path, last.sort_line, last.site_id) if last else None)


def scan_of_commit(*, repository_id: int, commit: str) -> ScanRun | None:
    """Return the newest scan of a commit, which may be named by its first characters."""
    if len(commit) not in _OBJECT_ID_LENGTHS or not commit.replace(":", "").isalnum():
        return None
    return (
        ScanRun.objects.filter(
            repository_id=repository_id, commit__object_id__startswith=commit, state=RowState.SUCCEEDED
        )
        .select_related("commit", "branch")
        .order_by("-id")
        .first()
    )


def latest_pair(*, branch_id: int) -> tuple[ScanRun, ScanRun] | None:
    """Return the last two scans of a branch, if it has as many."""
    rows = list(
        BranchScan.objects.filter(branch_id=branch_id)
        .select_related("scan_run__commit", "scan_run__branch")
        .order_by("-position")[:2]
    )
    return (rows[1].scan_run, rows[0].scan_run) if len(rows) == 2 else None
