"""Match a workspace's operations to PyTorch and count: `python benchmarks/parity_match.py REPO --rev REV`.

`--list` prints every operation with its match as tab-separated values; `--sample N --seed S` prints N
matches drawn with that seed, to be judged by reading. Scalar functions are not drawn: they are few, and each
is judged.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from audit.parity import catalogue
from audit.parity.declarations import declarations
from audit.parity.matching import Match, Verdict, matches
from audit.parity.operations import GPU_KINDS, OperationKind, operations
from audit.parity.workspace import read_workspace
from audit.scanner.source.opening import open_source


def row(match: Match) -> str:
    """Return a match as tab-separated values."""
    operation = match.operation
    return "\t".join(
        (
            operation.kind,
            operation.symbol,
            f"{operation.path}:{operation.line}",
            match.verdict,
            match.counterpart,
            match.direction if match.counterpart else "",
            match.dtype,
            f"{match.confidence:.2f}" if match.confidence else "",
            match.rule or match.note,
        )
    )


def summary(found: Iterable[Match]) -> str:
    """Return the counts by kind, and the coverage of the public GPU operations."""
    rows = list(found)
    lines = ["kind\toperations\tmatched\tno counterpart\tinfrastructure\tunmatched"]
    for kind in OperationKind:
        verdicts = Counter(match.verdict for match in rows if match.operation.kind is kind)
        lines.append("\t".join((kind, str(verdicts.total()), *(str(verdicts[v]) for v in Verdict))))
    gpu = Counter(match.verdict for match in rows if match.operation.kind in GPU_KINDS)
    computing = gpu.total() - gpu[Verdict.INFRASTRUCTURE]
    share = gpu[Verdict.MATCHED] / computing if computing else 0.0
    lines.append(f"public GPU operations: {gpu[Verdict.MATCHED]} of {computing} matched ({share:.3f})")
    return "\n".join(lines)


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--rev", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    workspace = read_workspace(open_source(options.repository, options.rev))
    found = matches(operations(declarations(workspace)), catalogue.newest())
    if options.sample:
        matched = [
            match
            for match in found
            if match.verdict is Verdict.MATCHED and match.operation.kind is not OperationKind.SCALAR_FUNCTION
        ]
        drawn = random.Random(options.seed).sample(matched, options.sample)
        print("\n".join(row(match) for match in drawn))
    elif options.list:
        print("\n".join(row(match) for match in found))
    else:
        print(summary(found))


if __name__ == "__main__":
    main()
