"""Putting files beside comments, and taking them away."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pghistory
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Sum

from audit.models import Repository
from migrations_tracker.attachment_types import file_name, type_of
from migrations_tracker.errors import PlanError
from migrations_tracker.models import Attachment, Comment

MAX_BYTES = 5_000_000
FILES_AT_MOST = 5
_MEGABYTE = 1_000_000

#: A name and what the file holds.
NamedFile = tuple[str, bytes]


def files_check(*, files: Sequence[NamedFile], repository_id: int) -> None:
    """Raise `PlanError` where files may not be attached in a repository."""
    if len(files) > FILES_AT_MOST:
        raise PlanError(f"At most {FILES_AT_MOST} files go with a comment.")
    for given, data in files:
        name = file_name(given)
        if not data:
            raise PlanError(f"`{name}` is empty.")
        if len(data) > MAX_BYTES:
            raise PlanError(f"`{name}` has {len(data):,} bytes; {MAX_BYTES:,} are the most.")
        type_of(name, data)
    total = Attachment.objects.filter(repository=repository_id).aggregate(bytes=Sum("size_bytes"))["bytes"]
    allowed = settings.ATTACHMENTS_MAX_MB * _MEGABYTE
    if (total or 0) + sum(len(data) for _, data in files) > allowed:
        raise PlanError(
            f"The repository's attachments would take more than {settings.ATTACHMENTS_MAX_MB:,} MB: a lead "
            "can take old ones away."
        )


def file_digest(data: bytes) -> str:
    """Return what a file's bytes are known by."""
    return hashlib.sha256(data).hexdigest()


def attachments_add(*, comment: Comment, files: Sequence[NamedFile], repository: Repository) -> None:
    """Put files beside a comment, all or none."""
    if not files:
        return
    with transaction.atomic():
        # One at a time: two could go beyond the limit together.
        Repository.objects.select_for_update().get(pk=repository.pk)
        files_check(files=files, repository_id=repository.pk)
        for given, data in files:
            name = file_name(given)
            Attachment.objects.create(
                comment=comment,
                repository=repository,
                name=name,
                media_type=type_of(name, data).media_type,
                size_bytes=len(data),
                digest=file_digest(data),
                content=data,
                added_by=comment.author,
            )


def attachment_delete(*, attachment: Attachment, actor: User) -> None:
    """Take a file away for good; its history keeps its name, size and digest, and who took it away."""
    with transaction.atomic(), pghistory.context(user=actor.pk):
        attachment.delete()
