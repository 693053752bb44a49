"""Giving people roles. Each change is a row of the history of memberships."""

from __future__ import annotations

import pghistory
from django.contrib.auth.models import User
from django.db import transaction

from audit.models import Repository
from migrations_tracker.errors import PlanError
from migrations_tracker.models import Membership
from migrations_tracker.roles import Role
from migrations_tracker.selectors.standings import standing_of


def membership_set(
    *, user: User, repository: Repository | None, role: Role, actor: User
) -> Membership | None:
    """Give a person a role in a repository, or in all; `Role.NOBODY` takes the one held there away.

    Nobody changes their own role, so that a repository is never without an administrator by mistake.
    """
    if user.pk == actor.pk:
        raise PlanError("Nobody changes their own role; ask another administrator.")
    if standing_of(actor).role_in(repository.pk if repository else None) < Role.ADMINISTRATOR:
        raise PlanError("Only an administrator gives roles.")
    with transaction.atomic(), pghistory.context(user=actor.pk):
        held = Membership.objects.filter(user=user, repository=repository)
        if role is Role.NOBODY:
            held.delete()
            return None
        return Membership.objects.update_or_create(
            user=user, repository=repository, defaults={"role": role.value}
        )[0]
