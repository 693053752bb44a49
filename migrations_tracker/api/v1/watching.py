"""Watching sites, gaps and units, and what happened that concerns the token's owner."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Literal

from ninja import Router, Schema, Status

from migrations_tracker.api.v1.choosing import gap_numbered, site_numbered, unit_numbered
from migrations_tracker.api.v1.paging import Cursor, Page
from migrations_tracker.api.v1.parameters import Key
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.models import Notice, NoticeKind, Watch, WatchReason
from migrations_tracker.selectors.watching import inbox_page, watch_page
from migrations_tracker.services.watching import watch_end, watch_start

router = Router(tags=["watching"])


class WatchOut(Schema):
    """What somebody watches, and why."""

    kind: Literal["site", "gap", "unit"]
    id: int
    reason: WatchReason
    since: datetime
    url: str

    @classmethod
    def of(cls, row: Watch) -> WatchOut:
        """Tell a watch that was read with what it is of."""
        return cls(
            kind="site" if row.site_id else "gap" if row.gap_id else "unit",
            id=row.subject.pk,
            reason=WatchReason(row.reason),
            since=row.created_at,
            url=row.subject.get_absolute_url(),
        )


class NoticeOut(Schema):
    """Something that happened and concerns the token's owner."""

    kind: NoticeKind
    repository: str
    title: str
    text: str
    at: datetime
    url: str

    @classmethod
    def of(cls, row: Notice) -> NoticeOut:
        """Tell a notice that was read with its repository."""
        return cls(
            kind=NoticeKind(row.kind),
            repository=row.repository.slug,
            title=row.title,
            text="\n".join(item["text"] for item in row.items),
            at=row.created_at,
            url=row.path,
        )


@router.get("/watches", response=Page[WatchOut])
def watch_index(
    request: ProgramRequest, kind: Literal["", "site", "gap", "unit"] = "", cursor: Cursor = ""
) -> Page[WatchOut]:
    """List what the token's owner watches, newest first."""
    page = watch_page(owner=request.user, kind=kind, cursor=cursor)
    return Page[WatchOut](
        items=[WatchOut.of(row) for row in page.rows], next=page.next, previous=page.previous
    )


@router.get("/inbox", response=Page[NoticeOut])
def inbox(request: ProgramRequest, cursor: Cursor = "") -> Page[NoticeOut]:
    """List what happened that concerns the token's owner, newest first."""
    page = inbox_page(owner=request.user, cursor=cursor)
    return Page[NoticeOut](
        items=[NoticeOut.of(row) for row in page.rows], next=page.next, previous=page.previous
    )


@router.put("/sites/{pk}/watch", response=WatchOut)
def site_watch(request: ProgramRequest, pk: Key) -> WatchOut:
    """Watch a site."""
    return WatchOut.of(watch_start(person=request.user, subject=site_numbered(pk)))


@router.delete("/sites/{pk}/watch", response={HTTPStatus.NO_CONTENT: None})
def site_unwatch(request: ProgramRequest, pk: Key) -> Status[None]:
    """Watch a site no longer."""
    watch_end(person=request.user, subject=site_numbered(pk))
    return Status(HTTPStatus.NO_CONTENT, None)


@router.put("/gaps/{pk}/watch", response=WatchOut)
def gap_watch(request: ProgramRequest, pk: Key) -> WatchOut:
    """Watch a capability gap."""
    return WatchOut.of(watch_start(person=request.user, subject=gap_numbered(pk)))


@router.delete("/gaps/{pk}/watch", response={HTTPStatus.NO_CONTENT: None})
def gap_unwatch(request: ProgramRequest, pk: Key) -> Status[None]:
    """Watch a capability gap no longer."""
    watch_end(person=request.user, subject=gap_numbered(pk))
    return Status(HTTPStatus.NO_CONTENT, None)


@router.put("/units/{pk}/watch", response=WatchOut)
def unit_watch(request: ProgramRequest, pk: Key) -> WatchOut:
    """Watch a work unit."""
    return WatchOut.of(watch_start(person=request.user, subject=unit_numbered(pk)))


@router.delete("/units/{pk}/watch", response={HTTPStatus.NO_CONTENT: None})
def unit_unwatch(request: ProgramRequest, pk: Key) -> Status[None]:
    """Watch a work unit no longer."""
    watch_end(person=request.user, subject=unit_numbered(pk))
    return Status(HTTPStatus.NO_CONTENT, None)
