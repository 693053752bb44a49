"""Scans and the requests for them: their pages refresh themselves while something happens."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh

from audit.errors import AuditError
from audit.models import HeldDrop, RowState, ScanRequest, ScanRun
from audit.scanner.errors import ScanError
from audit.selectors.claims import claims_of
from audit.selectors.history import scan_before
from audit.services.scan_requests import scan_request_cancel
from audit.services.scan_runs import scan_run_cancel
from migrations_tracker.http import SignedInRequest
from migrations_tracker.selectors import overview
from migrations_tracker.services.scans import scan_retry
from workers.selectors.runners import gpu_work_of, with_gpu_work


@login_required
@require_GET
@vary_on_headers("HX-Request")
def scan_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show a scan: its progress while it runs, and what it found and looked at once it is over."""
    scans = ScanRun.objects.select_related("repository", "commit", "branch", "requested_by", "cancelled_by")
    scan_run = get_object_or_404(with_gpu_work(scans), pk=pk)
    context: dict[str, object] = {"scan": scan_run}
    if request.htmx:
        if scan_run.is_over:
            return HttpResponseClientRefresh()
        context["queue_position"] = overview.queue_position(scan_run=scan_run)
        return render(request, "scan_detail.html#progress", context)
    if scan_run.state == RowState.PENDING:
        context["queue_position"] = overview.queue_position(scan_run=scan_run)
    if scan_run.state == RowState.SUCCEEDED:
        rules = list(scan_run.rules.all())
        context |= {
            "breakdown": overview.scan_breakdown(scan_run=scan_run),
            "rules_run": [rule for rule in rules if rule.status == "ran"],
            "rules_not_run": [rule for rule in rules if rule.status != "ran"],
            "claims": claims_of(scan_run=scan_run),
            "gpu_work": gpu_work_of(scan_run=scan_run),
            "moved": scan_before(scan_run=scan_run, branch=scan_run.branch),
            "held_drops": HeldDrop.objects.filter(branch_scan__scan_run=scan_run),
            "files_not_scanned": overview.files_not_scanned(scan_run=scan_run),
        }
    return render(request, "scan_detail.html", context)


@login_required
@require_POST
def scan_cancel(request: SignedInRequest, pk: int) -> HttpResponse:
    """Cancel a scan that waits or runs."""
    scan_run = get_object_or_404(ScanRun, pk=pk)
    if not scan_run_cancel(scan_run=scan_run, actor=request.user):
        messages.info(request, "The scan was over already.")
    return redirect(scan_run)


@login_required
@require_POST
def scan_again(request: SignedInRequest, pk: int) -> HttpResponse:
    """Ask again for a scan that failed or was cancelled."""
    scan_run = get_object_or_404(ScanRun.objects.select_related("repository", "commit", "branch"), pk=pk)
    try:
        return redirect(scan_retry(scan_run=scan_run, actor=request.user))
    except (AuditError, ScanError) as error:
        messages.error(request, str(error))
        return redirect(scan_run)


@login_required
@require_POST
def request_cancel(request: SignedInRequest, pk: int) -> HttpResponse:
    """Cancel a request that waits or is fetched."""
    scan_request = get_object_or_404(ScanRequest, pk=pk)
    if not scan_request_cancel(scan_request=scan_request, actor=request.user):
        messages.info(request, "The request was met already.")
    return redirect(scan_request)


@login_required
@require_GET
@vary_on_headers("HX-Request")
def scan_request_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show a request whose commit is still to be found; go on to its scan as soon as there is one."""
    scan_request = get_object_or_404(
        ScanRequest.objects.select_related("repository", "scan_run", "requested_by", "cancelled_by"), pk=pk
    )
    target = scan_request.scan_run
    if request.htmx:
        if target is not None:
            return HttpResponseClientRedirect(target.get_absolute_url())
        if scan_request.is_over:
            return HttpResponseClientRefresh()
        return render(request, "scan_request_detail.html#progress", {"scan_request": scan_request})
    if target is not None:
        return redirect(target)
    return render(request, "scan_request_detail.html", {"scan_request": scan_request})
