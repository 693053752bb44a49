"""Roles in a repository, and the filters that people keep."""

from __future__ import annotations

from enum import StrEnum
from http import HTTPStatus
from typing import Annotated

from django.http import QueryDict
from ninja import Router, Schema, Status
from pydantic import Field

from audit.models import Repository
from migrations_tracker.api.v1.choosing import repository_named
from migrations_tracker.api.v1.parameters import Key
from migrations_tracker.api.v1.problems import RefusedError, not_found
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.api.v1.sites import person_named
from migrations_tracker.models import Membership, SavedFilter
from migrations_tracker.roles import Role
from migrations_tracker.selectors.saved_filters import saved_filters_of
from migrations_tracker.services.memberships import membership_set
from migrations_tracker.services.saved_filters import saved_filter_drop, saved_filter_keep

router = Router(tags=["people and filters"])


class RoleName(StrEnum):
    """A role that is given."""

    READER = "reader"
    ENGINEER = "engineer"
    LEAD = "lead"
    ADMINISTRATOR = "administrator"


class RoleIn(Schema):
    """The role that a person is given."""

    role: RoleName


class MemberOut(Schema):
    """A person's role in a repository; `everywhere` where it is held in all of them."""

    person: str
    role: RoleName
    everywhere: bool

    @classmethod
    def of(cls, row: Membership) -> MemberOut:
        """Tell a role that was read with its person."""
        return cls(
            person=row.user.username,
            role=RoleName(Role(row.role).name.lower()),
            everywhere=row.repository_id is None,
        )


class FilterIn(Schema):
    """A filter of the list of sites: `query` is what stands behind the `?` of its address."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    query: Annotated[str, Field(max_length=2000)] = ""
    is_shared: bool = False


class FilterOut(Schema):
    """A filter that somebody keeps."""

    id: int
    name: str
    owner: str
    is_shared: bool
    url: str

    @classmethod
    def of(cls, row: SavedFilter) -> FilterOut:
        """Tell a filter that was read with its owner."""
        return cls(
            id=row.pk,
            name=row.name,
            owner=row.owner.username,
            is_shared=row.is_shared,
            url=row.get_absolute_url(),
        )


@router.get("/repositories/{slug}/roles", response=list[MemberOut])
def role_index(request: ProgramRequest, slug: str) -> list[MemberOut]:
    """List who has which role in a repository, those with one in all repositories included."""
    repository = repository_named(slug)
    rows = Membership.objects.filter(repository=repository) | Membership.objects.filter(repository=None)
    return [MemberOut.of(row) for row in rows.select_related("user").order_by("user__username", "role")]


@router.put("/repositories/{slug}/roles/{name}", response=MemberOut)
def role_give(request: ProgramRequest, slug: str, name: str, body: RoleIn) -> MemberOut:
    """Give a person a role in a repository, instead of the one held there."""
    made = _set(request, repository_named(slug), name, Role[body.role.name])
    if made is None:
        raise not_found("role")
    return MemberOut.of(made)


@router.delete("/repositories/{slug}/roles/{name}", response={HTTPStatus.NO_CONTENT: None})
def role_take(request: ProgramRequest, slug: str, name: str) -> Status[None]:
    """Take a person's role in a repository away; one that is held in all repositories stays."""
    _set(request, repository_named(slug), name, Role.NOBODY)
    return Status(HTTPStatus.NO_CONTENT, None)


def _set(request: ProgramRequest, repository: Repository, name: str, role: Role) -> Membership | None:
    person = person_named(name.replace("\0", ""))
    if person is None:
        raise RefusedError("Nobody here has that name.", HTTPStatus.UNPROCESSABLE_ENTITY)
    return membership_set(user=person, repository=repository, role=role, actor=request.user)


@router.get("/repositories/{slug}/filters", response=list[FilterOut])
def filter_index(request: ProgramRequest, slug: str) -> list[FilterOut]:
    """List the filters of a repository's sites that the token's owner keeps, and those that are shared."""
    rows = saved_filters_of(person=request.user, repository=repository_named(slug))
    return [FilterOut.of(row) for row in rows]


@router.post("/repositories/{slug}/filters", response={HTTPStatus.CREATED: FilterOut})
def filter_keep(request: ProgramRequest, slug: str, body: FilterIn) -> Status[FilterOut]:
    """Keep a filter under a name; the same name again changes it."""
    row = saved_filter_keep(
        owner=request.user,
        repository=repository_named(slug),
        name=body.name,
        query=QueryDict(body.query.encode(errors="replace")),
        is_shared=body.is_shared,
    )
    return Status(HTTPStatus.CREATED, FilterOut.of(row))


@router.delete("/filters/{pk}", response={HTTPStatus.NO_CONTENT: None})
def filter_drop(request: ProgramRequest, pk: Key) -> Status[None]:
    """Drop a filter: one's own, or as a lead one that is shared."""
    row = SavedFilter.objects.filter(pk=pk).first()
    if row is None or (row.owner_id != request.user.pk and not row.is_shared):
        raise not_found("filter")
    saved_filter_drop(row=row, actor=request.user)
    return Status(HTTPStatus.NO_CONTENT, None)
