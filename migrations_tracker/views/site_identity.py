"""Whether a site is one with another: what people said, and what they may say."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from audit.errors import AuditError
from audit.models import FallbackSite
from audit.selectors.site_identity import site_identity
from migrations_tracker.errors import PlanError
from migrations_tracker.http import SignedInRequest
from migrations_tracker.services.lineage_rulings import lineage_join
from migrations_tracker.typed import typed_keep


@login_required
@require_GET
def site_identity_page(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show what was said about a site's identity, and the earlier sites that it may be."""
    site = get_object_or_404(FallbackSite.objects.select_related("repository"), pk=pk)
    return render(request, "site_identity.html", {"site": site, "identity": site_identity(site=site)})


@login_required
@require_POST
@permission_required("audit.add_lineageruling", raise_exception=True)
def site_merge(request: SignedInRequest, pk: int) -> HttpResponse:
    """Rule that a site is one that was known before it."""
    site = get_object_or_404(FallbackSite.objects.select_related("repository"), pk=pk)
    text = request.POST.get("earlier", "").strip().removeprefix("#")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 18 else 0
    earlier = FallbackSite.objects.filter(pk=number, repository=site.repository).first()
    if earlier is None:
        typed_keep(request)
        messages.error(request, "Name the earlier site by its number: no site of this repository has that.")
        return redirect("site-identity", pk=pk)
    try:
        lineage_join(
            later=site, earlier=earlier, actor=request.user, reason=request.POST.get("reason", "")[:2000]
        )
    except (AuditError, PlanError) as error:
        typed_keep(request)
        messages.error(request, str(error))
        return redirect("site-identity", pk=pk)
    messages.success(request, f"Merged: what was site #{pk} is this one. It can be undone here.")
    return redirect("site-identity", pk=earlier.pk)
