"""Keeping test bundles, and the sources that runners build from."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
import tempfile
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
    with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as copy, file.open("rb") as stream:
        shutil.copyfileobj(stream, copy)
    Path(copy.name).replace(place)
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


def bundle_place(digest: str) -> Path:
    """Say where a bundle lies."""
    return Path(settings.BUNDLES_DIR) / f"{digest}.tar"


def source_archive(*, repository: Repository, commit: str, target: Path) -> str:
    """Write a commit's files as a tar archive, and give its checksum."""
    command = ("git", "-c", "safe.directory=*", "--git-dir", str(git_dir_of(repository)), "archive")
    with target.open("wb") as out:
        done = subprocess.run(
            (*command, "--format=tar", commit),
            stdout=out,
            stderr=subprocess.PIPE,
            timeout=_ARCHIVE_TIMEOUT_S,
            check=False,
        )
    if done.returncode:
        raise MachineryError(f"git archive: {done.stderr.decode(errors='replace')[:500]}")
    if target.stat().st_size > MAX_SOURCE_BYTES:
        raise MachineryError(
            f"The source has {target.stat().st_size} bytes; {MAX_SOURCE_BYTES} is the limit."
        )
    with target.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
