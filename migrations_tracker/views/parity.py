"""PyTorch's dumps, and what changed between two of them."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from audit.parity.catalogue import newest
from migrations_tracker.http import SignedInRequest
from migrations_tracker.selectors.parity_changes import changes_page, filters_read


@login_required
@require_GET
@vary_on_headers("HX-Request")
def parity_changes(request: SignedInRequest) -> HttpResponse:
    """Show the dumps side by side, and what changed between two of them."""
    query = request.GET
    filters = filters_read(query)
    page = changes_page(
        before=query.get("before", ""),
        after=query.get("after", ""),
        filters=filters,
        cursor=query.get("page", ""),
    )
    context = {
        "list": page,
        "filters": filters,
        "held_to": newest().version,
        "dumps": [(dump.pk, str(dump)) for dump in page.dumps],
        "subjects": [(value, f"{label}: {count:,}") for value, label, count in page.subjects],
    }
    is_fragment = request.htmx and not request.htmx.boosted
    return render(request, "parity_changes.html#results" if is_fragment else "parity_changes.html", context)
