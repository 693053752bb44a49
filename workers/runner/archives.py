"""Looks a tar archive's headers through before anything of it is read into memory."""

from __future__ import annotations

import tarfile
from pathlib import Path

#: What `tarfile` reads whole, however large its header says that it is: long names and extended headers.
_READ_WHOLE = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
MAX_HEADER_BYTES = 1024**2


class ArchiveError(ValueError):
    """An archive that is not read, with the reason."""


def check_headers(archive: Path, *, max_members: int) -> None:
    """Refuse an archive of too many members, or with a header that would be read into memory without end.

    What is compressed has no header here and is refused with it: its size says nothing of what it holds.
    """
    end = archive.stat().st_size
    members, place = 0, 0
    with archive.open("rb") as stream:
        while header := stream.read(tarfile.BLOCKSIZE):
            if not header.strip(b"\0"):
                return
            size = _size_of(header)
            if header[156:157] in _READ_WHOLE and size > MAX_HEADER_BYTES:
                raise ArchiveError(f"a header of {size} bytes; the limit is {MAX_HEADER_BYTES}")
            members += 1
            if members > max_members:
                raise ArchiveError(f"more than {max_members} members")
            place += tarfile.BLOCKSIZE + -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
            if place > end:
                raise ArchiveError("it ends in the middle of a member")
            stream.seek(place)


def _size_of(header: bytes) -> int:
    try:
        member = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        raise ArchiveError(f"not a tar archive: {error}") from error
    if member.size < 0:
        raise ArchiveError(f"a member of {member.size} bytes")
    # Links, folders and devices have no content, whatever their header says.
    has_content = member.isreg() or member.type not in tarfile.SUPPORTED_TYPES
    return member.size if has_content or member.type in _READ_WHOLE else 0
