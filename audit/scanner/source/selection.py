"""Which files of a tree a scan reads, and which bytes count as text."""

from __future__ import annotations

from collections.abc import Sequence

from audit.scanner.errors import ScanError
from audit.scanner.source.base import Content, ReadFailure, SourceFile

MAX_FILE_BYTES = 10_000_000
"""A larger file is skipped: a syntax tree takes 40 times the memory of its text."""

RUST_SUFFIX = ".rs"
CARGO_MANIFEST = "Cargo.toml"
DOCUMENT_SUFFIX = ".md"
INCLUDED_SUFFIXES = (".ptx", ".wgsl", ".cu")


def is_wanted(path: str) -> bool:
    """Tell whether a scan reads the file: Rust, a Cargo manifest, Markdown, or kernel text to include."""
    name = path.rpartition("/")[2]
    # What only begins with a point has no suffix.
    return (
        name == CARGO_MANIFEST
        or name.endswith((RUST_SUFFIX, DOCUMENT_SUFFIX))
        or (name.endswith(INCLUDED_SUFFIXES) and name.rfind(".") > 0)
    )


def too_large(size_bytes: int) -> str:
    """Say why a file of this size is skipped, or nothing."""
    if size_bytes <= MAX_FILE_BYTES:
        return ""
    return f"too large: {size_bytes:,} bytes, the limit is {MAX_FILE_BYTES:,}"


def printable(raw_path: bytes) -> tuple[str, str]:
    """Return the path as text and why it can't be scanned under that name, or nothing.

    A path that is not UTF-8 fits neither a SARIF file nor a database column.
    """
    try:
        return raw_path.decode(), ""
    except UnicodeDecodeError:
        return raw_path.decode(errors="backslashreplace"), "the name is not UTF-8"


def as_text(data: bytes, blob_id: str) -> Content | ReadFailure:
    """Return the bytes as content when they are UTF-8 text, else say where they stop being so."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ReadFailure("UTF-16, not UTF-8")
    try:
        # Most files are plain ASCII, which is told without making a text of them.
        data.isascii() or data.decode()
    except UnicodeDecodeError as error:
        return ReadFailure(f"not UTF-8: byte 0x{data[error.start]:02x} in line {_line_of(data, error.start)}")
    nul = data.find(b"\0")
    if nul >= 0:
        return ReadFailure(f"holds NUL bytes, the first in line {_line_of(data, nul)}")
    return Content(data, blob_id)


def require_rust(files: Sequence[SourceFile], where: str) -> None:
    """Refuse a tree in which nothing can be scanned."""
    if not any(file.path.endswith(RUST_SUFFIX) for file in files):
        raise ScanError(
            f"{where} holds no Rust file (*.rs): give the folder or repository of a Rust project."
        )


def _line_of(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1
