"""What the API answers with. The words are those of the pages."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from django.urls import reverse
from ninja import Schema

from audit.models import (
    CapabilityGap,
    CapabilityGapChange,
    Repository,
    RowState,
    ScanRequest,
    ScanRun,
    SiteState,
)
from migrations_tracker.models import Comment, MigrationReport, SiteMigration, Transition, WorkUnit
from migrations_tracker.report_formats import FORMATS
from migrations_tracker.selectors.mentions import names_not_told


class RepositoryOut(Schema):
    """A repository and the last scan of its default branch."""

    slug: str
    name: str
    location: str
    default_branch: str
    url: str

    @classmethod
    def of(cls, row: Repository) -> RepositoryOut:
        """Tell a repository."""
        return cls(
            slug=row.slug,
            name=row.name,
            location=row.location,
            default_branch=row.default_branch,
            url=row.get_absolute_url(),
        )


class ScanOut(Schema):
    """A scan: how far it is, and what it counted."""

    id: int
    repository: str
    state: str
    failure: str
    commit: str
    branch: str
    results: int | None
    new: int | None
    absent: int | None
    reopened: int | None
    url: str

    @classmethod
    def of(cls, row: ScanRun) -> ScanOut:
        """Tell a scan that was read with its repository, commit and branch."""
        return cls(
            id=row.pk,
            repository=row.repository.slug,
            state=row.state,
            failure=row.failure_reason,
            commit=row.commit.object_id,
            branch=row.branch.name if row.branch else "",
            results=row.result_count,
            new=row.new_count,
            absent=row.absent_count,
            reopened=row.reopened_count,
            url=row.get_absolute_url(),
        )


class ScanRequestOut(Schema):
    """A scan that was asked for; `scan` names it as soon as it is known which commit is meant."""

    request: int | None
    state: str
    failure: str
    scan: int | None
    url: str

    @classmethod
    def of(cls, row: ScanRequest | ScanRun) -> ScanRequestOut:
        """Tell a request, or the scan that it became at once."""
        is_scan = isinstance(row, ScanRun)
        return cls(
            request=None if is_scan else row.pk,
            state=row.state,
            failure=row.failure_reason,
            scan=row.pk if isinstance(row, ScanRun) else row.scan_run_id,
            url=row.get_absolute_url(),
        )


class MigrationOut(Schema):
    """What is planned for a site or gap. Send `version` back with a change: a newer one refuses it."""

    status: str
    version: int
    assignee: str | None
    due_on: date | None

    @classmethod
    def of(cls, row: SiteMigration | None) -> MigrationOut | None:
        """Tell a migration, where there is one."""
        if row is None:
            return None
        return cls(
            status=row.status,
            version=row.version,
            assignee=row.assignee.username if row.assignee else None,
            due_on=row.due_on,
        )


class SiteOut(Schema):
    """A site as the last scan of a branch left it."""

    id: int
    rule_id: str
    level: str
    crate: str
    path: str
    start_line: int
    end_line: int
    symbol: str
    form: str
    message: str
    is_open: bool
    baseline_state: str
    outcome: str
    migration: MigrationOut | None
    url: str

    @classmethod
    def of(cls, row: SiteState) -> SiteOut:
        """Tell a site's state that was read with its site and migration."""
        return cls(
            id=row.site_id,
            rule_id=row.rule_id,
            level=row.level,
            crate=row.crate,
            path=row.path,
            start_line=row.start_line,
            end_line=row.end_line,
            symbol=row.symbol,
            form=row.form,
            message=row.message,
            is_open=row.is_open,
            baseline_state=row.baseline_state,
            outcome=row.outcome,
            migration=MigrationOut.of(getattr(row.site, "migration", None)),
            url=row.site.get_absolute_url(),
        )


class TransitionOut(Schema):
    """One step of a migration."""

    from_status: str
    to_status: str
    cause: str
    actor: str | None
    reason: str
    at: datetime

    @classmethod
    def of(cls, row: Transition) -> TransitionOut:
        """Tell a step."""
        return cls(
            from_status=row.from_status,
            to_status=row.to_status,
            cause=row.cause,
            actor=row.actor.username if row.actor else None,
            reason=row.reason,
            at=row.created_at,
        )


class FileOut(Schema):
    """A file beside a comment."""

    id: int
    name: str
    size: int


class CommentOut(Schema):
    """What somebody said, in Markdown."""

    id: int
    author: str
    text: str
    at: datetime
    mentions: list[str]
    files: list[FileOut]

    @classmethod
    def of(cls, row: Comment) -> CommentOut:
        """Tell a comment that was read with the names of those it told and its files."""
        return cls(
            id=row.pk,
            author=row.author.username,
            text=row.text,
            at=row.created_at,
            mentions=row.told,  # type: ignore[attr-defined]
            files=[
                FileOut(id=one["pk"], name=one["name"], size=one["size"])
                for one in row.files  # type: ignore[attr-defined]
            ],
        )


class CommentMadeOut(Schema):
    """A comment that was made: whom it told, and which names in it nobody was told of."""

    id: int
    author: str
    text: str
    at: datetime
    mentions: list[str]
    not_told: list[str]

    @classmethod
    def of(cls, row: Comment) -> CommentMadeOut:
        """Tell a comment."""
        return cls(
            id=row.pk,
            author=row.author.username,
            text=row.text,
            at=row.created_at,
            mentions=sorted(row.mentions.values_list("person__username", flat=True)),
            not_told=names_not_told(comment=row),
        )


class ChoiceOut(Schema):
    """A step that may be taken now."""

    to: str
    needs_reason: bool
    needs_commit: bool


class SiteDetail(SiteOut):
    """A site with its evidence, rationale and history.

    `own_clauses` are those of the repository's own policy in `policy_version`, under which it was judged.
    """

    rule_name: str
    clauses: list[str]
    own_clauses: list[str]
    policy_version: str
    evidence: list[dict[str, Any]]
    snippet: str
    rationale: list[str]
    suppression: str | None
    allowed_in_source: list[str]
    choices: list[ChoiceOut]
    transitions: list[TransitionOut]
    comments: list[CommentOut]


class GapOut(Schema):
    """A case that PyTorch computes on the device and the code does not."""

    id: int
    operator: str
    dtype: str
    device: str
    direction: str
    family: str
    state: str
    path: str
    is_open: bool
    outcome: str
    migration: MigrationOut | None
    url: str

    @classmethod
    def of(cls, row: CapabilityGap) -> GapOut:
        """Tell a gap that was read with its migration."""
        return cls(
            id=row.pk,
            operator=row.operator,
            dtype=row.dtype,
            device=row.device,
            direction=row.direction,
            family=row.family,
            state=row.state,
            path=row.path,
            is_open=row.is_open,
            outcome=row.outcome,
            migration=MigrationOut.of(getattr(row, "migration", None)),
            url=row.get_absolute_url(),
        )


class GapChangeOut(Schema):
    """What the scan of a commit changed about a gap."""

    kind: str
    from_state: str
    to_state: str
    outcome: str
    commit: str
    at: datetime

    @classmethod
    def of(cls, row: CapabilityGapChange) -> GapChangeOut:
        """Tell a change that was read with its scan's commit."""
        return cls(
            kind=row.kind,
            from_state=row.from_state,
            to_state=row.to_state,
            outcome=row.outcome,
            commit=row.scan_run.commit.object_id,
            at=row.created_at,
        )


class GapDetail(GapOut):
    """A gap with the code that proves it, its rationale and its history."""

    proof: list[dict[str, Any]]
    rationale: str
    suppression: str | None
    choices: list[ChoiceOut]
    changes: list[GapChangeOut]
    transitions: list[TransitionOut]
    comments: list[CommentOut]


class HoursOut(Schema):
    """An estimate."""

    low: float
    likely: float
    high: float


class UnitOut(Schema):
    """A work unit. Send `version` back with a change."""

    id: int
    key: str
    title: str
    kind: str
    phase: int
    category: str
    crate: str
    status: str
    person: str | None
    hours: HoursOut
    weight: int
    items: int
    version: int
    url: str

    @classmethod
    def of(cls, row: WorkUnit) -> UnitOut:
        """Tell a unit that was read with its person."""
        return cls(
            id=row.pk,
            key=row.key,
            title=row.title,
            kind=row.kind,
            phase=row.phase,
            category=row.category,
            crate=row.crate,
            status=row.status,
            person=row.person.name if row.person else None,
            hours=HoursOut(low=row.hours_low, likely=row.hours_likely, high=row.hours_high),
            weight=row.weight,
            items=row.item_count,
            version=row.version,
            url=row.get_absolute_url(),
        )


class UnitDetail(UnitOut):
    """A unit with what it holds, what it waits for, and its rationale as Markdown."""

    reason: str
    sites: list[int]
    gaps: list[int]
    waits_for: list[int]
    text: str


class RuleOut(Schema):
    """A rule; `sections` are its documentation, Markdown by heading."""

    id: str
    name: str
    level: str
    summary: str
    sections: dict[str, str]
    clauses: list[str]


class ClauseOut(Schema):
    """A clause of the policy and what rests on it."""

    id: str
    kind: str
    title: str
    text: str
    reason: str
    pytorch: str
    right: str
    wrong: str
    rules: list[str]
    forms: list[str]
    outcomes: list[str]
    verdicts: list[str]
    states: list[str]
    sentences: list[str]


class OwnClauseOut(Schema):
    """A clause that a repository added, with the rules and forms that rest on it."""

    id: str
    kind: str
    title: str
    text: str
    reason: str
    pytorch: str
    right: str
    wrong: str
    rules: list[str]
    forms: list[str]


class PolicyVersionOut(Schema):
    """A publication of a repository's own policy."""

    version: str
    number: int
    what: str
    reason: str
    author: str
    published_at: datetime


class PolicyOut(Schema):
    """The policy that a repository is held to: the house's, with its own clauses and levels.

    `levels` are those that it gave to rules in place of their own; `profile` says them for the command line.
    """

    repository: str
    version: str
    is_in_force: bool
    levels: dict[str, str]
    clauses: list[OwnClauseOut]
    profile: str
    versions: list[PolicyVersionOut]


class ReportOut(Schema):
    """A migration report; its files are under `files` once it is written."""

    id: int
    repository: str
    branch: str
    state: str
    failure: str
    files: dict[str, str]
    url: str

    @classmethod
    def of(cls, row: MigrationReport) -> ReportOut:
        """Tell a report that was read with its branch and repository."""
        written = row.state == RowState.SUCCEEDED
        return cls(
            id=row.pk,
            repository=row.branch.repository.slug,
            branch=row.branch.name,
            state=row.state,
            failure=row.failure_reason,
            files={
                key: reverse("api-v1:report_file", args=[row.pk, key]) for key in (*FORMATS, "zip") if written
            },
            url=row.get_absolute_url(),
        )
