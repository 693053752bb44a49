"""Whom a comment calls, and who of them may hear it."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db.models.functions import Lower

from audit.knowledge.comments import mentioned_in
from migrations_tracker.models import Comment
from migrations_tracker.roles import Role
from migrations_tracker.selectors.standings import standing_of, users_with_roles


def people_called(*, text: str, repository_id: int) -> list[User]:
    """Return the people whom a comment calls and who may read the repository.

    Case does not matter, except between people whose names differ in nothing else.
    """
    names = mentioned_in(text)
    if not names:
        return []
    found = users_with_roles().annotate(lower=Lower("username")).filter(is_active=True)
    people = list(found.filter(lower__in=[name.lower() for name in names]).order_by("pk"))
    chosen = {name: _chosen(name, people) for name in names}
    return [
        person
        for person in {one.pk: one for one in chosen.values() if one is not None}.values()
        if standing_of(person).role_in(repository_id) >= Role.READER
    ]


def names_not_told(*, comment: Comment) -> list[str]:
    """Return the names in a comment that nobody was told of.

    Whether there is nobody of that name, or somebody who may not read the repository, is not said.
    """
    told = comment.mentions.values_list("person__username", flat=True)
    heard = {name.lower() for name in told}
    return [name for name in mentioned_in(comment.text) if name.lower() not in heard]


def _chosen(name: str, people: Sequence[User]) -> User | None:
    alike = [one for one in people if one.username.lower() == name.lower()]
    exact = [one for one in alike if one.username == name]
    if not exact and len(alike) > 1:
        return None
    return next(iter(exact or alike), None)
