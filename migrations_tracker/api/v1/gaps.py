"""Capability gaps: the list, and what people do to one."""

from __future__ import annotations

from typing import Annotated, Literal

from ninja import Query, Router, Schema

from audit.parity.capability import State
from audit.parity.families import Family
from migrations_tracker.api.v1.choosing import gap_numbered, repository_named
from migrations_tracker.api.v1.paging import Cursor, Page
from migrations_tracker.api.v1.parameters import Key, Word
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.api.v1.shapes import GapOut, MigrationOut
from migrations_tracker.api.v1.sites import TransitionIn
from migrations_tracker.lifecycle import Status
from migrations_tracker.selectors.gap_list import GapFilters, gap_list
from migrations_tracker.services.site_migrations import gap_migration_transition

router = Router(tags=["capability gaps"])


class GapQuery(Schema):
    """What the list is narrowed to, as on the page of gaps."""

    seen: Literal["open", "closed", "any"] = "open"
    device: Word = ""
    family: Family | None = None
    state: State | None = None
    status: Status | None = None
    owner: Word = ""
    q: Word = ""
    cursor: Cursor = ""


@router.get("/repositories/{slug}/gaps", response=Page[GapOut])
def gap_index(request: ProgramRequest, slug: str, query: Annotated[GapQuery, Query()]) -> Page[GapOut]:
    """List a repository's capability gaps."""
    filters = GapFilters(
        seen=query.seen,
        device=query.device,
        family=query.family or "",
        state=query.state or "",
        status=query.status or "",
        owner=query.owner,
        text=query.q,
    )
    found = gap_list(repository=repository_named(slug), filters=filters, cursor=query.cursor)
    return Page[GapOut](
        items=[GapOut.of(row) for row in found.page.rows],
        next=found.page.next,
        previous=found.page.previous,
        total=found.total,
    )


@router.get("/gaps/{pk}", response=GapOut)
def gap_get(request: ProgramRequest, pk: Key) -> GapOut:
    """Show a gap."""
    return GapOut.of(gap_numbered(pk))


@router.post("/gaps/{pk}/transitions", response=MigrationOut)
def gap_transition(request: ProgramRequest, pk: Key, body: TransitionIn) -> MigrationOut | None:
    """Move a gap's migration on."""
    moved = gap_migration_transition(
        gap=gap_numbered(pk),
        to=body.to,
        actor=request.user,
        reason=body.reason,
        seen_version=body.version,
    )
    return MigrationOut.of(moved)
