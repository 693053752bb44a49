"""A compiled tracer, and a stand-in for CUPTI that plays made-up driver calls."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from workers.protocol.evidence import ProcessTrace
from workers.runner.tracer.build import LIBRARY_NAME, compile_tracer
from workers.runner.tracer.trace import read_traces

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Stage:
    """Plays scenarios."""

    folder: Path

    def play(
        self, scenario: str, traces: Path, variables: Mapping[str, str] | None = None
    ) -> tuple[int, tuple[ProcessTrace, ...]]:
        """Run one scenario and read what the tracer left."""
        traces.mkdir()
        environment = os.environ | {
            "FERROAUDIT_TRACE_DIR": str(traces),
            "FERROAUDIT_CUPTI": str(self.folder / "fake_cupti.so"),
            **(variables or {}),
        }
        command = [
            str(self.folder / "scenario"),
            str(self.folder / LIBRARY_NAME),
            str(self.folder / "fake_cupti.so"),
            scenario,
        ]
        done = subprocess.run(command, env=environment, timeout=60, check=False)
        return done.returncode, read_traces(traces)


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Compile tracer, stand-in and scenario program once."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler on the PATH (`which cc` found none)")
    folder = tmp_path_factory.mktemp("tracer")
    compile_tracer(folder, compiler)
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]
    fake = [str(HERE / "fake_cupti.c"), "-o", str(folder / "fake_cupti.so")]
    subprocess.run([compiler, *flags, "-fPIC", "-shared", *fake], check=True)
    scenario = [str(HERE / "scenario.c"), "-o", str(folder / "scenario")]
    subprocess.run([compiler, *flags, *scenario, "-ldl"], check=True)
    return Stage(folder)
