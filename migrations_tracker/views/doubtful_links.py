"""Guesses about which site a result is: the queue, and what a person rules."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from audit.errors import AuditError
from audit.models import Lineage, LineageDecision, LineageRuling, Repository
from audit.selectors.doubtful_links import doubtful_links
from migrations_tracker.http import SignedInRequest
from migrations_tracker.services.lineage_rulings import lineage_rule, lineage_undo
from migrations_tracker.source_frames import frame_of_snippet


@login_required
@require_GET
def doubtful_index(request: SignedInRequest, slug: str) -> HttpResponse:
    """List a repository's guesses, those that nobody has ruled about unless the URL says else."""
    repository = get_object_or_404(Repository, slug=slug)
    is_ruled = request.GET.get("ruled", "") == "yes"
    text = request.GET.get("before", "")
    before = int(text) if text.isascii() and text.isdigit() and len(text) < 18 else 0
    page = doubtful_links(repository=repository, is_ruled=is_ruled, before=before)
    rows = [
        (
            link,
            frame_of_snippet(link.before.snippet, first_line=link.before.start_line) if link.before else None,
            frame_of_snippet(link.lineage.result.snippet, first_line=link.lineage.result.start_line),
        )
        for link in page.links
    ]
    context = {"repository": repository, "is_ruled": is_ruled, "page": page, "rows": rows}
    return render(request, "doubtful_links.html", context)


@login_required
@require_POST
@permission_required("audit.add_lineageruling", raise_exception=True)
def link_rule(request: SignedInRequest, pk: int) -> HttpResponse:
    """Rule that a result is the site it was taken for, or another one."""
    lineage = get_object_or_404(Lineage.objects.select_related("site__repository", "scan_run"), pk=pk)
    try:
        lineage_rule(
            lineage=lineage,
            decision=_decision(request.POST.get("decision", "")),
            actor=request.user,
            reason=request.POST.get("reason", "")[:2000],
        )
    except ValueError:
        messages.error(request, "Choose whether it is the same site or another one.")
    except AuditError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "Ruled. It can be undone among those that are ruled about.")
    return _back(request, lineage.site.repository)


@login_required
@require_POST
@permission_required("audit.add_lineageruling", raise_exception=True)
def link_undo(request: SignedInRequest, pk: int) -> HttpResponse:
    """Take a ruling back."""
    rulings = LineageRuling.objects.select_related(
        "site__repository", "split_site", "merged_site", "lineage__scan_run"
    )
    ruling = get_object_or_404(rulings, pk=pk)
    try:
        lineage_undo(ruling=ruling, actor=request.user)
    except AuditError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "Undone: it is as it was before the ruling.")
    return _back(request, ruling.site.repository, "?ruled=yes")


def _decision(text: str) -> LineageDecision:
    decision = LineageDecision(text)
    if decision is LineageDecision.MERGE:
        raise ValueError("A merge names another site: it has a page of its own.")
    return decision


def _back(request: SignedInRequest, repository: Repository, query: str = "") -> HttpResponse:
    """Go back to where the form stood: a site's page of its identity, or the list of guesses."""
    site = request.POST.get("site", "")
    if site.isascii() and site.isdigit() and len(site) < 18:
        return redirect("site-identity", pk=int(site))
    return redirect(f"{reverse('doubtful-links', args=[repository.slug])}{query}")
