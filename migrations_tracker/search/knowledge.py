"""What people and earlier audits have said: precedents, entries, and imported findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.db.models import Count, Max

from audit.models import AuditNote, ImportedFinding, KnowledgeEntry, NoteSubject, Precedent, PullRequest
from migrations_tracker.search.documents import Document, Source, in_scope


class PrecedentSource(Source):
    """Rulings on sites; those that were taken back come after the others."""

    kind = "precedent"
    label = "Precedents"
    model = Precedent

    def states(self) -> Mapping[int | None, str]:
        """Name a repository's rulings by their number, the newest, and how many have ended."""
        rows = (
            Precedent.objects.order_by()
            .values_list("repository_id")
            .annotate(newest=Max("pk"), number=Count("pk"), ended=Count("ended_at"))
        )
        return {scope: f"{newest} {number} {ended}" for scope, newest, number, ended in rows}

    def documents(self, scope: int | None) -> Iterator[Document]:
        """Yield the rulings of a repository."""
        for ruling in Precedent.objects.filter(in_scope("repository_id", scope)).order_by("pk"):
            yield Document(
                key=str(ruling.pk),
                address=ruling.get_absolute_url(),
                title=ruling.title,
                text=ruling.text,
                names=f"{ruling.symbol} {ruling.ruling}",
                words=f"{ruling.reason} {ruling.rule_id} {ruling.form} {ruling.clause_id}",
                prose=ruling.path,
                code=ruling.code,
                rule_id=ruling.rule_id,
                boost=1.1 if ruling.ended_at is None else 0.6,
            )


class NoteSource(Source):
    """What people read of crates and operators, and what they found."""

    kind = "note"
    label = "Audit notes"
    model = AuditNote

    def states(self) -> Mapping[int | None, str]:
        """Name a repository's notes by their number and the newest: none is ever changed."""
        rows = AuditNote.objects.order_by().values_list("repository_id")
        counted = rows.annotate(number=Count("pk"), newest=Max("pk"))
        return {scope: f"{number} {newest}" for scope, number, newest in counted}

    def documents(self, scope: int | None) -> Iterator[Document]:
        """Yield the notes of a repository."""
        notes = AuditNote.objects.filter(in_scope("repository_id", scope)).select_related("repository")
        for note in notes.order_by("pk"):
            yield Document(
                key=str(note.pk),
                address=note.get_absolute_url(),
                title=note.title,
                text=f"{note.text} {note.remaining}".strip(),
                names=note.subject,
                words=note.subject_kind,
                prose=f"{note.text} {note.remaining} {' '.join(note.files)}",
                crate=note.subject if note.subject_kind == NoteSubject.CRATE else "",
                boost=0.9,
            )


class EntrySource(Source):
    """Entries of one's own as they are published: a draft is nobody else's to read."""

    kind = "entry"
    label = "Entries"
    model = KnowledgeEntry

    def states(self) -> Mapping[int | None, str]:
        """Name the published entries by their number and the newest change."""
        rows = (
            KnowledgeEntry.objects.filter(published_number__gt=0)
            .order_by()
            .values_list("repository_id")
            .annotate(number=Count("pk"), changed=Max("changed_at"), newest=Max("pk"))
        )
        return {scope: f"{number} {changed.isoformat()} {newest}" for scope, number, changed, newest in rows}

    def documents(self, scope: int | None) -> Iterator[Document]:
        """Yield the published entries."""
        entries = KnowledgeEntry.objects.filter(in_scope("repository_id", scope), published_number__gt=0)
        for entry in entries.order_by("pk"):
            yield Document(
                key=str(entry.pk),
                address=entry.get_absolute_url(),
                title=entry.title,
                text=entry.text,
                names=entry.title,
                words=" ".join(entry.tags),
                prose=entry.text,
                boost=1.2,
            )


class PullRequestSource(Source):
    """Pull requests, by what they say of themselves."""

    kind = "pull-request"
    label = "Pull requests"
    model = PullRequest

    def states(self) -> Mapping[int | None, str]:
        """Name a repository's pull requests by their number and the newest change."""
        rows = PullRequest.objects.order_by().values_list("repository_id")
        counted = rows.annotate(number_of=Count("pk"), changed=Max("changed_at"), newest=Max("pk"))
        return {scope: f"{count} {changed.isoformat()} {newest}" for scope, count, changed, newest in counted}

    def documents(self, scope: int | None) -> Iterator[Document]:
        """Yield the pull requests of a repository."""
        for pull in PullRequest.objects.filter(in_scope("repository_id", scope)).order_by("pk"):
            yield Document(
                key=str(pull.pk),
                address=pull.get_absolute_url(),
                title=str(pull),
                text=pull.body,
                names=pull.title,
                words=f"pull request {pull.number} {pull.head_name}",
                prose=pull.body,
                boost=0.9,
            )


class FindingSource(Source):
    """The findings of imported audits that the newest reading still has."""

    kind = "finding"
    label = "Imported findings"
    model = ImportedFinding

    def states(self) -> Mapping[int | None, str]:
        """Name a repository's findings by their number, the newest one, and the newest import."""
        rows = (
            ImportedFinding.objects.filter(is_withdrawn=False)
            .order_by()
            .values_list("audit__repository_id")
            .annotate(number=Count("pk"), newest=Max("pk"), judged=Max("judged_at"))
        )
        return {scope: f"{number} {newest} {judged}" for scope, number, newest, judged in rows}

    def documents(self, scope: int | None) -> Iterator[Document]:
        """Yield the findings of a repository's audits."""
        findings = ImportedFinding.objects.filter(in_scope("audit__repository_id", scope), is_withdrawn=False)
        for finding in findings.order_by("pk"):
            yield Document(
                key=str(finding.pk),
                address=finding.get_absolute_url(),
                title=finding.title,
                text=finding.text,
                names=finding.title,
                words=f"{finding.section} {' '.join(finding.names)} {' '.join(finding.rule_ids)}",
                prose=f"{finding.text} {finding.judgement_reason}",
                crate=finding.crate,
                rule_id=finding.rule_ids[0] if finding.rule_ids else "",
                boost=0.9,
            )
