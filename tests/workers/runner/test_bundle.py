"""A bundle is unpacked only if every byte of it is what its manifest lists."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from workers.protocol.codec import canonical_bytes
from workers.protocol.job import BundleRef, Expect, Expectation, JobKind, JobSpec, TestSpec
from workers.protocol.readings import Probe, ProbeReading
from workers.runner.bundle import (
    BundleRefusedError,
    check_bundle_fits,
    describe_file,
    sha256_of,
    unpack_bundle,
    write_bundle,
)
from workers.runner.cpu import missing_cpu_features
from workers.runner.manifest import BundleManifest, TestBinary


def manifest_of(binary: Path) -> BundleManifest:
    return BundleManifest(
        repository="r",
        commit="a" * 40,
        crate="c",
        features=("cuda",),
        target="x86_64-unknown-linux-gnu",
        target_cpu="generic",
        cpu_features=("sse2", "fxsr"),
        rustflags=(),
        dropped_rustflags=("-C target-cpu=native",),
        environment={},
        rustc="rustc 1",
        command="cargo test",
        built_at="2026-01-01T00:00:00+00:00",
        binaries=(TestBinary("unit", "bin/unit", "unit", ("a", "b")),),
        files=(describe_file(binary, "bin/unit"),),
    )


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    path = tmp_path / "unit"
    path.write_bytes(b"\x7fELF" + b"x" * 1000)
    return path


def unpack(bundle: Path, folder: Path) -> BundleManifest:
    folder.mkdir()
    return unpack_bundle(bundle, sha256=sha256_of(bundle), folder=folder)


def test_a_bundle_comes_out_as_it_went_in(binary: Path, tmp_path: Path) -> None:
    manifest = manifest_of(binary)
    write_bundle(manifest, [("bin/unit", binary)], tmp_path / "b.tar")
    assert unpack(tmp_path / "b.tar", tmp_path / "out") == manifest
    unpacked = tmp_path / "out" / "bin" / "unit"
    assert unpacked.read_bytes() == binary.read_bytes()
    assert unpacked.stat().st_mode & 0o111


def test_equal_input_gives_equal_bundles(binary: Path, tmp_path: Path) -> None:
    first = write_bundle(manifest_of(binary), [("bin/unit", binary)], tmp_path / "1.tar")
    assert write_bundle(manifest_of(binary), [("bin/unit", binary)], tmp_path / "2.tar") == first


def test_another_checksum_than_the_jobs_is_refused(binary: Path, tmp_path: Path) -> None:
    write_bundle(manifest_of(binary), [("bin/unit", binary)], tmp_path / "b.tar")
    with pytest.raises(BundleRefusedError, match="wrong checksum"):
        unpack_bundle(tmp_path / "b.tar", sha256="0" * 64, folder=tmp_path / "out")


Change = Callable[[tarfile.TarInfo], None]


def evil_bundle(binary: Path, target: Path, change: Change, text: bytes | None = None) -> None:
    """Write a bundle whose one file has a changed header."""
    with tarfile.open(target, "w") as archive:
        raw = text if text is not None else canonical_bytes(manifest_of(binary))
        head = tarfile.TarInfo("manifest.json")
        head.size = len(raw)
        archive.addfile(head, io.BytesIO(raw))
        member = tarfile.TarInfo("bin/unit")
        member.size = binary.stat().st_size
        change(member)
        archive.addfile(member, io.BytesIO(binary.read_bytes()) if member.isreg() else None)


def named(name: str) -> Change:
    def change(member: tarfile.TarInfo) -> None:
        member.name = name

    return change


def linked(kind: bytes) -> Change:
    def change(member: tarfile.TarInfo) -> None:
        member.type, member.size, member.linkname = kind, 0, "/etc/passwd"

    return change


def a_hole(member: tarfile.TarInfo) -> None:
    member.size = 0
    member.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(1 << 40)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (a_hole, "has 1099511627776 bytes, its entry says"),
        (named("../evil"), "does not stay in the bundle"),
        (named("/etc/evil"), "does not stay in the bundle"),
        (named("bin/../../evil"), "does not stay in the bundle"),
        (named("bin/other"), "not in the manifest"),
        (linked(tarfile.SYMTYPE), "no regular file"),
        (linked(tarfile.LNKTYPE), "no regular file"),
        (linked(tarfile.FIFOTYPE), "no regular file"),
        (linked(tarfile.CHRTYPE), "no regular file"),
    ],
)
def test_what_would_leave_the_folder_or_is_no_file_is_refused(
    binary: Path, tmp_path: Path, change: Change, words: str
) -> None:
    evil_bundle(binary, tmp_path / "b.tar", change)
    with pytest.raises(BundleRefusedError, match=words):
        unpack(tmp_path / "b.tar", tmp_path / "out")
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("path", ["../evil", "/evil", "a/../../evil", "a//b", "", "a\\b", "./a"])
def test_a_manifest_with_such_a_path_is_refused(binary: Path, tmp_path: Path, path: str) -> None:
    value = json.loads(canonical_bytes(manifest_of(binary)))
    value["files"][0]["path"] = path
    value["binaries"] = []
    evil_bundle(binary, tmp_path / "b.tar", named("bin/unit"), json.dumps(value).encode())
    with pytest.raises(BundleRefusedError, match="does not stay in the bundle"):
        unpack(tmp_path / "b.tar", tmp_path / "out")


def test_changed_content_is_refused(binary: Path, tmp_path: Path) -> None:
    write_bundle(manifest_of(binary), [("bin/unit", binary)], tmp_path / "b.tar")
    raw = (tmp_path / "b.tar").read_bytes()
    (tmp_path / "b.tar").write_bytes(raw.replace(b"ELFxxxx", b"ELFyxxx"))
    with pytest.raises(BundleRefusedError, match="wrong checksum of `bin/unit`"):
        unpack(tmp_path / "b.tar", tmp_path / "out")


def test_a_missing_file_and_what_is_no_archive_are_refused(binary: Path, tmp_path: Path) -> None:
    write_bundle(manifest_of(binary), [], tmp_path / "b.tar")
    with pytest.raises(BundleRefusedError, match="not in the bundle"):
        unpack(tmp_path / "b.tar", tmp_path / "1")
    (tmp_path / "c.tar").write_bytes(b"no tar at all" * 100)
    with pytest.raises(BundleRefusedError, match="not a tar archive"):
        unpack(tmp_path / "c.tar", tmp_path / "2")


def reading(name: str, **values: str) -> ProbeReading:
    return ProbeReading(name, name, "", 0, "2026-01-01T00:00:00+00:00", 0.0, values)


PROBE = Probe((reading("platform", machine="x86_64"), reading("cpu", flags="fpu sse2 fxsr")))
JOB = JobSpec(
    "j",
    "l",
    JobKind.VERIFY,
    commit="a" * 40,
    crate="c",
    features=("cuda",),
    bundle=BundleRef("0" * 64),
    tests=(TestSpec("unit", "a", Expectation(Expect.COMPOSITE)),),
)


def test_a_bundle_for_this_job_and_machine_is_taken(binary: Path) -> None:
    check_bundle_fits(manifest_of(binary), JOB, PROBE)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"commit": "b" * 40}, "built from commit b"),
        ({"crate": "d"}, "built from crate `d`"),
        ({"features": ()}, "built with features"),
        ({"target": "aarch64-unknown-linux-gnu"}, "built for aarch64, this machine is x86_64"),
        ({"cpu_features": ("sse2", "avx512f")}, "built for a processor with avx512f"),
    ],
)
def test_a_bundle_for_another_job_or_machine_is_refused(
    binary: Path, change: dict[str, object], words: str
) -> None:
    manifest = replace(manifest_of(binary), **change)  # type: ignore[arg-type]
    with pytest.raises(BundleRefusedError, match=words):
        check_bundle_fits(manifest, JOB, PROBE)


def test_the_kernels_names_of_cpu_features_are_known() -> None:
    flags = "abm avx avx2 bmi1 bmi2 cx16 f16c fma fxsr movbe pni popcnt sse sse2 sse4_1 sse4_2 ssse3 xsave"
    v3 = "avx avx2 bmi1 bmi2 cmpxchg16b f16c fma fxsr lzcnt movbe popcnt sse2 sse3 sse4.1 sse4.2 ssse3 xsave"
    assert missing_cpu_features(v3.split(), flags.split()) == ()
    assert missing_cpu_features(("sse4.2", "avx2"), ("sse4_2",)) == ("avx2",)
