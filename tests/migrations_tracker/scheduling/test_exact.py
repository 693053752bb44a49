"""The exact solver leaves Ctrl-C to Python."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# In a process of its own: where the solver keeps the signal, it ends it.
SOLVE = """
import os, signal, sys, threading
from migrations_tracker.scheduling.problem import ALWAYS, Person, SolveOptions, UnitDemand
from migrations_tracker.scheduling.solving import solve
from tests.migrations_tracker.scheduling.problems import problem

signal.signal(signal.SIGINT, signal.default_int_handler)
people = tuple(Person(f"p{n}", frozenset(), ALWAYS) for n in range(4))
"""
INTERRUPTED_AFTER = """
solve(problem(UnitDemand("A", 8), UnitDemand("B", 4)), SolveOptions(evaluations=10, deterministic_time=1.0))
assert "ortools" in sys.modules
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""
# Many units of uneven length: no bound is proved within minutes.
INTERRUPTED_MEANWHILE = """
units = [UnitDemand(f"U{n}", 7 + n * 37 % 23, weight=n * 7 % 5, verification=n * 5 % 7) for n in range(40)]
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    options = SolveOptions(evaluations=1, deterministic_time=9999, wall_seconds=90)
    solve(problem(*units, people=people), options)
except KeyboardInterrupt:
    print("interrupted")
"""


def run(script: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", SOLVE + script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_an_interrupt_after_a_schedule_was_solved_is_python_s() -> None:
    assert run(INTERRUPTED_AFTER) == (0, "interrupted\n", "")


def test_an_interrupt_while_a_schedule_is_solved_ends_that() -> None:
    begun = time.monotonic()
    assert run(INTERRUPTED_MEANWHILE) == (0, "interrupted\n", "")
    assert time.monotonic() - begun < 60
