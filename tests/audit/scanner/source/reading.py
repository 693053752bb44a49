"""What tests ask of a source."""

from __future__ import annotations

from audit.scanner.source.base import Content, ReadFailure, Source


def read_all(source: Source) -> dict[str, Content | ReadFailure]:
    """Read every file that the source does not skip."""
    wanted = [file for file in source.entries() if not file.skip_reason]
    return {file.path: answer for file, answer in source.read(wanted)}


def texts(source: Source) -> dict[str, bytes]:
    """Return the bytes of every file that can be read."""
    return {path: answer.data for path, answer in read_all(source).items() if isinstance(answer, Content)}


def failures(source: Source) -> dict[str, str]:
    """Return why each unreadable file can't be read."""
    return {
        path: answer.reason for path, answer in read_all(source).items() if isinstance(answer, ReadFailure)
    }


def skipped(source: Source) -> dict[str, str]:
    """Return why each skipped file is skipped."""
    return {file.path: file.skip_reason for file in source.entries() if file.skip_reason}
