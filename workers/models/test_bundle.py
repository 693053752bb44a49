"""Test bundles: test binaries that were built on a machine without a GPU."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from audit.models import Repository


class TestBundle(models.Model):
    """A bundle in the server's keeping; the file lies in `BUNDLES_DIR` under its checksum."""

    __test__ = False

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="test_bundles")
    commit = models.CharField(max_length=40)
    crate = models.CharField(max_length=100, db_collation="C")
    features = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    target = models.CharField(max_length=100)
    sha256 = models.CharField(max_length=64)
    size_bytes = models.BigIntegerField()
    manifest = models.JSONField()
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)
        constraints = (models.UniqueConstraint(name="test_bundle_once", fields=["repository", "sha256"]),)
        indexes = (models.Index(name="test_bundle_commit_idx", fields=["repository", "commit", "crate"]),)

    def __str__(self) -> str:
        return f"{self.crate} at {self.commit[:9]}"
