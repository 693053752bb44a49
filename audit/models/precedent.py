"""Rulings on sites that are remembered, and what people thought of them at other sites."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models.append_only import EVENTS_KEPT
from audit.models.repository import Commit, Repository
from audit.models.site import FallbackSite
from audit.policy.clauses import CURRENT_VERSION, OWN_LETTER
from audit.policy.editions import PolicyVersion


def clause_address(clause_id: str, *, slug: str, version: str = "") -> str:
    """Return where a clause stands: of the house's policy, or of the repository's own; empty for none.

    The clause is the one of the policy `version`, such as `1+3`; without one as it stands today.
    """
    if not clause_id:
        return ""
    parsed = PolicyVersion.parse(version) or PolicyVersion()
    if not clause_id.startswith(OWN_LETTER):
        query = f"?version={parsed.house}" if parsed.house != CURRENT_VERSION else ""
        return reverse("clause-detail", args=[clause_id]) + query
    query = f"?version={parsed.own}" if parsed.own else ""
    return reverse("repository-clause", args=[slug, clause_id]) + query


class PrecedentKind(models.TextChoices):
    """What was ruled about a site."""

    SUPPRESSED = "suppressed", "Suppressed"
    ACCEPTED = "accepted", "Accepted"
    CATEGORY = "category", "Fix category"
    SEVERITY = "severity", "Severity reassessed"
    NOT_A_SITE = "not-a-site", "Not a site"


class Stance(models.TextChoices):
    """What a person thinks of a precedent at another site."""

    AGREE = "agree", "Follows it"
    DIFFER = "differ", "Differs from it"


@pghistory.track(
    pghistory.UpdateEvent("changed", row=pghistory.Old),
    pghistory.DeleteEvent("removed", row=pghistory.Old),
    exclude=["code", "shingles"],
    meta=EVENTS_KEPT,
)
class Precedent(models.Model):
    """A ruling on one site, with the code it was made on.

    `decision` is the fix category or the level that was ruled, empty for the other kinds. `shingles` are
    hashes of the normalised code, by which similar code finds it. A ruling that was taken back has ended and
    is still shown.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="precedents")
    site = models.ForeignKey(FallbackSite, on_delete=models.CASCADE, related_name="precedents")
    kind = models.CharField(max_length=12, choices=PrecedentKind)
    decision = models.CharField(max_length=20, blank=True)
    rule_id = models.CharField(max_length=10, db_collation="C")
    form = models.CharField(max_length=100, blank=True)
    symbol = models.TextField(db_collation="C")
    path = models.CharField(max_length=1000, db_collation="C")
    line = models.PositiveIntegerField()
    commit = models.ForeignKey(Commit, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    code = models.TextField(blank=True)
    shingles = ArrayField(models.IntegerField(), default=list, blank=True)
    reason = models.TextField()
    clause_id = models.CharField(max_length=12, blank=True)
    policy_version = models.CharField(max_length=20, blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_because = models.TextField(blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(name="precedent_kind_known", condition=Q(kind__in=PrecedentKind.values)),
            models.CheckConstraint(name="precedent_has_reason", condition=~Q(reason="")),
            models.UniqueConstraint(
                name="precedent_one_in_force", fields=["site", "kind"], condition=Q(ended_at=None)
            ),
            models.CheckConstraint(
                name="precedent_decision_of_its_kind",
                condition=Q(kind="category", decision__in=["A", "B", "C"])
                | Q(kind="severity", decision__in=["error", "warning", "note", "none"])
                | (~Q(kind__in=["category", "severity"]) & Q(decision="")),
            ),
        )
        indexes = (
            models.Index(name="precedent_alike_idx", fields=["rule_id", "form", "-id"]),
            models.Index(name="precedent_repository_idx", fields=["repository", "-id"]),
            GinIndex(name="precedent_shingles_idx", fields=["shingles"]),
        )

    def __str__(self) -> str:
        return f"Precedent {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("precedent-detail", args=[self.pk])

    @property
    def ruling(self) -> str:
        """What was ruled, in words."""
        label = PrecedentKind(self.kind).label
        return f"{label}: {self.decision}" if self.decision else str(label)

    @property
    def clause_address(self) -> str:
        """Where the clause stands that it rests on, as it was then; empty where it names none."""
        return clause_address(self.clause_id, slug=self.repository.slug, version=self.policy_version)

    @property
    def title(self) -> str:
        """What lists and search results call it."""
        return f"{self.ruling} in {self.symbol}"

    @property
    def text(self) -> str:
        """What a search reads."""
        return self.reason


class PrecedentOpinion(models.Model):
    """That somebody followed a precedent at another site, or differed from it. Rows are only added."""

    precedent = models.ForeignKey(Precedent, on_delete=models.CASCADE, related_name="opinions")
    site = models.ForeignKey(FallbackSite, on_delete=models.CASCADE, related_name="precedent_opinions")
    stance = models.CharField(max_length=6, choices=Stance)
    reason = models.TextField(blank=True)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(name="opinion_stance_known", condition=Q(stance__in=Stance.values)),
            models.CheckConstraint(
                name="opinion_that_differs_says_why", condition=Q(stance=Stance.AGREE) | ~Q(reason="")
            ),
        )

    def __str__(self) -> str:
        return f"{self.actor}: {self.stance} {self.precedent}"
