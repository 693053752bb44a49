"""Sites: the list, one site with its evidence, and what people do to it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from http import HTTPStatus
from typing import Annotated, Literal

from django.contrib.auth.models import User
from django.http import HttpResponse
from ninja import File, Form, Query, Router, Schema, UploadedFile
from ninja import Status as Answer

from audit.scanner.report import Level, Outcome
from migrations_tracker.api.v1.choosing import branch_named, site_numbered
from migrations_tracker.api.v1.paging import Cursor, Page
from migrations_tracker.api.v1.parameters import Key, Text, Version, Word
from migrations_tracker.api.v1.problems import RefusedError, not_found
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.api.v1.shapes import (
    ChoiceOut,
    CommentMadeOut,
    CommentOut,
    MigrationOut,
    SiteDetail,
    SiteOut,
    TransitionOut,
)
from migrations_tracker.downloads import as_download
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import Attachment, SiteMigration, Suppression
from migrations_tracker.roles import Role
from migrations_tracker.selectors.comment_list import comments_of
from migrations_tracker.selectors.migration_choices import Choice
from migrations_tracker.selectors.site_detail import SiteRecord, site_record
from migrations_tracker.selectors.site_list import (
    DEFAULT_SORT,
    SiteFilters,
    cursor_decode,
    site_count,
    site_list,
)
from migrations_tracker.selectors.standings import standing_of
from migrations_tracker.services.attachments import attachment_delete
from migrations_tracker.services.comments import comment_create
from migrations_tracker.services.site_migrations import (
    site_migration_assign,
    site_migration_due,
    site_migration_transition,
)

router = Router(tags=["sites"])


class SiteNarrowing(Schema):
    """Which sites of a branch are meant, as on the page of sites."""

    branch: Word = ""
    seen: Literal["open", "absent", "left", "any"] = "open"
    rule: Word = ""
    form: Word = ""
    crate: Word = ""
    level: Level | None = None
    status: Status | None = None
    outcome: Outcome | Literal["not-told"] | None = None
    due: Literal["", "overdue", "dated", "undated"] = ""
    q: Word = ""

    def filters(self, sort: str = DEFAULT_SORT) -> SiteFilters:
        """Return the same as the page's list has it."""
        return SiteFilters(
            seen=self.seen,
            crate=self.crate.strip(),
            rule=self.rule.strip(),
            form=self.form.strip(),
            level=self.level or "",
            status=self.status or "",
            text=self.q.strip(),
            outcome=self.outcome or "",
            due=self.due,
            sort=sort,
        )


class SiteQuery(SiteNarrowing):
    """What the list is narrowed to, and its order."""

    sort: Literal["path", "level", "rule", "crate", "symbol", "newest", "due"] = "path"
    cursor: Cursor = ""


class TransitionIn(Schema):
    """The next status; some steps need a reason."""

    to: Status
    reason: Text = ""
    expires_on: date | None = None
    version: Version


class AssigneeIn(Schema):
    """Who owns it; nobody when `assignee` is null."""

    assignee: Word | None
    version: Version


class DueIn(Schema):
    """By which day it is to be done; by none when `due_on` is null."""

    due_on: date | None
    version: Version


class CommentIn(Schema):
    """What is said, in Markdown."""

    text: Text


@router.get("/repositories/{slug}/sites", response=Page[SiteOut])
def site_index(request: ProgramRequest, slug: str, query: Annotated[SiteQuery, Query()]) -> Page[SiteOut]:
    """List the sites of a branch."""
    branch = branch_named(slug, query.branch)
    filters = query.filters(query.sort)
    page = site_list(branch=branch, filters=filters, cursor=cursor_decode(query.cursor, query.sort))
    return Page[SiteOut](
        items=[SiteOut.of(state) for state in page.states],
        next=page.next,
        previous=page.previous,
        total=site_count(branch=branch, filters=filters) if page.is_more else page.total,
    )


@router.get("/sites/{pk}", response=SiteDetail)
def site_get(request: ProgramRequest, pk: Key) -> SiteDetail:
    """Show a site with its evidence, its rationale and its history."""
    data = site_record(site=site_numbered(pk))
    return _detail(data, choices_for(data.choices, request.user, data.site.repository_id))


@router.post("/sites/{pk}/transitions", response=MigrationOut)
def site_transition(request: ProgramRequest, pk: Key, body: TransitionIn) -> MigrationOut | None:
    """Move a site's migration on. Nobody marks a site migrated that the scanner still sees."""
    moved = site_migration_transition(
        site=site_numbered(pk),
        to=body.to,
        actor=request.user,
        reason=body.reason,
        seen_version=body.version,
        expires_on=body.expires_on,
    )
    return MigrationOut.of(moved)


@router.put("/sites/{pk}/assignee", response=MigrationOut)
def site_assign(request: ProgramRequest, pk: Key, body: AssigneeIn) -> MigrationOut | None:
    """Make somebody the owner of a site's migration, or nobody."""
    return assigned(getattr(site_numbered(pk), "migration", None), body, request.user)


@router.put("/sites/{pk}/due", response=MigrationOut)
def site_due(request: ProgramRequest, pk: Key, body: DueIn) -> MigrationOut | None:
    """Say by which day a site is to be done."""
    return dated(getattr(site_numbered(pk), "migration", None), body, request.user)


@router.post("/sites/{pk}/comments", response={HTTPStatus.CREATED: CommentMadeOut})
def site_comment(request: ProgramRequest, pk: Key, body: CommentIn) -> Answer[CommentMadeOut]:
    """Comment on a site."""
    comment = comment_create(subject=site_numbered(pk), author=request.user, text=body.text)
    return Answer(HTTPStatus.CREATED, CommentMadeOut.of(comment))


@router.post("/sites/{pk}/attachments", response={HTTPStatus.CREATED: CommentMadeOut})
def site_attach(
    request: ProgramRequest, pk: Key, file: Annotated[UploadedFile, File()], text: Annotated[Text, Form()]
) -> Answer[CommentMadeOut]:
    """Comment on a site with a file beside it."""
    comment = comment_create(
        subject=site_numbered(pk),
        author=request.user,
        text=text,
        files=[(str(file.name), file.read())],
    )
    return Answer(HTTPStatus.CREATED, CommentMadeOut.of(comment))


@router.get("/attachments/{pk}", response=None)
def attachment_get(request: ProgramRequest, pk: Key) -> HttpResponse:
    """Send a file that stands beside a comment."""
    return as_download(_attachment(pk))


@router.delete("/attachments/{pk}", response={HTTPStatus.NO_CONTENT: None})
def attachment_remove(request: ProgramRequest, pk: Key) -> Answer[None]:
    """Take a file away."""
    attachment_delete(attachment=_attachment(pk), actor=request.user)
    return Answer(HTTPStatus.NO_CONTENT, None)


def _attachment(pk: int) -> Attachment:
    found = Attachment.objects.filter(pk=pk).first()
    if found is None:
        raise not_found("file")
    return found


def assigned(migration: SiteMigration | None, body: AssigneeIn, actor: User) -> MigrationOut | None:
    """Make somebody the owner of the migration of a site or a gap."""
    if migration is None:
        raise RefusedError("No scan of the default branch has found it.", HTTPStatus.CONFLICT)
    return MigrationOut.of(
        site_migration_assign(
            migration=migration,
            assignee=person_named(body.assignee),
            actor=actor,
            seen_version=body.version,
        )
    )


def dated(migration: SiteMigration | None, body: DueIn, actor: User) -> MigrationOut | None:
    """Say by which day the migration of a site or a gap is to be done."""
    if migration is None:
        raise RefusedError("No scan of the default branch has found it.", HTTPStatus.CONFLICT)
    return MigrationOut.of(
        site_migration_due(migration=migration, due_on=body.due_on, actor=actor, seen_version=body.version)
    )


def choices_for(choices: Sequence[Choice], person: User, repository_id: int) -> list[ChoiceOut]:
    """Tell the steps that a person may take: only a lead suppresses."""
    is_lead = standing_of(person).role_in(repository_id) >= Role.LEAD
    return [
        ChoiceOut(to=choice.value, needs_reason=choice.needs_reason, needs_commit=choice.needs_commit)
        for choice in choices
        if is_lead or choice.value != Status.SUPPRESSED
    ]


def in_force(suppression: Suppression | None) -> str | None:
    """Return the justification of a suppression that is in force."""
    return suppression.justification if suppression and suppression.is_in_force else None


def person_named(name: str | None) -> User | None:
    """Return the person with a log-in name, or nobody for none."""
    if name is None:
        return None
    found = User.objects.filter(username=name).first()
    if found is None:
        raise RefusedError("Nobody here has that name.", HTTPStatus.UNPROCESSABLE_ENTITY)
    return found


def _detail(data: SiteRecord, choices: list[ChoiceOut]) -> SiteDetail:
    state = data.state
    if state is None:
        raise RefusedError("No scan that is kept has seen this site.", HTTPStatus.NOT_FOUND)
    plain = SiteOut.of(state).dict()
    return SiteDetail(
        **plain,
        rule_name=data.rule.name,
        clauses=[clause.id for clause in (*data.clauses, *data.outcome_clauses)],
        own_clauses=[clause.id for clause in data.own_policy.then.clauses],
        policy_version=data.result.scan_run.policy_version if data.result else "",
        evidence=list(data.result.evidence) if data.result else [],
        snippet=data.result.snippet if data.result else "",
        rationale=[rationale.text for _, rationale in data.rationales],
        suppression=in_force(data.suppression),
        allowed_in_source=list(data.allowed_in_source),
        choices=choices,
        transitions=[TransitionOut.of(row) for row in data.transitions],
        comments=[CommentOut.of(row) for row in comments_of(subject=data.site)],
    )
