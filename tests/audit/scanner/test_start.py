"""What the command line loads before it knows that something is needed."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

from audit.scanner.extract import grammar_version

ROOT = Path(__file__).parents[3]
LATE = (
    "tempfile",
    "shutil",
    "importlib.resources",
    "importlib.metadata",
    "tree_sitter",
    "textwrap",
    "difflib",
    "audit.scanner.baseline",
    "audit.scanner.matching",
    "audit.scanner.outcome.deciding",
    "audit.scanner.ptx.assembler",
    "audit.scanner.source.git",
    "audit.scanner.watch",
)


def test_what_few_scans_need_is_not_loaded_at_the_start() -> None:
    code = f"import sys, audit.scanner.cli; print([name for name in {LATE} if name in sys.modules])"
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_of_the_grammar_is_the_one_that_is_installed() -> None:
    assert grammar_version() == metadata.version("tree-sitter-rust")
