"""Capability gaps, as scans of the default branch open, change and close them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from audit.models import CapabilityGap, CapabilityGapChange, GapChangeKind, ScanRun
from audit.parity.capability import Cell, State
from audit.scanner.report import Outcome, ScanReport
from audit.services.capabilities import Capabilities, cell_path, operator_family
from audit.services.coverage import Coverage

_Key = tuple[str, str, str, str]
_OUTCOMES = {State.KERNEL: Outcome.DEVICE_KERNEL, State.COMPOSITE: Outcome.COMPOSITE}


@dataclass(frozen=True, slots=True)
class GapChanges:
    """What a scan said of gaps, by primary key: all that are open, and those that opened again or closed.

    `closed` maps the gaps that it closed to what became of them, empty where only PyTorch changed.
    """

    open: tuple[int, ...] = ()
    reopened: tuple[int, ...] = ()
    closed: Mapping[int, str] = field(default_factory=dict)


def capability_gaps_follow(
    *, scan_run: ScanRun, report: ScanReport, capabilities: Capabilities, is_same_code: bool = False
) -> GapChanges:
    """Open, reopen and close gaps by what a scan of the default branch saw, and keep each change.

    A matrix that was not derived closes nothing, and neither does code that the scan could not read.
    `is_same_code` says that the code is as it was and only the matches changed: nothing was removed then.
    """
    if capabilities.failure_reason:
        return GapChanges()
    seen = {_key(cell): cell for cell in capabilities.cells}
    gaps = {key: cell for key, cell in seen.items() if cell.is_gap}
    coverage = Coverage.of(report)
    still: list[int] = []
    changes: list[CapabilityGapChange] = []
    for gap in CapabilityGap.objects.filter(repository_id=scan_run.repository_id):
        key = (gap.operator, gap.dtype, gap.device, gap.direction)
        cell = gaps.pop(key, None)
        if cell is not None:
            still.append(gap.pk)
            changes += _seen_again(gap, cell, scan_run)
        elif gap.is_open and (key in seen or coverage.could_read(path=gap.path)):
            changes.append(_closed(gap, seen.get(key), scan_run, is_same_code))
    CapabilityGap.objects.filter(pk__in=still).update(last_seen_scan=scan_run)
    CapabilityGap.objects.bulk_update(
        [change.gap for change in changes],
        ["is_open", "closed_scan", "outcome", "state", "path"],
        batch_size=500,
    )
    fresh = CapabilityGap.objects.bulk_create(_gap(scan_run, cell) for cell in gaps.values())
    changes += [_change(gap, scan_run, GapChangeKind.OPENED, "") for gap in fresh]
    CapabilityGapChange.objects.bulk_create(changes)
    return GapChanges(
        open=(*still, *(gap.pk for gap in fresh)),
        reopened=tuple(_of_kind(changes, GapChangeKind.REOPENED)),
        closed={change.gap_id: change.outcome for change in changes if change.kind == GapChangeKind.CLOSED},
    )


def _seen_again(gap: CapabilityGap, cell: Cell, scan_run: ScanRun) -> Iterator[CapabilityGapChange]:
    """Bring an existing gap up to date; what only moved within its file is no change of the gap."""
    was_open, before, path = gap.is_open, gap.state, gap.path
    if (was_open, before, path) == (True, cell.state.value, cell_path(cell)):
        return
    gap.is_open, gap.closed_scan, gap.outcome = True, None, ""
    gap.state, gap.path = cell.state.value, cell_path(cell)
    kind = GapChangeKind.CHANGED if was_open else GapChangeKind.REOPENED
    yield _change(gap, scan_run, kind, before)


def _closed(
    gap: CapabilityGap, cell: Cell | None, scan_run: ScanRun, is_same_code: bool
) -> CapabilityGapChange:
    outcome = Outcome.REMOVED if cell is None else _OUTCOMES.get(cell.state)
    if is_same_code:
        outcome = None
    gap.is_open, gap.closed_scan = False, scan_run
    gap.outcome = outcome.value if outcome is not None else ""
    change = _change(gap, scan_run, GapChangeKind.CLOSED, gap.state)
    change.to_state = State.ABSENT.value if cell is None else cell.state.value
    change.path = "" if cell is None else cell_path(cell)
    return change


def _change(gap: CapabilityGap, scan_run: ScanRun, kind: GapChangeKind, before: str) -> CapabilityGapChange:
    return CapabilityGapChange(
        gap=gap,
        scan_run=scan_run,
        kind=kind.value,
        from_state=before,
        to_state=gap.state,
        outcome=gap.outcome,
        path=gap.path,
    )


def _of_kind(changes: Iterable[CapabilityGapChange], kind: GapChangeKind) -> Iterator[int]:
    return (change.gap_id for change in changes if change.kind == kind)


def _gap(scan_run: ScanRun, cell: Cell) -> CapabilityGap:
    return CapabilityGap(
        repository_id=scan_run.repository_id,
        operator=cell.case.operator,
        dtype=cell.case.dtype,
        device=cell.case.device,
        direction=cell.case.direction.value,
        family=operator_family(cell.case.operator).value,
        state=cell.state.value,
        path=cell_path(cell),
        first_seen_scan=scan_run,
        last_seen_scan=scan_run,
    )


def _key(cell: Cell) -> _Key:
    case = cell.case
    return case.operator, case.dtype, case.device, case.direction.value
