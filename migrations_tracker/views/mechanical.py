"""Mechanical reports: the policy's checks 4a to 4e of a function or a change."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import HttpResponseClientRefresh

from audit.errors import AuditError
from audit.models import Repository, RowState
from audit.scanner.proof.markdown import CHECKS
from migrations_tracker.http import SignedInRequest
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.services.verifications import mechanical_report_ask
from migrations_tracker.typed import typed_keep
from workers.errors import MachineryError
from workers.models import MechanicalReport

PAGE_SIZE = 50


@login_required
@require_GET
def report_index(request: SignedInRequest) -> HttpResponse:
    """List the reports of a repository, the newest first, with what asks for another."""
    choice = branch_choose(user=request.user, repository=request.GET.get("repository", ""), branch="")
    reports = MechanicalReport.objects.filter(repository=choice.repository).select_related("commit", "since")
    before = request.GET.get("before", "")
    if before.isdecimal() and len(before) < 19:
        reports = reports.filter(pk__lt=int(before))
    rows = list(reports.defer("document", "markdown")[: PAGE_SIZE + 1])
    context = {
        "choice": choice,
        "rows": rows[:PAGE_SIZE],
        "older": rows[PAGE_SIZE - 1].pk if len(rows) > PAGE_SIZE else "",
        "is_first": not before,
    }
    return render(request, "mechanical_report_list.html", context)


@login_required
@require_POST
def report_ask(request: SignedInRequest) -> HttpResponse:
    """Ask for a report."""
    data = request.POST
    repository = get_object_or_404(Repository, slug=data.get("repository", ""))
    try:
        report = mechanical_report_ask(
            repository=repository,
            symbol=data.get("symbol", ""),
            since=data.get("since", ""),
            revision=data.get("revision", ""),
            actor=request.user,
        )
    except (MachineryError, AuditError) as error:
        typed_keep(request)
        messages.error(request, str(error))
        return redirect(f"{reverse('verification-report-list')}?repository={repository.slug}")
    return redirect(report)


@login_required
@require_GET
@vary_on_headers("HX-Request")
def report_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show a report."""
    report = get_object_or_404(
        MechanicalReport.objects.select_related("repository", "commit", "since", "requested_by"), pk=pk
    )
    context = {"report": report, "checks": CHECKS}
    if request.htmx:
        if report.is_over:
            return HttpResponseClientRefresh()
        return render(request, "mechanical_report_detail.html#progress", context)
    return render(request, "mechanical_report_detail.html", context)


@login_required
@require_GET
def report_markdown(request: SignedInRequest, pk: int) -> HttpResponse:
    """Give a report as Markdown."""
    report = get_object_or_404(MechanicalReport, pk=pk)
    if report.state != RowState.SUCCEEDED:
        raise Http404("The report is not written yet.")
    response = HttpResponse(report.markdown, content_type="text/markdown; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="mechanical-report-{report.pk}.md"'
    return response
