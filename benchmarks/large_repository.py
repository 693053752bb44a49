"""One repository as large as the pages are held to, written by the database itself in seconds.

Every row follows from its number, so each run measures the same. Of the sites two in five are closed, one
tenth of them after each of the first ten of 13 scans, and each scan has a result for each site that it
found: 100,000 sites are 1,000,000 results, each with its link. Rules have the shares of all sites that they
have in ferrotorch (`docs/accuracy.md`). One site has a rule, a crate and a word in its name that no other has.
"""

# ruff: noqa: E501 - the lines are SQL

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audit.models import Branch

SCANS = 13
CRATES = 22
PER_FILE = 40
RARE_RULE, RARE_CRATE, RARE_WORD = "FT015", "crate-rare", "needle"
#: Sites of each rule in ferrotorch: of `COMMONEST_RULE` there are more than of any other.
FOUND = {
    "FT001": 177,
    "FT002": 4,
    "FT003": 16,
    "FT004": 1,
    "FT005": 303,
    "FT006": 4,
    "FT007": 84,
    "FT008": 104,
    "FT009": 259,
    "FT010": 69,
    "FT011": 34,
    "FT012": 17,
    "FT014": 9,
    "FT016": 205,
    "FT017": 56,
    "FT018": 6,
}
COMMONEST_RULE = max(FOUND, key=FOUND.__getitem__)

# What a site is, by its number `n` from 0: used by each of the tables below.
_PLACES = """
CREATE TEMPORARY TABLE place AS
SELECT n,
       n = {rare} AS is_rare,
       CASE WHEN n = {rare} THEN '{rare_rule}'
           -- The digest mixes rules over levels, crates and scans, which follow from the number, too.
           ELSE ('{{{ruled}}}'::text[])[1 + ('x' || substr(md5('rule' || n), 1, 6))::bit(24)::int % {found}] END
           AS rule_id,
       CASE WHEN n = {rare} THEN '{rare_crate}' ELSE 'crate-' || (n / {per_file}) % {crates} END AS crate,
       'crate-' || (n / {per_file}) % {crates} || '/src/layer_' || (n / {per_file}) % 7 || '/module_' || n / {per_file} || '.rs'
           AS path,
       'crate_' || (n / {per_file}) % {crates} || '::module_' || n / {per_file} || '::'
           || CASE WHEN n = {rare} THEN 'needle' ELSE 'operation_' || n END AS symbol,
       10 + (n % {per_file}) * 30 AS line,
       CASE n % 10 WHEN 0 THEN 'note' WHEN 1 THEN 'warning' WHEN 2 THEN 'warning' ELSE 'error' END AS level,
       CASE WHEN n % 5 < 2 AND n <> {rare} THEN 1 + (n / 5) % 10 ELSE {scans} END AS scans,
       (ARRAY['structured-error', 'device-kernel', 'removed', 'opt-in-fallback', 'composite', ''])[1 + (n / 5) % 6]
           AS outcome,
       jsonb_build_object('site/v1', md5(n::text), 'item/v1', md5('item' || n / 2), 'anchor/v1', md5('anchor' || n))
           AS partial_fingerprints,
       'operation_' || n || ' computes on the host when the kernel can not be compiled' AS message
FROM generate_series(0, {sites} - 1) AS n
"""

_SITES = """
INSERT INTO audit_fallbacksite (correlation_guid, repository_id, rule_id, symbol, path, partial_fingerprints,
    first_seen_scan_id, form_commit_id, created_at)
SELECT md5('guid' || n)::uuid, {repository}, rule_id, symbol, path, partial_fingerprints, {first_scan}, NULL, now()
FROM place ORDER BY n
"""

_RESULTS = """
INSERT INTO audit_result (scan_run_id, site_id, baseline_state, rule_id, level, message, path, start_line,
    start_column, end_line, end_column, symbol, crate, form, partial_fingerprints, evidence, snippet,
    suppressions, properties)
SELECT {first_scan} + s, {first_site} + n, CASE WHEN s = 0 THEN 'new' ELSE 'unchanged' END, rule_id, level, message,
    path, line, 5, line + 6, 6, symbol, crate, 'match-arm', partial_fingerprints,
    jsonb_build_array(jsonb_build_object('role', 'anchor', 'path', path, 'symbol', symbol, 'message',
        'the compile error is dropped here', 'region', jsonb_build_object('start_line', line, 'start_column', 5,
        'end_line', line + 6, 'end_column', 6))),
    E'match compile() {{\\n    Err(_) => x.to_host(),\\n}}', '[]', '{{}}'
FROM generate_series(0, {scans} - 1) AS s JOIN place ON s < scans
ORDER BY s, n
"""

_LINEAGE = """
INSERT INTO audit_lineage (site_id, scan_run_id, result_id, match_pass, confidence, from_commit_id, to_commit_id)
SELECT site_id, scan_run_id, id, CASE WHEN scan_run_id = {first_scan} THEN 'new' ELSE 'fingerprint' END, 1,
    NULL, (SELECT commit_id FROM audit_scanrun WHERE id = scan_run_id)
FROM audit_result WHERE scan_run_id >= {first_scan} ORDER BY id
"""

_STATES = """
INSERT INTO audit_sitestate (site_id, branch_id, is_open, baseline_state, outcome, outcome_evidence, rule_id, level,
    crate, path, start_line, end_line, symbol, form, message, result_id, first_seen_scan_id, last_seen_scan_id,
    closed_scan_id)
SELECT {first_site} + n, {branch}, scans = {scans}, CASE WHEN scans = {scans} THEN 'unchanged' ELSE 'absent' END,
    CASE WHEN scans = {scans} THEN '' ELSE outcome END, '{{}}', rule_id, level, crate, path, line, line + 6, symbol,
    'match-arm', message, found.id, {first_scan}, {first_scan} + scans - 1,
    CASE WHEN scans < {scans} THEN {first_scan} + scans END
FROM place JOIN (SELECT site_id, max(id) AS id FROM audit_result WHERE scan_run_id >= {first_scan} GROUP BY site_id)
    AS found ON found.site_id = {first_site} + n
ORDER BY n
"""

_MIGRATIONS = """
INSERT INTO migrations_tracker_sitemigration (site_id, status, assignee_id, version, created_at, changed_at)
SELECT {first_site} + n,
    CASE WHEN scans < {scans} THEN CASE n % 3 WHEN 0 THEN 'verified' ELSE 'migrated' END
         WHEN n = 3 THEN 'in-review' WHEN n % 50 = 2 THEN 'suppressed' WHEN n % 7 = 3 THEN 'planned'
         WHEN n % 11 = 4 THEN 'accepted' ELSE 'open' END,
    CASE WHEN n % 9 = 0 THEN {person} END, 2, now(), now()
FROM place ORDER BY n
"""

_TRANSITIONS = """
INSERT INTO migrations_tracker_transition (site_migration_id, from_status, to_status, cause, actor_id, scan_run_id,
    reason, created_at)
SELECT id, from_status, to_status, 'scanner', NULL, {first_scan}, '', now()
FROM migrations_tracker_sitemigration
CROSS JOIN LATERAL (VALUES ('', 'open'), ('open', status)) AS step (from_status, to_status)
WHERE from_status <> to_status ORDER BY id
"""

_EVENTS = """
INSERT INTO audit_siteevent (branch_scan_id, site_id, kind, outcome, outcome_evidence)
SELECT {first_branch_scan}, {first_site} + n, 'new', '', '{{}}'::jsonb FROM place
UNION ALL
SELECT {first_branch_scan} + scans, {first_site} + n, 'closed', outcome, '{{}}'::jsonb FROM place WHERE scans < {scans}
"""

_TALLIES = """
INSERT INTO audit_sitetally (branch_scan_id, is_open, rule_id, crate, outcome, count)
SELECT {first_branch_scan} + s, s < scans, rule_id, crate, CASE WHEN s < scans THEN '' ELSE outcome END, count(*)
FROM generate_series(0, {scans} - 1) AS s CROSS JOIN place GROUP BY 1, 2, 3, 4, 5
"""

_CRATES = """
INSERT INTO audit_crate (repository_id, name, path, is_workspace_member)
SELECT DISTINCT {repository}, crate, crate, true FROM place
"""

_FILES = """
INSERT INTO audit_scanfile (scan_run_id, path, blob_id, status, reason, size_bytes, line_count)
SELECT {first_scan} + s, path, md5(path), 'scanned', '', 40000, 1300
FROM generate_series(0, {scans} - 1) AS s CROSS JOIN (SELECT DISTINCT path FROM place) AS paths
"""

_RULES = """
INSERT INTO audit_scanrule (scan_run_id, rule_id, status, reason)
SELECT {first_scan} + s, rule_id, 'ran', ''
FROM generate_series(0, {scans} - 1) AS s CROSS JOIN (SELECT DISTINCT rule_id FROM place) AS ids
"""

_TABLES = (
    _SITES,
    _RESULTS,
    _LINEAGE,
    _STATES,
    _MIGRATIONS,
    _TRANSITIONS,
    _EVENTS,
    _TALLIES,
    _CRATES,
    _FILES,
    _RULES,
)


def fill(*, slug: str, sites: int, person_id: int) -> Branch:
    """Write a repository with that many sites; return its default branch."""
    from django.db import connection, transaction

    from audit.models import BranchScan, FallbackSite

    branch, first_scan = _scans(slug)
    history = BranchScan.objects.filter(branch=branch).earliest("position")
    with transaction.atomic(), connection.cursor() as cursor:
        # Each row stands alone and fits its constraints; to look that up a million times takes a minute.
        cursor.execute("SET LOCAL session_replication_role = replica")
        numbers: dict[str, object] = {
            "sites": sites,
            "scans": SCANS,
            "crates": CRATES,
            "per_file": PER_FILE,
            "rare": sites // 2 + 3,
            "rare_rule": RARE_RULE,
            "rare_crate": RARE_CRATE,
            "rare_word": RARE_WORD,
            "ruled": ",".join(rule for rule, count in FOUND.items() for _ in range(count)),
            "found": sum(FOUND.values()),
            "repository": branch.repository_id,
            "branch": branch.pk,
            "person": person_id,
            "first_scan": first_scan,
            "first_branch_scan": history.pk,
        }
        cursor.execute(_PLACES.format(**numbers))
        cursor.execute("CREATE INDEX ON place (scans)")
        cursor.execute("ANALYZE place")
        cursor.execute("SELECT nextval(pg_get_serial_sequence('audit_fallbacksite', 'id'))")
        numbers["first_site"] = cursor.fetchone()[0] + 1
        for table in _TABLES:
            cursor.execute(table.format(**numbers))
        cursor.execute("DROP TABLE place")
    assert FallbackSite.objects.filter(repository=branch.repository_id).count() == sites
    _count(branch)
    return branch


def _scans(slug: str) -> tuple[Branch, int]:
    from datetime import timedelta

    from django.utils import timezone

    from audit.models import Branch, BranchScan, Commit, Repository, RepositoryKind, RowState, ScanRun

    repository = Repository.objects.create(
        name=slug, slug=slug, kind=RepositoryKind.FOLDER, location=f"/srv/{slug}", default_branch="main"
    )
    branch = Branch.objects.create(repository=repository, name="main")
    now = timezone.now()
    previous, scan_ids = None, []
    for number in range(SCANS):
        when = now - timedelta(days=SCANS - number)
        commit = Commit.objects.create(
            repository=repository, object_id=f"{number:040x}", subject=f"Commit {number}", committed_at=when
        )
        scan_run = ScanRun.objects.create(
            repository=repository,
            commit=commit,
            branch=branch,
            scanner_version="benchmark",
            profile_name="ferrotorch",
            profile_hash="0" * 64,
            state=RowState.SUCCEEDED,
            applies_to_branch=True,
            started_at=when,
            finished_at=when,
            duration_seconds=6.0,
        )
        previous = BranchScan.objects.create(
            branch=branch,
            scan_run=scan_run,
            previous=previous,
            position=number + 1,
            open_count=0,
            new_count=0,
            reopened_count=0,
            closed_count=0,
        )
        scan_ids.append(scan_run.pk)
    Branch.objects.filter(pk=branch.pk).update(last_scan=scan_run)
    branch.refresh_from_db()
    return branch, scan_ids[0]


def _count(branch: Branch) -> None:
    """Give the scans the numbers that their results and events add up to."""
    from django.db.models import Count

    from audit.models import BranchScan, Result, ScanRun, SiteEvent

    found = dict(Result.objects.values_list("scan_run_id").annotate(Count("id")).order_by())
    for row in BranchScan.objects.filter(branch=branch):
        events = SiteEvent.objects.filter(branch_scan=row)
        new, closed = events.filter(kind="new").count(), events.filter(kind="closed").count()
        count = found[row.scan_run_id]
        BranchScan.objects.filter(pk=row.pk).update(open_count=count, new_count=new, closed_count=closed)
        ScanRun.objects.filter(pk=row.scan_run_id).update(
            new_count=new, unchanged_count=count - new, absent_count=closed
        )
