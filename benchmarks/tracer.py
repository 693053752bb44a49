"""Measures what the tracer costs on a GPU: `python -m benchmarks.tracer --bundle FILE --launches FILE`.

Two figures, each with and without the tracer in the same minutes, runs alternating: the whole process over
the sample's tests that launch kernels, and the nanoseconds of a launch in a loop of 10,000.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from tests.workers.runner.gpuproof import sample
from workers.protocol.evidence import Ending
from workers.protocol.job import Limits
from workers.protocol.outcome import Verdict
from workers.runner.bundle import sha256_of, unpack_bundle
from workers.runner.execute import other_user, run, scratch_folder
from workers.runner.libtest import harness_command
from workers.runner.probe.toolkit import cupti_libraries, find_cupti
from workers.runner.tracer.build import Tracer, prepare_tracer

PROCESS_BAR = 1.2
LAUNCH_BAR_NS = 5000
LAUNCHES = 10_000
_LAUNCHING = (Verdict.ON_DEVICE, Verdict.COMPOSITE, Verdict.HOST_ROUND_TRIP)
_LIMITS = Limits(wall_s=120)


def once(command: list[str], work: Path, tracer: Tracer | None) -> tuple[float, str]:
    """Run a command once, with the tracer or without, and give its seconds and its output."""
    user = other_user()
    with scratch_folder(work, user) as scratch:
        environment = {"LD_LIBRARY_PATH": "/usr/local/cuda/lib64"}
        if tracer is not None:
            environment |= tracer.environment(scratch.traces, _LIMITS.trace_bytes)
        record = run(
            command,
            scratch=scratch,
            limits=_LIMITS,
            environment=environment,
            user=user,
            watch_linker=tracer is not None,
        )
        if record.ending is not Ending.EXITED or record.exit_code != 0:
            raise SystemExit(f"{command}: {record.detail} {record.stdout} {record.stderr}")
        if tracer is not None and not list(scratch.traces.iterdir()):
            raise SystemExit(f"{command}: no trace, so nothing was measured")
        return record.wall_s, record.stdout


def main() -> int:
    """Measure, print, and compare with the bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--launches", type=Path, required=True, help="the sample's binary `launches`")
    parser.add_argument("--cuda-driver", type=int, required=True, help="as the reading `nvml` gives it")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ferroaudit-bench-") as name:
        work = Path(name)
        work.chmod(0o711)
        cupti = find_cupti(options.cuda_driver, cupti_libraries())
        if cupti is None:
            raise SystemExit("no CUPTI for this driver")
        tracer = prepare_tracer(cache=work / "cache", cupti=Path(cupti))
        processes = whole_processes(options.bundle, work, tracer, options.rounds)
        binary = work / "launches"
        shutil.copy(options.launches, binary)
        launches = launch_loop(binary, work, tracer, options.rounds)
    print(json.dumps({"process": processes, "launch": launches, "cupti": cupti}, indent=1))
    return 0 if processes["ratio"] <= PROCESS_BAR and launches["added_ns"] <= LAUNCH_BAR_NS else 1


def whole_processes(bundle: Path, work: Path, tracer: Tracer, rounds: int) -> dict[str, float]:
    """Time the sample's launching tests as whole processes."""
    folder = work / "bundle"
    folder.mkdir()
    manifest = unpack_bundle(bundle, sha256=sha256_of(bundle), folder=folder)
    paths = {binary.name: folder / binary.path for binary in manifest.binaries}
    tests = [e.test for e in sample().tests if e.verdict in _LAUNCHING and e.test.binary == "proof"]
    without, with_tracer = 0.0, 0.0
    for test in tests:
        command = harness_command(str(paths[test.binary]), test.name, include_ignored=False)
        once(command, work, None)
        pairs = [(once(command, work, None)[0], once(command, work, tracer)[0]) for _ in range(rounds)]
        without += statistics.median(pair[0] for pair in pairs)
        with_tracer += statistics.median(pair[1] for pair in pairs)
    return {
        "tests": len(tests),
        "without_s": without,
        "with_s": with_tracer,
        "ratio": with_tracer / without,
        "bar": PROCESS_BAR,
    }


def launch_loop(binary: Path, work: Path, tracer: Tracer, rounds: int) -> dict[str, float]:
    """Time a launch in a loop; the program prints the nanoseconds of all of them."""
    command = [str(binary), str(LAUNCHES)]
    once(command, work, None)
    pairs = [(int(once(command, work, None)[1]), int(once(command, work, tracer)[1])) for _ in range(rounds)]
    without = statistics.median(pair[0] for pair in pairs) / LAUNCHES
    with_tracer = statistics.median(pair[1] for pair in pairs) / LAUNCHES
    return {
        "launches": LAUNCHES,
        "without_ns": without,
        "with_ns": with_tracer,
        "added_ns": with_tracer - without,
        "bar_ns": LAUNCH_BAR_NS,
    }


if __name__ == "__main__":
    sys.exit(main())
