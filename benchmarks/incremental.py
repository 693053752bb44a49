"""Scan consecutive commits, each from what the last scan left and each alone, and compare the reports.

    python -m benchmarks.incremental REPO [--rev REV] [--commits 50] [--cache DIR]

REPO is a git repository; the commits are the last ones of REV along first parents, oldest first. Three scans
run side by side in this process: one carries its linked workspace from commit to commit, one has only what
the last scan kept of it on disk, as the command line has, and one starts anew each time. All take the facts
of files from the same folder, so that the difference is that of linking and judging. Every report must be the
same, to the byte, and each call must resolve to the same functions; the first that does not ends the run with
status 1.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from audit.rules import RULES
from audit.rules.base import Rule
from audit.scanner.cache import DirectoryCache
from audit.scanner.carried import Carried
from audit.scanner.judge import Judgement
from audit.scanner.output.json_report import json_document
from audit.scanner.output.json_text import json_text
from audit.scanner.pipeline import scan
from audit.scanner.profile_choice import profile_for
from audit.scanner.remembered import KeptWorkspaces
from audit.scanner.report import ScanReport
from audit.scanner.source.opening import open_source


@dataclass(frozen=True)
class Step:
    """One commit: what the scans took, in seconds of processor time, and how many results it has."""

    commit: str
    changed_files: int
    alone_s: float
    carried_s: float
    kept_s: float
    result_count: int


@dataclass(frozen=True)
class _Scanned:
    """What came of a scan: the report, a digest of what calls resolve to, and its processor time."""

    report: ScanReport
    answers: bytes
    cpu_s: float


def commits_of(repository: Path, revision: str, count: int) -> list[str]:
    """Return the last commits along first parents, oldest first."""
    command = ["rev-list", "--first-parent", f"--max-count={count + 1}", "--reverse", revision]
    return _git(repository, *command).split()


def steps(repository: Path, commits: Sequence[str], cache: Path) -> Iterator[Step]:
    """Scan the commits in all ways; the first one only to have something to carry along."""
    carried, workspaces = Carried(), KeptWorkspaces(cache / "workspaces")
    rules = [rule for rule in RULES if not rule.needs_assembler]
    for number, commit in enumerate(commits):
        with_it = _scan(repository, commit, rules, cache, carried)
        from_disk = _scan(repository, commit, rules, cache, None, workspaces)
        if not number:
            continue
        alone = _scan(repository, commit, rules, cache, None)
        for one, whence in ((with_it, "carried"), (from_disk, "kept on disk")):
            if _text(alone.report) != _text(one.report):
                sys.exit(f"incremental: {commit} gives another report from what was {whence} than alone")
            if alone.answers != one.answers:
                sys.exit(f"incremental: {commit} resolves calls otherwise from what was {whence} than alone")
        changed = _git(
            repository, "diff-tree", "-r", "--name-only", commits[number - 1], commit, "--", "*.rs"
        )
        results = len(alone.report.results)
        yield Step(commit, len(changed.split()), alone.cpu_s, with_it.cpu_s, from_disk.cpu_s, results)


def _scan(
    repository: Path,
    commit: str,
    rules: Sequence[Rule],
    cache: Path,
    carried: Carried | None,
    workspaces: KeptWorkspaces | None = None,
) -> _Scanned:
    source = open_source(repository, commit)
    profile = profile_for(source, "").profile
    gc.collect()
    answers: list[bytes] = []
    aside_s = 0.0

    def observe(judgement: Judgement) -> None:
        nonlocal aside_s
        asked = time.process_time()
        answers.append(_answers(judgement))
        aside_s = time.process_time() - asked

    started = time.process_time()
    report = scan(
        source,
        profile=profile,
        rules=rules,
        cache=DirectoryCache(cache),
        carried=carried,
        workspaces=workspaces,
        observe=observe,
    )
    cpu_s = time.process_time() - started - aside_s
    return _Scanned(replace(report, duration_seconds=0.0), answers[0], cpu_s)


def _answers(judgement: Judgement) -> bytes:
    """Return a digest of what each call resolves to."""
    digest = blake2b()
    resolve = judgement.summaries.resolver.resolve
    for function in judgement.workspace.functions:
        told = [[one.index for one in resolve(function, call)] for call in function.facts.calls]
        digest.update(f"{function.unit.path} {told}\n".encode("utf-8", "surrogateescape"))
    return digest.digest()


def _text(report: ScanReport) -> str:
    return json_text(json_document(report, RULES, None))


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "-c", "safe.directory=*", "-C", str(repository), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Scan, compare and tell."""
    parser = argparse.ArgumentParser(description="Hold incremental scans against full ones.")
    parser.add_argument("repository", type=Path)
    parser.add_argument("--rev", default="HEAD")
    parser.add_argument("--commits", type=int, default=50)
    parser.add_argument("--cache", type=Path)
    arguments = parser.parse_args()
    commits = commits_of(arguments.repository, arguments.rev, arguments.commits)
    with tempfile.TemporaryDirectory() as scratch:
        found = []
        for step in steps(arguments.repository, commits, arguments.cache or Path(scratch)):
            found.append(step)
            print(
                f"{step.commit[:9]} {step.changed_files:4} files changed, {step.result_count:5} results: "
                f"alone {step.alone_s:.2f} s, carried {step.carried_s:.2f} s, "
                f"kept on disk {step.kept_s:.2f} s",
                flush=True,
            )
    alone = statistics.median(step.alone_s for step in found)
    carried = statistics.median(step.carried_s for step in found)
    kept = statistics.median(step.kept_s for step in found)
    print(
        f"{len(found)} commits, every report the same to the byte; processor time of a scan, median: "
        f"{alone:.2f} s alone, {carried:.2f} s carried, {kept:.2f} s from what was kept on disk"
    )


if __name__ == "__main__":
    main()
