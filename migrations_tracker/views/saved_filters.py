"""Keeping and dropping filters of the list of sites."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from audit.models import Repository
from migrations_tracker.errors import PlanError
from migrations_tracker.http import SignedInRequest
from migrations_tracker.models import SavedFilter
from migrations_tracker.services.saved_filters import saved_filter_drop, saved_filter_keep


@login_required
@require_POST
def filter_keep(request: SignedInRequest) -> HttpResponse:
    """Keep the filter that a list shows."""
    repository = get_object_or_404(Repository, slug=request.POST.get("repository", ""))
    query = QueryDict(request.POST.get("query", "")[:4000])
    try:
        row = saved_filter_keep(
            owner=request.user,
            repository=repository,
            name=request.POST.get("name", ""),
            query=query,
            is_shared=request.POST.get("is_shared") == "on",
        )
    except PlanError as error:
        messages.error(request, str(error))
        return redirect(f"{reverse('site-list')}?{query.urlencode()}")
    messages.success(request, f"“{row.name}” is kept.")
    return redirect(row)


@login_required
@require_POST
def filter_drop(request: SignedInRequest, pk: int) -> HttpResponse:
    """Drop a filter."""
    seen = SavedFilter.objects.filter(Q(owner=request.user) | Q(is_shared=True))
    row = get_object_or_404(seen.select_related("repository"), pk=pk)
    try:
        saved_filter_drop(row=row, actor=request.user)
    except PlanError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"“{row.name}” is dropped.")
    return redirect(f"{reverse('site-list')}?repository={row.repository.slug}")
