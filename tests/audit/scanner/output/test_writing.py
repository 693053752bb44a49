"""Output is whole or not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.scanner.output.writing import write_file, write_stdout


def broken() -> Iterator[str]:
    """Yield a line, and fail with the next."""
    yield "{"
    raise OSError("boom")


def test_what_fails_while_it_is_made_leaves_nothing_on_standard_output(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    with pytest.raises(OSError, match="boom"):
        write_stdout(broken())
    assert capsysbinary.readouterr().out == b""
    assert write_stdout(iter(["{", "}"]))
    assert capsysbinary.readouterr().out == b"{\n}\n"


def test_what_fails_while_it_is_made_leaves_a_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "report.sarif"
    path.write_text("before")
    with pytest.raises(OSError, match="boom"):
        write_file(path, broken())
    assert path.read_text() == "before"
    write_file(path, iter(["{", "}"]))
    assert path.read_text() == "{\n}\n"
