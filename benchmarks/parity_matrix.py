"""Count a workspace's capabilities: `python benchmarks/parity_matrix.py REPO --rev REV`.

`--list` prints every cell as tab-separated values: operator, dtype, device, direction, state, gap or not, the
place that proves it, and PyTorch's answer. `--backend` prints every method of the backend trait.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from audit.parity import catalogue
from audit.parity.backend import BackendMethod, Body, place_of
from audit.parity.capability import Cell, Layer, Place, State
from audit.parity.matrix import Matrix
from audit.parity.workspace import read_workspace
from audit.scanner.link.resolve import Resolver
from audit.scanner.link.summaries import Summaries
from audit.scanner.profile import load_profile
from audit.scanner.source.opening import open_source


def row(cell: Cell) -> str:
    """Return a cell as tab-separated values."""
    case, proof = cell.case, cell.proof
    place = place_text(proof.place) if proof else ""
    gap = "gap" if cell.is_gap else ""
    return "\t".join(
        (case.operator, case.dtype, case.device, case.direction, cell.state, gap, place, cell.support.proof)
    )


def backend_row(method: BackendMethod) -> str:
    """Return a backend method as tab-separated values: name, default, its place, and what overrides it."""
    declared = place_of(method.declared)
    overrides = (f"{device} {place_text(place_of(fn))}" for device, fn in sorted(method.overrides.items()))
    return "\t".join((method.name, method.default, place_text(declared), ", ".join(overrides)))


def place_text(place: Place) -> str:
    """Return a place as `path:line`."""
    return f"{place.path}:{place.line}"


def backend_summary(matrix: Matrix) -> str:
    """Return how many backend methods have a default, of what kind, and those that CUDA leaves in force."""
    methods = matrix.methods.values()
    defaults = [method for method in methods if method.has_default]
    texts = [method for method in defaults if method.default is Body.TEXT_ERROR]
    left = sorted((m for m in defaults if "cuda" not in m.overrides), key=lambda m: (m not in texts, m.name))
    return "\n".join(
        (
            f"{len(matrix.methods)} backend methods, {len(defaults)} with a default, {len(texts)} text",
            f"defaults in force on CUDA: {len(left)}, {sum(m.default is Body.TEXT_ERROR for m in left)} text",
            *map(backend_row, left),
        )
    )


def summary(matrix: Matrix, cells: Iterable[Cell]) -> str:
    """Return the cells and gaps by device and state, and the rows whose cause is not a site's."""
    rows = list(cells)
    counts = Counter((cell.case.device, cell.state) for cell in rows)
    gaps = Counter((cell.case.device, cell.state) for cell in rows if cell.is_gap)
    lines = [
        f"{device}\t{state}\t{counts[device, state]}\t{gaps[device, state]}"
        for device, state in sorted(counts)
    ]
    texts = [row(cell) for cell in rows if cell.state is State.TEXT_ERROR]
    scalars = sorted(set(scalar_rows(rows)))
    uncalled = [f"{place.symbol}\t{place_text(place)}" for place in matrix.uncalled_kernels()]
    return "\n".join(
        (
            "device\tstate\tcells\tgaps",
            *lines,
            f"cases that a text refuses: {len(texts)}",
            *texts,
            f"operators computed by scalar functions on the host: {len(scalars)} functions",
            *scalars,
            f"kernels that no product code calls: {len(uncalled)}",
            *uncalled,
        )
    )


def scalar_rows(cells: Iterable[Cell]) -> Iterator[str]:
    """Yield each scalar function: operator, symbol, its place, and the first line that calls it."""
    for cell in cells:
        for one in cell.implementations:
            if one.layer is Layer.SCALAR:
                via = place_text(one.via) if one.via else ""
                yield "\t".join((cell.case.operator, one.place.symbol, place_text(one.place), via))


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--rev", default="")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--list", action="store_true")
    shown.add_argument("--backend", action="store_true")
    options = parser.parse_args()
    workspace = read_workspace(open_source(options.repository, options.rev))
    matrix = Matrix(Summaries(workspace, Resolver(workspace), load_profile()), catalogue.newest())
    if options.backend:
        print("\n".join(map(backend_row, matrix.methods.values())))
        return
    cells = matrix.cells()
    print(
        "\n".join(map(row, cells)) if options.list else f"{backend_summary(matrix)}\n{summary(matrix, cells)}"
    )


if __name__ == "__main__":
    main()
