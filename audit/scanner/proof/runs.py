"""What GPU runs showed, from the file that `GET /api/verifications/SLUG` gives."""

from __future__ import annotations

import json
from pathlib import Path

from audit.scanner.errors import ScanError
from audit.scanner.proof.mechanical import TestWord


def read_runs(file: Path) -> dict[tuple[str, str, str], TestWord]:
    """Read the last word of each test: a list, each with crate, binary, test and its verdict."""
    try:
        return {
            (one["crate"], one["binary"], one["test"]): TestWord(
                verdict=one["verdict"],
                is_proof=one["is_proof"],
                passes_without_gpu=one["passes_without_gpu"],
                commit=one.get("commit", ""),
            )
            for one in json.loads(file.read_bytes())
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ScanError(
            f"`{file}` is no list of what runs showed: {type(error).__name__}: {error}"
        ) from error
