"""The things a request names, or the answer that there is no such thing."""

from __future__ import annotations

from audit.models import Branch, CapabilityGap, FallbackSite, Repository
from migrations_tracker.api.v1.problems import not_found
from migrations_tracker.models import BulkChange, Plan, Schedule, WorkUnit
from migrations_tracker.models.report import MigrationReport


def repository_named(slug: str) -> Repository:
    """Return a repository by its slug."""
    found = Repository.objects.filter(slug=slug.replace("\0", "")).first()
    if found is None:
        raise not_found("repository")
    return found


def branch_named(slug: str, name: str) -> Branch:
    """Return a branch that was scanned; no name is the default branch."""
    repository = repository_named(slug)
    found = (
        Branch.objects.filter(
            repository=repository, name=(name or repository.default_branch).replace("\0", "")
        )
        .exclude(last_scan=None)
        .select_related("repository", "last_scan")
        .first()
    )
    if found is None:
        raise not_found("branch with a finished scan")
    return found


def site_numbered(pk: int) -> FallbackSite:
    """Return a site."""
    found = FallbackSite.objects.select_related("repository", "migration__assignee").filter(pk=pk).first()
    if found is None:
        raise not_found("site")
    return found


def gap_numbered(pk: int) -> CapabilityGap:
    """Return a gap."""
    found = CapabilityGap.objects.select_related("repository", "migration__assignee").filter(pk=pk).first()
    if found is None:
        raise not_found("gap")
    return found


def plan_of(slug: str) -> Plan:
    """Return the plan of a repository."""
    found = Plan.objects.select_related("repository").filter(repository__slug=slug.replace("\0", "")).first()
    if found is None:
        raise not_found("plan")
    return found


def unit_numbered(pk: int, *related: str) -> WorkUnit:
    """Return a unit, with more that it is read with."""
    rows = WorkUnit.objects.select_related("plan__repository", "person", *related)
    found = rows.filter(pk=pk).first()
    if found is None:
        raise not_found("work unit")
    return found


def report_numbered(pk: int) -> MigrationReport:
    """Return a report."""
    related = ("branch__repository", "scan_run__repository", "scan_run__commit", "scan_run__branch")
    # The document of a large report is megabytes, which a format that is written from it reads by itself.
    found = MigrationReport.objects.select_related(*related).defer("document", "head").filter(pk=pk).first()
    if found is None:
        raise not_found("report")
    return found


def bulk_change_numbered(pk: int) -> BulkChange:
    """Return a change of many sites."""
    related = ("branch__repository", "assignee", "requested_by")
    found = BulkChange.objects.select_related(*related).filter(pk=pk).first()
    if found is None:
        raise not_found("bulk change")
    return found


def schedule_numbered(pk: int) -> Schedule:
    """Return a schedule."""
    found = Schedule.objects.select_related("plan__repository").filter(pk=pk).first()
    if found is None:
        raise not_found("schedule")
    return found
