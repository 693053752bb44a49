"""Whom a comment calls, and who of them may hear it."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.contrib.postgres.aggregates import ArrayAgg
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, Q, Value
from django.db.models.functions import JSONObject, Lower

from audit.knowledge.comments import mentioned_in
from audit.models import CapabilityGap, FallbackSite
from migrations_tracker.models import Attachment, Comment
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


def comments_of(*, subject: FallbackSite | CapabilityGap) -> list[Comment]:
    """List the comments on a site or a gap, each with the names of those it told and its files.

    They are in `told`, and as mappings with `pk`, `name` and `size` in `files`.
    """
    of_people = ArrayAgg(
        "mentions__person__username", filter=Q(mentions__isnull=False), default=Value([]), distinct=True
    )
    files = ArraySubquery(
        Attachment.objects.filter(comment=OuterRef("pk"))
        .order_by("pk")
        .values(file=JSONObject(pk="pk", name="name", size="size_bytes"))
    )
    return list(subject.comments.select_related("author").annotate(told=of_people, files=files))


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
