"""Reading what texts refer to."""

from __future__ import annotations

from django.db.models import Q

from audit.knowledge.references import ReferenceKind, find_references
from audit.models import Commit, Repository


def commit_is_named(*, repository: Repository, text: str) -> bool:
    """Whether a text names a commit that is known in the repository; of a folder, a snapshot."""
    named = [one.target for one in find_references(text) if one.kind is ReferenceKind.COMMIT]
    if not named:
        return False
    starts = [*named, *(f"snapshot:{target}" for target in named)]
    fitting = Q(*(Q(object_id__startswith=start) for start in starts), _connector=Q.OR)
    return Commit.objects.filter(fitting, repository=repository).exists()
