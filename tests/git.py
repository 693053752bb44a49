"""Makes small git repositories for tests."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

_IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")


def commit_files(tree: Path, files: Mapping[str, str], message: str = "Change files") -> str:
    """Write `files` into the work tree, which is made when it is not there; return the new commit's id."""
    if not tree.exists():
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(tree)], check=True)
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git = ("git", "-C", str(tree), *_IDENTITY)
    subprocess.run([*git, "add", "--all"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", message], check=True)
    done = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return done.stdout.strip()
