"""Who read what of a crate or an operator, when and at which commit."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models.append_only import rows_kept
from audit.models.repository import Commit, Repository


class NoteSubject(models.TextChoices):
    """What a note is about."""

    CRATE = "crate", "Crate"
    OPERATOR = "operator", "Operator"


class AuditNote(models.Model):
    """What a person read and found. `files` are the files read, with the content they had at `commit`: a file
    that changed since is unread again. Rows are only added; a later note corrects an earlier one.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="audit_notes")
    subject_kind = models.CharField(max_length=10, choices=NoteSubject)
    subject = models.CharField(max_length=200, db_collation="C")
    commit = models.ForeignKey(Commit, on_delete=models.CASCADE, related_name="+")
    read_on = models.DateField()
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    files = models.JSONField(default=dict, blank=True)
    text = models.TextField()
    remaining = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(name="audit_note_says_something", condition=~Q(text="")),
            models.CheckConstraint(
                name="audit_note_subject_known", condition=Q(subject_kind__in=NoteSubject.values)
            ),
        )
        indexes = (
            models.Index(
                name="audit_note_subject_idx", fields=["repository", "subject_kind", "subject", "-id"]
            ),
        )
        triggers = rows_kept("audit_note")

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        name = "crate-detail" if self.subject_kind == NoteSubject.CRATE else "operator-detail"
        return f"{reverse(name, args=[self.repository.slug, self.subject])}#note-{self.pk}"

    @property
    def title(self) -> str:
        """What lists and search results call it."""
        return f"Audit note on {self.subject}"
