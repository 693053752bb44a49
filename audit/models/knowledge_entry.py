"""Entries that people write, every version of them, and what they link to."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Upper
from django.urls import reverse

from audit.knowledge.links import LINK_LABELS
from audit.models.append_only import rows_kept
from audit.models.repository import Repository


class LinkOrigin(models.TextChoices):
    """Where an entry's link stands."""

    ATTACHED = "attached", "attached to it"
    TEXT = "text", "in its text"


class KnowledgeEntry(models.Model):
    """An entry as it is published: its newest published revision. One that never was is a draft only, and has
    `published_number` 0. `latest_number` is its newest revision, published or not.
    """

    repository = models.ForeignKey(
        Repository, null=True, blank=True, on_delete=models.CASCADE, related_name="knowledge_entries"
    )
    title = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    tags = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    published_number = models.PositiveIntegerField(default=0)
    latest_number = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "knowledge entries"
        constraints = (
            models.CheckConstraint(name="entry_titled", condition=~Q(title="")),
            models.CheckConstraint(
                name="entry_publishes_what_it_has", condition=Q(published_number__lte=F("latest_number"))
            ),
        )
        indexes = (
            GinIndex(name="entry_tags_idx", fields=["tags"]),
            # They also tell the planner how many entries have a word.
            GinIndex(OpClass(Upper("title"), name="gin_trgm_ops"), name="entry_title_trgm_idx"),
            GinIndex(OpClass(Upper("text"), name="gin_trgm_ops"), name="entry_text_trgm_idx"),
        )

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("entry-detail", args=[self.pk])

    @property
    def is_published(self) -> bool:
        """Whether everybody reads it."""
        return self.published_number > 0

    @property
    def has_draft(self) -> bool:
        """Whether its newest revision is not published."""
        return self.latest_number > self.published_number


class EntryRevision(models.Model):
    """One version of an entry. Rows are added and never changed."""

    entry = models.ForeignKey(KnowledgeEntry, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    tags = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    #: What it was attached to, as it is written; null where that was not kept.
    attached = ArrayField(models.CharField(max_length=320), null=True, blank=True)
    is_draft = models.BooleanField()
    note = models.CharField(max_length=300, blank=True)
    restored_from = models.PositiveIntegerField(null=True, blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("entry", "-number")
        constraints = (models.UniqueConstraint(name="entry_revision_once", fields=["entry", "number"]),)
        triggers = rows_kept("entry_revision")

    def __str__(self) -> str:
        return f"{self.title}, revision {self.number}"


class EntryLink(models.Model):
    """What a published entry is attached to, or names in its text."""

    entry = models.ForeignKey(KnowledgeEntry, on_delete=models.CASCADE, related_name="links")
    kind = models.CharField(max_length=12, choices=list(LINK_LABELS.items()))
    target = models.CharField(max_length=300, db_collation="C")
    origin = models.CharField(max_length=8, choices=LinkOrigin)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(name="entry_link_once", fields=["entry", "kind", "target", "origin"]),
            models.CheckConstraint(name="entry_link_kind_known", condition=Q(kind__in=list(LINK_LABELS))),
        )
        indexes = (models.Index(name="entry_link_target_idx", fields=["kind", "target"]),)

    def __str__(self) -> str:
        return f"{self.kind}:{self.target}"
