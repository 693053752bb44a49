"""Migration reports: the list, one report, and its files."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import HttpResponseClientRefresh

from audit.models import RowState
from audit.selectors.branch_periods import scans_before
from migrations_tracker.errors import PlanError
from migrations_tracker.forms import ReportForm
from migrations_tracker.http import SignedInRequest
from migrations_tracker.models import MigrationReport
from migrations_tracker.report_formats import FORMATS, document_of, file_name, head_of, report_archive
from migrations_tracker.reports.document import SITES_SHOWN
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.report_list import report_list
from migrations_tracker.services.migration_reports import report_create
from migrations_tracker.services.scans import row_wake

UNPROCESSABLE = 422
ARCHIVE = "zip"
SCANS_SHOWN = 200


@login_required
@require_GET
def report_index(request: SignedInRequest) -> HttpResponse:
    """List the reports of a branch, newest first, with the form that asks for one."""
    return _index(request, ReportForm())


@login_required
@require_POST
def report_ask(request: SignedInRequest) -> HttpResponse:
    """Ask for a report."""
    form = ReportForm(request.POST)
    if not form.is_valid():
        return _index(request, form, status=UNPROCESSABLE)
    try:
        report = report_create(
            branch=form.cleaned_data["branch"], since=form.cleaned_data["since"], actor=request.user
        )
    except PlanError as error:
        form.add_error(None, str(error))
        return _index(request, form, status=UNPROCESSABLE)
    row_wake(row=report)
    messages.success(request, "The report is being written.")
    return redirect(report)


@login_required
@require_GET
@vary_on_headers("HX-Request")
def report_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show a report; while it is written, the page looks again by itself."""
    report = _report(pk)
    if request.htmx:
        if report.is_over:
            return HttpResponseClientRefresh()
        return render(request, "report_detail.html#progress", {"report": report})
    context: dict[str, object] = {"report": report}
    if report.state == RowState.SUCCEEDED:
        context |= {
            "head": head_of(report),
            "formats": FORMATS.values(),
            "shown_at_most": SITES_SHOWN,
        }
    return render(request, "report_detail.html", context)


@login_required
@require_GET
def report_file(request: SignedInRequest, pk: int, key: str) -> HttpResponseBase:
    """Send a report as a file in one format, or all formats in an archive."""
    report = _report(pk)
    if report.state != RowState.SUCCEEDED or key not in (*FORMATS, ARCHIVE):
        raise Http404
    response: HttpResponseBase
    if key == ARCHIVE:
        response = HttpResponse(report_archive(report), content_type="application/zip")
    else:
        chosen = FORMATS[key]
        response = StreamingHttpResponse(
            chosen.write(report, document_of(report)), content_type=chosen.media_type
        )
    response["Content-Disposition"] = f'attachment; filename="{file_name(report, key)}"'
    return response


def _report(pk: int) -> MigrationReport:
    related = ("branch__repository", "scan_run__repository", "scan_run__commit", "scan_run__branch")
    # The document of a large report is megabytes, which a format that is written from it reads by itself.
    reports = MigrationReport.objects.select_related(*related, "since_scan__commit", "requested_by")
    return get_object_or_404(reports.defer("document"), pk=pk)


def _index(request: SignedInRequest, form: ReportForm, status: int = 200) -> HttpResponse:
    given = request.POST if request.method == "POST" else request.GET
    choice = branch_choose(
        user=request.user, repository=given.get("repository", ""), branch=given.get("of", "")
    )
    context: dict[str, object] = {"choice": choice, "form": form}
    if choice.branch is not None:
        context |= {
            "list": report_list(branch=choice.branch, cursor=request.GET.get("page", "")),
            "earlier": scans_before(branch=choice.branch, at_most=SCANS_SHOWN),
        }
    return render(request, "report_list.html", context, status=status)
