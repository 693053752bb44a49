"""What commits say was done, kept beside what their scans measured."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from audit.claims.kinds import ClaimKind
from audit.models.repository import Commit


class ClaimSource(models.TextChoices):
    MESSAGE = "message", "commit message"
    CHANGELOG = "changelog", "changelog"


class CommitReading(models.Model):
    """That what a commit says was read, with which words: newer words read it again."""

    commit = models.OneToOneField(Commit, on_delete=models.CASCADE, related_name="reading")
    words_version = models.PositiveIntegerField()
    read_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"Reading of {self.commit}"


class Claim(models.Model):
    """A sentence that says what was done; whether a scan bears it out is told when it is shown."""

    commit = models.ForeignKey(Commit, on_delete=models.CASCADE, related_name="claims")
    source = models.CharField(max_length=10, choices=ClaimSource)
    kind = models.CharField(max_length=20, choices=[(kind.value, kind.value) for kind in ClaimKind])
    text = models.TextField()
    line = models.PositiveIntegerField()
    count = models.PositiveIntegerField(null=True, blank=True)
    names = ArrayField(models.CharField(max_length=80), default=list)

    class Meta:
        ordering = ("commit", "source", "line", "id")
        constraints = (
            models.CheckConstraint(
                name="claim_kind_known", condition=Q(kind__in=[kind.value for kind in ClaimKind])
            ),
            models.CheckConstraint(name="claim_source_known", condition=Q(source__in=ClaimSource.values)),
            models.CheckConstraint(
                name="claim_counted_has_count",
                condition=Q(kind=ClaimKind.COUNTED.value, count__isnull=False)
                | (~Q(kind=ClaimKind.COUNTED.value) & Q(count__isnull=True)),
            ),
        )

    def __str__(self) -> str:
        return self.text[:80]
