"""Count a workspace's capabilities: `python benchmarks/parity_matrix.py REPO --rev REV`.

`--list` prints every cell as tab-separated values: operator, dtype, device, direction, state, gap or not, the
place that proves it, and PyTorch's answer.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from audit.parity import catalogue
from audit.parity.backend import Body
from audit.parity.capability import Cell, Layer
from audit.parity.matrix import Matrix
from audit.parity.workspace import read_workspace
from audit.scanner.link.resolve import Resolver
from audit.scanner.link.summaries import Summaries
from audit.scanner.profile import load_profile
from audit.scanner.source.opening import open_source


def row(cell: Cell) -> str:
    """Return a cell as tab-separated values."""
    case, proof = cell.case, cell.proof
    place = f"{proof.place.path}:{proof.place.line}" if proof else ""
    gap = "gap" if cell.is_gap else ""
    return "\t".join(
        (case.operator, case.dtype, case.device, case.direction, cell.state, gap, place, cell.support.proof)
    )


def backend_summary(matrix: Matrix) -> str:
    """Return how many backend methods have a default, of what kind, and which CUDA leaves in force."""
    methods = matrix.methods.values()
    defaults = [method for method in methods if method.has_default]
    texts = [method for method in defaults if method.default is Body.TEXT_ERROR]
    left = sorted(method.name for method in texts if "cuda" not in method.overrides)
    others = sorted(m.name for m in defaults if m not in texts and "cuda" not in m.overrides)
    return (
        f"{len(matrix.methods)} backend methods, {len(defaults)} with a default, {len(texts)} of these text; "
        f"in force on CUDA: {', '.join(left)}; other defaults in force: {', '.join(others)}"
    )


def summary(cells: Iterable[Cell]) -> str:
    """Return the cells and gaps by device and state, and the kernels that nothing calls."""
    rows = list(cells)
    counts = Counter((cell.case.device, cell.state) for cell in rows)
    gaps = Counter((cell.case.device, cell.state) for cell in rows if cell.is_gap)
    lines = [
        f"{device}\t{state}\t{counts[device, state]}\t{gaps[device, state]}"
        for device, state in sorted(counts)
    ]
    uncalled = sorted(
        {
            implementation.place.symbol
            for cell in rows
            for implementation in cell.implementations
            if implementation.layer is Layer.KERNEL and not implementation.is_called
        }
    )
    return "\n".join(
        ["device\tstate\tcells\tgaps", *lines, f"kernels that nothing calls: {', '.join(uncalled)}"]
    )


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--rev", default="")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    workspace = read_workspace(open_source(options.repository, options.rev))
    matrix = Matrix(Summaries(workspace, Resolver(workspace), load_profile()), catalogue.newest())
    cells = matrix.cells()
    print("\n".join(map(row, cells)) if options.list else f"{backend_summary(matrix)}\n{summary(cells)}")


if __name__ == "__main__":
    main()
