"""What a scan knows of a workspace for the plan, beside its results."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from audit.models.scan import ScanRun


class WorkspaceInventory(models.Model):
    """What stands on what in a scanned workspace, and what exists in it already.

    `dependencies` maps each package to the packages it needs; `callers` counts, by symbol, the product
    functions that call it, for the symbols that results and capabilities of the scan name. `kernels` holds
    for those symbols the digests of the PTX texts that they stand for, `rejected_kernels` the digests that
    the assembler rejects.
    """

    scan_run = models.OneToOneField(ScanRun, on_delete=models.CASCADE, related_name="inventory")
    dependencies = models.JSONField(default=dict)
    error_variants = ArrayField(models.CharField(max_length=200), default=list)
    gate_helpers = ArrayField(models.CharField(max_length=200), default=list)
    gpu_crates = ArrayField(models.CharField(max_length=200), default=list)
    callers = models.JSONField(default=dict)
    kernels = models.JSONField(default=dict)
    rejected_kernels = ArrayField(models.CharField(max_length=64), default=list)

    class Meta:
        verbose_name_plural = "workspace inventories"

    def __str__(self) -> str:
        return f"Inventory of scan {self.scan_run_id}"
