"""Facts of files, kept for every worker."""

from __future__ import annotations

from django.db import models


class StoredFacts(models.Model):
    """The facts of one blob, as one version of extractor and grammar found them.

    `data` is the scanner's own serialisation, compressed. Rows of versions that no worker has any more may be
    deleted at any time: they are made again when they are wanted.
    """

    blob_id = models.CharField(max_length=64, db_collation="C")
    version = models.CharField(max_length=40, db_collation="C")
    data = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "stored facts"
        constraints = (models.UniqueConstraint(name="stored_facts_once", fields=["blob_id", "version"]),)

    def __str__(self) -> str:
        return self.blob_id
