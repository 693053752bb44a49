"""All that is known of one capability gap: the four truths, its proof, PyTorch's answer and its history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from audit.models import (
    Branch,
    Capability,
    CapabilityGap,
    CapabilityGapChange,
    ScanRun,
    SiteState,
)
from audit.parity import rationale
from audit.parity.capability import Case, State
from audit.parity.catalogue import Direction, newest
from audit.parity.matrix import REFERENCE
from audit.parity.rationale import Rationale
from migrations_tracker.models import SiteMigration, Suppression, Transition
from migrations_tracker.selectors.capability_detail import Served, cell_rationale, served_of
from migrations_tracker.selectors.migration_choices import Choice, choices_of, is_suppressible
from migrations_tracker.selectors.suppressions import suppression_newest
from workers.selectors.verifications import Proof, proofs_of

SITES_SHOWN = 30


@dataclass(frozen=True, slots=True)
class GapPage:
    """What the gap's page shows; `cell` is the case at the default branch's last scan, if it has one."""

    gap: CapabilityGap
    cell: Capability | None
    scan_run: ScanRun | None
    rationale: Rationale
    served: Sequence[Served]
    sites: Sequence[SiteState]
    proofs: Sequence[Proof]
    migration: SiteMigration | None
    choices: Sequence[Choice]
    suppression: Suppression | None
    changes: Sequence[CapabilityGapChange]
    transitions: Sequence[Transition]

    @property
    def is_suppressible(self) -> bool:
        """Whether it may be suppressed now, or that be asked for."""
        return is_suppressible(self.choices)


def gap_page(*, gap: CapabilityGap, with_code: bool = True) -> GapPage:
    """Gather what the gap's page shows; without the code, the functions that serve it are left out."""
    cell = _cell(gap)
    scan_run = cell.scan_run if cell else None
    migration = getattr(gap, "migration", None)
    return GapPage(
        gap=gap,
        cell=cell,
        scan_run=scan_run,
        rationale=cell_rationale(cell) if cell else _gap_rationale(gap),
        served=served_of(scan_run, cell) if cell and scan_run and with_code else (),
        sites=_sites(gap, cell) if cell and with_code else (),
        proofs=proofs_of(repository=gap.repository, symbols=cell.symbols) if cell and with_code else (),
        migration=migration,
        choices=choices_of(migration, is_seen=gap.is_open, outcome=gap.outcome),
        suppression=suppression_newest(subject=gap),
        changes=list(gap.changes.select_related("scan_run__commit").order_by("-id")),
        transitions=list(
            Transition.objects.filter(site_migration__gap=gap)
            .select_related("actor", "scan_run__commit")
            .order_by("-id")
        ),
    )


def _cell(gap: CapabilityGap) -> Capability | None:
    """Return the case as the last scan of the default branch saw it."""
    branch = Branch.objects.filter(repository=gap.repository, name=gap.repository.default_branch)
    return (
        Capability.objects.filter(
            scan_run__in=branch.values("last_scan"),
            operator=gap.operator,
            dtype=gap.dtype,
            device=gap.device,
            direction=gap.direction,
        )
        .select_related("scan_run__commit", "scan_run__repository")
        .first()
    )


def _gap_rationale(gap: CapabilityGap) -> Rationale:
    """Explain a gap that no code serves any more."""
    return rationale.of_case(
        newest(),
        Case(gap.operator, gap.dtype, gap.device, Direction(gap.direction)),
        state=State.ABSENT,
        reference_device=REFERENCE.get(gap.device, ""),
    )


def _sites(gap: CapabilityGap, cell: Capability) -> list[SiteState]:
    return list(
        SiteState.objects.filter(
            branch__repository=gap.repository,
            branch__name=gap.repository.default_branch,
            is_open=True,
            symbol__in=cell.symbols,
        )
        .select_related("site")
        .order_by("path", "start_line", "id")[:SITES_SHOWN]
    )
