"""`manage.py bundle` keeps a bundle for runners, or says why not."""

from __future__ import annotations

import tarfile
from io import StringIO
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from audit.models import Repository
from tests.factories import make_repository
from tests.toolchain import rust_program
from tests.workers.machines import make_bundle_file
from tests.workers.workspace import make_workspace
from workers.models import TestBundle

pytestmark = pytest.mark.django_db


@pytest.fixture
def repository(settings: LazySettings, tmp_path: Path) -> Repository:
    settings.BUNDLES_DIR = tmp_path / "bundles"
    return make_repository()


def test_a_bundle_that_was_built_elsewhere_is_kept(repository: Repository, tmp_path: Path) -> None:
    said = StringIO()
    call_command("bundle", "minitorch", "--file", str(make_bundle_file(tmp_path)), stdout=said)
    bundle = TestBundle.objects.get(repository=repository)
    assert said.getvalue().startswith(bundle.sha256)


def test_what_is_wrong_is_one_sentence(repository: Repository, tmp_path: Path) -> None:
    file = make_bundle_file(tmp_path)
    with tarfile.open(file, "a") as archive:
        archive.addfile(tarfile.TarInfo("/etc/passwd"))
    with pytest.raises(CommandError, match="does not stay in the bundle"):
        call_command("bundle", "minitorch", "--file", str(file))
    with pytest.raises(CommandError, match="no repository `nowhere`"):
        call_command("bundle", "nowhere", "--file", str(file))
    with pytest.raises(CommandError, match="either --file, or --crate"):
        call_command("bundle", "minitorch")


@pytest.mark.skipif(rust_program("cargo") is None, reason="no cargo that works")
def test_a_crate_that_does_not_compile_is_told(settings: LazySettings, tmp_path: Path) -> None:
    settings.BUNDLES_DIR = tmp_path / "bundles"
    make_workspace(tmp_path)
    with pytest.raises(CommandError, match="ended with 101"):
        call_command("bundle", "mini", "--crate", "mini-gpu")
    assert not TestBundle.objects.exists()
