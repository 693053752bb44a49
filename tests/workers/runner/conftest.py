"""Folders that another user may enter, and commands in Python."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may pass through; pytest's own are closed."""
    with tempfile.TemporaryDirectory(prefix="ferroaudit-test-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)
        yield folder
