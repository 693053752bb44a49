"""Sites that vanished in an unusual number: the queue, one drop, and what a person rules."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from audit.errors import AuditError
from audit.models import HeldDrop, Repository
from audit.selectors.held_drops import held_drops, held_page
from audit.services.held_drops import drop_keep
from migrations_tracker.http import SignedInRequest
from migrations_tracker.services.held_drops import held_drop_release

SHOWN = 50


@login_required
@require_GET
def held_index(request: SignedInRequest, slug: str) -> HttpResponse:
    """List a repository's held drops, those that wait unless the URL says else."""
    repository = get_object_or_404(Repository, slug=slug)
    is_ruled = request.GET.get("ruled", "") == "yes"
    drops = held_drops(repository=repository, is_waiting=not is_ruled)
    if before := _number(request.GET.get("before", "")):
        drops = drops.filter(pk__lt=before)
    found = list(drops[: SHOWN + 1])
    context = {
        "repository": repository,
        "is_ruled": is_ruled,
        "drops": found[:SHOWN],
        "next": found[SHOWN - 1].pk if len(found) > SHOWN else 0,
    }
    return render(request, "held_drop_list.html", context)


@login_required
@require_GET
def held_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show what vanished at a scan and is held."""
    scans = ("branch_scan__scan_run__commit", "branch_scan__previous__scan_run__commit")
    related = ("branch_scan__branch__repository", *scans, "decided_by")
    drop = get_object_or_404(HeldDrop.objects.select_related(*related), pk=pk)
    is_held_only = request.GET.get("only", "") == "held"
    page = held_page(drop=drop, after=_number(request.GET.get("after", "")), is_held_only=is_held_only)
    context = {
        "drop": drop,
        "repository": drop.branch_scan.branch.repository,
        "scan": drop.branch_scan.scan_run,
        "page": page,
        "is_held_only": is_held_only,
    }
    return render(request, "held_drop_detail.html", context)


@login_required
@require_POST
@permission_required("audit.change_helddrop", raise_exception=True)
def held_rule(request: SignedInRequest, pk: int) -> HttpResponse:
    """Release the sites of a drop, or keep them open."""
    drop = get_object_or_404(HeldDrop.objects.select_related("branch_scan__branch__repository"), pk=pk)
    reason = request.POST.get("reason", "")[:2000]
    try:
        match request.POST.get("decision", ""):
            case "release":
                count = held_drop_release(drop=drop, actor=request.user, reason=reason)
                messages.success(request, f"Released: {count} site{'s' * (count != 1)} ended at that scan.")
            case "keep":
                drop_keep(drop=drop, actor=request.user, reason=reason)
                messages.success(request, "Kept open, until a scan sees them or tells what they became.")
            case _:
                messages.error(request, "Choose whether the sites are gone.")
    except AuditError as error:
        messages.error(request, str(error))
    return redirect(drop)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else 0
