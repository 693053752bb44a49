"""Assemble the PTX of a tree with nothing kept: `python -m benchmarks.assemblies FOLDER`.

As many assemblies run side by side as there are cores, as in a scan. Prints how many there were, elapsed and
CPU milliseconds of one (all of them together, divided by their number), and the assembler's version.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from audit.rules import RULES
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.ptx.assembler import Assembler, find_ptxas
from audit.scanner.ptx.assembly import Assembly
from audit.scanner.source.opening import open_source


class Watched(Assembler):
    """An assembler that notes what its assemblies took."""

    def __init__(self, program: Path) -> None:
        super().__init__(program, jobs=os.cpu_count() or 1)
        self.count = 0
        self.wall_s = self.cpu_s = 0.0

    def assemble_all(
        self, texts: Iterable[str], targets: Sequence[str]
    ) -> Mapping[tuple[str, str], Assembly]:
        """Assemble the texts, and note the time."""
        wall, cpu = time.perf_counter(), _children()
        answers = super().assemble_all(texts, targets)
        self.wall_s += time.perf_counter() - wall
        self.cpu_s += _children() - cpu
        self.count += len(answers)
        return answers


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
    count = assembler.count
    if not count:
        print("The tree holds no PTX.")
        return
    wall_ms, cpu_ms = assembler.wall_s * 1000 / count, assembler.cpu_s * 1000 / count
    print(f"{count} {wall_ms:.2f} {cpu_ms:.2f} {assembler.version}")


if __name__ == "__main__":
    main()
