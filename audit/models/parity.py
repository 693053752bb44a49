"""What PyTorch does, and what each commit can do: dumps, operators, capabilities and the gaps between."""

from __future__ import annotations

import re
from urllib.parse import quote

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.urls import reverse

from audit.models.repository import Repository
from audit.models.scan import ScanRun
from audit.parity.capability import State
from audit.parity.catalogue import Direction
from audit.parity.counterparts import SupportState
from audit.parity.diff import Subject
from audit.parity.families import Family

_FAMILIES = [family.value for family in Family]


class ParityDump(models.Model):
    """What one PyTorch said about itself, once: `digest` is that of its content.

    `device` is where its operators were tried; `content` the dump as JSON, compressed with xz.
    """

    torch_version = models.CharField(max_length=60)
    cuda_version = models.CharField(max_length=20, blank=True)
    gpu_name = models.CharField(max_length=200, blank=True)
    taken_at = models.DateTimeField()
    command = models.TextField(blank=True)
    digest = models.CharField(max_length=64, unique=True)
    device = models.CharField(max_length=10, default="cuda")
    operator_count = models.PositiveIntegerField()
    content = models.BinaryField(default=bytes)
    imported_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-taken_at", "-id")

    def __str__(self) -> str:
        return f"torch {self.torch_version}"

    @property
    def version_key(self) -> tuple[tuple[int, ...], int]:
        """Where the dump stands among others: by version, then by age."""
        numbers = re.match(r"[\d.]*", self.torch_version)
        parts = numbers[0].split(".") if numbers else []
        return tuple(int(part) for part in parts if part), self.pk


class ParityChange(models.Model):
    """One difference between two dumps; `before` is of the older version. An empty side means absent."""

    before = models.ForeignKey(ParityDump, on_delete=models.CASCADE, related_name="+", db_index=False)
    after = models.ForeignKey(ParityDump, on_delete=models.CASCADE, related_name="+")
    subject = models.CharField(max_length=20, db_collation="C")
    name = models.CharField(max_length=300, db_collation="C")
    aspect = models.CharField(max_length=100, db_collation="C")
    was = models.TextField(blank=True)
    becomes = models.TextField(blank=True)

    class Meta:
        ordering = ("name", "aspect")
        constraints = (
            models.UniqueConstraint(
                name="parity_change_once", fields=["before", "after", "name", "subject", "aspect"]
            ),
            models.CheckConstraint(
                name="parity_change_subject_known",
                condition=Q(subject__in=[subject.value for subject in Subject]),
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} {self.aspect}"


class ParityOperator(models.Model):
    """An operator, module or distribution's method in a dump, with all that the dump says of it."""

    dump = models.ForeignKey(ParityDump, on_delete=models.CASCADE, related_name="operators")
    name = models.CharField(max_length=200, db_collation="C")
    family = models.CharField(max_length=20)
    facts = models.JSONField()

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(name="parity_operator_once_per_dump", fields=["dump", "name"]),
            models.CheckConstraint(name="parity_operator_family_known", condition=Q(family__in=_FAMILIES)),
        )

    def __str__(self) -> str:
        return self.name


class CapabilityReading(models.Model):
    """That the capabilities of a scan were derived, held to which PyTorch, or why they were not.

    `groups` counts the cells and gaps by device, dtype, direction and crate. `backend_methods` are those of
    the backend trait, with their defaults and what overrides them; `uncalled_kernels` the kernel functions
    that no product code calls. `asked_again_at` says since when the capabilities wait to be derived anew,
    because somebody corrected a match.
    """

    scan_run = models.OneToOneField(ScanRun, on_delete=models.CASCADE, related_name="capability_reading")
    torch_version = models.CharField(max_length=60)
    cell_count = models.PositiveIntegerField(default=0)
    gap_count = models.PositiveIntegerField(default=0)
    failure_reason = models.TextField(blank=True)
    groups = models.JSONField(default=list, blank=True)
    backend_methods = models.JSONField(default=list, blank=True)
    uncalled_kernels = models.JSONField(default=list, blank=True)
    asked_again_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="capability_reading_failed_has_no_cells",
                condition=Q(failure_reason="") | Q(cell_count=0, gap_count=0),
            ),
        )

    def __str__(self) -> str:
        return f"Capabilities of scan {self.scan_run_id}"


class CapabilityCase(models.Model):
    """What a cell is about."""

    operator = models.CharField(max_length=200, db_collation="C")
    dtype = models.CharField(max_length=20, db_collation="C")
    device = models.CharField(max_length=20, db_collation="C")
    direction = models.CharField(max_length=10, db_collation="C")
    family = models.CharField(max_length=20, db_collation="C")
    state = models.CharField(max_length=20)
    path = models.CharField(max_length=1000, blank=True, db_collation="C")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.operator} {self.direction} {self.dtype} on {self.device}"


class Capability(CapabilityCase):
    """What the code of a scan does for an operator, dtype, device and direction, and what PyTorch does.

    `path`, `line`, `symbol` and `note` are the code that proves the state; `implementations` all that serves
    the case, `symbols` their names with those of their callers.
    """

    scan_run = models.ForeignKey(ScanRun, on_delete=models.CASCADE, related_name="capabilities")
    crate = models.CharField(max_length=200, blank=True, db_collation="C")
    line = models.PositiveIntegerField(default=0)
    symbol = models.TextField(blank=True, db_collation="C")
    note = models.TextField(blank=True)
    implementations = models.JSONField(default=list)
    symbols = ArrayField(models.TextField(), default=list)
    pytorch_state = models.CharField(max_length=20)
    pytorch_proof = models.TextField()
    is_gap = models.BooleanField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                name="capability_once_per_scan",
                fields=["scan_run", "device", "operator", "dtype", "direction"],
            ),
            models.CheckConstraint(
                name="capability_state_known", condition=Q(state__in=[state.value for state in State])
            ),
            models.CheckConstraint(
                name="capability_pytorch_known",
                condition=Q(pytorch_state__in=[state.value for state in SupportState]),
            ),
            models.CheckConstraint(
                name="capability_direction_known", condition=Q(direction__in=[d.value for d in Direction])
            ),
            models.CheckConstraint(name="capability_family_known", condition=Q(family__in=_FAMILIES)),
        )
        indexes = (
            # The pages of a unit, an operation and a site ask which cells their code serves.
            GinIndex(name="capability_symbols_idx", fields=["symbols"]),
            # What the matrix counts is read from it alone, without the rows.
            models.Index(
                name="capability_matrix_idx",
                fields=["scan_run", "device", "family", "operator", "state", "is_gap", "crate"],
            ),
        )

    def address(self, repository: Repository) -> str:
        """Return the address of the cell's page, which is the same at every commit."""
        return cell_address(repository, self)


def cell_address(repository: Repository, case: CapabilityCase) -> str:
    """Return the address of a case's page."""
    return reverse("capability-detail", args=[repository.slug, case.operator]) + case_query(case)


def case_query(case: CapabilityCase) -> str:
    """Return what stands behind the address that all cells of an operator share."""
    return f"?dtype={quote(case.dtype)}&device={quote(case.device)}&direction={case.direction}"
