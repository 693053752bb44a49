"""Keeping which sites and which pull requests, issues and commits are named in one text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.db.models import Q

from audit.knowledge.references import Reference, ReferenceKind, find_references, find_sites
from audit.models import Commit, FallbackSite, ReferenceSource, Repository, TextReference


def references_store(
    *, repository: Repository, text: str, sites: Iterable[int], source: ReferenceSource, source_path: str
) -> int:
    """Keep what a text about `sites` refers to; return how many pairs it names. Twice is as once."""
    found = find_references(text)
    wanted = sorted(set(sites))
    if not found or not wanted:
        return 0
    rows = [
        TextReference(
            repository=repository,
            site_id=site,
            kind=reference.kind.value,
            target=reference.target,
            source=source,
            source_path=source_path,
        )
        for reference in _resolved(repository, found)
        for site in wanted
    ]
    TextReference.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)
    return len(rows)


def message_references_store(*, repository: Repository, messages: Mapping[str, str]) -> int:
    """Keep which sites the messages of commits name, by the commits' ids; return how many pairs there are.

    What else such a message names, as the pull request that it came by, is named together with the sites.
    """
    named = {object_id: find_sites(message) for object_id, message in messages.items()}
    known = set(
        FallbackSite.objects.filter(
            repository=repository, pk__in={site for sites in named.values() for site in sites}
        ).values_list("pk", flat=True)
    )
    rows = [
        TextReference(
            repository=repository,
            site_id=site,
            kind=reference.kind.value,
            target=reference.target,
            source=ReferenceSource.MESSAGE,
            source_path="",
        )
        for object_id, sites in named.items()
        if not known.isdisjoint(sites)
        for reference in [
            Reference(ReferenceKind.COMMIT, object_id),
            *_resolved(repository, find_references(messages[object_id])),
        ]
        for site in sites
        if site in known
    ]
    TextReference.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)
    return len(rows)


def _resolved(repository: Repository, found: Sequence[Reference]) -> list[Reference]:
    """Write the commits that are known by their whole ids, so that short and long ones are the same."""
    short = [reference.target for reference in found if reference.kind is ReferenceKind.COMMIT]
    whole: dict[str, str] = {}
    if short:
        fitting = Q()
        for target in short:
            fitting |= Q(object_id__startswith=target)
        known = Commit.objects.filter(fitting, repository=repository)
        for object_id in known.values_list("object_id", flat=True):
            whole |= {target: object_id for target in short if object_id.startswith(target)}
    return list(dict.fromkeys(Reference(one.kind, whole.get(one.target, one.target)) for one in found))
