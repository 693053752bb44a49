"""The repository that a command is asked about."""

from __future__ import annotations

from django.core.management.base import CommandError

from audit.models import Repository


def repository_named(slug: str) -> Repository:
    """Return the repository of that name in addresses; a CommandError lists the names that there are."""
    found = Repository.objects.filter(slug=slug).first()
    if found is not None:
        return found
    known = ", ".join(
        f"`{one}`" for one in Repository.objects.order_by("slug").values_list("slug", flat=True)
    )
    raise CommandError(
        f"There is no repository `{slug}`; there are {known}."
        if known
        else f"There is no repository `{slug}`, nor any other: `manage.py scan PATH_OR_URL` adds one."
    )
