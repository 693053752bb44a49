"""A repository's own policy: reading it at any version, and publishing levels and clauses."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from ninja import Query, Router, Schema, Status
from pydantic import AfterValidator, Field

from audit.models import Repository
from audit.policy.clauses import ClauseKind, own_clause_plain
from audit.scanner.report import Level
from audit.services.repository_policies import (
    MAX_REASON,
    MAX_TEXT,
    policy_clause_drop,
    policy_clause_publish,
    policy_levels_publish,
)
from migrations_tracker.api.v1.choosing import repository_named
from migrations_tracker.api.v1.parameters import Word, without_nul
from migrations_tracker.api.v1.problems import not_found
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.api.v1.shapes import OwnClauseOut, PolicyOut, PolicyVersionOut
from migrations_tracker.selectors.policy_pages import PolicyPage, policy_page

router = Router(tags=["policy"])

Why = Annotated[
    str,
    Field(max_length=MAX_REASON, description="Why it is published: it stands in the list of versions."),
    AfterValidator(without_nul),
]
Read = Annotated[
    int, Field(ge=0, lt=2**31, description="The number of the version that was read, 0 for the house's.")
]
ClauseText = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(without_nul)]


class PolicyQuery(Schema):
    """Which version of a repository's policy is meant: its number, or none for the one in force."""

    version: Annotated[int | None, Field(ge=0, lt=2**31)] = None


class LevelsIn(Schema):
    """The levels that rules are to have here, by their ids; a rule that is not named keeps the one it has."""

    levels: dict[Word, Level]
    why: Why
    version: Read


class ClauseIn(Schema):
    """A clause, whole, with the rules and the forms that rest on it."""

    title: Word
    kind: ClauseKind
    text: ClauseText
    reason: ClauseText
    pytorch: ClauseText
    right: ClauseText = ""
    wrong: ClauseText = ""
    rules: tuple[Word, ...] = ()
    forms: tuple[Word, ...] = ()
    why: Why
    version: Read


class DropIn(Schema):
    """Why a clause is taken out."""

    why: Why
    version: Read


@router.get("/repositories/{slug}/policy", response=PolicyOut)
def policy_get(request: ProgramRequest, slug: str, query: Annotated[PolicyQuery, Query()]) -> PolicyOut:
    """Show the policy that a repository is held to, or was at a version by its number; 0 is the house's."""
    page = policy_page(repository=repository_named(slug), number=query.version)
    if page is None:
        raise not_found("version of the policy")
    return _told(page)


@router.put("/repositories/{slug}/policy/levels", response=PolicyOut)
def levels_publish(request: ProgramRequest, slug: str, body: LevelsIn) -> PolicyOut:
    """Publish levels of rules as a new version of the policy."""
    repository = repository_named(slug)
    policy_levels_publish(
        repository=repository,
        levels={rule_id: level.value for rule_id, level in body.levels.items()},
        reason=body.why,
        actor=request.user,
        based_on=body.version,
    )
    return _in_force(repository)


@router.post("/repositories/{slug}/policy/clauses", response={HTTPStatus.CREATED: PolicyOut})
def clause_add(request: ProgramRequest, slug: str, body: ClauseIn) -> Status[PolicyOut]:
    """Publish a clause that a repository adds as a new version of its policy."""
    return Status(HTTPStatus.CREATED, _clause_published(request, slug, "", body))


@router.put("/repositories/{slug}/policy/clauses/{key}", response=PolicyOut)
def clause_change(request: ProgramRequest, slug: str, key: str, body: ClauseIn) -> PolicyOut:
    """Publish a clause of the repository's own in other words."""
    return _clause_published(request, slug, _clause_id(key), body)


@router.post("/repositories/{slug}/policy/clauses/{key}/drop", response=PolicyOut)
def clause_drop(request: ProgramRequest, slug: str, key: str, body: DropIn) -> PolicyOut:
    """Take a clause out of the policy; the versions before still hold it."""
    repository = repository_named(slug)
    policy_clause_drop(
        repository=repository,
        clause_id=_clause_id(key),
        reason=body.why,
        actor=request.user,
        based_on=body.version,
    )
    return _in_force(repository)


def _clause_published(request: ProgramRequest, slug: str, clause_id: str, body: ClauseIn) -> PolicyOut:
    repository = repository_named(slug)
    policy_clause_publish(
        repository=repository,
        clause_id=clause_id,
        parts=body.dict(exclude={"why", "version", "kind"}) | {"kind": body.kind.value},
        reason=body.why,
        actor=request.user,
        based_on=body.version,
    )
    return _in_force(repository)


def _clause_id(key: str) -> str:
    if not key.isascii() or not key.isalnum():
        raise not_found("clause")
    return key.upper()


def _in_force(repository: Repository) -> PolicyOut:
    page = policy_page(repository=repository, number=None)
    if page is None:
        raise not_found("version of the policy")
    return _told(page)


def _told(page: PolicyPage) -> PolicyOut:
    return PolicyOut(
        repository=page.repository.slug,
        version=str(page.edition.version),
        is_in_force=page.is_in_force,
        levels={rule_id: level.value for rule_id, level in page.edition.levels.items()},
        clauses=[OwnClauseOut(**own_clause_plain(clause)) for clause in page.own],
        profile=page.profile_text,
        versions=[
            PolicyVersionOut(
                version=str(one.version),
                number=one.row.number,
                what=one.row.what,
                reason=one.row.reason,
                author=str(one.row.author),
                published_at=one.row.published_at,
            )
            for one in page.named_versions
        ],
    )
