"""Changing all sites that a filter matches: the preview, the change, its log, and taking it back."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import HttpResponseClientRefresh

from migrations_tracker.errors import PlanError
from migrations_tracker.forms import BulkChangeForm
from migrations_tracker.http import SignedInRequest
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import BulkChange, ItemState
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.bulk_changes import bulk_change_items, bulk_change_list, bulk_preview
from migrations_tracker.selectors.site_list import filters_read
from migrations_tracker.selectors.standings import repositories_seen_by
from migrations_tracker.services.bulk_changes import bulk_change_create, bulk_change_undo
from migrations_tracker.services.scans import row_wake

UNPROCESSABLE = 422
MAY_CHANGE_MANY = "migrations_tracker.add_bulkchange"


@login_required
@permission_required(MAY_CHANGE_MANY, raise_exception=True)
@require_http_methods(["GET", "HEAD", "POST"])
def bulk_change_ask(request: SignedInRequest) -> HttpResponse:
    """Show what a filter matches, and change all of it."""
    choice = branch_choose(
        user=request.user, repository=request.GET.get("repository", ""), branch=request.GET.get("branch", "")
    )
    if choice.branch is None:
        raise Http404
    # Asked again for the repository that was chosen, whichever the form names.
    if not request.user.has_perm(MAY_CHANGE_MANY):
        raise PermissionDenied
    filters = filters_read(request.GET)
    preview = bulk_preview(branch=choice.branch, filters=filters)
    is_post = request.method == "POST"
    form = BulkChangeForm(
        request.POST if is_post else None, choices=[(value, label) for value, label, _ in preview.choices]
    )
    if is_post and form.is_valid():
        data = form.cleaned_data
        try:
            change = bulk_change_create(
                branch=choice.branch,
                filters=filters,
                to=Status(data["to"]) if data["to"] else None,
                sets_assignee=data["owner"] != form.KEEP,
                assignee=form.owner_chosen(),
                reason=data["reason"],
                actor=request.user,
                seen_count=data["seen_count"],
                seen_mark=data["seen_mark"],
            )
        except PlanError as error:
            form.add_error(None, str(error))
        else:
            row_wake(row=change)
            return redirect(change)
    context = {"choice": choice, "filters": filters, "preview": preview, "form": form}
    return render(request, "bulk_change_ask.html", context, status=UNPROCESSABLE if is_post else 200)


@login_required
@require_GET
def bulk_change_index(request: SignedInRequest) -> HttpResponse:
    """List what was changed at once, newest first."""
    page = bulk_change_list(
        repositories=repositories_seen_by(request.user), cursor=request.GET.get("page", "")
    )
    return render(request, "bulk_change_list.html", {"list": page})


@login_required
@require_GET
@vary_on_headers("HX-Request")
def bulk_change_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show a change, how far it is, and what became of each site."""
    change = _change(pk)
    if request.htmx and not request.htmx.boosted:
        if change.is_over:
            return HttpResponseClientRefresh()
        return render(request, "bulk_change_detail.html#progress", {"change": change})
    state = request.GET.get("state", "")
    context = {
        "change": change,
        "state": state if state in ItemState.values else "",
        "states": ItemState.choices,
        "list": bulk_change_items(change=change, state=state, cursor=request.GET.get("page", "")),
        "undo": BulkChange.objects.filter(undoes=change).first(),
    }
    return render(request, "bulk_change_detail.html", context)


@login_required
@permission_required(MAY_CHANGE_MANY, raise_exception=True)
@require_POST
def bulk_change_take_back(request: SignedInRequest, pk: int) -> HttpResponse:
    """Take a change back."""
    change = _change(pk)
    try:
        undo = bulk_change_undo(
            change=change, actor=request.user, reason=request.POST.get("reason", "")[:2000]
        )
    except PlanError as error:
        messages.error(request, str(error))
        return redirect(change)
    row_wake(row=undo)
    return redirect(undo)


def _change(pk: int) -> BulkChange:
    related = ("branch__repository", "requested_by", "assignee", "undoes")
    return get_object_or_404(BulkChange.objects.select_related(*related), pk=pk)
