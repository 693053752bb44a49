"""A unit's page, and what people do to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.core.exceptions import NON_FIELD_ERRORS
from django.forms import Form
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from migrations_tracker import plan_forms as forms
from migrations_tracker.errors import ChangedMeanwhileError, PlanError
from migrations_tracker.http import SignedInRequest
from migrations_tracker.models import Precedence, WorkUnit
from migrations_tracker.scheduling.rationale import PreFlight
from migrations_tracker.scheduling.stored import to_plain
from migrations_tracker.selectors.plan_text import issue_text
from migrations_tracker.selectors.unit_detail import unit_members, unit_page, unit_reasons
from migrations_tracker.selectors.watching import with_watch
from migrations_tracker.services import precedences, unit_progress, work_units
from migrations_tracker.views.plans import MAY_PLAN, UNPROCESSABLE

MAY_WORK = "migrations_tracker.work_on_unit"
CONFLICT = 409
HOURS = ("low", "likely", "high")
KERNEL_FIELDS = ("backend", "signature", "layout")


@login_required
@require_GET
def unit_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show a unit."""
    return _page(request, _unit(request, pk))


@login_required
@require_GET
def unit_issue(request: SignedInRequest, pk: int) -> HttpResponse:
    """Give a unit as the Markdown body of an issue."""
    unit = _unit(request, pk)
    response = HttpResponse(issue_text(unit=unit), content_type="text/markdown; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="unit-{unit.pk}.md"'
    return response


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def unit_rename(request: SignedInRequest, pk: int) -> HttpResponse:
    """Give a unit another title."""
    unit, form = _unit(request, pk), forms.RenameForm(request.POST)
    return _do(
        request,
        unit,
        form,
        lambda data: work_units.unit_rename(
            unit=unit, title=data["title"], actor=request.user, seen_version=data["version"]
        ),
    )


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def unit_deadline(request: SignedInRequest, pk: int) -> HttpResponse:
    """Set or take away a unit's deadline."""
    unit, form = _unit(request, pk), forms.DeadlineForm(request.POST)
    return _do(
        request,
        unit,
        form,
        lambda data: work_units.unit_date(
            unit=unit, deadline=data["deadline"], actor=request.user, seen_version=data["version"]
        ),
    )


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def unit_hours(request: SignedInRequest, pk: int) -> HttpResponse:
    """Estimate a unit by hand, or let the rates say its hours again."""
    unit, form = _unit(request, pk), forms.HoursForm(request.POST)
    return _do(
        request,
        unit,
        form,
        lambda data: work_units.unit_estimate(
            unit=unit,
            hours=data["hours"],
            reason=data["reason"],
            actor=request.user,
            seen_version=data["version"],
        ),
    )


@login_required
@permission_required(MAY_WORK, raise_exception=True)
@require_POST
def unit_spent(request: SignedInRequest, pk: int) -> HttpResponse:
    """Say how many hours a unit has taken so far."""
    unit, form = _unit(request, pk), forms.SpentForm(request.POST)
    return _do(
        request,
        unit,
        form,
        lambda data: unit_progress.unit_spend(
            unit=unit, hours=data["hours"], actor=request.user, seen_version=data["version"]
        ),
    )


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def unit_split(request: SignedInRequest, pk: int) -> HttpResponse:
    """Put some of a unit's members into a new unit."""
    unit = _unit(request, pk)
    form = forms.SplitForm(request.POST, members=_member_ids(unit))
    return _do(
        request,
        unit,
        form,
        lambda data: work_units.unit_split(
            unit=unit,
            members=data["member"],
            title=data["title"],
            actor=request.user,
            seen_version=data["version"],
        ),
    )


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def unit_move(request: SignedInRequest, pk: int) -> HttpResponse:
    """Move some of a unit's members into another unit."""
    unit = _unit(request, pk)
    form = forms.MoveForm(request.POST, plan=unit.plan, members=_member_ids(unit))
    return _do(
        request,
        unit,
        form,
        lambda data: work_units.members_move(
            members=data["member"],
            source=unit,
            target=data["into"],
            actor=request.user,
            seen_version=data["version"],
        ),
    )


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def unit_merge(request: SignedInRequest, pk: int) -> HttpResponse:
    """Put all of a unit into another one."""
    unit = _unit(request, pk)
    form = forms.MergeForm(request.POST, plan=unit.plan)
    return _do(
        request,
        unit,
        form,
        lambda data: work_units.unit_merge(
            unit=unit,
            into=data["into"],
            reason=data["reason"],
            actor=request.user,
            seen_version=data["version"],
        ),
        back_to=lambda data: data["into"],
    )


@login_required
@permission_required(MAY_WORK, raise_exception=True)
@require_POST
def unit_confirm(request: SignedInRequest, pk: int) -> HttpResponse:
    """Confirm a unit's pre-flight plan as it was filled in."""
    unit = _unit(request, pk)
    reasons = unit_reasons(unit=unit, members=unit_members(unit=unit))
    filled = _filled(reasons.pre_flight, request.POST)
    try:
        unit_progress.pre_flight_confirm(
            unit=unit,
            pre_flight=to_plain(filled),
            open_questions=len(filled.open_questions),
            actor=request.user,
            seen_version=int(seen) if (seen := request.POST.get("version", "")).isdecimal() else None,
        )
    except ChangedMeanwhileError as error:
        newest = _unit(request, pk)
        asked = unit_reasons(unit=newest, members=unit_members(unit=newest)).pre_flight
        filled = _filled(asked, request.POST)
        return _page(request, newest, problem=str(error), pre_flight=filled, status=CONFLICT)
    except PlanError as error:
        return _page(request, unit, problem=str(error), pre_flight=filled, status=UNPROCESSABLE)
    messages.success(request, "The pre-flight plan is confirmed.")
    return redirect(unit)


@login_required
@permission_required(MAY_WORK, raise_exception=True)
@require_POST
def unit_start(request: SignedInRequest, pk: int) -> HttpResponse:
    """Begin a unit."""
    unit = _unit(request, pk)
    form = forms.StartForm(request.POST, plan=unit.plan)
    return _do(
        request,
        unit,
        form,
        lambda data: unit_progress.unit_start(
            unit=unit, person=data["person"], actor=request.user, seen_version=data["version"]
        ),
    )


@login_required
@permission_required(MAY_WORK, raise_exception=True)
@require_POST
def unit_finish(request: SignedInRequest, pk: int) -> HttpResponse:
    """Finish a unit."""
    unit, form = _unit(request, pk), forms.FinishForm(request.POST)
    return _do(
        request,
        unit,
        form,
        lambda data: unit_progress.unit_finish(
            unit=unit,
            actual_hours=data["hours"],
            reason=data["reason"],
            actor=request.user,
            seen_version=data["version"],
        ),
    )


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def unit_wait(request: SignedInRequest, pk: int) -> HttpResponse:
    """Make a unit wait for another one."""
    unit = _unit(request, pk)
    form = forms.PrerequisiteForm(request.POST, plan=unit.plan)
    return _do(
        request,
        unit,
        form,
        lambda data: precedences.precedence_add(
            before=data["before"], after=unit, reason=data["reason"], actor=request.user
        ),
    )


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def precedence_cut(request: SignedInRequest, pk: int) -> HttpResponse:
    """Say that a unit need not wait for another one."""
    edge = get_object_or_404(Precedence.objects.select_related("after"), pk=pk)
    unit, form = _unit(request, edge.after_id), forms.ReasonForm(request.POST)
    return _do(
        request,
        unit,
        form,
        lambda data: precedences.precedence_cut(edge=edge, reason=data["reason"], actor=request.user),
    )


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def precedence_restore(request: SignedInRequest, pk: int) -> HttpResponse:
    """Let the facts hold again."""
    edge = get_object_or_404(Precedence.objects.select_related("after"), pk=pk)
    try:
        precedences.precedence_restore(edge=edge, actor=request.user)
    except PlanError as error:
        messages.error(request, str(error))
    return redirect(edge.after)


def _do(
    request: SignedInRequest,
    unit: WorkUnit,
    form: Form,
    act: Callable[[dict[str, Any]], object],
    back_to: Callable[[dict[str, Any]], WorkUnit] | None = None,
) -> HttpResponse:
    """Act if the form is filled in, and show the unit again, with what stands against it."""
    if not form.is_valid():
        said = "; ".join(
            str(error) if name == NON_FIELD_ERRORS else f"{name.replace('_', ' ')}: {error}"
            for name, errors in form.errors.items()
            for error in errors
        )
        return _page(request, unit, problem=said, sent=_sent(request), status=UNPROCESSABLE)
    try:
        act(form.cleaned_data)
    except PlanError as error:
        newest = _unit(request, unit.pk)
        return _page(request, newest, problem=str(error), sent=_sent(request), status=CONFLICT)
    target = back_to(form.cleaned_data) if back_to else unit
    return redirect(target)


def _sent(request: SignedInRequest) -> dict[str, dict[str, object]]:
    """Return what was typed, under the name of its form: that one is shown again as it was sent."""
    match = request.resolver_match
    if match is None:
        return {}
    # The members are chosen once for both: to split off and to move.
    name = "unit_split" if match.url_name == "unit-move" else (match.url_name or "").replace("-", "_")
    given = {**request.POST.dict(), "member": request.POST.getlist("member")}
    return {name: {**given, "pk": str(match.kwargs["pk"])}}


def _unit(request: SignedInRequest, pk: int) -> WorkUnit:
    rows = WorkUnit.objects.select_related(
        "plan__repository", "plan__scan_run__inventory", "person", "confirmed_by", "pin_person"
    )
    return get_object_or_404(with_watch(rows, kind="unit", person=request.user), pk=pk)


def _member_ids(unit: WorkUnit) -> list[int]:
    return list(unit.members.filter(is_current=True).values_list("pk", flat=True))


def _filled(plan: PreFlight, given: QueryDict) -> PreFlight:
    """Return a pre-flight plan with what somebody filled in."""
    rows = tuple(
        replace(row, proved_by=given.get(f"row-{number}", row.proved_by).strip()[:2000])
        for number, row in enumerate(plan.execution_map)
    )
    kernels = tuple(
        replace(
            kernel,
            dtypes=tuple(given.get(f"kernel-{number}-dtypes", " ".join(kernel.dtypes)).split())[:20],
            **{
                name: given.get(f"kernel-{number}-{name}", getattr(kernel, name)).strip()[:2000]
                for name in KERNEL_FIELDS
            },
        )
        for number, kernel in enumerate(plan.kernels)
    )
    return replace(plan, execution_map=rows, kernels=kernels)


def _page(
    request: SignedInRequest,
    unit: WorkUnit,
    *,
    problem: str = "",
    pre_flight: PreFlight | None = None,
    sent: Mapping[str, Mapping[str, object]] | None = None,
    status: int = 200,
) -> HttpResponse:
    data = unit_page(unit=unit)
    sent = sent or {}
    hours = sent.get("unit_hours", {})
    kept = {name: getattr(unit, f"hours_{name}") if unit.is_estimated_by_hand else "" for name in HOURS}
    context = {
        "unit": unit,
        "data": data,
        "why": data.reasons.rationale,
        "pre_flight": pre_flight or data.reasons.pre_flight,
        "problem": problem,
        "deadline": forms.local_moment(unit.deadline),
        "sent": sent,
        "own_hours": [(name, hours.get(name, kept[name])) for name in HOURS],
    }
    return render(request, "unit_detail.html", context, status=status)
