"""Keeping what a scan knows of a workspace for the plan."""

from __future__ import annotations

from audit.models import ScanRun, WorkspaceInventory
from audit.scanner.inventory import Inventory
from audit.scanner.report import ScanReport
from audit.services.capabilities import Capabilities


def inventory_store(
    *, scan_run: ScanRun, report: ScanReport, capabilities: Capabilities, inventory: Inventory
) -> WorkspaceInventory:
    """Store a scan's inventory, in place of the one it may have had."""
    named = {result.symbol for result in report.results}
    named |= {cell.proof.place.symbol for cell in capabilities.cells if cell.proof is not None}
    row, _ = WorkspaceInventory.objects.update_or_create(
        scan_run=scan_run,
        defaults={
            "dependencies": {name: sorted(needed) for name, needed in sorted(inventory.dependencies.items())},
            "error_variants": sorted(inventory.error_variants),
            "gate_helpers": sorted(inventory.gate_helpers),
            "gpu_crates": sorted(inventory.gpu_crates),
            "callers": {name: inventory.callers[name] for name in sorted(named & set(inventory.callers))},
            "kernels": {
                name: list(inventory.kernels[name]) for name in sorted(named & set(inventory.kernels))
            },
            "rejected_kernels": sorted(inventory.rejected_kernels),
        },
    )
    return row


def inventory_of_row(row: WorkspaceInventory | None) -> Inventory:
    """Return a stored inventory; without one nothing is known, as of scans from before it was kept."""
    if row is None:
        return Inventory()
    return Inventory(
        dependencies={name: frozenset(needed) for name, needed in row.dependencies.items()},
        error_variants=frozenset(row.error_variants),
        gate_helpers=frozenset(row.gate_helpers),
        gpu_crates=frozenset(row.gpu_crates),
        callers=row.callers,
        kernels={name: tuple(digests) for name, digests in row.kernels.items()},
        rejected_kernels=frozenset(row.rejected_kernels),
    )
