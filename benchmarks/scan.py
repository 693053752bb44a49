"""Measure the scanner against parsing alone and against its peers, in one run.

    python -m benchmarks.scan REPO [--rev REV] [--large REPO] [--runs N] [--only PART,..] [--write FILE]

The parts are `cold`, `warm`, `peers`, `memory` and `ptxas`. REPO is a git repository; its files at REV are
written to a scratch folder, which every tool reads. `--large` is the repository that peak memory is measured
on, at its newest commit. Peers are taken from PATH, and left out with a line that says so:

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install semgrep ast-grep-cli
    make setup
    PATH=/tmp/peers/bin:$PATH make bench BENCHMARKS=scan ARGS=REPO

Each tool is a process of its own; runs of those that are compared take turns, and the medians are compared.
CPU is user and system time of the process and all its children; where other work shares the machine only CPU
tells anything, and it too grows with the load, alike for those that take turns. Bytecode is kept, as for an
installed package, and written before anything is measured. A bar in seconds is one of elapsed time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- scan: begin -->", "<!-- scan: end -->"
PARTS = ("cold", "warm", "peers", "memory", "ptxas")
COLD_BAR, JOBS_BAR, WARM_BAR_S, SEMGREP_BAR, MEMORY_BAR_MB, PTXAS_BAR_MS = 4.0, 1.4, 1.0, 5.0, 1000, 10.0
WATCH_PAUSE_S = 2.0

# Three patterns that all tools can say: `Err(_) =>` arms, `todo!`, and `.cpu()?`.
AST_GREP_RULES = """\
id: arm
language: rust
rule: {pattern: {context: "match x { Err(_) => $B }", selector: match_arm}}
---
id: todo
language: rust
rule: {pattern: "todo!($$$)"}
---
id: cpu
language: rust
rule: {pattern: "$X.cpu()?"}
"""
# Semgrep's grammar for Rust has no pattern for one arm of a match: it gets a regular expression.
SEMGREP_RULES = """\
rules:
  - {id: arm, languages: [rust], severity: INFO, message: m, pattern-regex: 'Err\\(_\\)\\s*=>'}
  - {id: todo, languages: [rust], severity: INFO, message: m, pattern: 'todo!(...)'}
  - {id: cpu, languages: [rust], severity: INFO, message: m, pattern: '$X.cpu()?'}
"""


# Where Python keeps bytecode; set when there is a folder for it.
BYTECODE: dict[str, str] = {}


class Cost(NamedTuple):
    """What a run cost. `peak_mb` is the largest resident size of any one process of it."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    output: str


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end and measure it; exit when it fails."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        variables = {**os.environ, **BYTECODE, **(environment or {})}
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        process = subprocess.Popen(command, stdout=output, stderr=errors, cwd=ROOT, env=variables)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            sys.exit(f"scan: {' '.join(command)} ended with {process.returncode}:\n{errors.read().decode()}")
        text = output.read().decode()
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text)


def in_turns(count: int, **commands: Callable[[], Cost]) -> dict[str, Cost]:
    """Run all commands in turns, and return the medians."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(count):
        for name, command in commands.items():
            costs[name].append(command())
    return {
        name: Cost(
            statistics.median(cost.wall_s for cost in found),
            statistics.median(cost.cpu_s for cost in found),
            max(cost.peak_mb for cost in found),
            found[-1].output,
        )
        for name, found in costs.items()
    }


def export(repository: Path, revision: str, folder: Path) -> str:
    """Write the files of a revision to a folder, and return the commit."""
    git = ["git", "-c", "safe.directory=*", "-C", str(repository)]
    commit = subprocess.run(
        [*git, "rev-parse", f"{revision}^{{commit}}"], check=True, capture_output=True, text=True
    ).stdout.strip()
    archive = subprocess.run([*git, "archive", commit], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return commit


def scan(folder: Path, *options: str, cache: Path | None = None) -> Cost:
    """Scan a folder from the command line."""
    command = [sys.executable, "-m", "audit.scanner", str(folder), "--fail-on", "none", "--format", "sarif"]
    command += ["--output", os.devnull, "--profile", "ferrotorch", *options]
    if cache is None:
        return run([*command, "--no-cache"])
    return run(command, {"FERROAUDIT_CACHE_DIR": str(cache)})


PARSE_ALONE = """\
import sys, time
from pathlib import Path
import tree_sitter_rust
from tree_sitter import Language, Parser
blobs = [path.read_bytes() for path in Path(sys.argv[1]).rglob("*.rs")]
parser = Parser(Language(tree_sitter_rust.language()))
wall, cpu = time.perf_counter(), time.process_time()
for blob in blobs:
    parser.parse(blob)
print(time.perf_counter() - wall, time.process_time() - cpu, len(blobs), sum(map(len, blobs)))
"""


def parse_alone(folder: Path) -> Cost:
    """Parse all files with tree-sitter and do nothing with the trees: no start, no reading is counted."""
    cost = run([sys.executable, "-c", PARSE_ALONE, str(folder)])
    wall, cpu = map(float, cost.output.split()[:2])
    return cost._replace(wall_s=wall, cpu_s=cpu)


class Report:
    """Lines of a Markdown table, each with its bar."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.notes: list[str] = []

    def add(self, what: str, figure: str, bar: str = "", *, holds: bool | None = None) -> None:
        """Add a line, and print it."""
        verdict = "" if holds is None else " (held)" if holds else " (missed)"
        self.rows.append(f"| {what} | {figure} | {bar}{verdict} |")
        print(f"{what}: {figure} {bar}{verdict}", flush=True)

    def note(self, text: str) -> None:
        """Add a remark, and print it."""
        self.notes.append(text)
        print(text, flush=True)

    def text(self) -> str:
        """Return the table and the remarks."""
        table = ["| what | figure | bar |", "| --- | --- | --- |", *self.rows]
        return "\n".join([*table, "", *self.notes])


def _shown(cost: Cost) -> str:
    return f"{cost.cpu_s:.2f} s CPU, {cost.wall_s:.2f} s wall"


def measure_cold(tree: Path, runs: int, report: Report) -> None:
    """Compare a cold scan with parsing alone, and two processes with one."""
    costs = in_turns(
        runs,
        parse=lambda: parse_alone(tree),
        one=lambda: scan(tree, "--rules", "-broken-ptx", "--jobs", "1"),
        two=lambda: scan(tree, "--rules", "-broken-ptx", "--jobs", "2"),
    )
    parse, one, two = costs["parse"], costs["one"], costs["two"]
    ratio, faster = one.cpu_s / parse.cpu_s, one.wall_s / two.wall_s
    report.add("parsing alone", _shown(parse))
    report.add("cold scan, `--jobs 1`, whole process", _shown(one))
    report.add("cold scan : parsing alone, CPU", f"{ratio:.2f}", f"<= {COLD_BAR}", holds=ratio <= COLD_BAR)
    report.add("cold scan, `--jobs 2`", _shown(two))
    report.add("`--jobs 1` : `--jobs 2`, wall", f"{faster:.2f}", f">= {JOBS_BAR}", holds=faster >= JOBS_BAR)


def measure_warm(tree: Path, runs: int, report: Report, scratch: Path) -> None:
    """Measure a scan of a tree that was scanned before, as it was and with one file changed since."""
    cache = scratch / "cache"
    options = ("--rules", "-broken-ptx")
    scan(tree, *options, cache=cache)
    by_size = sorted(tree.rglob("*.rs"), key=lambda path: path.stat().st_size)
    changed = {"the largest": by_size[-1], "of median size": by_size[len(by_size) // 2]}
    costs = {which: _one_changed(tree, path, options, cache, runs) for which, path in changed.items()}
    same = in_turns(runs, same=lambda: scan(tree, *options, cache=cache))["same"]
    report.add("warm scan, nothing changed", _shown(same))
    for which, cost in costs.items():
        report.add(
            f"warm scan, one file changed ({changed[which].stat().st_size // 1000} kB, {which})",
            _shown(cost),
            f"< {WARM_BAR_S} s elapsed",
            holds=cost.wall_s < WARM_BAR_S,
        )
    for which, (elapsed_s, cpu_s) in _while_watched(tree, changed, options, cache, runs).items():
        report.add(
            f"`--watch`, one file changed ({changed[which].stat().st_size // 1000} kB, {which})",
            f"{cpu_s:.2f} s CPU, {elapsed_s:.2f} s from the change to the report",
            f"< {WARM_BAR_S} s elapsed",
            holds=elapsed_s < WARM_BAR_S,
        )


def _while_watched(
    tree: Path, changed: Mapping[str, Path], options: Sequence[str], cache: Path, runs: int
) -> dict[str, tuple[float, float]]:
    """Return the medians of the time from a change to its report, and of the processor time, by file."""
    command = [
        sys.executable,
        "-m",
        "audit.scanner",
        str(tree),
        "--watch",
        "--profile",
        "ferrotorch",
        *options,
    ]
    variables = {**os.environ, **BYTECODE, "FERROAUDIT_CACHE_DIR": str(cache)}
    found = {}
    with subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True) as watching:
        _told(watching, "Ctrl-C ends it.")
        for which, path in changed.items():
            original = path.read_bytes()
            try:
                # What was changed last may be another file: with it two would have changed.
                costs = [_noticed(watching, path, original) for _ in range(runs + 1)][1:]
            finally:
                path.write_bytes(original)
            _told(watching, " unchanged, ")
            found[which] = (
                statistics.median(wall for wall, _ in costs),
                statistics.median(cpu for _, cpu in costs),
            )
        watching.kill()
    return found


def _noticed(watching: subprocess.Popen[str], path: Path, original: bytes) -> tuple[float, float]:
    """Add a function to a file that is watched, and return what passes until the change is told."""
    # Nobody saves without end: between two changes the process puts in order what it has.
    time.sleep(WATCH_PAUSE_S)
    started, before = time.perf_counter(), _cpu_s(watching.pid)
    path.write_bytes(original + f"\nfn changed_{time.monotonic_ns()}() {{ todo!() }}\n".encode())
    _told(watching, " unchanged, ")
    return time.perf_counter() - started, _cpu_s(watching.pid) - before


def _told(watching: subprocess.Popen[str], words: str) -> None:
    """Wait for a line with these words."""
    if watching.stdout is None or not any(words in line for line in watching.stdout):
        sys.exit(f"scan: the watching process ended with {watching.wait()}")


def _cpu_s(process_id: int) -> float:
    """Return the processor time of a process and of those that it has waited for."""
    fields = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _one_changed(tree: Path, path: Path, options: Sequence[str], cache: Path, runs: int) -> Cost:
    """Measure scans before each of which another function has come to a file."""
    original = path.read_bytes()

    def after_change() -> Cost:
        path.write_bytes(original + f"\nfn changed_{time.monotonic_ns()}() {{ todo!() }}\n".encode())
        return scan(tree, *options, cache=cache)

    try:
        # What was scanned last may be a change of another file: with it two files would have changed.
        after_change()
        return in_turns(runs, changed=after_change)["changed"]
    finally:
        path.write_bytes(original)


def measure_peers(tree: Path, runs: int, report: Report, scratch: Path) -> None:
    """Compare three equal patterns: ast-grep, semgrep, and ours over the facts of a cold extraction."""
    (scratch / "ast-grep.yml").write_text(AST_GREP_RULES, encoding="utf-8")
    (scratch / "semgrep.yml").write_text(SEMGREP_RULES, encoding="utf-8")
    commands: dict[str, Callable[[], Cost]] = {
        "ours": lambda: run([sys.executable, "-m", "benchmarks.three_patterns", str(tree)])
    }
    if shutil.which("ast-grep"):
        rules = str(scratch / "ast-grep.yml")
        commands["ast-grep"] = lambda: run(
            ["ast-grep", "scan", "--rule", rules, "--json=stream", "--no-ignore", "hidden", str(tree)]
        )
    else:
        report.note("ast-grep is not on PATH: left out.")
    costs = in_turns(runs, **commands)
    if shutil.which("semgrep"):
        semgrep = ["semgrep", "scan", "--metrics=off", "--disable-version-check", "--no-git-ignore", "--json"]
        semgrep += ["--quiet", "--max-target-bytes", "0", "--jobs", "1"]
        semgrep += ["--config", str(scratch / "semgrep.yml"), str(tree)]
        costs |= in_turns(max(1, runs // 3), semgrep=lambda: run(semgrep))
    else:
        report.note("semgrep is not on PATH: left out.")
    for name, cost in costs.items():
        report.add(f"three equal patterns, {name}", f"{_shown(cost)}, {_hits(name, cost.output)}")
    if "semgrep" in costs:
        faster = costs["semgrep"].cpu_s / costs["ours"].cpu_s
        report.add("semgrep : ours, CPU", f"{faster:.1f}", f"> {SEMGREP_BAR}", holds=faster > SEMGREP_BAR)
    if "ast-grep" in costs:
        report.add("ast-grep : ours, CPU", f"{costs['ast-grep'].cpu_s / costs['ours'].cpu_s:.2f}")


def _hits(tool: str, output: str) -> str:
    if tool == "ast-grep":
        found = [json.loads(line)["ruleId"] for line in output.splitlines()]
    elif tool == "semgrep":
        found = [one["check_id"].rpartition(".")[2] for one in json.loads(output)["results"]]
    else:
        found = output.split()
    return ", ".join(f"{found.count(name)} {name}" for name in ("arm", "todo", "cpu"))


def measure_memory(repository: Path, report: Report, scratch: Path) -> None:
    """Measure the peak memory of a cold scan of a large tree: right from the repository, all blobs or not."""
    output = scratch / "large.json"
    options = ("--rules", "-broken-ptx", "--jobs", "1", "--format", "json", "--output", str(output))
    cost = scan(repository, "--rev", "HEAD", *options)
    found = json.loads(output.read_text(encoding="utf-8"))
    lines = sum(file["line_count"] for file in found["files"] if file["path"].endswith(".rs"))
    report.add(
        f"peak memory, {lines:,} lines ({found['source']['commit_id'][:9]})",
        f"{cost.peak_mb:.0f} MB; {_shown(cost)}",
        f"< {MEMORY_BAR_MB} MB",
        holds=cost.peak_mb < MEMORY_BAR_MB,
    )


def measure_ptxas(tree: Path, report: Report) -> None:
    """Measure the assembler by the constant and target: the rule alone, on all cores, with nothing kept."""
    cost = run([sys.executable, "-m", "benchmarks.assemblies", str(tree)])
    found = re.match(r"(\d+) (\S+) (\S+) (\S+)", cost.output)
    if found is None:
        report.note(cost.output.strip())
        return
    count, wall_ms, cpu_ms, version = int(found[1]), float(found[2]), float(found[3]), found[4]
    report.add(
        f"ptxas {version}, a constant and target ({count} of them, nothing kept, side by side)",
        f"{wall_ms:.1f} ms elapsed, {cpu_ms:.1f} ms CPU",
        f"<= {PTXAS_BAR_MS:.0f} ms elapsed",
        holds=wall_ms <= PTXAS_BAR_MS,
    )


def main() -> None:
    """Measure what is asked for and print it."""
    parser = argparse.ArgumentParser(description="Measure the scanner against parsing alone and its peers.")
    parser.add_argument("repository", type=Path)
    parser.add_argument("--rev", default="HEAD")
    parser.add_argument("--large", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--write", type=Path, help="replace the block between the `scan` markers of a file")
    arguments = parser.parse_args()
    parts = arguments.only.split(",")
    report = Report()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        BYTECODE["PYTHONPYCACHEPREFIX"] = str(scratch / "bytecode")
        tree = scratch / "tree"
        tree.mkdir()
        commit = export(arguments.repository, arguments.rev, tree)
        scan(tree, "--jobs", "2")
        if "cold" in parts:
            measure_cold(tree, arguments.runs, report)
        if "warm" in parts:
            measure_warm(tree, arguments.runs, report, scratch)
        if "peers" in parts:
            measure_peers(tree, arguments.runs, report, scratch)
        if "memory" in parts and arguments.large:
            measure_memory(arguments.large, report, scratch)
        if "ptxas" in parts:
            measure_ptxas(tree, report)
    report.note(
        f"Commit {commit[:9]}, Python {sys.version.split()[0]}, {os.cpu_count()} cores, medians of "
        f"{arguments.runs} runs; load average {load:.1f} before and {os.getloadavg()[0]:.1f} after."
    )
    if arguments.write:
        _replace_block(arguments.write, report.text())


def _replace_block(document: Path, text: str) -> None:
    old = document.read_text(encoding="utf-8")
    if BEGIN not in old or END not in old:
        sys.exit(f"scan: `{document}` has no `{BEGIN}` and `{END}`")
    pattern = re.compile(re.escape(BEGIN) + ".*" + re.escape(END), re.DOTALL)
    document.write_text(pattern.sub(lambda _: f"{BEGIN}\n{text}\n{END}", old), encoding="utf-8")


if __name__ == "__main__":
    main()
