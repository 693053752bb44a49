"""Packs test binaries, and unpacks those of others with suspicion."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

from workers.protocol.codec import MalformedError, canonical_bytes, from_bytes
from workers.protocol.job import JobSpec
from workers.protocol.readings import Probe
from workers.runner.archives import ArchiveError, check_headers
from workers.runner.cpu import missing_cpu_features
from workers.runner.manifest import MANIFEST_NAME, BundledFile, BundleManifest, check_path

MAX_BUNDLE_BYTES = 4 * 1024**3
MAX_UNPACKED_BYTES = 8 * 1024**3
MAX_FILES = 10_000
_MAX_MANIFEST_BYTES = 16 * 1024**2


class BundleRefusedError(ValueError):
    """A bundle that is not run, with the reason."""


def describe_file(path: Path, name: str) -> BundledFile:
    """Give a file's line in the manifest."""
    return BundledFile(path=name, sha256=sha256_of(path), size=path.stat().st_size)


def sha256_of(path: Path) -> str:
    """Give a file's checksum."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_bundle(manifest: BundleManifest, sources: Iterable[tuple[str, Path]], target: Path) -> str:
    """Write a bundle and give its checksum. Equal input gives equal bytes."""
    with target.open("wb") as raw, tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        _add(archive, MANIFEST_NAME, io.BytesIO(text := canonical_bytes(manifest)), len(text), 0o644)
        for name, path in sorted(sources):
            with path.open("rb") as stream:
                _add(archive, name, stream, path.stat().st_size, 0o755)
    return sha256_of(target)


def _add(archive: tarfile.TarFile, name: str, stream: object, size: int, mode: int) -> None:
    check_path(name)
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, mode
    archive.addfile(member, stream)  # type: ignore[arg-type]  # any binary stream


def unpack_bundle(bundle: Path, *, sha256: str, folder: Path) -> BundleManifest:
    """Unpack a bundle whose checksum is known. Every byte that is written is listed in its manifest."""
    if bundle.stat().st_size > MAX_BUNDLE_BYTES:
        raise BundleRefusedError(
            f"the bundle has {bundle.stat().st_size} bytes, the limit is {MAX_BUNDLE_BYTES}"
        )
    found = sha256_of(bundle)
    if found != sha256:
        raise BundleRefusedError(f"wrong checksum: the bundle is {found}, the job names {sha256}")
    try:
        # Each file may have an extended header before it.
        check_headers(bundle, max_members=2 * MAX_FILES + 2)
        with tarfile.open(bundle, mode="r:") as archive:
            manifest = _read_manifest(archive)
            _unpack_members(archive, manifest, folder)
    except tarfile.TarError as error:
        raise BundleRefusedError(f"not a tar archive: {error}") from error
    except (ArchiveError, MalformedError) as error:
        raise BundleRefusedError(str(error)) from error
    return manifest


def _read_manifest(archive: tarfile.TarFile) -> BundleManifest:
    member = archive.next()
    if member is None or member.name != MANIFEST_NAME or not member.isreg():
        raise BundleRefusedError(f"the first member is not `{MANIFEST_NAME}`")
    if member.size > _MAX_MANIFEST_BYTES:
        raise BundleRefusedError(f"a manifest of {member.size} bytes")
    stream = archive.extractfile(member)
    assert stream is not None  # noqa: S101 - it is a regular file
    manifest = from_bytes(BundleManifest, stream.read())
    if len(manifest.files) > MAX_FILES or sum(file.size for file in manifest.files) > MAX_UNPACKED_BYTES:
        raise BundleRefusedError(f"more than {MAX_FILES} files or {MAX_UNPACKED_BYTES} bytes")
    return manifest


def _unpack_members(archive: tarfile.TarFile, manifest: BundleManifest, folder: Path) -> None:
    awaited = {file.path: file for file in manifest.files}
    while (member := archive.next()) is not None:
        check_path(member.name)
        if not member.isreg():
            raise BundleRefusedError(f"`{member.name}` is no regular file")
        listed = awaited.pop(member.name, None)
        if listed is None:
            raise BundleRefusedError(f"`{member.name}` is not in the manifest, or stands twice")
        if member.size != listed.size:
            raise BundleRefusedError(f"`{member.name}` has {member.size} bytes, its entry says {listed.size}")
        _unpack_member(archive, member, listed, folder)
    if awaited:
        raise BundleRefusedError(f"`{min(awaited)}` is in the manifest and not in the bundle")


def _unpack_member(
    archive: tarfile.TarFile, member: tarfile.TarInfo, listed: BundledFile, folder: Path
) -> None:
    stream = archive.extractfile(member)
    assert stream is not None  # noqa: S101 - it is a regular file
    target = folder / listed.path
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with target.open("xb") as out:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
            out.write(chunk)
    target.chmod(0o755)
    if digest.hexdigest() != listed.sha256:
        raise BundleRefusedError(f"wrong checksum of `{listed.path}`")


def check_bundle_fits(manifest: BundleManifest, job: JobSpec, probe: Probe) -> None:
    """Refuse a bundle of another commit, crate or features, or one that can't run on this machine."""
    if manifest.commit != job.commit:
        raise BundleRefusedError(f"built from commit {manifest.commit}, the job names {job.commit}")
    if manifest.crate != job.crate:
        raise BundleRefusedError(f"built from crate `{manifest.crate}`, the job names `{job.crate}`")
    if sorted(manifest.features) != sorted(job.features):
        raise BundleRefusedError(
            f"built with features {list(manifest.features)}, the job names {list(job.features)}"
        )
    platform = probe.reading("platform")
    machine = platform.values.get("machine", "") if platform else ""
    architecture = manifest.target.split("-", 1)[0]
    if architecture != machine:
        raise BundleRefusedError(f"built for {architecture}, this machine is {machine} (reading `platform`)")
    cpu = probe.reading("cpu")
    flags = cpu.values.get("flags", "") if cpu else ""
    missing = missing_cpu_features(manifest.cpu_features, flags.split())
    if missing:
        raise BundleRefusedError(
            f"built for a processor with {', '.join(missing)}; this one has none (reading `cpu`)"
        )
