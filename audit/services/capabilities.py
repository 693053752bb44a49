"""What the code of a commit can do on each device: derived while it is scanned, stored with its results."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from audit.models import Capability, CapabilityReading, ScanRun
from audit.parity.backend import BackendRow, backend_rows
from audit.parity.capability import Cell, Implementation, Place
from audit.parity.catalogue import newest
from audit.parity.families import Family, family_of
from audit.parity.matching import Match, Ruling
from audit.parity.matrix import Matrix
from audit.parity.operations import layout_of
from audit.scanner.link.summaries import Summaries
from audit.scanner.link.unit import Fn
from audit.scanner.ptx.kernels import Kernels
from audit.scanner.report import ScanReport
from audit.services.copying import as_json, rows_copy

NO_LAYOUT = "No crate `NAME-core` with a `NAME-gpu` beside it: this workspace's operations are not known."

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The cells of a commit and the PyTorch they were held to, or why there are none.

    `matches` are the operations with their matches by rule, whatever people ruled.
    """

    torch_version: str
    cells: tuple[Cell, ...] = ()
    matches: tuple[Match, ...] = ()
    backend: tuple[BackendRow, ...] = ()
    uncalled_kernels: tuple[Place, ...] = ()
    failure_reason: str = ""


def capabilities_derive(
    *,
    summaries: Summaries,
    kernels: Kernels,
    rulings: Iterable[Ruling] = (),
    tested: Mapping[int, Fn] | None = None,
) -> Capabilities:
    """Derive the capabilities of a linked workspace. What goes wrong is said in the answer, never raised.

    `tested` maps functions, by index, to a test that runs them on a device.
    """
    version = newest().version
    layout = layout_of(package.name for package in summaries.workspace.packages)
    if layout is None:
        return Capabilities(version, failure_reason=NO_LAYOUT)
    try:
        ruled = {(ruling.kind, ruling.symbol): ruling for ruling in rulings}
        broken = _broken_ptx(summaries, kernels)
        matrix = Matrix(summaries, newest(), layout, broken, ruled, tested)
        return Capabilities(
            version,
            matrix.cells(),
            matrix.machine_matches,
            backend_rows(matrix.methods.values()),
            matrix.uncalled_kernels(),
        )
    except Exception as error:
        # The scan's own results stand without the matrix.
        _log.exception("The capability matrix was not derived")
        reason = f"The matrix broke down: {type(error).__name__}: {error}"
        return Capabilities(version, failure_reason=reason)


def capabilities_store(*, scan_run: ScanRun, report: ScanReport, capabilities: Capabilities) -> None:
    """Store a scan's capabilities, in place of those it may have had."""
    Capability.objects.filter(scan_run=scan_run).delete()
    cells = capabilities.cells
    CapabilityReading.objects.update_or_create(
        scan_run=scan_run,
        defaults={
            "torch_version": capabilities.torch_version,
            "cell_count": len(cells),
            "gap_count": sum(cell.is_gap for cell in cells),
            "failure_reason": capabilities.failure_reason,
            "groups": _groups(report, cells),
            "backend_methods": [_method(row) for row in capabilities.backend],
            "uncalled_kernels": [_place(place) for place in capabilities.uncalled_kernels],
        },
    )
    rows_copy(table=Capability._meta.db_table, columns=_COLUMNS, rows=_rows(scan_run, report, cells))


def cell_path(cell: Cell) -> str:
    """Return the file of the code that proves a cell."""
    return cell.proof.place.path if cell.proof is not None else ""


@lru_cache(maxsize=4096)
def operator_family(operator: str) -> Family:
    """Return the family that an operator is shown in."""
    return family_of(newest(), operator)


def _broken_ptx(summaries: Summaries, kernels: Kernels) -> dict[str, str]:
    """Name the rejected constant of each function that launches one, by the function's symbol."""
    if not kernels.rejections:
        return {}
    # Of twins under opposite features only the one with a device launches: the other must not hide it.
    found: dict[str, str] = {}
    for function in summaries.workspace.functions:
        one = kernels.rejected_in(function) if function.has_body and function.is_product_code else None
        if one is not None:
            found[function.symbol] = one.text.name or "derived PTX"
    return found


_COLUMNS = (
    "scan_run_id",
    "operator",
    "dtype",
    "device",
    "direction",
    "family",
    "crate",
    "state",
    "path",
    "line",
    "symbol",
    "note",
    "implementations",
    "symbols",
    "pytorch_state",
    "pytorch_proof",
    "is_gap",
)


def _rows(scan_run: ScanRun, report: ScanReport, cells: Sequence[Cell]) -> Iterator[tuple[object, ...]]:
    crates = {crate.path: crate.name for crate in report.crates}
    for cell in cells:
        case, proof = cell.case, cell.proof
        path = cell_path(cell)
        yield (
            scan_run.pk,
            case.operator,
            case.dtype,
            case.device,
            case.direction.value,
            operator_family(case.operator).value,
            _crate(crates, path),
            cell.state.value,
            path,
            proof.place.line if proof is not None else 0,
            proof.place.symbol if proof is not None else "",
            proof.note if proof is not None else "",
            as_json([_implementation(row) for row in cell.implementations]),
            sorted({place.symbol for row in cell.implementations for place in (row.place, row.via) if place}),
            cell.support.state.value,
            cell.support.proof,
            cell.is_gap,
        )


def _groups(report: ScanReport, cells: Sequence[Cell]) -> list[list[object]]:
    """Count cells and gaps by device, dtype, direction and crate, so that no page counts them all."""
    crates = {crate.path: crate.name for crate in report.crates}
    found: Counter[tuple[str, str, str, str]] = Counter()
    gaps: Counter[tuple[str, str, str, str]] = Counter()
    for cell in cells:
        case = cell.case
        key = (case.device, case.dtype, case.direction.value, _crate(crates, cell_path(cell)))
        found[key] += 1
        gaps[key] += cell.is_gap
    return [[*key, found[key], gaps[key]] for key in sorted(found)]


def _crate(crates: Mapping[str, str], path: str) -> str:
    """Return the crate whose folder holds a file: the innermost one."""
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        if folder in crates:
            return crates[folder]
    return ""


def _place(place: Place) -> dict[str, object]:
    return {"path": place.path, "line": place.line, "symbol": place.symbol}


def _method(row: BackendRow) -> dict[str, object]:
    return {
        "name": row.name,
        "default": row.default.value,
        "declared": _place(row.declared),
        "overrides": {device: _place(place) for device, place in row.overrides.items()},
    }


def _implementation(row: Implementation) -> dict[str, object]:
    via = row.via
    return {
        "layer": row.layer.value,
        "path": row.place.path,
        "line": row.place.line,
        "symbol": row.place.symbol,
        "effects": sorted(effect.value for effect in row.effects),
        "is_called": row.is_called,
        "broken_ptx": row.broken_ptx,
        "via": _place(via) if via is not None else None,
        "note": row.note,
        "test": _place(row.test) if row.test is not None else None,
    }
