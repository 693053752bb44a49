"""Which files may be attached, and how a browser is told of them: never as something that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from migrations_tracker.errors import PlanError

TEXT = "text/plain; charset=utf-8"
BINARY = "application/octet-stream"
MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class FileType:
    """What a file with an ending is served as, and whether its bytes are such a file's."""

    media_type: str
    fits: Callable[[bytes], bool]


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _begins(*starts: bytes) -> Callable[[bytes], bool]:
    return lambda data: data.startswith(starts)


def _is_webp(data: bytes) -> bool:
    return data[:4] == b"RIFF" and data[8:12] == b"WEBP"


_PLAIN = FileType(TEXT, _is_text)
_ZIPPED = FileType(BINARY, _begins(b"PK\x03\x04", b"PK\x05\x06"))
# No HTML and no SVG: they hold scripts.
TYPES: Mapping[str, FileType] = {
    **dict.fromkeys((".txt", ".log", ".md", ".csv", ".json", ".sarif", ".patch", ".diff"), _PLAIN),
    **dict.fromkeys((".toml", ".rs", ".ptx", ".wgsl", ".cu"), _PLAIN),
    ".png": FileType("image/png", _begins(b"\x89PNG\r\n\x1a\n")),
    **dict.fromkeys((".jpg", ".jpeg"), FileType("image/jpeg", _begins(b"\xff\xd8\xff"))),
    ".gif": FileType("image/gif", _begins(b"GIF87a", b"GIF89a")),
    ".webp": FileType("image/webp", _is_webp),
    ".pdf": FileType("application/pdf", _begins(b"%PDF-")),
    ".zip": _ZIPPED,
    ".gz": FileType(BINARY, _begins(b"\x1f\x8b")),
    **dict.fromkeys((".nsys-rep", ".ncu-rep"), FileType(BINARY, bool)),
}


def file_name(given: str) -> str:
    """Return a file's name without folders and without what can't be printed; raise where nothing is left."""
    last = given.replace("\\", "/").rpartition("/")[2]
    name = "".join(one for one in last if one.isprintable()).strip(" .")
    if not name:
        raise PlanError("A file needs a name.")
    if len(name) > MAX_NAME:
        raise PlanError(f"A file's name has at most {MAX_NAME} characters.")
    return name


def type_of(name: str, data: bytes) -> FileType:
    """Return what a file is; raise where its ending is none of those that may be attached, or lies."""
    found = TYPES.get(PurePath(name).suffix.lower())
    if found is None:
        raise PlanError(f"`{name}` can't be attached: it may end in {', '.join(sorted(TYPES))}.")
    if not found.fits(data):
        raise PlanError(f"`{name}` is not what its name says.")
    return found
