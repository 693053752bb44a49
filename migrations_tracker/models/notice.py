"""What people are told, who wants to be, and how each message fared."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models import LeasedRow, Repository, ScanRun
from audit.models.append_only import EVENTS_KEPT
from audit.models.lease import lease_constraints, waiting_index


class NoticeKind(models.TextChoices):
    NEW_SITES = "new-sites", "New sites"
    REGRESSIONS = "regressions", "Sites that came back"
    SCAN_FAILED = "scan-failed", "A scan failed"
    SUSPICIOUS_DROP = "suspicious-drop", "Many sites vanished without a known outcome"
    MENTION = "mention", "Somebody mentions you"
    WATCHED = "watched", "Something happens to what you watch"
    DUE = "due", "What is yours is due"
    OWNED = "owned", "Something is made yours"


#: What is told to the people it concerns alone.
PERSONAL = frozenset({NoticeKind.MENTION, NoticeKind.WATCHED, NoticeKind.DUE, NoticeKind.OWNED})


class Channel(models.TextChoices):
    EMAIL = "email", "E-mail"
    WEBHOOK = "webhook", "Webhook"


class Frequency(models.TextChoices):
    AT_ONCE = "at-once", "At once"
    DAILY = "daily", "Once a day"


class Notice(models.Model):
    """Something that happened and is worth telling. `key` names it: it is told once, however often seen.

    `people` are those whom it concerns, where it does not concern everybody.
    """

    kind = models.CharField(max_length=20, choices=NoticeKind)
    key = models.CharField(max_length=200, unique=True)
    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="notices")
    scan_run = models.ForeignKey(ScanRun, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    branch_name = models.CharField(max_length=255, blank=True)
    title = models.CharField(max_length=300)
    path = models.CharField(max_length=500, help_text="The address of the page that says more.")
    items = models.JSONField(default=list)
    count = models.PositiveIntegerField(default=0)
    people = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="notices", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(name="notice_kind_known", condition=Q(kind__in=NoticeKind.values)),
        )
        indexes = (models.Index(name="notice_repository_idx", fields=["repository", "-id"]),)

    def __str__(self) -> str:
        return self.title


@pghistory.track(
    pghistory.InsertEvent("made"),
    pghistory.UpdateEvent("ended", condition=pghistory.AnyChange("ended_at")),
    exclude=["told_up_to"],
    meta=EVENTS_KEPT,
)
class Subscription(models.Model):
    """A person's wish to be told, of one repository or of all. `told_up_to` is for digests."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="subscriptions"
    )
    repository = models.ForeignKey(
        Repository, null=True, blank=True, on_delete=models.CASCADE, related_name="subscriptions"
    )
    kinds = ArrayField(models.CharField(max_length=20, choices=NoticeKind))
    channel = models.CharField(max_length=10, choices=Channel)
    address = models.CharField(max_length=500, blank=True, help_text="The URL of a webhook.")
    frequency = models.CharField(max_length=10, choices=Frequency, default=Frequency.AT_ONCE)
    told_up_to = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                name="subscription_channel_known", condition=Q(channel__in=Channel.values)
            ),
            models.CheckConstraint(
                name="subscription_frequency_known", condition=Q(frequency__in=Frequency.values)
            ),
            models.CheckConstraint(
                name="subscription_webhook_has_address",
                condition=(Q(channel=Channel.WEBHOOK) & ~Q(address=""))
                | (Q(channel=Channel.EMAIL, address="")),
            ),
            models.UniqueConstraint(
                name="subscription_once",
                fields=["owner", "repository", "channel", "address"],
                condition=Q(ended_at=None),
                nulls_distinct=False,
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_channel_display()} to {self.owner}"


class Delivery(LeasedRow):
    """One message to one subscriber. `key` names it: the same message is made once."""

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="deliveries")
    key = models.CharField(max_length=200, unique=True)
    notices = models.ManyToManyField(Notice, related_name="deliveries")

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "deliveries"
        constraints = (*lease_constraints("delivery"),)
        indexes = (waiting_index("delivery"),)

    def __str__(self) -> str:
        return f"Delivery {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("notice-list")
