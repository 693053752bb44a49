"""Changing many sites at once, and taking that back."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from ninja import Router, Schema
from ninja import Status as Answer
from pydantic import Field

from migrations_tracker.api.v1.choosing import branch_named, bulk_change_numbered
from migrations_tracker.api.v1.parameters import Key, Text, Word
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.api.v1.sites import SiteNarrowing, person_named
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import BulkChange
from migrations_tracker.selectors.bulk_changes import ITEMS_AT_MOST
from migrations_tracker.services.bulk_changes import bulk_change_create, bulk_change_undo
from migrations_tracker.services.scans import row_wake

router = Router(tags=["sites"])


class BulkChangeIn(Schema):
    """Which sites, what becomes of them, and how many of them the caller has seen in the list.

    Without `assignee` they keep their owners; with null nobody owns them.
    """

    sites: SiteNarrowing
    to: Status | None = None
    assignee: Word | None = None
    reason: Text = ""
    count: Annotated[int, Field(ge=1, le=ITEMS_AT_MOST)]


class UndoIn(Schema):
    """Why a change is taken back."""

    reason: Text = ""


class BulkChangeOut(Schema):
    """A change of many sites: how far a worker is, and how many it could not change."""

    id: int
    repository: str
    branch: str
    what: str
    state: str
    failure: str
    count: int
    done: int
    refused: int
    undoes: int | None
    url: str

    @classmethod
    def of(cls, row: BulkChange) -> BulkChangeOut:
        """Tell a change."""
        return cls(
            id=row.pk,
            repository=row.branch.repository.slug,
            branch=row.branch.name,
            what=row.what,
            state=row.state,
            failure=row.failure_reason,
            count=row.item_count,
            done=row.done_count,
            refused=row.refused_count,
            undoes=row.undoes_id,
            url=row.get_absolute_url(),
        )


@router.post("/repositories/{slug}/bulk-changes", response={HTTPStatus.ACCEPTED: BulkChangeOut})
def bulk_change_ask(request: ProgramRequest, slug: str, body: BulkChangeIn) -> Answer[BulkChangeOut]:
    """Change all sites that match; refused where another number matches than was seen."""
    change = bulk_change_create(
        branch=branch_named(slug, body.sites.branch),
        filters=body.sites.filters(),
        to=body.to,
        sets_assignee="assignee" in body.model_fields_set,
        assignee=person_named(body.assignee),
        reason=body.reason,
        actor=request.user,
        seen_count=body.count,
    )
    row_wake(row=change)
    return Answer(HTTPStatus.ACCEPTED, BulkChangeOut.of(change))


@router.get("/bulk-changes/{pk}", response=BulkChangeOut)
def bulk_change_get(request: ProgramRequest, pk: Key) -> BulkChangeOut:
    """Show how far a change is."""
    return BulkChangeOut.of(bulk_change_numbered(pk))


@router.post("/bulk-changes/{pk}/undo", response={HTTPStatus.ACCEPTED: BulkChangeOut})
def bulk_change_back(request: ProgramRequest, pk: Key, body: UndoIn) -> Answer[BulkChangeOut]:
    """Take a change back, where nobody has changed the same sites since."""
    undo = bulk_change_undo(change=bulk_change_numbered(pk), actor=request.user, reason=body.reason)
    row_wake(row=undo)
    return Answer(HTTPStatus.ACCEPTED, BulkChangeOut.of(undo))
