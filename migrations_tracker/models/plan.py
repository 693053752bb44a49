"""The plan: its work units, what they hold, what comes before what, and everything that was done to it."""

from __future__ import annotations

import pghistory
import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import F, Q
from django.urls import reverse

from audit.models import CapabilityGap, FallbackSite, Repository, ScanRun
from audit.models.append_only import EVENTS_KEPT, rows_kept
from audit.scanner.report import Outcome
from migrations_tracker.scheduling.catalogue import FixCategory
from migrations_tracker.scheduling.items import NeedKind
from migrations_tracker.scheduling.precedence import PrecedenceReason
from migrations_tracker.scheduling.problem import PhaseOrder
from migrations_tracker.scheduling.units import Phase, UnitKind, UnitStatus

KIND_LABELS = {
    UnitKind.DECISION: "Decision",
    UnitKind.SWEEP: "Sweep",
    UnitKind.REDESIGN: "Redesign",
    UnitKind.SINGLE: "Single site",
    UnitKind.OWN: "Somebody's own",
}
UNIT_STATUS_LABELS = {
    UnitStatus.PLANNED: "Planned",
    UnitStatus.UNDER_WAY: "Under way",
    UnitStatus.FINISHED: "Finished",
}
PHASE_LABELS = {
    Phase.DECISIONS: "Decisions",
    Phase.SWEEPS: "Mechanical sweeps",
    Phase.REDESIGNS: "Focused redesigns",
}
PHASE_ORDER_LABELS = {
    PhaseOrder.OVERLAPPING: "Phases may overlap",
    PhaseOrder.STRICT: "A phase starts when those before it have finished",
}


class Plan(models.Model):
    """The plan of one repository. `scan_run` is the scan whose facts it was last held to."""

    repository = models.OneToOneField(Repository, on_delete=models.CASCADE, related_name="plan")
    scan_run = models.ForeignKey(ScanRun, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    phase_order = models.CharField(
        max_length=12,
        choices=[(order.value, label) for order, label in PHASE_ORDER_LABELS.items()],
        default=PhaseOrder.OVERLAPPING.value,
    )
    weight_rates = models.JSONField(default=dict, blank=True)
    baseline = models.ForeignKey(
        "migrations_tracker.Schedule", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    proposed_at = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="plan_phase_order_known", condition=Q(phase_order__in=[o.value for o in PhaseOrder])
            ),
        )

    def __str__(self) -> str:
        return f"Plan of {self.repository}"

    def get_absolute_url(self) -> str:
        return reverse("plan-board", args=[self.repository.slug])


@pghistory.track(
    pghistory.UpdateEvent("changed", row=pghistory.Old),
    pghistory.DeleteEvent("removed", row=pghistory.Old),
    meta={**EVENTS_KEPT, "indexes": (BrinIndex(name="work_unit_event_brin", fields=["pgh_created_at"]),)},
)
class WorkUnit(models.Model):
    """What one person does in one go. `key` names it for good; `is_edited` says that a person touched it,
    so that no proposal changes it any more.

    Hours and weight are as the newest proposal reckoned them, unless a person gave the hours
    (`is_estimated_by_hand`). `base_hours` are the likely ones by the base rates alone: what a finished unit
    took is compared with them. `actual_hours` are those spent so far. `pre_flight` is the plan of the
    policy's first step as somebody filled it in; it has to be confirmed before the unit starts.
    """

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="units")
    key = models.CharField(max_length=200, db_collation="C")
    title = models.CharField(max_length=300)
    kind = models.CharField(max_length=12, choices=[(k.value, label) for k, label in KIND_LABELS.items()])
    phase = models.PositiveSmallIntegerField(choices=[(p.value, label) for p, label in PHASE_LABELS.items()])
    category = models.CharField(max_length=1, choices=[(c.value, c.value) for c in FixCategory])
    reason = models.TextField()
    crate = models.CharField(max_length=200, blank=True, db_collation="C")
    rules = ArrayField(models.CharField(max_length=60), default=list, blank=True)
    outcome = models.CharField(max_length=20, blank=True)
    need_kind = models.CharField(max_length=24, blank=True)
    need_name = models.CharField(max_length=200, blank=True)
    skills = ArrayField(models.CharField(max_length=60), default=list, blank=True)
    is_mechanical = models.BooleanField(default=False)
    is_edited = models.BooleanField(default=False)
    status = models.CharField(
        max_length=10,
        choices=[(s.value, label) for s, label in UNIT_STATUS_LABELS.items()],
        default=UnitStatus.PLANNED.value,
        db_collation="C",
    )
    person = models.ForeignKey(
        "migrations_tracker.Person", null=True, blank=True, on_delete=models.PROTECT, related_name="units"
    )
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    actual_hours = models.FloatField(null=True, blank=True)
    item_count = models.PositiveIntegerField(default=0)
    hours_low = models.FloatField(default=0)
    hours_likely = models.FloatField(default=0)
    hours_high = models.FloatField(default=0)
    is_estimated_by_hand = models.BooleanField(default=False)
    base_hours = models.FloatField(default=0)
    estimate_parts = models.JSONField(default=list, blank=True)
    weight = models.PositiveIntegerField(default=1)
    weight_parts = models.JSONField(default=list, blank=True)
    pin_start = models.DateTimeField(null=True, blank=True)
    pin_person = models.ForeignKey(
        "migrations_tracker.Person", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    deadline = models.DateTimeField(null=True, blank=True)
    pre_flight = models.JSONField(default=dict, blank=True)
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    confirmed_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("phase", "key")
        constraints = (
            models.UniqueConstraint(name="work_unit_key_once", fields=["plan", "key"]),
            models.CheckConstraint(
                name="work_unit_kind_known", condition=Q(kind__in=[k.value for k in UnitKind])
            ),
            models.CheckConstraint(
                name="work_unit_phase_known", condition=Q(phase__in=[p.value for p in Phase])
            ),
            models.CheckConstraint(
                name="work_unit_category_known", condition=Q(category__in=[c.value for c in FixCategory])
            ),
            models.CheckConstraint(
                name="work_unit_outcome_known", condition=Q(outcome__in=["", *(o.value for o in Outcome)])
            ),
            models.CheckConstraint(
                name="work_unit_need_known",
                condition=Q(need_kind="", need_name="")
                | Q(need_kind__in=[k.value for k in NeedKind]) & ~Q(need_name=""),
            ),
            models.CheckConstraint(
                name="work_unit_status_dated",
                condition=Q(status=UnitStatus.PLANNED.value, started_at=None, finished_at=None)
                | Q(
                    status=UnitStatus.UNDER_WAY.value,
                    started_at__isnull=False,
                    finished_at=None,
                    person__isnull=False,
                )
                | Q(status=UnitStatus.FINISHED.value, finished_at__isnull=False),
            ),
            models.CheckConstraint(
                name="work_unit_hours_ordered",
                condition=Q(hours_low__gte=0, hours_likely__gte=F("hours_low"))
                & Q(hours_high__gte=F("hours_likely")),
            ),
            models.CheckConstraint(
                name="work_unit_confirmed_at_a_time",
                condition=Q(confirmed_at=None) | ~Q(pre_flight={}),
            ),
        )
        indexes = (
            # The heaviest units of each phase and state are the first there.
            models.Index(
                name="work_unit_weight_idx",
                fields=["plan", "phase", "status", "-weight", "key"],
                include=["id"],
            ),
            # The board counts from it alone, and finds the units of a crate: rows hold long texts.
            models.Index(
                name="work_unit_count_idx",
                fields=["plan", "crate", "phase", "status"],
                include=["id", "hours_likely"],
            ),
        )

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("unit-detail", args=[self.pk])

    @property
    def is_locked(self) -> bool:
        """Whether only people may change it."""
        return self.is_edited or self.status != UnitStatus.PLANNED.value


class UnitMember(models.Model):
    """A site or gap in a unit. A finished unit keeps what it did as members that are no longer current, so
    that what comes back goes into another one.
    """

    unit = models.ForeignKey(WorkUnit, on_delete=models.CASCADE, related_name="members")
    site = models.ForeignKey(
        FallbackSite, null=True, blank=True, on_delete=models.CASCADE, related_name="unit_members"
    )
    gap = models.ForeignKey(
        CapabilityGap, null=True, blank=True, on_delete=models.CASCADE, related_name="unit_members"
    )
    is_current = models.BooleanField(default=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="unit_member_of_a_site_or_a_gap",
                condition=Q(site__isnull=False, gap__isnull=True) | Q(site__isnull=True, gap__isnull=False),
            ),
            models.UniqueConstraint(
                name="unit_member_site_once", fields=["site"], condition=Q(is_current=True)
            ),
            models.UniqueConstraint(
                name="unit_member_gap_once", fields=["gap"], condition=Q(is_current=True)
            ),
        )

    def __str__(self) -> str:
        return f"{self.unit}: {f'site {self.site_id}' if self.site_id else f'gap {self.gap_id}'}"


class PrecedenceState(models.TextChoices):
    """Where an edge comes from, or that a person cut it."""

    FACT = "fact", "From facts"
    ADDED = "added", "Added by a person"
    CUT = "cut", "Cut by a person"


@pghistory.track(
    pghistory.UpdateEvent("changed", row=pghistory.Old),
    pghistory.DeleteEvent("removed", row=pghistory.Old),
    meta=EVENTS_KEPT,
)
class Precedence(models.Model):
    """`before` has to be finished when `after` starts, unless a person cut the edge."""

    before = models.ForeignKey(WorkUnit, on_delete=models.CASCADE, related_name="edges_out")
    after = models.ForeignKey(WorkUnit, on_delete=models.CASCADE, related_name="edges_in")
    reason = models.CharField(max_length=24, choices=[(r.value, r.value) for r in PrecedenceReason])
    message = models.TextField()
    state = models.CharField(
        max_length=5, choices=PrecedenceState, default=PrecedenceState.FACT, db_collation="C"
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(name="precedence_once", fields=["before", "after"]),
            models.CheckConstraint(name="precedence_of_two_units", condition=~Q(before=F("after"))),
            models.CheckConstraint(
                name="precedence_state_known", condition=Q(state__in=PrecedenceState.values)
            ),
            models.CheckConstraint(name="precedence_says_why", condition=~Q(message="")),
        )

    def __str__(self) -> str:
        return f"{self.before_id} before {self.after_id}"


class PlanEvent(models.Model):
    """One thing that was done to a plan, by whom and why. Rows are added and never changed."""

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="log")
    unit = models.ForeignKey(WorkUnit, null=True, blank=True, on_delete=models.SET_NULL, related_name="log")
    unit_key = models.CharField(max_length=200, blank=True, db_collation="C")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    what = models.TextField()
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)
        # `unit` is set to nothing when its unit goes; what happened stays as it was told.
        triggers = rows_kept("plan_event", condition=pgtrigger.AnyChange(exclude=["unit"]))

    def __str__(self) -> str:
        return self.what
