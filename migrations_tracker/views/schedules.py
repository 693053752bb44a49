"""Schedules: asking for one, its Gantt and figures, pinning, and comparing two."""

from __future__ import annotations

from dataclasses import asdict

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.db.models import F
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import HttpResponseClientRefresh

from migrations_tracker.errors import PlanError
from migrations_tracker.gantt_svg import gantt_svg
from migrations_tracker.http import SignedInRequest
from migrations_tracker.models import Plan, Schedule, WorkUnit
from migrations_tracker.plan_forms import PinForm, PlanSettingsForm, WhatIfForm, local_moment, office_week
from migrations_tracker.scheduling.problem import Person, PhaseOrder, WorkCalendar, WorkingHours
from migrations_tracker.scheduling.weighting import WeightRates, rates_in_words
from migrations_tracker.scheduling.what_if import WhatIf
from migrations_tracker.selectors.gantt import gantt
from migrations_tracker.selectors.plan_weights import weights_with
from migrations_tracker.selectors.schedule_clashes import clashes_of
from migrations_tracker.selectors.schedule_detail import SOLVED_FROM, comparison, outlook, schedule_list
from migrations_tracker.services.plan_settings import plan_settings_set
from migrations_tracker.services.scans import row_wake
from migrations_tracker.services.schedules import baseline_set, schedule_request
from migrations_tracker.services.work_units import unit_pin
from migrations_tracker.views.plans import MAY_PLAN, UNPROCESSABLE, plan_of

RATES = ("always_taken", "reach", "blocks")


@login_required
@require_GET
def schedule_index(request: SignedInRequest, slug: str) -> HttpResponse:
    """List the schedules of a plan, with the form that asks for one."""
    plan = plan_of(slug)
    return _index(request, plan, WhatIfForm(plan=plan))


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def schedule_ask(request: SignedInRequest, slug: str) -> HttpResponse:
    """Ask for a schedule of the plan as it is, or of what would be if."""
    plan = plan_of(slug)
    form = WhatIfForm(request.POST, plan=plan)
    if not form.is_valid():
        return _index(request, plan, form, status=UNPROCESSABLE)
    try:
        schedule = schedule_request(
            plan=plan, actor=request.user, change=_change(plan, form), seed=form.cleaned_data["seed"] or 0
        )
    except PlanError as error:
        form.add_error(None, str(error))
        return _index(request, plan, form, status=UNPROCESSABLE)
    row_wake(row=schedule)
    return redirect(schedule)


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def plan_settings(request: SignedInRequest, slug: str) -> HttpResponse:
    """Set what counts in the plan's schedules from now on."""
    plan = plan_of(slug)
    form = PlanSettingsForm(request.POST)
    if not form.is_valid():
        return _index(request, plan, WhatIfForm(plan=plan), settings_form=form, status=UNPROCESSABLE)
    data = dict(form.cleaned_data)
    order = PhaseOrder(data.pop("phase_order"))
    plan_settings_set(plan=plan, rates=WeightRates(**data), phase_order=order, actor=request.user)
    messages.success(request, "It counts from the next schedule on. Schedule anew to see what follows.")
    return redirect("schedule-list", slug)


@login_required
@require_GET
@vary_on_headers("HX-Request")
def schedule_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show a schedule: its figures, Gantt and forecast, or the constraints that clash."""
    schedule = _schedule(pk)
    if request.htmx:
        if not schedule.is_improving:
            return HttpResponseClientRefresh()
        return render(request, "schedule_detail.html#progress", {"schedule": schedule})
    return _page(request, schedule)


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def schedule_pin(request: SignedInRequest, pk: int) -> HttpResponse:
    """Pin a unit to a start and a person; the next schedule obeys it."""
    schedule = _schedule(pk)
    form = PinForm(request.POST, plan=schedule.plan)
    problem = "; ".join(str(error) for errors in form.errors.values() for error in errors)
    if form.is_valid():
        data = form.cleaned_data
        try:
            unit_pin(unit=data["unit"], start=data["start"], person=data["person"], actor=request.user)
        except PlanError as error:
            problem = str(error)
        else:
            if request.htmx:
                context = {"schedule": schedule, "pinned": data["unit"]}
                return render(request, "schedule_detail.html#pin-result", context)
            messages.success(request, f"`{data['unit'].title}` is pinned. Schedule anew to see what follows.")
            return redirect(schedule)
    if request.htmx:
        context = {"schedule": schedule, "problem": problem}
        return render(request, "schedule_detail.html#pin-result", context, status=UNPROCESSABLE)
    return _page(request, schedule, problem=problem, status=UNPROCESSABLE)


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def schedule_baseline(request: SignedInRequest, pk: int) -> HttpResponse:
    """Make a schedule the one against which slips are seen."""
    schedule = _schedule(pk)
    try:
        baseline_set(plan=schedule.plan, schedule=schedule, actor=request.user)
    except PlanError as error:
        messages.error(request, str(error))
    return redirect(schedule)


def _index(
    request: SignedInRequest,
    plan: Plan,
    form: WhatIfForm,
    *,
    settings_form: PlanSettingsForm | None = None,
    status: int = 200,
) -> HttpResponse:
    current = asdict(WeightRates(**plan.weight_rates)) | {"phase_order": plan.phase_order}
    crates = WorkUnit.objects.filter(plan=plan).exclude(crate="").order_by("crate")
    context = {
        "plan": plan,
        "schedules": schedule_list(plan=plan),
        "form": form,
        "settings_form": settings_form or PlanSettingsForm(initial=current),
        "counts": rates_in_words(WeightRates(**plan.weight_rates)),
        "crates": list(crates.values_list("crate", flat=True).distinct()),
    }
    return render(request, "schedule_list.html", context, status=status)


def _page(
    request: SignedInRequest, schedule: Schedule, *, problem: str = "", status: int = 200
) -> HttpResponse:
    wish = request.GET.get("with", "")
    others = [other for other in schedule_list(plan=schedule.plan) if other.pk != schedule.pk]
    against = next((other for other in others if str(other.pk) == wish), None)
    before = _compared_with(schedule, against)
    chosen = request.GET.get("unit", "")
    chart = gantt(
        schedule=schedule, zoom=request.GET.get("zoom", ""), begin=request.GET.get("from", ""), unit=chosen
    )
    placed = sorted(chart.placed, key=lambda place: place.unit.title)
    context = {
        "schedule": schedule,
        "gantt": chart,
        "drawing": gantt_svg(chart),
        "outlook": outlook(schedule=schedule),
        "others": others,
        "comparison": comparison(before=before, after=schedule) if before is not None else None,
        "units": [place.unit for place in placed],
        "people": list(schedule.plan.people.filter(is_active=True)),
        "chosen": next((one for one in placed if str(one.unit_id) == chosen), None),
        "problem": problem,
        "clashes": clashes_of(schedule.conflicts),
        "counted": rates_in_words(WeightRates(**schedule.weight_rates)),
    }
    if (one := context["chosen"]) is not None:
        context["chosen_start"] = local_moment(one.unit.pin_start or one.starts_at)  # type: ignore[attr-defined]
    return render(request, "schedule_detail.html", context, status=status)


def _compared_with(schedule: Schedule, against: Schedule | None) -> Schedule | None:
    """The schedule that was asked for, else the baseline, else the one before; never itself."""
    baseline = None if schedule.what_if else schedule.plan.baseline
    for one in (against, baseline, schedule.earlier):
        if one is not None and one.pk != schedule.pk:
            return one
    return None


def _schedule(pk: int) -> Schedule:
    rows = Schedule.objects.select_related("plan__repository", "plan__baseline", "earlier", "requested_by")
    # What schedules were solved from is long; a comparison reads it.
    heavy = [f"{one}{name}" for one in ("", "earlier__", "plan__baseline__") for name in SOLVED_FROM]
    rows = rows.annotate(is_best_weighted=F("answer__is_best_weighted"))
    return get_object_or_404(rows.defer(*heavy, "earlier__forecast", "plan__baseline__forecast"), pk=pk)


def _change(plan: Plan, form: WhatIfForm) -> WhatIf:
    data = form.cleaned_data
    added: tuple[Person, ...] = ()
    if data["added_name"]:
        hours = tuple(WorkingHours(*window) for window in office_week())
        added = (Person(data["added_name"], frozenset(data["added_skills"]), WorkCalendar(hours)),)
    dropped = data["dropped_person"]
    crate = data["dropped_crate"].strip()
    units = list(WorkUnit.objects.filter(plan=plan, crate=crate).exclude(status="finished")) if crate else []
    if crate and not units:
        raise PlanError(f"No unit that is to be done is in `{crate}`.")
    asked = {name: data[name] for name in RATES if data[name] is not None}
    rates = WeightRates(**{**plan.weight_rates, **asked})
    weighed = weights_with(plan=plan, rates=rates) if asked else {}
    return WhatIf(
        added_people=added,
        dropped_people=frozenset({dropped.name}) if dropped else frozenset(),
        dropped_crates=(crate,) if crate else (),
        dropped_units=frozenset(unit.key for unit in units),
        weights={key: weight.value for key, weight in weighed.items()},
        rates=asdict(rates) if weighed else {},
        phase_order=PhaseOrder(data["phase_order"]) if data["phase_order"] else None,
    )
