"""The hook for pre-commit, installed and run as a project would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.audit.scanner.git_fixture import MANIFEST, git, write_tree

ROOT = Path(__file__).parents[3]
_NO_INDEX = re.compile(
    r"No matching distribution found|Failed to establish a new connection|Temporary failure"
)


def test_what_the_hook_installs_is_the_pure_core_alone() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[^\w-]", requirement, maxsplit=1)[0] for requirement in project["dependencies"]}
    assert names == {"tree-sitter", "tree-sitter-rust"}


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="pre-commit installs a hook from a git repository")
def test_the_hook_installs_runs_and_fails_on_results(tmp_path: Path) -> None:
    project = tmp_path / "project"
    write_tree(
        project, {"Cargo.toml": MANIFEST, "src/lib.rs": 'pub fn gpu_add() {\n    todo!("no kernel")\n}\n'}
    )
    git(project, "init", "--quiet")
    git(project, "add", "--all")
    done = subprocess.run(
        (sys.executable, "-m", "pre_commit", "try-repo", str(ROOT), "ferroaudit", "--all-files"),
        cwd=project,
        env={
            **os.environ,
            "PRE_COMMIT_HOME": str(tmp_path / "home"),
            "FERROAUDIT_CACHE_DIR": str(tmp_path / "cache"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    said = done.stdout + done.stderr
    if _NO_INDEX.search(said):
        pytest.skip("no package index can be reached to install the hook from")
    assert "1 Rust file (3 lines) in 1 crate" in said
    assert "hook id: ferroaudit" in said
