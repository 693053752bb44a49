"""The capability matrix of a branch: filters, counts, and one page of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from django.db.models import Count, Q, QuerySet
from django.http import QueryDict

from audit.models import Branch, Capability, CapabilityReading
from audit.parity.capability import State
from audit.parity.catalogue import Direction
from audit.parity.families import Family

PAGE_SIZE = 30
DEVICES = ("cuda", "cpu", "mps", "xpu", "cubecl")
DTYPES = ("float32", "float64", "float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class CapabilityFilters:
    """What the matrix is narrowed to; an empty field does not narrow.

    `only_pytorch` asks for the operators that PyTorch has and no code of the scan serves.
    """

    device: str = DEVICES[0]
    gaps: bool = False
    only_pytorch: bool = False
    family: str = ""
    crate: str = ""
    state: str = ""
    text: str = ""

    @property
    def is_narrowed(self) -> bool:
        """Whether anything but the device is chosen."""
        return replace(self, device=DEVICES[0]) != CapabilityFilters()


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """An operator and its cells, one for each column; None where nothing serves the case."""

    operator: str
    family: str
    cells: Sequence[Capability | None]


@dataclass(frozen=True, slots=True)
class StateCount:
    """How many of the cells are in a state, and how many of these are gaps."""

    state: str
    count: int
    gaps: int
    percent: str


@dataclass(frozen=True, slots=True)
class MatrixPage:
    """A page of the matrix, and counts over all its pages."""

    rows: Sequence[MatrixRow]
    columns: Sequence[tuple[str, str]]
    states: Sequence[StateCount]
    devices: Sequence[tuple[str, int, int]]
    crates: Sequence[str]
    operator_total: int
    cell_total: int
    gap_total: int
    number: int
    page_count: int

    @property
    def gap_percent(self) -> str:
        """The share of the cells that are gaps."""
        return percent(self.gap_total, self.cell_total)


def device_rank(device: str) -> tuple[int, str]:
    """Return where a device stands among the others."""
    return (DEVICES.index(device) if device in DEVICES else len(DEVICES), device)


def percent(part: int, whole: int) -> str:
    """Write a share as people read it; a share that is not all never reads 100 %."""
    if not whole:
        return "0 %"
    tenths = min(1000 * part // whole, 999) if part < whole else 1000
    return f"{tenths // 10}.{tenths % 10} %"


def shares(counts: Sequence[int]) -> list[str]:
    """Write the shares of counts so that they add up to 100 %; a share that is not all never reads 100 %.

    What rounding down leaves over goes where it took most.
    """
    total = sum(counts)
    if not total:
        return ["0 %" for _ in counts]
    tenths = [1000 * count // total for count in counts]
    by_loss = sorted(range(len(counts)), key=lambda at: (-(1000 * counts[at] % total), at))
    raised = [at for at in by_loss if tenths[at] < 999]
    for at in raised[: 1000 - sum(tenths)]:
        tenths[at] += 1
    return [f"{share // 10}.{share % 10} %" for share in tenths]


def filters_read(query: QueryDict) -> CapabilityFilters:
    """Read the filters from a URL; a value that is none is left out."""
    family, state = query.get("family", ""), query.get("state", "")
    return CapabilityFilters(
        device=_clean(query.get("device", "")) or DEVICES[0],
        gaps=query.get("gaps", "") in {"1", "on"},
        only_pytorch=query.get("only", "") == "pytorch",
        family=family if family in set(Family) else "",
        crate=_clean(query.get("crate", "")),
        state=state if state in set(State) else "",
        text=_clean(query.get("q", "")),
    )


def reading_of(*, branch: Branch) -> CapabilityReading | None:
    """Return what is known of the capabilities of a branch's last scan."""
    return (
        CapabilityReading.objects.filter(scan_run_id=branch.last_scan_id)
        .defer("backend_methods", "uncalled_kernels")
        .select_related("scan_run__commit", "scan_run__repository")
        .first()
    )


def matrix_page(*, scan_run_id: int, filters: CapabilityFilters, number: int = 1) -> MatrixPage:
    """Return one page of operators with all their cells on the device, grouped by family.

    A row is shown when one of its cells fits the filters; the counts are those of the cells that fit.
    """
    fitting = _fitting(scan_run_id, filters)
    states = _state_counts(fitting)
    operators = _by_family(fitting.order_by().values_list("family", "operator").distinct())
    page_count = max(1, -(-len(operators) // PAGE_SIZE))
    number = min(max(number, 1), page_count)
    shown = operators[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    overview = Overview.of(scan_run_id)
    on_device = Capability.objects.filter(scan_run_id=scan_run_id, device=filters.device)
    cells = on_device.filter(operator__in=[operator for _, operator in shown]).defer(
        "implementations", "symbols", "pytorch_proof", "note"
    )
    columns = overview.columns(filters.device)
    return MatrixPage(
        rows=_rows(shown, cells, columns),
        columns=columns,
        states=states,
        devices=overview.devices(),
        crates=sorted({crate for _, _, _, crate, _, _ in overview.groups if crate}),
        operator_total=len(operators),
        cell_total=sum(row.count for row in states),
        gap_total=sum(row.gaps for row in states),
        number=number,
        page_count=page_count,
    )


def matrix_cells(*, scan_run_id: int, filters: CapabilityFilters) -> Iterator[Capability]:
    """Yield the cells that fit the filters, in the order of the matrix."""
    return (
        _fitting(scan_run_id, filters)
        .order_by("family", "operator", "dtype", "direction")
        .iterator(chunk_size=2000)
    )


def capabilities_find(
    *, scan_run_id: int, operator: str = "", dtype: str = "", device: str = "", direction: str = ""
) -> Iterator[Capability]:
    """Yield the cells of a scan, narrowed to what is named; `abs` finds `aten::abs`."""
    exact = {"dtype": dtype, "device": device, "direction": direction}
    cells = Capability.objects.filter(scan_run_id=scan_run_id).defer("implementations", "symbols")
    cells = cells.order_by("operator", "dtype", "device", "direction")
    cells = cells.filter(**{column: _clean(value) for column, value in exact.items() if value})
    if operator:
        name = _clean(operator)
        cells = cells.filter(operator__in=[name, f"aten::{name}", f"torch.{name}"])
    return cells.iterator(chunk_size=2000)


def _fitting(scan_run_id: int, filters: CapabilityFilters) -> QuerySet[Capability]:
    cells = Capability.objects.filter(scan_run_id=scan_run_id, device=filters.device)
    exact = {"family": filters.family, "crate": filters.crate, "state": filters.state}
    cells = cells.filter(**{column: value for column, value in exact.items() if value})
    if filters.gaps:
        cells = cells.filter(is_gap=True)
    for word in filters.text.split():
        cells = cells.filter(Q(operator__icontains=word) | Q(symbol__icontains=word))
    return cells


def _state_counts(cells: QuerySet[Capability]) -> list[StateCount]:
    rows = (
        cells.order_by()
        .values_list("state")
        .annotate(cells=Count("*"), gaps=Count("is_gap", filter=Q(is_gap=True)))
    )
    found = {state: (count, gaps) for state, count, gaps in rows}
    shown = [state.value for state in State if state.value in found]
    parts = shares([found[state][0] for state in shown])
    return [StateCount(state, *found[state], share) for state, share in zip(shown, parts, strict=True)]


def _by_family(rows: QuerySet[Capability, tuple[str, str]]) -> list[tuple[str, str]]:
    order = {family.value: number for number, family in enumerate(Family)}
    return sorted(rows, key=lambda row: (order[row[0]], row[1]))


@dataclass(frozen=True, slots=True)
class Overview:
    """A scan's cells and gaps by device, dtype, direction and crate: what can be chosen."""

    groups: Sequence[tuple[str, str, str, str, int, int]]

    @classmethod
    def of(cls, scan_run_id: int) -> Overview:
        readings = CapabilityReading.objects.filter(scan_run_id=scan_run_id)
        groups = readings.values_list("groups", flat=True).first()
        # Scans that were stored before their cells were counted are counted now.
        groups = groups or list(
            Capability.objects.filter(scan_run_id=scan_run_id)
            .order_by()
            .values_list("device", "dtype", "direction", "crate")
            .annotate(cells=Count("id"), gaps=Count("id", filter=Q(is_gap=True)))
        )
        return cls([(str(a), str(b), str(c), str(d), int(e), int(f)) for a, b, c, d, e, f in groups])

    def columns(self, device: str) -> list[tuple[str, str]]:
        """Return the dtypes and directions of a device, forward before backward."""
        directions = list(Direction)
        found = {(dtype, direction) for on, dtype, direction, *_ in self.groups if on == device}
        return sorted(found, key=lambda row: (_dtype_rank(row[0]), directions.index(Direction(row[1]))))

    def devices(self) -> list[tuple[str, int, int]]:
        """Return each device with its cells and gaps."""
        totals: dict[str, tuple[int, int]] = {}
        for device, _, _, _, cells, gaps in self.groups:
            known = totals.get(device, (0, 0))
            totals[device] = (known[0] + cells, known[1] + gaps)
        return [(device, *totals[device]) for device in sorted(totals, key=device_rank)]


def _dtype_rank(dtype: str) -> tuple[int, str]:
    return (DTYPES.index(dtype) if dtype in DTYPES else len(DTYPES), dtype)


def _rows(
    shown: Sequence[tuple[str, str]], cells: QuerySet[Capability], columns: Sequence[tuple[str, str]]
) -> list[MatrixRow]:
    found = {(cell.operator, cell.dtype, cell.direction): cell for cell in cells}
    return [
        MatrixRow(operator, family, [found.get((operator, *column)) for column in columns])
        for family, operator in shown
    ]


def families_of(rows: Sequence[MatrixRow]) -> list[tuple[str, list[MatrixRow]]]:
    """Group rows by family, as a page shows them."""
    return [(family, list(group)) for family, group in groupby(rows, key=lambda row: row.family)]


def _clean(text: str) -> str:
    return text.replace("\0", "").strip()[:200]
