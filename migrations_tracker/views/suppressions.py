"""Suppressions: the list, and refusing what was asked for."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from audit.models import CapabilityGap, FallbackSite, Repository
from migrations_tracker.errors import PlanError
from migrations_tracker.http import SignedInRequest
from migrations_tracker.selectors.suppressions import (
    PAGE_SIZE,
    STANDING_LABELS,
    Standing,
    suppression_counts,
    suppression_list,
)
from migrations_tracker.services.suppressions import suppression_reject

Subject = FallbackSite | CapabilityGap


@login_required
@require_GET
def suppression_index(request: SignedInRequest, slug: str) -> HttpResponse:
    """List a repository's suppressions: those asked for, in force, or ended."""
    repository = get_object_or_404(Repository, slug=slug)
    named = request.GET.get("state", "")
    standing = Standing(named) if named in set(Standing) else Standing.ASKED
    before = request.GET.get("before", "")
    found = suppression_list(
        repository=repository,
        standing=standing,
        before=int(before) if before.isascii() and before.isdigit() and len(before) < 18 else 0,
    )
    counts = suppression_counts(repository=repository)
    context = {
        "repository": repository,
        "standing": standing.value,
        "standings": [(one.value, label, counts[one]) for one, label in STANDING_LABELS.items()],
        "suppressions": found[:PAGE_SIZE],
        "next": found[PAGE_SIZE - 1].pk if len(found) > PAGE_SIZE else 0,
    }
    return render(request, "suppression_list.html", context)


@login_required
@require_POST
def site_suppression_reject(request: SignedInRequest, pk: int) -> HttpResponse:
    """Refuse what was asked for a site."""
    return _reject(request, get_object_or_404(FallbackSite, pk=pk))


@login_required
@require_POST
def gap_suppression_reject(request: SignedInRequest, pk: int) -> HttpResponse:
    """Refuse what was asked for a gap."""
    return _reject(request, get_object_or_404(CapabilityGap, pk=pk))


def _reject(request: SignedInRequest, subject: Subject) -> HttpResponse:
    version, reason = request.POST.get("version", ""), request.POST.get("reason", "")[:10_000]
    try:
        suppression_reject(
            subject=subject,
            reason=reason,
            actor=request.user,
            # What is no number is no version that there is.
            seen_version=int(version) if version.isascii() and version.isdigit() and len(version) < 10 else 0,
        )
    except PlanError as error:
        # The form is gone where the question was answered meanwhile: what was typed is said again.
        messages.error(request, f"{error} You wrote: “{reason}”" if reason.strip() else str(error))
    else:
        messages.success(request, "Rejected: it stays open.")
    return redirect(subject)
