"""The operators that PyTorch has and no code of a scan serves, as rows of the matrix."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from audit.models import Capability
from audit.parity.capability import State
from audit.parity.catalogue import Direction, newest
from audit.parity.counterparts import Support, support
from audit.parity.families import Family
from audit.parity.matrix import DTYPES, REFERENCE
from audit.services.capabilities import operator_family
from migrations_tracker.selectors.capability_list import (
    PAGE_SIZE,
    CapabilityFilters,
    MatrixPage,
    MatrixRow,
    Overview,
    StateCount,
    shares,
)

COLUMNS = [(dtype, direction.value) for dtype in DTYPES for direction in Direction]
# Forms of another operator: written into a given tensor, in place, copied, or its backward pass.
_FORMS = ("_out", "_", "_copy", "_backward", "_backward_data", "_jvp")


def absent_page(*, scan_run_id: int, filters: CapabilityFilters, number: int = 1) -> MatrixPage:
    """Return one page of these operators, with PyTorch's answer for each case on the device."""
    operators = _operators(scan_run_id, filters)
    page_count = max(1, -(-len(operators) // PAGE_SIZE))
    number = min(max(number, 1), page_count)
    cells = list(absent_cells(scan_run_id=scan_run_id, filters=filters))
    shown = operators[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    gaps = sum(cell.is_gap for cell in cells)
    overview = Overview.of(scan_run_id)
    state = StateCount(State.ABSENT.value, len(cells), gaps, *shares([len(cells)]))
    return MatrixPage(
        rows=[MatrixRow(name, operator_family(name).value, _cells(name, filters.device)) for name in shown],
        columns=COLUMNS,
        states=[state] if cells else [],
        devices=overview.devices(),
        crates=sorted({crate for _, _, _, crate, _, _ in overview.groups if crate}),
        operator_total=len(operators),
        cell_total=len(cells),
        gap_total=gaps,
        number=number,
        page_count=page_count,
    )


def absent_cells(*, scan_run_id: int, filters: CapabilityFilters) -> Iterator[Capability]:
    """Yield the cases of these operators on the device, in the order of the matrix."""
    return (
        cell
        for name in _operators(scan_run_id, filters)
        for cell in _cells(name, filters.device)
        if cell.is_gap or not filters.gaps
    )


def _operators(scan_run_id: int, filters: CapabilityFilters) -> list[str]:
    if filters.crate or filters.state not in ("", State.ABSENT.value):
        return []
    served = Capability.objects.filter(scan_run_id=scan_run_id).order_by()
    known = set(served.values_list("operator", flat=True).distinct())
    words = [word.lower() for word in filters.text.split()]
    found = [
        name
        for name in public_operators()
        if name not in known
        and (not filters.family or operator_family(name).value == filters.family)
        and all(word in name.lower() for word in words)
    ]
    if filters.gaps:
        found = [name for name in found if any(cell.is_gap for cell in _cells(name, filters.device))]
    order = list(Family)
    return sorted(found, key=lambda name: (order.index(operator_family(name)), name))


@lru_cache(maxsize=1)
def public_operators() -> tuple[str, ...]:
    """Return PyTorch's operators that stand for themselves: no private ones, no other form of one."""
    bases = newest().by_base
    return tuple(
        f"aten::{base}"
        for base in sorted(bases)
        if not base.startswith("_")
        and not any(base.endswith(form) and base.removesuffix(form) in bases for form in _FORMS)
    )


def _cells(operator: str, device: str) -> list[Capability]:
    family = operator_family(operator).value
    return [
        Capability(
            operator=operator,
            dtype=dtype,
            device=device,
            direction=direction,
            family=family,
            state=State.ABSENT.value,
            pytorch_state=answer.state.value,
            pytorch_proof=answer.proof,
            is_gap=answer.state.can,
        )
        for (dtype, direction), answer in zip(COLUMNS, _answers(operator, device), strict=True)
    ]


@lru_cache(maxsize=20_000)
def _answers(operator: str, device: str) -> tuple[Support, ...]:
    on = REFERENCE.get(device, device)
    return tuple(support(newest(), operator, dtype, on, Direction(direction)) for dtype, direction in COLUMNS)
