"""What a repository adds to the house's policy, in versions that are never changed."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models.append_only import rows_kept
from audit.models.repository import Repository


class RepositoryPolicy(models.Model):
    """One version of a repository's own clauses and levels, whole. Rows are added and never changed.

    `clauses` are as `audit.policy.clauses.own_clause_plain` gives them; `levels` are by the ids of rules.
    `house_version` is the house's policy at the time.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="policies")
    number = models.PositiveIntegerField()
    house_version = models.CharField(max_length=20)
    clauses: models.JSONField[list[dict[str, Any]]] = models.JSONField(default=list, blank=True)
    levels: models.JSONField[dict[str, str]] = models.JSONField(default=dict, blank=True)
    what = models.CharField(max_length=300)
    reason = models.TextField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    published_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("repository", "-number")
        verbose_name_plural = "repository policies"
        constraints = (
            models.UniqueConstraint(name="repository_policy_once", fields=["repository", "number"]),
            models.CheckConstraint(name="repository_policy_from_one", condition=Q(number__gt=0)),
            models.CheckConstraint(name="repository_policy_has_reason", condition=~Q(reason="")),
        )
        triggers = rows_kept("repository_policy")

    def __str__(self) -> str:
        return f"Policy {self.house_version}+{self.number} of {self.repository}"

    def get_absolute_url(self) -> str:
        return f"{reverse('repository-policy', args=[self.repository.slug])}?version={self.number}"
