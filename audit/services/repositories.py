"""Adding repositories, and noting their commits and branches."""

from __future__ import annotations

import re

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils.text import slugify

from audit.models import Branch, Commit, Repository
from audit.services.addresses import location_read
from audit.services.git_repository import CommitInfo

FOLDER_BRANCH = "folder"
_ADD_LOCK = 7202


def repository_add(*, location: str, name: str = "", profile: str = "", actor: User | None) -> Repository:
    """Add the repository at a path or URL; adding it again gives the same one.

    Nothing is fetched here: the first scan does that, in the worker.
    """
    kind, location = location_read(location)
    existing = Repository.objects.filter(location=location).first()
    if existing is not None:
        return existing
    name = name.strip() or _name_from(location)
    with transaction.atomic():
        # One at a time, or two of the same name would look for a free address at the same moment.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ADD_LOCK])
        repository, _ = Repository.objects.get_or_create(
            location=location,
            defaults={
                "name": name,
                "slug": _free_slug(name),
                "kind": kind,
                "profile": profile,
                "added_by": actor,
            },
        )
    return repository


def commit_note(*, repository: Repository, info: CommitInfo) -> Commit:
    """Keep what git says about a commit, once."""
    commit, _ = Commit.objects.get_or_create(
        repository=repository,
        object_id=info.object_id,
        defaults={
            "subject": info.subject,
            "author_name": info.author_name,
            "committed_at": info.committed_at,
            "parent_ids": list(info.parent_ids),
        },
    )
    return commit


def branch_note(*, repository: Repository, name: str, is_default: bool) -> Branch:
    """Keep a branch by name, once, and remember the default one."""
    branch, _ = Branch.objects.get_or_create(repository=repository, name=name)
    if is_default and repository.default_branch != name:
        repository.default_branch = name
        repository.save(update_fields=["default_branch"])
    return branch


# What slugify would drop, and so glue what it stands between.
_NOT_IN_SLUGS = re.compile(r"[^\w-]+")


def _name_from(location: str) -> str:
    last = [part for part in location.rstrip("/").split("/") if part]
    name = last[-1].removesuffix(".git") if last else location
    if name in {"", "repo"} and len(last) > 1:
        name = last[-2]
    return name[:100] or "repository"


def _free_slug(name: str) -> str:
    base = slugify(_NOT_IN_SLUGS.sub("-", name))[:90].strip("-") or "repository"
    taken = set(Repository.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    if base not in taken:
        return base
    return next(slug for number in range(2, len(taken) + 3) if (slug := f"{base}-{number}") not in taken)
