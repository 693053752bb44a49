"""What the drivers of GPU machines answered to a repository's PTX texts."""

from __future__ import annotations

from django.db import models

from audit.models.append_only import rows_kept
from audit.models.repository import Repository


class DriverAnswer(models.Model):
    """One answer, kept where it differs from the one before it of the same device to the same text.

    Rows are added and never changed, so that a scan that heard them up to one of them can be repeated.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="driver_answers")
    sha256 = models.CharField(max_length=64, db_collation="C")
    is_loaded = models.BooleanField()
    device = models.CharField(max_length=200, blank=True)
    driver = models.CharField(max_length=60, blank=True)
    error = models.CharField(max_length=100, blank=True)
    said = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        indexes = (models.Index(name="driver_answer_text_idx", fields=["repository", "sha256", "id"]),)
        triggers = rows_kept("driver_answer")

    def __str__(self) -> str:
        return f"{self.sha256[:12]}: {'loaded' if self.is_loaded else self.error}"
