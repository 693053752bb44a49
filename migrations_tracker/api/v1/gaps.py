"""Capability gaps: the list, and what people do to one."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Literal

from ninja import File, Form, Query, Router, Schema, UploadedFile
from ninja import Status as Answer

from audit.parity.capability import State
from audit.parity.families import Family
from migrations_tracker.api.v1.choosing import gap_numbered, repository_named
from migrations_tracker.api.v1.paging import Cursor, Page
from migrations_tracker.api.v1.parameters import Key, Text, Word
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.api.v1.shapes import (
    ChoiceOut,
    CommentMadeOut,
    CommentOut,
    GapChangeOut,
    GapDetail,
    GapOut,
    MigrationOut,
    TransitionOut,
)
from migrations_tracker.api.v1.sites import (
    AssigneeIn,
    CommentIn,
    DueIn,
    TransitionIn,
    assigned,
    choices_for,
    dated,
    in_force,
)
from migrations_tracker.lifecycle import Status
from migrations_tracker.selectors.comment_list import comments_of
from migrations_tracker.selectors.gap_detail import GapPage, gap_page
from migrations_tracker.selectors.gap_list import GapFilters, gap_list
from migrations_tracker.services.comments import comment_create
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


@router.get("/gaps/{pk}", response=GapDetail)
def gap_get(request: ProgramRequest, pk: Key) -> GapDetail:
    """Show a gap with its proof, its rationale and its history."""
    data = gap_page(gap=gap_numbered(pk), with_code=False)
    return _detail(data, choices_for(data.choices, request.user, data.gap.repository_id))


@router.post("/gaps/{pk}/transitions", response=MigrationOut)
def gap_transition(request: ProgramRequest, pk: Key, body: TransitionIn) -> MigrationOut | None:
    """Move a gap's migration on."""
    moved = gap_migration_transition(
        gap=gap_numbered(pk),
        to=body.to,
        actor=request.user,
        reason=body.reason,
        seen_version=body.version,
        expires_on=body.expires_on,
    )
    return MigrationOut.of(moved)


@router.put("/gaps/{pk}/assignee", response=MigrationOut)
def gap_assign(request: ProgramRequest, pk: Key, body: AssigneeIn) -> MigrationOut | None:
    """Make somebody the owner of a gap's migration, or nobody."""
    return assigned(getattr(gap_numbered(pk), "migration", None), body, request.user)


@router.put("/gaps/{pk}/due", response=MigrationOut)
def gap_due(request: ProgramRequest, pk: Key, body: DueIn) -> MigrationOut | None:
    """Say by which day a gap is to be done."""
    return dated(getattr(gap_numbered(pk), "migration", None), body, request.user)


@router.post("/gaps/{pk}/comments", response={HTTPStatus.CREATED: CommentMadeOut})
def gap_comment(request: ProgramRequest, pk: Key, body: CommentIn) -> Answer[CommentMadeOut]:
    """Comment on a gap."""
    comment = comment_create(subject=gap_numbered(pk), author=request.user, text=body.text)
    return Answer(HTTPStatus.CREATED, CommentMadeOut.of(comment))


@router.post("/gaps/{pk}/attachments", response={HTTPStatus.CREATED: CommentMadeOut})
def gap_attach(
    request: ProgramRequest, pk: Key, file: Annotated[UploadedFile, File()], text: Annotated[Text, Form()]
) -> Answer[CommentMadeOut]:
    """Comment on a gap with a file beside it."""
    comment = comment_create(
        subject=gap_numbered(pk),
        author=request.user,
        text=text,
        files=[(str(file.name), file.read())],
    )
    return Answer(HTTPStatus.CREATED, CommentMadeOut.of(comment))


def _detail(data: GapPage, choices: list[ChoiceOut]) -> GapDetail:
    return GapDetail(
        **GapOut.of(data.gap).dict(),
        proof=list(data.cell.implementations) if data.cell else [],
        rationale=data.rationale.text,
        suppression=in_force(data.suppression),
        choices=choices,
        changes=[GapChangeOut.of(row) for row in data.changes],
        transitions=[TransitionOut.of(row) for row in data.transitions],
        comments=[CommentOut.of(row) for row in comments_of(subject=data.gap)],
    )
