"""Keeping test bundles, and the sources that runners build from."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from audit.models import Repository
from audit.services.git_repository import git_dir_of
from workers.errors import MachineryError
from workers.models import TestBundle
from workers.protocol.codec import to_json
from workers.runner.bundle import BundleRefusedError, sha256_of, unpack_bundle
from workers.runner.server import MAX_SOURCE_BYTES

_ARCHIVE_TIMEOUT_S = 300
_CHUNK = 1 << 20


def bundle_keep(*, repository: Repository, file: Path, actor: User | None) -> TestBundle:
    """Look a bundle through and keep it; the same bundle a second time is the one that is here.

    It is unpacked as a runner would unpack it, so that what a runner would refuse is refused here.
    """
    digest = sha256_of(file)
    with tempfile.TemporaryDirectory(prefix="bundle-") as folder:
        try:
            manifest = unpack_bundle(file, sha256=digest, folder=Path(folder))
        except (BundleRefusedError, tarfile.TarError) as error:
            raise MachineryError(f"The bundle is refused: {error}.") from error
    place = bundle_place(digest)
    place.parent.mkdir(parents=True, exist_ok=True)
    _copy_whole(file, place)
    with transaction.atomic():
        bundle, _ = TestBundle.objects.get_or_create(
            repository=repository,
            sha256=digest,
            defaults={
                "commit": manifest.commit,
                "crate": manifest.crate,
                "features": list(manifest.features),
                "target": manifest.target,
                "size_bytes": place.stat().st_size,
                "manifest": to_json(manifest),
                "added_by": actor,
            },
        )
    return bundle


def _copy_whole(file: Path, place: Path) -> None:
    """Copy a file so that it is there whole or not at all."""
    with tempfile.NamedTemporaryFile(dir=place.parent, prefix="new-", delete=False) as copy:
        try:
            with file.open("rb") as stream:
                shutil.copyfileobj(stream, copy)
            copy.flush()
            Path(copy.name).replace(place)
        except BaseException:
            Path(copy.name).unlink(missing_ok=True)
            raise


def bundle_place(digest: str) -> Path:
    """Say where a bundle lies."""
    return Path(settings.BUNDLES_DIR) / f"{digest}.tar"


def source_archive(*, repository: Repository, commit: str, target: Path) -> str:
    """Write a commit's files as a tar archive, and give its checksum.

    It ends with the first byte over the limit: a commit can name one large blob in many thousand places.
    """
    command = ("git", "-c", "safe.directory=*", "--git-dir", str(git_dir_of(repository)), "archive")
    deadline = time.monotonic() + _ARCHIVE_TIMEOUT_S
    digest, size = hashlib.sha256(), 0
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            (*command, "--format=tar", commit), stdout=subprocess.PIPE, stderr=errors
        ) as process,
        target.open("wb") as out,
    ):
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        try:
            while chunk := process.stdout.read(_CHUNK):
                size += len(chunk)
                if size > MAX_SOURCE_BYTES:
                    raise MachineryError(f"The source has more than {MAX_SOURCE_BYTES} bytes.")
                if time.monotonic() > deadline:
                    raise MachineryError(f"git archive took more than {_ARCHIVE_TIMEOUT_S} s.")
                digest.update(chunk)
                out.write(chunk)
        except BaseException:
            process.kill()
            raise
        if process.wait():
            errors.seek(0)
            raise MachineryError(f"git archive: {errors.read(500).decode(errors='replace')}")
    return digest.hexdigest()
