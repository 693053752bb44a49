"""What people said about a site or a gap: all of it, or as much as a page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from django.db.models.functions import JSONObject

from audit.models import CapabilityGap, FallbackSite
from migrations_tracker.models import Attachment, Comment

SHOWN = 20


@dataclass(frozen=True, slots=True)
class CommentPage:
    """Some comments in full, and lines of those before and after them."""

    shown: Sequence[Comment]
    earlier: Sequence[CommentLine] = ()
    later: Sequence[CommentLine] = ()


@dataclass(frozen=True, slots=True)
class CommentLine:
    """Who wrote a comment, and when."""

    pk: int
    author: str
    created_at: datetime


def comments_of(*, subject: FallbackSite | CapabilityGap) -> QuerySet[Comment]:
    """List the comments on a site or a gap, each with the names of those it told and its files.

    They are in `told`, and as mappings with `pk`, `name` and `size` in `files`.
    """
    mine: QuerySet[Comment] = subject.comments.select_related("author")
    told = (
        Comment.objects.filter(pk=OuterRef("pk"))
        .exclude(mentions=None)
        .order_by("mentions__person__username")
    )
    files = Attachment.objects.filter(comment=OuterRef("pk")).order_by("pk")
    return mine.annotate(
        told=ArraySubquery(told.values("mentions__person__username")),
        files=ArraySubquery(files.values(file=JSONObject(pk="pk", name="name", size="size_bytes"))),
    )


def comment_page(*, subject: FallbackSite | CapabilityGap, through: str = "") -> CommentPage:
    """Return the newest comments on a site or a gap, or those up to the one whose key is `through`."""
    newest = comments_of(subject=subject).order_by("-id")
    if through.isdecimal() and len(through) < 19:
        newest = newest.filter(pk__lte=int(through))
    found = list(newest[: SHOWN + 1])[::-1]
    shown = found[-SHOWN:]
    if len(found) == len(shown) and not through:
        return CommentPage(shown)
    keys = {one.pk for one in shown}
    rows = subject.comments.values_list("pk", "author__username", "created_at")
    others = [CommentLine(*row) for row in rows if row[0] not in keys]
    first = shown[0].pk if shown else 0
    return CommentPage(
        shown,
        earlier=[one for one in others if one.pk < first],
        later=[one for one in others if one.pk > first],
    )
