"""Pull requests, issues and commits that texts about a site name."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.knowledge.references import ReferenceKind
from audit.models.repository import Repository
from audit.models.site import FallbackSite

REFERENCE_LABELS = {
    ReferenceKind.ISSUE: "Issue",
    ReferenceKind.PULL: "Pull request",
    ReferenceKind.COMMIT: "Commit",
}


class ReferenceSource(models.TextChoices):
    """What kind of text names it."""

    COMMENT = "comment", "a comment"
    REASON = "reason", "a reason given"
    FINDING = "finding", "an imported audit"
    ENTRY = "entry", "an entry"
    MESSAGE = "message", "the commit's message"


class TextReference(models.Model):
    """That a text names both a site and a pull request, an issue or a commit. Made from the text alone."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="+")
    site = models.ForeignKey(FallbackSite, on_delete=models.CASCADE, related_name="text_references")
    kind = models.CharField(max_length=8, choices=[(k.value, label) for k, label in REFERENCE_LABELS.items()])
    target = models.CharField(max_length=40, db_collation="C")
    source = models.CharField(max_length=8, choices=ReferenceSource)
    source_path = models.CharField(max_length=300, help_text="The address of the page the text stands on.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                name="text_reference_once", fields=["site", "kind", "target", "source", "source_path"]
            ),
            models.CheckConstraint(
                name="text_reference_kind_known", condition=Q(kind__in=[k.value for k in ReferenceKind])
            ),
        )
        indexes = (
            models.Index(name="text_reference_target_idx", fields=["repository", "kind", "target", "id"]),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"

    def get_absolute_url(self) -> str:
        return reverse("reference-detail", args=[self.repository.slug, self.kind, self.target])
