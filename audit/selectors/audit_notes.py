"""What people noted on crates and operators, and the entries that are attached to something."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db.models import Q

from audit.knowledge.links import LinkKind
from audit.models import AuditNote, KnowledgeEntry, NoteSubject, Repository

NOTES_SHOWN = 50
ENTRIES_SHOWN = 20


def notes_of(*, repository: Repository, kind: NoteSubject, subject: str) -> Sequence[AuditNote]:
    """List the notes on a crate or an operator, the newest first."""
    rows = AuditNote.objects.filter(repository=repository, subject_kind=kind, subject=subject)
    return list(rows.select_related("reader", "commit")[:NOTES_SHOWN])


def entries_about(*, kind: str, target: str, repositories: Iterable[Repository]) -> Sequence[KnowledgeEntry]:
    """List the published entries of the repositories, and of none, that are attached to something or name
    it, the newest first.
    """
    return _entries(Q(links__kind=kind, links__target=target), repositories)


def entries_about_clause(
    *, repository: Repository, clause_id: str, repositories: Iterable[Repository]
) -> Sequence[KnowledgeEntry]:
    """List the published entries about a repository's own clause: its own entries name it without the
    repository.
    """
    named = Q(links__target=f"{repository.slug}:{clause_id}") | Q(
        links__target=clause_id, repository=repository
    )
    return _entries(Q(links__kind=LinkKind.CLAUSE) & named, repositories)


def _entries(about: Q, repositories: Iterable[Repository]) -> Sequence[KnowledgeEntry]:
    rows = KnowledgeEntry.objects.filter(about, published_number__gt=0).distinct()
    rows = rows.filter(Q(repository=None) | Q(repository__in=repositories))
    return list(rows.only("title")[:ENTRIES_SHOWN])
