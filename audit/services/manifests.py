"""Keeping what a scan looked at: each file and how it ended, each rule and whether it ran, the crates."""

from __future__ import annotations

from audit.models import Crate, ScanFile, ScanRule, ScanRun
from audit.scanner.report import ScanReport
from audit.services.copying import rows_copy


def manifests_write(*, scan_run: ScanRun, report: ScanReport) -> None:
    """Store the manifests of a scan."""
    rows_copy(
        table=ScanFile._meta.db_table,
        columns=("scan_run_id", "path", "blob_id", "status", "reason", "size_bytes", "line_count"),
        rows=(
            (
                scan_run.pk,
                entry.path,
                entry.blob_id,
                entry.status.value,
                entry.reason,
                entry.size_bytes,
                entry.line_count,
            )
            for entry in report.manifest
        ),
    )
    rows_copy(
        table=ScanRule._meta.db_table,
        columns=("scan_run_id", "rule_id", "status", "reason"),
        rows=((scan_run.pk, run.rule_id, run.status.value, run.reason) for run in report.rule_runs),
    )
    Crate.objects.bulk_create(
        {
            crate.name: Crate(
                repository_id=scan_run.repository_id,
                name=crate.name,
                path=crate.path,
                is_workspace_member=crate.is_workspace_member,
            )
            for crate in report.crates
        }.values(),
        update_conflicts=True,
        unique_fields=["repository", "name"],
        update_fields=["path", "is_workspace_member"],
    )
