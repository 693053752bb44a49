"""How a repository's own build settings become those of a bundle."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from workers.runner.cargo import BuildError, check_out, chosen_rustflags, is_package_of, unpack_source


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / ".cargo").mkdir()
    return tmp_path


def configured(workspace: Path, text: str) -> Path:
    (workspace / ".cargo" / "config.toml").write_text(text)
    return workspace


def test_a_native_target_cpu_is_left_out_and_told(workspace: Path) -> None:
    text = (
        '[target.\'cfg(target_arch = "x86_64")\']\nrustflags = ["-C", "target-cpu=native", "-C", "lto=off"]\n'
    )
    kept, dropped = chosen_rustflags(configured(workspace, text), None)
    assert kept == ["-C", "lto=off"]
    assert dropped == ["-C target-cpu=native"]


@pytest.mark.parametrize("spelling", ["-Ctarget-cpu=native", "-C target-cpu=native"])
def test_every_spelling_of_it_is_left_out(workspace: Path, spelling: str) -> None:
    kept, dropped = chosen_rustflags(configured(workspace, f'[build]\nrustflags = "{spelling}"\n'), None)
    assert kept == [] and dropped == [spelling]


def test_a_named_target_cpu_stays_unless_the_job_names_another(workspace: Path) -> None:
    configured(workspace, '[build]\nrustflags = ["-C", "target-cpu=x86-64-v3"]\n')
    assert chosen_rustflags(workspace, None) == (["-C", "target-cpu=x86-64-v3"], [])
    kept, dropped = chosen_rustflags(workspace, "x86-64-v2")
    assert kept == ["-C", "target-cpu=x86-64-v2"] and dropped == ["-C target-cpu=x86-64-v3"]


def test_without_a_configuration_there_are_no_flags(tmp_path: Path) -> None:
    assert chosen_rustflags(tmp_path, None) == ([], [])


@pytest.mark.parametrize(
    ("package_id", "is_of"),
    [
        ("path+file:///w/my-gpu#0.1.0", True),
        ("path+file:///w/folder#my-gpu@0.1.0", True),
        ("my-gpu 0.1.0 (path+file:///w/my-gpu)", True),
        ("path+file:///w/other#0.1.0", False),
        ("path+file:///w/my-gpu#other@0.1.0", False),
        ("registry+https://example.org/index#my-gpu-core@1.0.0", False),
    ],
)
def test_a_package_id_names_its_crate_in_each_of_cargos_forms(package_id: str, is_of: bool) -> None:
    assert is_package_of(package_id, "my-gpu") is is_of


def test_a_commit_that_is_not_there_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="git"):
        check_out(tmp_path, "0" * 40, tmp_path / "out")


def packed(folder: Path, *members: tuple[str, bytes, str]) -> Path:
    """Write an archive of members: a name, a tar type, and the text of a file or the target of a link."""
    archive = folder / "source.tar"
    with tarfile.open(archive, "w") as target:
        for name, kind, text in members:
            member = tarfile.TarInfo(name)
            member.type, member.mode = kind, 0o755
            if kind == tarfile.REGTYPE:
                member.size = len(text)
                target.addfile(member, io.BytesIO(text.encode()))
            else:
                member.linkname = text
                target.addfile(member)
    return archive


def test_a_source_is_unpacked_with_its_folders_and_inner_links(tmp_path: Path) -> None:
    archive = packed(
        tmp_path,
        (".", tarfile.DIRTYPE, ""),
        ("src", tarfile.DIRTYPE, ""),
        ("src/lib.rs", tarfile.REGTYPE, "mod a;"),
        ("src/a.rs", tarfile.SYMTYPE, "../a.rs"),
        ("build.sh", tarfile.REGTYPE, "true"),
    )
    unpack_source(archive, tmp_path / "out")
    assert (tmp_path / "out/src/lib.rs").read_text() == "mod a;"
    assert (tmp_path / "out/src/a.rs").readlink() == Path("../a.rs")
    assert os.access(tmp_path / "out/build.sh", os.X_OK)


@pytest.mark.parametrize(
    "members",
    [
        [("../outside", tarfile.REGTYPE, "x")],
        [("/ferroaudit-outside", tarfile.REGTYPE, "x")],
        [("a/../../outside", tarfile.REGTYPE, "x")],
        [("link", tarfile.SYMTYPE, "../outside")],
        [("link", tarfile.SYMTYPE, "/etc/passwd")],
        [("link", tarfile.LNKTYPE, "../outside")],
        [("inner", tarfile.SYMTYPE, "file"), ("inner", tarfile.REGTYPE, "x")],
        [("pipe", tarfile.FIFOTYPE, "")],
        [("device", tarfile.CHRTYPE, "")],
    ],
    ids=lambda members: f"{members[-1][0]} {members[-1][1].decode()}",
)
def test_a_source_that_would_leave_its_folder_is_refused(
    tmp_path: Path, members: list[tuple[str, bytes, str]]
) -> None:
    with pytest.raises(BuildError):
        unpack_source(packed(tmp_path, *members), tmp_path / "out")
    assert not (tmp_path / "outside").exists()
    assert not Path("/ferroaudit-outside").exists()
