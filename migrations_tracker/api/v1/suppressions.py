"""Suppressions: the list, asking for one, taking it back, and a lead's refusal."""

from __future__ import annotations

from datetime import date, datetime
from http import HTTPStatus
from typing import Annotated

from ninja import Query, Router, Schema
from ninja import Status as Answer

from migrations_tracker.api.v1.choosing import gap_numbered, repository_named, site_numbered
from migrations_tracker.api.v1.parameters import Key, Text, Version
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.models import Suppression
from migrations_tracker.selectors.suppressions import PAGE_SIZE, Standing, suppression_list
from migrations_tracker.services.suppressions import (
    suppression_ask,
    suppression_reject,
    suppression_withdraw,
)

router = Router(tags=["suppressions"])


class SuppressionIn(Schema):
    """Why a site or a gap is to stay as it is, and until which day."""

    justification: Text
    expires_on: date | None = None


class RefusalIn(Schema):
    """Why not. With the `version` that was read, a question that was asked since then is not refused."""

    reason: Text
    version: Version | None = None


class SuppressionOut(Schema):
    """A suppression: `status` is SARIF's, and one that has ended says why.

    `justification` is that of whoever ruled, and until then, like `requested_because`, that of whoever asked.
    """

    id: int
    site: int | None
    gap: int | None
    status: str
    justification: str
    requested_because: str
    expires_on: date | None
    requested_by: str
    decided_by: str | None
    at: datetime
    ended_at: datetime | None
    ended_because: str

    @classmethod
    def of(cls, row: Suppression) -> SuppressionOut:
        """Tell a suppression."""
        return cls(
            id=row.pk,
            site=row.site_id,
            gap=row.gap_id,
            status=row.status,
            justification=row.justification,
            requested_because=row.requested_because,
            expires_on=row.expires_on,
            requested_by=row.requested_by.username,
            decided_by=row.decided_by.username if row.decided_by else None,
            at=row.created_at,
            ended_at=row.ended_at,
            ended_because=row.ended_because,
        )


class SuppressionPage(Schema):
    """A page of suppressions, the newest first; `next` is `before` of the following page, 0 at the end."""

    items: list[SuppressionOut]
    next: int


class SuppressionQuery(Schema):
    """Which of them."""

    state: Standing = Standing.ASKED
    before: Key | None = None


@router.get("/repositories/{slug}/suppressions", response=SuppressionPage)
def suppression_index(
    request: ProgramRequest, slug: str, query: Annotated[SuppressionQuery, Query()]
) -> SuppressionPage:
    """List a repository's suppressions: asked for, in force, or ended."""
    found = suppression_list(
        repository=repository_named(slug), standing=query.state, before=query.before or 0
    )
    items = [SuppressionOut.of(row) for row in found[:PAGE_SIZE]]
    return SuppressionPage(items=items, next=items[-1].id if len(found) > PAGE_SIZE else 0)


@router.post("/sites/{pk}/suppression", response={HTTPStatus.CREATED: SuppressionOut})
def site_suppression_ask(request: ProgramRequest, pk: Key, body: SuppressionIn) -> Answer[SuppressionOut]:
    """Ask that a site stays as it is; a lead accepts by the step to `suppressed`.

    The version of its migration goes up by one: who read the site before sees it anew.
    """
    asked = suppression_ask(subject=site_numbered(pk), actor=request.user, **body.dict())
    return Answer(HTTPStatus.CREATED, SuppressionOut.of(asked))


@router.delete("/sites/{pk}/suppression", response=SuppressionOut)
def site_suppression_withdraw(request: ProgramRequest, pk: Key) -> SuppressionOut:
    """Take back what was asked for a site."""
    return SuppressionOut.of(suppression_withdraw(subject=site_numbered(pk), actor=request.user))


@router.post("/sites/{pk}/suppression/reject", response=SuppressionOut)
def site_suppression_reject(request: ProgramRequest, pk: Key, body: RefusalIn) -> SuppressionOut:
    """Refuse what was asked for a site."""
    return SuppressionOut.of(
        suppression_reject(
            subject=site_numbered(pk), reason=body.reason, actor=request.user, seen_version=body.version
        )
    )


@router.post("/gaps/{pk}/suppression", response={HTTPStatus.CREATED: SuppressionOut})
def gap_suppression_ask(request: ProgramRequest, pk: Key, body: SuppressionIn) -> Answer[SuppressionOut]:
    """Ask that a gap stays as it is; a lead accepts by the step to `suppressed`."""
    asked = suppression_ask(subject=gap_numbered(pk), actor=request.user, **body.dict())
    return Answer(HTTPStatus.CREATED, SuppressionOut.of(asked))


@router.delete("/gaps/{pk}/suppression", response=SuppressionOut)
def gap_suppression_withdraw(request: ProgramRequest, pk: Key) -> SuppressionOut:
    """Take back what was asked for a gap."""
    return SuppressionOut.of(suppression_withdraw(subject=gap_numbered(pk), actor=request.user))


@router.post("/gaps/{pk}/suppression/reject", response=SuppressionOut)
def gap_suppression_reject(request: ProgramRequest, pk: Key, body: RefusalIn) -> SuppressionOut:
    """Refuse what was asked for a gap."""
    return SuppressionOut.of(
        suppression_reject(
            subject=gap_numbered(pk), reason=body.reason, actor=request.user, seen_version=body.version
        )
    )
