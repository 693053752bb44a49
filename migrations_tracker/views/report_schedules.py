"""Reports that are mailed by the clock: the list, with the form for another one."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from migrations_tracker.errors import PlanError
from migrations_tracker.forms import ReportScheduleForm
from migrations_tracker.http import SignedInRequest
from migrations_tracker.models import Period, ReportSchedule
from migrations_tracker.report_formats import FORMATS
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.report_schedules import people_named, report_schedules_of
from migrations_tracker.services.report_schedules import report_schedule_create, report_schedule_end

UNPROCESSABLE = 422


@login_required
@require_GET
def report_schedule_index(request: SignedInRequest) -> HttpResponse:
    """Show the schedules by which reports of a repository are mailed."""
    return _index(request, ReportScheduleForm())


@login_required
@require_POST
def report_schedule_add(request: SignedInRequest) -> HttpResponse:
    """Have reports of a branch mailed by the clock."""
    form = ReportScheduleForm(request.POST)
    if form.is_valid():
        try:
            schedule = report_schedule_create(
                branch=form.cleaned_data["branch"],
                period=form.cleaned_data["period"],
                formats=form.cleaned_data["formats"],
                recipients=people_named(form.cleaned_data["recipients"].split()),
                actor=request.user,
            )
        except PlanError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "The reports will be mailed.")
            return redirect(_address(schedule))
    return _index(request, form, UNPROCESSABLE)


@login_required
@require_POST
def report_schedule_stop(request: SignedInRequest, pk: int) -> HttpResponse:
    """Mail no more reports by a schedule."""
    schedule = get_object_or_404(ReportSchedule.objects.select_related("branch__repository"), pk=pk)
    if report_schedule_end(schedule=schedule, actor=request.user):
        messages.success(request, "No more reports are mailed by it.")
    return redirect(_address(schedule))


def _address(schedule: ReportSchedule) -> str:
    return f"{reverse('report-schedule-list')}?repository={schedule.branch.repository.slug}"


def _index(request: SignedInRequest, form: ReportScheduleForm, status: int = 200) -> HttpResponse:
    given = cast("dict[str, str]", request.POST if request.method == "POST" else request.GET)
    choice = branch_choose(user=request.user, repository=given.get("repository", ""), branch="")
    context: dict[str, object] = {"choice": choice, "form": form, "formats": FORMATS.values()}
    if choice.repository is not None:
        context |= {
            "schedules": report_schedules_of(repository=choice.repository),
            "periods": Period.choices,
        }
    return render(request, "report_schedule_list.html", context, status=status)
