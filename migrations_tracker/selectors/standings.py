"""What a person is in each repository, read with the person in one query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.postgres.aggregates import JSONBAgg
from django.db.models import F, Q, QuerySet
from django.db.models.functions import JSONObject

from audit.models import Repository
from migrations_tracker.models import Membership
from migrations_tracker.roles import Owner, Role

_HELD = "held_roles"


@dataclass(frozen=True, slots=True)
class Standing:
    """The roles of one person: the one in all repositories, and those in single ones."""

    everywhere: Role = Role.NOBODY
    by_repository: Mapping[int, Role] = field(default_factory=dict)

    def role_in(self, repository_id: int | None) -> Role:
        """Return the role in a repository; for what belongs to none, the role in all."""
        if repository_id is None:
            return self.everywhere
        return max(self.everywhere, self.by_repository.get(repository_id, Role.NOBODY))

    @property
    def highest(self) -> Role:
        """The highest role anywhere."""
        return max([self.everywhere, *self.by_repository.values()])


def users_with_roles() -> QuerySet[User]:
    """Return people, each with the roles that `standing_of` reads."""
    held = JSONBAgg(
        JSONObject(repository=F("memberships__repository_id"), role=F("memberships__role")),
        filter=Q(memberships__isnull=False),
        default=None,
    )
    return User.objects.annotate(**{_HELD: held})


def standing_of(user: User | AnonymousUser) -> Standing:
    """Return a person's roles. An administrator of the installation is one in each repository."""
    if not user.is_authenticated or not user.is_active:
        return Standing()
    if user.is_superuser:
        return Standing(Role.ADMINISTRATOR)
    known: Standing | None = getattr(user, "standing", None)
    if known is None:
        known = _standing(_held(user))
        user.standing = known  # type: ignore[attr-defined]
    return known


def _held(user: Any) -> list[dict[str, int | None]]:
    if hasattr(user, _HELD):
        return getattr(user, _HELD) or []
    rows = Membership.objects.filter(user=user).order_by()
    return [
        {"repository": repository, "role": role}
        for repository, role in rows.values_list("repository", "role")
    ]


def _standing(held: list[dict[str, int | None]]) -> Standing:
    roles = {one["repository"]: Role(one["role"] or 0) for one in held}
    everywhere = roles.pop(None, Role.NOBODY)
    return Standing(everywhere, {key: role for key, role in roles.items() if key is not None})


def repositories_seen_by(user: User | AnonymousUser | None) -> QuerySet[Repository]:
    """Return the repositories in which a person has a role; nobody in particular sees all."""
    repositories = Repository.objects.all()
    if user is None:
        return repositories
    standing = standing_of(user)
    if standing.everywhere > Role.NOBODY:
        return repositories
    return repositories.filter(pk__in=list(standing.by_repository))


def repositories_led_by(user: User) -> QuerySet[Repository]:
    """Return the repositories in which a person is lead, or more."""
    standing = standing_of(user)
    if standing.everywhere >= Role.LEAD:
        return Repository.objects.all()
    led = [pk for pk, role in standing.by_repository.items() if role >= Role.LEAD]
    return Repository.objects.filter(pk__in=led)


def repository_ids_seen_by(user: User) -> tuple[int, ...] | None:
    """Return the repositories in which a person has a role; None for all."""
    standing = standing_of(user)
    return None if standing.everywhere > Role.NOBODY else tuple(standing.by_repository)


def repository_of(owner: Owner, named: object) -> tuple[bool, int | None]:
    """Say whether there is such a thing, and the repository that it belongs to."""
    try:
        found = (
            apps.get_model(owner.model)
            ._default_manager.filter(**{owner.column: named})
            .order_by()
            .values_list(owner.path, flat=True)
            .first()
        )
    except (ValueError, TypeError, OverflowError):
        return False, None
    if found is not None:
        return True, int(found)
    return apps.get_model(owner.model)._default_manager.filter(**{owner.column: named}).exists(), None
