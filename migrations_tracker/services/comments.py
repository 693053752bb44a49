"""Saying something about a site."""

from __future__ import annotations

from django.contrib.auth.models import User

from audit.models import FallbackSite
from migrations_tracker.errors import PlanError
from migrations_tracker.models import Comment

MAX_LENGTH = 20_000


def comment_create(*, site: FallbackSite, author: User, text: str) -> Comment:
    """Add a comment to a site."""
    text = text.replace("\0", "").strip()
    if not text:
        raise PlanError("Write something first.")
    if len(text) > MAX_LENGTH:
        raise PlanError(f"A comment has at most {MAX_LENGTH:,} characters; this one has {len(text):,}.")
    return Comment.objects.create(site=site, author=author, text=text)
