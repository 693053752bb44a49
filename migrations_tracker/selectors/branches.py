"""Which repository and branch a page is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User

from audit.models import Branch, Crate, Repository
from migrations_tracker.selectors.standings import repositories_seen_by, standing_of


@dataclass(frozen=True, slots=True)
class BranchChoice:
    """A branch with what it can be exchanged for."""

    repository: Repository | None
    branch: Branch | None
    repositories: Sequence[Repository]
    branches: Sequence[Branch]
    crates: Sequence[str]


def branch_choose(*, repository: str, branch: str, user: User | None = None) -> BranchChoice:
    """Choose the named repository and branch, or those scanned last, of those that `user` sees.

    From then on the person's permissions are those in the chosen repository.
    """
    repositories = list(repositories_seen_by(user))
    chosen = next((r for r in repositories if r.slug == repository), None)
    if chosen is None:
        scanned = Branch.objects.exclude(last_scan=None).filter(repository__in=repositories)
        newest = scanned.order_by("-last_scan_id").first()
        newest_id = newest.repository_id if newest else None
        chosen = next((r for r in repositories if r.pk == newest_id), None) or next(iter(repositories), None)
    if chosen is None:
        return BranchChoice(None, None, (), (), ())
    if user is not None:
        user.role_here = standing_of(user).role_in(chosen.pk)  # type: ignore[attr-defined]
    branches = list(
        Branch.objects.filter(repository=chosen).exclude(last_scan=None).select_related("last_scan")
    )
    names = {b.name: b for b in branches}
    return BranchChoice(
        repository=chosen,
        branch=names.get(branch) or names.get(chosen.default_branch) or next(iter(branches), None),
        repositories=repositories,
        branches=branches,
        crates=list(Crate.objects.filter(repository=chosen).values_list("name", flat=True)),
    )
