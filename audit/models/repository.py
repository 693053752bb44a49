"""Repositories, and the branches, commits and crates in them."""

from __future__ import annotations

import pghistory
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models.append_only import EVENTS_KEPT


class RepositoryKind(models.TextChoices):
    GIT_URL = "git-url", "Git repository, cloned"
    GIT_PATH = "git-path", "Git repository, read in place"
    FOLDER = "folder", "Plain folder"


SETTINGS_OF_REPOSITORY = ("name", "profile", "followed_branches", "schedule", "credentials")
PUSHES_OF_REPOSITORY = ("push_secret_number", "listens_to_pushes")


@pghistory.track(
    pghistory.UpdateEvent(
        "changed",
        row=pghistory.Old,
        condition=pghistory.AnyChange(*SETTINGS_OF_REPOSITORY, *PUSHES_OF_REPOSITORY),
    ),
    pghistory.DeleteEvent("removed", row=pghistory.Old),
    fields=["location", *SETTINGS_OF_REPOSITORY, *PUSHES_OF_REPOSITORY],
    model_name="RepositoryEvent",
    meta=EVENTS_KEPT,
)
class Repository(models.Model):
    """A Rust workspace under audit. Its history holds what people had set before each change.

    `location` is a URL without credentials, or an absolute path on this machine; `credentials` is a reference
    to them. `followed_branches` are names or patterns such as `release/*`, none for the default branch alone;
    `schedule` is the crontab by which they are scanned.
    """

    name = models.CharField(max_length=100, db_collation="C")
    slug = models.SlugField(max_length=100, unique=True)
    kind = models.CharField(max_length=10, choices=RepositoryKind)
    location = models.CharField(max_length=1000, unique=True)
    default_branch = models.CharField(max_length=255, blank=True)
    profile = models.CharField(max_length=200, blank=True)
    followed_branches = ArrayField(models.CharField(max_length=255), default=list, blank=True)
    schedule = models.CharField(max_length=200, blank=True)
    credentials = models.CharField(max_length=110, blank=True)
    push_secret_number = models.PositiveIntegerField(default=0)
    listens_to_pushes = models.BooleanField(default=False)
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    fetched_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("name", "id")
        verbose_name_plural = "repositories"
        constraints = (
            models.CheckConstraint(name="repository_kind_known", condition=Q(kind__in=RepositoryKind.values)),
            models.CheckConstraint(name="repository_location_given", condition=~Q(location="")),
        )

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("repository-detail", args=[self.slug])

    @property
    def has_revisions(self) -> bool:
        """Whether a scan may name a revision."""
        return self.kind != RepositoryKind.FOLDER


class Commit(models.Model):
    """A commit, or the state of a plain folder at one moment.

    A plain folder has no commits: its `object_id` is `snapshot:` and a digest of its files.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="commits")
    object_id = models.CharField(max_length=80)
    subject = models.CharField(max_length=500, blank=True)
    author_name = models.CharField(max_length=200, blank=True)
    committed_at = models.DateTimeField(null=True, blank=True)
    parent_ids = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ("-committed_at", "-id")
        constraints = (
            models.UniqueConstraint(name="commit_once_per_repository", fields=["repository", "object_id"]),
            models.CheckConstraint(name="commit_object_id_given", condition=~Q(object_id="")),
        )

    def __str__(self) -> str:
        return self.short_id

    @property
    def is_snapshot(self) -> bool:
        """Whether this is the state of a plain folder."""
        return self.object_id.startswith("snapshot:")

    @property
    def short_id(self) -> str:
        """The first characters that people read."""
        return self.object_id.removeprefix("snapshot:")[:9]


class Branch(models.Model):
    """A line of commits on which sites are open or closed.

    `last_scan` is the scan whose results the branch's site states show.
    """

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="branches")
    name = models.CharField(max_length=255, db_collation="C")
    last_scan = models.ForeignKey(
        "audit.ScanRun", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ("name",)
        verbose_name_plural = "branches"
        constraints = (
            models.UniqueConstraint(name="branch_once_per_repository", fields=["repository", "name"]),
            models.CheckConstraint(name="branch_name_given", condition=~Q(name="")),
        )

    def __str__(self) -> str:
        return self.name


class Crate(models.Model):
    """A Cargo package seen in a repository; `path` is its folder in the newest scan that saw it."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="crates")
    name = models.CharField(max_length=200, db_collation="C")
    path = models.CharField(max_length=1000, blank=True)
    is_workspace_member = models.BooleanField(default=True)

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(name="crate_once_per_repository", fields=["repository", "name"]),
        )

    def __str__(self) -> str:
        return self.name
