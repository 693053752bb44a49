"""What a tar archive could fill memory or a disk with is refused by its headers alone."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from workers.runner.archives import MAX_HEADER_BYTES, ArchiveError, check_headers
from workers.runner.cargo import BuildError, unpack_source


def header(name: str, kind: bytes, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.USTAR_FORMAT)


def test_a_plain_archive_with_long_names_and_links_passes(tmp_path: Path) -> None:
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        file = tmp_path / f"{form}.tar"
        with tarfile.open(file, "w", format=form) as archive:
            for name in ("a" * 300, "ä/é.rs", "plain"):
                member = tarfile.TarInfo(name)
                member.size = 700
                archive.addfile(member, io.BytesIO(b"x" * 700))
            link = tarfile.TarInfo("link")
            link.type, link.linkname = tarfile.SYMTYPE, "b" * 300
            archive.addfile(link)
        check_headers(file, max_members=10)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, b"X"])
def test_a_header_that_would_be_read_into_memory_without_end_is_refused(tmp_path: Path, kind: bytes) -> None:
    file = tmp_path / "a.tar"
    with file.open("wb") as stream:
        stream.write(header("pax", kind, 4 * 1024**3))
        stream.truncate(4 * 1024**3 + 4096)
    with pytest.raises(ArchiveError, match=f"the limit is {MAX_HEADER_BYTES}"):
        check_headers(file, max_members=10)


def test_members_without_end_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(b"".join(header(f"f{n}", tarfile.REGTYPE, 0) for n in range(11)))
    check_headers(tmp_path / "a.tar", max_members=11)
    with pytest.raises(ArchiveError, match="more than 10 members"):
        check_headers(tmp_path / "a.tar", max_members=10)


@pytest.mark.parametrize("raw", [b"x" * 512, b"PK\x03\x04" + b"\1" * 600, header("a", tarfile.REGTYPE, 9999)])
def test_what_is_cut_or_no_archive_is_refused(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "a.tar").write_bytes(raw)
    with pytest.raises(ArchiveError):
        check_headers(tmp_path / "a.tar", max_members=10)


@pytest.mark.parametrize("form", ["w:gz", "w:xz", "w:bz2"])
def test_a_compressed_source_is_refused_unread(tmp_path: Path, form: str) -> None:
    with tarfile.open(tmp_path / "a.tar", form) as archive:  # type: ignore[call-overload]
        member = tarfile.TarInfo("zeros")
        member.size = 1 << 20
        archive.addfile(member, io.BytesIO(bytes(1 << 20)))
    with pytest.raises(BuildError, match="not a tar archive"):
        unpack_source(tmp_path / "a.tar", tmp_path / "out")
