"""Assemble the PTX of a tree with nothing kept, one at a time: `python -m benchmarks.assemblies FOLDER`.

Prints how many assemblies there were, wall and CPU milliseconds of one, and the assembler's version.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from audit.rules import RULES
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.ptx.assembler import Assembler, Assembly, find_ptxas
from audit.scanner.source.opening import open_source


class Watched(Assembler):
    """An assembler that notes what each assembly took."""

    def __init__(self, program: Path) -> None:
        super().__init__(program)
        self.taken: list[tuple[float, float]] = []

    def assemble(self, text: str, target: str) -> Assembly:
        """Assemble a text, and note the time."""
        wall, cpu = time.perf_counter(), _children()
        answer = super().assemble(text, target)
        self.taken.append((time.perf_counter() - wall, _children() - cpu))
        return answer


def _children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def main() -> None:
    """Run the rule and print what its assemblies took."""
    program = find_ptxas()
    if program is None:
        print("ptxas is not installed (extra `ptx`) and not on PATH: left out.")
        return
    assembler = Watched(program)
    scan(
        open_source(Path(sys.argv[1])),
        profile=load_profile("ferrotorch"),
        rules=[rule for rule in RULES if rule.needs_assembler],
        assembler=assembler,
    )
    count = len(assembler.taken)
    wall, cpu = (sum(column) * 1000 / max(count, 1) for column in zip(*assembler.taken, strict=True))
    print(f"{count} {wall:.2f} {cpu:.2f} {assembler.version}")


if __name__ == "__main__":
    main()
