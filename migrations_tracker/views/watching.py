"""Watching sites, gaps and units, and what happened that concerns a person."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from audit.models import CapabilityGap, FallbackSite
from migrations_tracker.http import SignedInRequest
from migrations_tracker.models import NoticeKind, WorkUnit
from migrations_tracker.models.notice import PERSONAL
from migrations_tracker.selectors.watching import KINDS, inbox_page, is_automatic, watch_page
from migrations_tracker.services.watching import Watched, watch_end, watch_settings_change, watch_start


@login_required
@require_GET
def watch_index(request: SignedInRequest) -> HttpResponse:
    """Show what a person watches."""
    kind = request.GET.get("kind", "")
    context = {
        "page": watch_page(owner=request.user, kind=kind, cursor=request.GET.get("page", "")),
        "kinds": [(kind, f"{kind.capitalize()}s") for kind in KINDS],
        "kind": kind,
        "is_automatic": is_automatic(owner=request.user),
    }
    return render(request, "watch_list.html", context)


@login_required
@require_POST
def watch_settings(request: SignedInRequest) -> HttpResponse:
    """Set whether a person watches by itself what they take part in."""
    is_on = request.POST.get("is_automatic") == "on"
    watch_settings_change(person=request.user, is_automatic=is_on)
    text = (
        "You watch what you take part in."
        if is_on
        else "You watch only what you ask for. What you watch already stays."
    )
    messages.success(request, text)
    return redirect("watch-list")


@login_required
@require_GET
def inbox(request: SignedInRequest) -> HttpResponse:
    """Show what happened that concerns a person."""
    kind = request.GET.get("kind", "")
    context = {
        "page": inbox_page(owner=request.user, kind=kind, cursor=request.GET.get("page", "")),
        "kinds": [(one.value, one.label) for one in NoticeKind if one in PERSONAL],
        "kind": kind,
    }
    return render(request, "inbox.html", context)


@login_required
@require_POST
def site_watch(request: SignedInRequest, pk: int) -> HttpResponse:
    """Watch a site, or no longer."""
    return _set(request, get_object_or_404(FallbackSite, pk=pk))


@login_required
@require_POST
def gap_watch(request: SignedInRequest, pk: int) -> HttpResponse:
    """Watch a capability gap, or no longer."""
    return _set(request, get_object_or_404(CapabilityGap, pk=pk))


@login_required
@require_POST
def unit_watch(request: SignedInRequest, pk: int) -> HttpResponse:
    """Watch a work unit, or no longer."""
    return _set(request, get_object_or_404(WorkUnit, pk=pk))


def _set(request: SignedInRequest, subject: Watched) -> HttpResponse:
    if request.POST.get("watch") == "off":
        watch_end(person=request.user, subject=subject)
        messages.success(request, "You no longer watch this.")
    else:
        watch_start(person=request.user, subject=subject)
        messages.success(request, "You are told what happens here.")
    return redirect("watch-list" if request.POST.get("back") == "list" else subject)
