"""Where the output goes: standard output, or a file that is whole or not there."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from audit.scanner.errors import ScanError
from audit.scanner.whole_file import file_replace


def check_writable(path: Path) -> None:
    """Refuse an output file that can't be written, before time is spent on the scan."""
    try:
        _check_writable(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ScanError(f"--output {path} can't be written: {reason}.") from error


def _check_writable(path: Path) -> None:
    folder = path.parent
    if path.is_dir():
        raise ScanError(f"--output {path} is a folder: name a file.")
    if not folder.is_dir():
        raise ScanError(f"--output {path}: the folder {folder} does not exist.")
    target = folder if _is_replaceable(path) else path
    if not os.access(target, os.W_OK, effective_ids=True):
        raise ScanError(f"--output {path}: no permission to write {target}.")


def write_file(path: Path, lines: Iterable[str]) -> None:
    """Write a file in one step: readers see the old one or the new one, never a part."""
    data = _encoded(lines)
    try:
        if _is_replaceable(path):
            _replace(path, data)
        else:
            path.write_bytes(data)
    except OSError as error:
        raise ScanError(
            f"--output {path} can't be written: {(error.strerror or str(error)).lower()}."
        ) from error


def write_stdout(lines: Iterable[str]) -> bool:
    """Write to standard output as UTF-8, or as what the terminal can show; False when nobody reads it."""
    encoding = sys.stdout.encoding if sys.stdout.isatty() else "utf-8"
    # All of it is made before anything is written: a half of a document is none.
    encoded = [f"{line}\n".encode(encoding, "backslashreplace") for line in lines]
    try:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(encoded)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # The reader has seen enough. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reason = (error.strerror or str(error)).lower()
        raise ScanError(f"standard output can't be written: {reason}.") from error
    return True


def check_stdout(option: str) -> None:
    """Refuse a closed standard output; `option` is the one that names a file instead."""
    if sys.stdout is None:
        raise ScanError(f"standard output is closed: name a file with {option}.")


def _encoded(lines: Iterable[str]) -> bytes:
    # A path may hold bytes that are no UTF-8; in a JSON string their escape is what JSON itself writes.
    return b"".join([f"{line}\n".encode("utf-8", "backslashreplace") for line in lines])


def _is_replaceable(path: Path) -> bool:
    """Tell a file from a pipe or a device such as /dev/stdout, which has to stay what it is."""
    return not path.exists() or path.is_file()


def _replace(path: Path, data: bytes) -> None:
    target = path.resolve()
    file_replace(target, (data,), prefix=f".{target.name}.", mode=_mode_of(target), is_synced=True)


def _mode_of(path: Path) -> int:
    """Return the mode of the file to be replaced, or that of a new file."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
