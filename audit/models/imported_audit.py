"""Audits that a project had before: their findings, and the sites that these speak of."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from audit.imports.formats import FORMAT_LABELS
from audit.imports.placing import PLACED_BY_LABELS
from audit.models.append_only import EVENTS_KEPT
from audit.models.repository import Repository
from audit.models.scan import ScanRun
from audit.models.site import FallbackSite


class Standing(models.TextChoices):
    """What the code at the audit's commit says of a finding."""

    PENDING = "pending", "Its commit is not scanned yet"
    MATCHED = "matched", "Matched to sites"
    UNMATCHED = "unmatched", "Nothing of it was found there"
    CONTRADICTED = "contradicted", "The code contradicts it"
    NO_PLACE = "no-place", "It names no place in the code"
    OTHER_SUBJECT = "other-subject", "It speaks of nothing that a rule looks for"


class Judgement(models.TextChoices):
    """What a person says of a finding after reading the code."""

    UPHELD = "upheld", "It is as the finding says"
    PARTLY = "partly", "Partly as the finding says"
    REFUTED = "refuted", "The code says otherwise"
    OTHER_SUBJECT = "other-subject", "True or not, no matter of the device policy"


@pghistory.track(
    pghistory.UpdateEvent("changed", row=pghistory.Old),
    pghistory.DeleteEvent("removed", row=pghistory.Old),
    meta=EVENTS_KEPT,
)
class ImportedAudit(models.Model):
    """A document of findings about one commit of a repository. `matched_scan` is the scan of that commit that
    its findings were held against, where there is one.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="imported_audits")
    name = models.CharField(max_length=200)
    format = models.CharField(max_length=16, choices=list(FORMAT_LABELS.items()))
    commit_object_id = models.CharField(max_length=80)
    matched_scan = models.ForeignKey(
        ScanRun, null=True, blank=True, on_delete=models.SET_NULL, related_name="imported_audits"
    )
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                name="imported_audit_once", fields=["repository", "name", "commit_object_id"]
            ),
            models.CheckConstraint(name="imported_audit_named", condition=~Q(name="")),
            models.CheckConstraint(
                name="imported_audit_format_known", condition=Q(format__in=list(FORMAT_LABELS))
            ),
        )

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("imported-audit-detail", args=[self.pk])

    @property
    def short_commit(self) -> str:
        """The first characters of its commit."""
        return self.commit_object_id.removeprefix("snapshot:")[:9]


class AuditUpload(models.Model):
    """One reading of a document, with what it brought. Rows are only added."""

    audit = models.ForeignKey(ImportedAudit, on_delete=models.CASCADE, related_name="uploads")
    file_name = models.CharField(max_length=255)
    digest = models.CharField(max_length=64)
    size_bytes = models.PositiveIntegerField()
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    added_count = models.PositiveIntegerField()
    kept_count = models.PositiveIntegerField()
    withdrawn_count = models.PositiveIntegerField()
    refused = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.file_name}, {self.created_at:%Y-%m-%d}"


@pghistory.track(
    pghistory.UpdateEvent(
        "judged", row=pghistory.Old, condition=pghistory.AnyChange("judgement", "judgement_reason")
    ),
    pghistory.DeleteEvent("removed", row=pghistory.Old),
    fields=["judgement", "judgement_reason", "judged_by", "judged_at"],
    model_name="ImportedFindingEvent",
    meta=EVENTS_KEPT,
    obj_field=pghistory.ObjForeignKey(related_name="events", related_query_name="events"),
)
class ImportedFinding(models.Model):
    """One finding of an imported audit. `key` names it: the same text is the same finding however often read.

    `places` are the places it names, each with what the code says of it; a finding that a newer reading of
    the document no longer has is withdrawn, and stays.
    """

    audit = models.ForeignKey(ImportedAudit, on_delete=models.CASCADE, related_name="findings")
    key = models.CharField(max_length=64)
    position = models.PositiveIntegerField()
    source_line = models.PositiveIntegerField()
    section = models.CharField(max_length=300, blank=True)
    title = models.CharField(max_length=500)
    text = models.TextField(blank=True)
    severity = models.CharField(max_length=20, blank=True)
    crate = models.CharField(max_length=200, blank=True)
    names = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    reference = models.CharField(max_length=300, blank=True)
    rule_ids = ArrayField(models.CharField(max_length=10), default=list, blank=True)
    is_about_device = models.BooleanField(default=False)
    places = models.JSONField(default=list, blank=True)
    standing = models.CharField(max_length=14, choices=Standing, default=Standing.PENDING)
    is_withdrawn = models.BooleanField(default=False)
    judgement = models.CharField(max_length=14, choices=Judgement, blank=True)
    judgement_reason = models.TextField(blank=True)
    judged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    judged_at = models.DateTimeField(null=True, blank=True)
    sites = models.ManyToManyField(FallbackSite, through="FindingSite", related_name="imported_findings")

    class Meta:
        ordering = ("audit", "position")
        constraints = (
            models.UniqueConstraint(name="imported_finding_once", fields=["audit", "key"]),
            models.CheckConstraint(name="finding_standing_known", condition=Q(standing__in=Standing.values)),
            models.CheckConstraint(
                name="finding_judgement_known", condition=Q(judgement__in=["", *Judgement.values])
            ),
            models.CheckConstraint(
                name="finding_judged_by_somebody",
                condition=Q(judgement="", judged_by=None)
                | (~Q(judgement="") & Q(judged_by__isnull=False) & ~Q(judgement_reason="")),
            ),
        )
        indexes = (models.Index(name="finding_position_idx", fields=["audit", "position", "id"]),)

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("imported-finding-detail", args=[self.pk])


class FindingSite(models.Model):
    """A site that a finding speaks of, and by what it was placed."""

    finding = models.ForeignKey(ImportedFinding, on_delete=models.CASCADE, related_name="finding_sites")
    site = models.ForeignKey(FallbackSite, on_delete=models.CASCADE, related_name="finding_sites")
    placed_by = models.CharField(max_length=12, choices=list(PLACED_BY_LABELS.items()))
    linked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    linked_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(name="finding_site_once", fields=["finding", "site"]),
            models.CheckConstraint(
                name="finding_site_by_somebody",
                condition=~Q(placed_by="person") | Q(linked_by__isnull=False),
            ),
            models.CheckConstraint(
                name="finding_site_placed_by_known", condition=Q(placed_by__in=list(PLACED_BY_LABELS))
            ),
        )

    def __str__(self) -> str:
        return f"{self.finding}: {self.site}"
