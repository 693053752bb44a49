"""Who works on the plan, and the schedules that were solved for it."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.urls import reverse

from audit.models import LeasedRow, RowState
from audit.models.lease import lease_constraints, waiting_index
from migrations_tracker.models.plan import Plan, WorkUnit


class Person(models.Model):
    """Somebody, or a team, that works on a plan's units.

    `hours` holds a week as `[weekday, first minute, end minute]`, Monday 0, in the person's own time zone.
    """

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="people")
    name = models.SlugField(max_length=60)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    skills = ArrayField(models.CharField(max_length=60), default=list, blank=True)
    capacity = models.PositiveSmallIntegerField(default=1)
    time_zone = models.CharField(max_length=60, default="UTC")
    hours = models.JSONField(default=list)
    is_active = models.BooleanField(default=True)

    class Meta:
        ordering = ("name",)
        verbose_name_plural = "people"
        constraints = (
            models.UniqueConstraint(name="person_name_once", fields=["plan", "name"]),
            models.CheckConstraint(name="person_capacity_sane", condition=Q(capacity__lte=50)),
        )

    def __str__(self) -> str:
        return self.name


class Absence(models.Model):
    """A time in which a person does not work."""

    person = models.ForeignKey(Person, on_delete=models.CASCADE, related_name="absences")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ("starts_at", "id")
        constraints = (
            models.CheckConstraint(name="absence_ends_later", condition=Q(ends_at__gt=F("starts_at"))),
        )

    def __str__(self) -> str:
        return f"{self.person} from {self.starts_at:%Y-%m-%d}"


class Schedule(LeasedRow):
    """A solved schedule. Its first answer, from list scheduling, is there at once; a worker improves it.

    `problem` holds all that it was solved from, so that it can be proved, compared and solved again. A
    schedule without `makespan` has none: `conflicts` names the constraints that clash. `what_if` says what
    was changed against the plan, empty for a schedule of the plan as it is. `weight_rates` is what each
    reason counted in the units' weights.
    """

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="schedules")
    earlier = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    what_if = models.JSONField(default=dict, blank=True)
    what_if_text = models.TextField(blank=True)
    weight_rates = models.JSONField(default=dict)
    problem = models.JSONField()
    hours = models.JSONField(default=dict)
    answer = models.JSONField(null=True, blank=True)
    conflicts = models.JSONField(default=list, blank=True)
    origin = models.DateTimeField()
    seed = models.PositiveIntegerField(default=0)
    method = models.CharField(max_length=200, blank=True)
    makespan = models.PositiveIntegerField(null=True, blank=True)
    weighted_completion = models.PositiveBigIntegerField(null=True, blank=True)
    list_makespan = models.PositiveIntegerField(null=True, blank=True)
    list_weighted_completion = models.PositiveBigIntegerField(null=True, blank=True)
    bound = models.PositiveIntegerField(null=True, blank=True)
    bound_by = models.TextField(blank=True)
    is_bound_by_solver = models.BooleanField(default=False)
    is_optimal = models.BooleanField(default=False)
    is_cut_off = models.BooleanField(default=False)
    ends_at = models.DateTimeField(null=True, blank=True)
    notes = models.JSONField(default=list, blank=True)
    forecast = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            *lease_constraints("schedule"),
            models.CheckConstraint(
                name="schedule_answered_or_clashing",
                condition=Q(makespan__isnull=True, answer__isnull=True)
                | Q(makespan__isnull=False, answer__isnull=False, bound__isnull=False, ends_at__isnull=False)
                & Q(bound__lte=F("makespan")),
            ),
        )
        indexes = (
            waiting_index("schedule"),
            models.Index(name="schedule_plan_idx", fields=["plan", "-id"]),
        )

    def __str__(self) -> str:
        return f"Schedule {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("schedule-detail", args=[self.pk])

    @property
    def gap(self) -> float | None:
        """How far the makespan is above its bound, as a share of the bound; None without a schedule."""
        if self.makespan is None or self.bound is None:
            return None
        return (self.makespan - self.bound) / self.bound if self.bound else 0.0

    @property
    def is_improving(self) -> bool:
        """Whether a worker still looks for a better one."""
        return self.state in (RowState.PENDING, RowState.RUNNING)


class ScheduledUnit(models.Model):
    """Where a schedule puts a unit. `slack` is in quarters of an hour of its person's working time."""

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="placed")
    unit = models.ForeignKey(WorkUnit, on_delete=models.CASCADE, related_name="placements")
    person = models.ForeignKey(Person, null=True, on_delete=models.SET_NULL, related_name="placements")
    runner = models.CharField(max_length=60, blank=True)
    starts_at = models.DateTimeField()
    work_ends_at = models.DateTimeField()
    verified_from = models.DateTimeField()
    ends_at = models.DateTimeField()
    slack = models.PositiveIntegerField(default=0)
    is_critical = models.BooleanField(default=False)

    class Meta:
        ordering = ("starts_at", "id")
        constraints = (
            models.UniqueConstraint(name="scheduled_unit_once", fields=["schedule", "unit"]),
            models.CheckConstraint(
                name="scheduled_unit_in_order",
                condition=Q(work_ends_at__gte=F("starts_at"), verified_from__gte=F("work_ends_at"))
                & Q(ends_at__gte=F("verified_from")),
            ),
        )

    def __str__(self) -> str:
        return f"{self.unit} in {self.schedule}"
