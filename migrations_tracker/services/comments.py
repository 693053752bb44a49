"""Saying something about a site or a capability gap."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from audit.models import CapabilityGap, FallbackSite, ReferenceSource
from audit.services.references import references_store
from migrations_tracker.attachment_types import file_name
from migrations_tracker.errors import PlanError
from migrations_tracker.models import Comment
from migrations_tracker.services.attachments import NamedFile, attachments_add, file_digest
from migrations_tracker.services.watching import comment_watch

MAX_LENGTH = 20_000
SAME_WORDS_WITHIN = timedelta(minutes=1)


def comment_create(
    *,
    subject: FallbackSite | CapabilityGap,
    author: User,
    text: str,
    files: Sequence[NamedFile] = (),
) -> Comment:
    """Add a comment to a site or a gap, with files beside it.

    The same words with the same files again within a minute are the same comment.
    """
    text = text.replace("\0", "").strip()
    if not text:
        raise PlanError("Write something first.")
    if len(text) > MAX_LENGTH:
        raise PlanError(f"A comment has at most {MAX_LENGTH:,} characters; this one has {len(text):,}.")
    site = subject if isinstance(subject, FallbackSite) else None
    gap = subject if isinstance(subject, CapabilityGap) else None
    with transaction.atomic():
        type(subject)._default_manager.select_for_update().get(pk=subject.pk)
        # A button that is pressed twice sends the same words twice.
        said = Comment.objects.filter(site=site, gap=gap, author=author).order_by("-id").first()
        if said is not None and _is_the_same(said, text, files):
            return said
        comment = Comment.objects.create(site=site, gap=gap, author=author, text=text)
        attachments_add(comment=comment, files=files, repository=subject.repository)
        comment_watch(comment=comment, subject=subject)
        if site is not None:
            references_store(
                repository=site.repository,
                text=text,
                sites=[site.pk],
                source=ReferenceSource.COMMENT,
                source_path=f"{site.get_absolute_url()}#comment-{comment.pk}",
            )
        return comment


def _is_the_same(said: Comment, text: str, files: Sequence[NamedFile]) -> bool:
    if said.text != text or timezone.now() - said.created_at >= SAME_WORDS_WITHIN:
        return False
    kept = said.attachments.order_by("pk").values_list("name", "digest")
    return list(kept) == [(file_name(name), file_digest(data)) for name, data in files]
