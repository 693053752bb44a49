"""A line of commits: what each gives does not depend on how the line is cut into jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from audit.scanner import line
from audit.scanner.line import CommitJob, LineJob, ScannedCommit, line_scan
from audit.scanner.line_processes import lines_scan
from tests.audit.scanner.git_fixture import commit_all, make_repository, write_tree

MANIFEST = '[package]\nname = "minitorch-gpu"\n'
SILENT = """pub fn gpu_NAME(x: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    match get_or_compile(d.context(), NAME_PTX, "NAME") {
        Ok(f) => launch(&f, x, d),
        Err(_) => cpu_to_gpu(&gpu_to_cpu(x, d)?, d),
    }
}
"""


@pytest.fixture
def commits(tmp_path: Path) -> tuple[CommitJob, ...]:
    """Give eight commits: a site more in each, and one fewer in the last."""
    tree = make_repository(tmp_path / "tree", {"minitorch-gpu/Cargo.toml": MANIFEST})
    functions = [SILENT.replace("NAME", name) for name in ("relu", "gelu", "silu", "tanh", "exp", "abs")]
    texts = ["", *("".join(functions[: number + 1]) for number in range(6)), "".join(functions[1:])]
    found: list[CommitJob] = []
    for text in texts:
        write_tree(tree, {"minitorch-gpu/src/lib.rs": f"pub fn version() {{}}\n{text}"})
        commit_id = commit_all(tree)
        found.append(CommitJob(commit_id, found[-1].commit_id if found else "", is_same_tree=False))
    return tuple(found)


def jobs(tmp_path: Path, commits: Sequence[CommitJob], size: int) -> list[LineJob]:
    return [
        LineJob(tmp_path / "tree", "ferrotorch", tmp_path / "cache", commits[start : start + size])
        for start in range(0, len(commits), size)
    ]


def timeless(found: Sequence[ScannedCommit]) -> list[ScannedCommit]:
    assert all(one.report is not None for one in found)
    return [
        replace(one, report=replace(one.report, duration_seconds=0.0))
        for one in found
        if one.report is not None
    ]


@pytest.mark.parametrize("kept", [1, 24])
@pytest.mark.parametrize("size", [1, 3])
def test_every_commit_gives_what_it_gives_alone(
    tmp_path: Path, commits: tuple[CommitJob, ...], monkeypatch: pytest.MonkeyPatch, size: int, kept: int
) -> None:
    monkeypatch.setattr(line, "_KEPT_REPORTS", kept)
    alone = [found for one in commits for found in line_scan(jobs(tmp_path, [one], 1))]
    cut = jobs(tmp_path, commits, size)
    # What another process is given is missing between the jobs of one.
    skipping = {one.commit_id: one for one in line_scan(cut[::2])} | {
        one.commit_id: one for one in line_scan(cut[1::2])
    }
    assert timeless([skipping[one.commit_id] for one in commits]) == timeless(alone)
    assert timeless(list(lines_scan(cut, 2))) == timeless(alone)
    reports = [one.report for one in alone if one.report is not None]
    assert [len({result.symbol for result in one.results}) for one in reports][1:7] == [1, 2, 3, 4, 5, 6]
    gone = [{outcome.outcome.value for outcome in one.outcomes.values()} for one in reports]
    assert gone == [set(), set(), set(), set(), set(), set(), set(), {"removed"}]
