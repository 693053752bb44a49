"""Real git repositories for tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_WHO = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "2026-03-01T12:00:00+00:00",
    "GIT_COMMITTER_DATE": "2026-03-01T12:00:00+00:00",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}

LIB = "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n"
MANIFEST = '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n'


def git(folder: Path, *arguments: str) -> str:
    """Run git in the folder and return what it says."""
    done = subprocess.run(
        ("git", "-c", "safe.directory=*", "-c", "protocol.file.allow=always", *arguments),
        cwd=folder,
        env={**os.environ, **_WHO},
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.strip()


def write_tree(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write the files below the folder."""
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)


def commit_all(folder: Path, message: str = "Change.") -> str:
    """Commit everything in the work tree and return the commit's id."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def make_repository(folder: Path, files: Mapping[str, str | bytes] | None = None) -> Path:
    """Make a repository with one commit on `main`."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    write_tree(folder, files if files is not None else {"Cargo.toml": MANIFEST, "src/lib.rs": LIB})
    commit_all(folder, "Begin.")
    return folder


def object_file(repository: Path, object_id: str) -> Path:
    """Return where a loose object lies."""
    return repository / ".git" / "objects" / object_id[:2] / object_id[2:]
