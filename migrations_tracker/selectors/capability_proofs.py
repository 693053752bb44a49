"""What serves operators, layer by layer, and the tests that run it on a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from audit.models import Capability

LAYERS = ("operation", "backend", "kernel", "device-code", "scalar-function")


@dataclass(frozen=True, slots=True)
class LayerRow:
    """A function of one layer, and the cases it serves."""

    symbol: str
    path: str
    line: int
    effects: Sequence[str]
    is_called: bool
    broken_ptx: str
    test: dict[str, object] | None
    cases: Sequence[Capability]


@dataclass(frozen=True, slots=True)
class Tested:
    """A test that runs code on a device, and the functions it was found for."""

    symbol: str
    path: str
    line: int
    functions: Sequence[str]


def layers_of(cells: Sequence[Capability]) -> list[tuple[str, list[LayerRow]]]:
    """Group what serves an operator's cells by layer, from the caller down; the CPU's own is left out."""
    rows: dict[tuple[int, str, int, str], dict[str, object]] = {}
    cases: dict[tuple[int, str, int, str], list[Capability]] = {}
    for cell in cells:
        for row in cell.implementations:
            if cell.device == "cpu":
                continue
            key = (LAYERS.index(row["layer"]), row["path"], row["line"], row["symbol"])
            rows.setdefault(key, row)
            served = cases.setdefault(key, [])
            # A function that is called from several places serves a case once.
            if cell not in served:
                served.append(cell)
    grouped: dict[str, list[LayerRow]] = {}
    for key in sorted(rows):
        row = rows[key]
        grouped.setdefault(LAYERS[key[0]], []).append(
            LayerRow(
                symbol=key[3],
                path=key[1],
                line=key[2],
                effects=row["effects"],  # type: ignore[arg-type]
                is_called=bool(row["is_called"]),
                broken_ptx=str(row["broken_ptx"]),
                test=row.get("test"),  # type: ignore[arg-type]
                cases=cases[key],
            )
        )
    return list(grouped.items())


def tests_of(layers: Sequence[tuple[str, Sequence[LayerRow]]]) -> list[Tested]:
    """List the tests that run the functions of some layers on a device."""
    found: dict[tuple[str, str, int], set[str]] = {}
    for _, rows in layers:
        for row in rows:
            if row.test is not None:
                key = (str(row.test["symbol"]), str(row.test["path"]), int(str(row.test["line"])))
                found.setdefault(key, set()).add(row.symbol)
    return [Tested(*key, functions=sorted(found[key])) for key in sorted(found)]
