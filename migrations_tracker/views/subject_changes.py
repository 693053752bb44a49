"""What people do alike to a site and to a capability gap: move its migration, give it to somebody, comment.

Each function takes the form that was sent and returns the status of the answer: `FOUND` when it was done, and
otherwise that of the page that shows the form again with its errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth.models import User

from audit.models import CapabilityGap, FallbackSite
from migrations_tracker.errors import PlanError
from migrations_tracker.forms import AssignForm, CommentForm, DueForm, SuppressionForm, TransitionForm
from migrations_tracker.http import SignedInRequest
from migrations_tracker.lifecycle import Status, TransitionNotAllowedError
from migrations_tracker.models import SiteMigration
from migrations_tracker.models.site_migration import STATUS_LABELS
from migrations_tracker.selectors.mentions import names_not_told
from migrations_tracker.services.comments import comment_create
from migrations_tracker.services.site_migrations import (
    gap_migration_transition,
    site_migration_assign,
    site_migration_due,
    site_migration_transition,
)
from migrations_tracker.services.suppressions import suppression_ask, suppression_withdraw

Subject = FallbackSite | CapabilityGap


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of a site's or a gap's page; one that was sent and refused has its errors."""

    transition: TransitionForm = field(default_factory=TransitionForm)
    assign: AssignForm = field(default_factory=AssignForm)
    due: DueForm = field(default_factory=DueForm)
    comment: CommentForm = field(default_factory=CommentForm)
    suppression: SuppressionForm = field(default_factory=SuppressionForm)


def transition(request: SignedInRequest, subject: Subject, form: TransitionForm) -> HTTPStatus:
    """Move the migration of a site or a gap on, as the form says."""
    if not form.is_valid():
        return HTTPStatus.UNPROCESSABLE_ENTITY
    data = form.cleaned_data
    try:
        to = Status(data["to"])
    except ValueError:
        form.add_error("to", "Choose the next status.")
        return HTTPStatus.UNPROCESSABLE_ENTITY

    def move() -> None:
        words = {"to": to, "actor": request.user, "reason": data["reason"], "seen_version": data["version"]}
        # A day that is left over from another choice of the list means nothing there.
        words["expires_on"] = data["expires_on"] if to is Status.SUPPRESSED else None
        if isinstance(subject, CapabilityGap):
            gap_migration_transition(gap=subject, **words)
        else:
            site_migration_transition(site=subject, **words)

    return _done(request, form, move, f"The {_noun(subject)} is {STATUS_LABELS[to].lower()} now.")


def suppression(request: SignedInRequest, subject: Subject, form: SuppressionForm) -> HTTPStatus:
    """Ask that a site or a gap stays as it is, or take the question back."""
    if not form.is_valid():
        return HTTPStatus.UNPROCESSABLE_ENTITY
    data = form.cleaned_data

    def ask() -> None:
        if data["withdraw"]:
            suppression_withdraw(subject=subject, actor=request.user)
        else:
            suppression_ask(
                subject=subject,
                justification=data["justification"],
                expires_on=data["expires_on"],
                actor=request.user,
            )

    words = "Taken back." if data["withdraw"] else "Asked for: it stays open until a lead has accepted."
    return _done(request, form, ask, words)


def assign(request: SignedInRequest, subject: Subject, form: AssignForm) -> HTTPStatus:
    """Say who owns a site or a gap; an empty name is nobody."""
    if not form.is_valid():
        return HTTPStatus.UNPROCESSABLE_ENTITY
    data = form.cleaned_data
    name = data["assignee"]
    person = User.objects.filter(username=name).first() if name else None
    if name and person is None:
        form.add_error("assignee", "Nobody has this name.")
        return HTTPStatus.UNPROCESSABLE_ENTITY
    migration = _migration_of(subject, form)
    if migration is None:
        return HTTPStatus.CONFLICT

    def give() -> None:
        site_migration_assign(
            migration=migration, assignee=person, actor=request.user, seen_version=data["version"]
        )

    return _done(request, form, give, f"The {_noun(subject)} is {name or 'nobody'}'s now.")


def due(request: SignedInRequest, subject: Subject, form: DueForm) -> HTTPStatus:
    """Say by which day a site's or a gap's migration is to be done; an empty day is none."""
    if not form.is_valid():
        return HTTPStatus.UNPROCESSABLE_ENTITY
    migration = _migration_of(subject, form)
    if migration is None:
        return HTTPStatus.CONFLICT
    day = form.cleaned_data["due_on"]

    def date_it() -> None:
        site_migration_due(
            migration=migration, due_on=day, actor=request.user, seen_version=form.cleaned_data["version"]
        )

    return _done(request, form, date_it, f"Due on {day:%Y-%m-%d}." if day else "It has no due date now.")


def _migration_of(subject: Subject, form: AssignForm | DueForm) -> SiteMigration | None:
    """Return what is planned for a site or a gap, or say on the form that nothing is."""
    migration: SiteMigration | None = getattr(subject, "migration", None)
    if migration is None:
        form.add_error(None, f"No scan of the default branch has found this {_noun(subject)}.")
    return migration


def comment(request: SignedInRequest, subject: Subject, form: CommentForm) -> str:
    """Comment on a site or a gap; return the comment's address, or nothing where it was refused."""
    if not form.is_valid():
        return ""
    try:
        said = comment_create(
            subject=subject,
            author=request.user,
            text=form.cleaned_data["text"],
            files=[(str(one.name), one.read()) for one in request.FILES.getlist("files")],
        )
    except PlanError as error:
        form.add_error("text", str(error))
        return ""
    unheard = names_not_told(comment=said)
    if unheard:
        names = ", ".join(f"@{name}" for name in unheard)
        messages.warning(request, f"Not told: {names}. Nobody of that name reads this repository.")
    return f"{subject.get_absolute_url()}#comment-{said.pk}"


def _done(
    request: SignedInRequest,
    form: TransitionForm | AssignForm | DueForm | SuppressionForm,
    change: Callable[[], None],
    words: str,
) -> HTTPStatus:
    try:
        change()
    except TransitionNotAllowedError as error:
        form.add_error(None, str(error))
        return HTTPStatus.UNPROCESSABLE_ENTITY
    except PlanError as error:
        form.add_error(None, str(error))
        return HTTPStatus.CONFLICT
    messages.success(request, words)
    return HTTPStatus.FOUND


def _noun(subject: Subject) -> str:
    return "gap" if isinstance(subject, CapabilityGap) else "site"
