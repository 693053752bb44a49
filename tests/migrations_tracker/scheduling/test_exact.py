"""The exact solver leaves the process as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# In a process of its own: where the solver keeps the signal, it ends it.
SOLVE_AND_INTERRUPT = """
import signal, sys
from migrations_tracker.scheduling.problem import SolveOptions, UnitDemand
from migrations_tracker.scheduling.solving import solve
from tests.migrations_tracker.scheduling.problems import problem

signal.signal(signal.SIGINT, signal.default_int_handler)
solve(problem(UnitDemand("A", 8), UnitDemand("B", 4)), SolveOptions(evaluations=10, deterministic_time=1.0))
assert "ortools" in sys.modules
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_after_a_schedule_was_solved_is_still_one_of_python_s() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SOLVE_AND_INTERRUPT], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")
