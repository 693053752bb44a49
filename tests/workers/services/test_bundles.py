"""A bundle is looked through before it is kept."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from django.conf import LazySettings

from audit.models import RepositoryKind
from tests.factories import make_repository
from tests.git import commit_files
from tests.workers.machines import COMMIT, make_bundle_file
from workers.errors import MachineryError
from workers.models import TestBundle
from workers.services import bundles
from workers.services.bundles import bundle_keep, bundle_place, source_archive

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings: LazySettings, tmp_path: Path) -> Path:
    settings.BUNDLES_DIR = tmp_path / "kept"
    return tmp_path


def test_a_bundle_is_kept_under_its_checksum_once(folder: Path) -> None:
    repository, file = make_repository(), make_bundle_file(folder)
    bundle = bundle_keep(repository=repository, file=file, actor=None)
    assert bundle_keep(repository=repository, file=file, actor=None) == bundle
    assert bundle_place(bundle.sha256).read_bytes() == file.read_bytes()
    assert (bundle.commit, bundle.crate, bundle.manifest["binaries"][0]["tests"]) == (COMMIT, "c", ["passes"])


def test_a_bundle_whose_paths_leave_its_folder_is_not_kept(folder: Path) -> None:
    file = make_bundle_file(folder)
    with tarfile.open(file, "a") as archive:
        archive.addfile(tarfile.TarInfo("../../etc/passwd"))
    with pytest.raises(MachineryError, match="does not stay in the bundle"):
        bundle_keep(repository=make_repository(), file=file, actor=None)
    assert not TestBundle.objects.exists() and not (folder / "kept").exists()


def test_what_is_no_archive_is_not_kept(folder: Path) -> None:
    file = folder / "bundle.tar"
    file.write_bytes(b"x" * 4096)
    with pytest.raises(MachineryError, match="refused"):
        bundle_keep(repository=make_repository(), file=file, actor=None)


def test_the_source_of_a_commit_is_an_archive_with_a_checksum(folder: Path) -> None:
    work = folder / "work"
    work.mkdir()
    (work / "lib.rs").write_text("fn a() {}\n")
    git = ["git", "-C", str(work), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    repository = make_repository(kind=RepositoryKind.GIT_PATH, location=str(work))
    target = folder / "source.tar"
    digest = source_archive(repository=repository, commit=commit.stdout.strip(), target=target)
    with tarfile.open(target) as archive:
        assert archive.getnames() == ["lib.rs"]
    assert len(digest) == 64
    with pytest.raises(MachineryError, match="git archive"):
        source_archive(repository=repository, commit="f" * 40, target=target)


def test_a_bundle_that_the_disk_does_not_take_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    file = make_bundle_file(folder)
    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(OSError, match="No space left"):
        bundle_keep(repository=make_repository(), file=file, actor=None)
    assert list((folder / "kept").iterdir()) == [] and not TestBundle.objects.exists()


def test_a_source_over_the_limit_is_not_written_to_its_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "MAX_SOURCE_BYTES", 100_000)
    monkeypatch.setattr(bundles, "_CHUNK", 10_000)
    # One blob under many names: small in the repository, large in an archive.
    commit = commit_files(folder / "work", {f"{number}.txt": "x" * 50_000 for number in range(200)})
    repository = make_repository(kind=RepositoryKind.GIT_PATH, location=str(folder / "work"))
    target = folder / "source.tar"
    with pytest.raises(MachineryError, match="more than 100000 bytes"):
        source_archive(repository=repository, commit=commit, target=target)
    assert target.stat().st_size <= 100_000


def test_a_source_that_takes_too_long_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "_ARCHIVE_TIMEOUT_S", -1)
    commit = commit_files(folder / "work", {"lib.rs": "fn a() {}"})
    repository = make_repository(kind=RepositoryKind.GIT_PATH, location=str(folder / "work"))
    with pytest.raises(MachineryError, match="took more than"):
        source_archive(repository=repository, commit=commit, target=folder / "source.tar")
