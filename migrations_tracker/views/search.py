"""The search over everything, and operators without a project."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from audit.parity.catalogue import newest
from migrations_tracker.http import SignedInRequest
from migrations_tracker.search.registry import SOURCES
from migrations_tracker.search.shipped import operator_rationale
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.search import filters_read, search

EXAMPLES = (
    "may a small op run on the CPU?",
    "what does PyTorch do for lgamma on CUDA?",
    "which error for an unsupported dtype?",
)


@login_required
@require_GET
@vary_on_headers("HX-Request")
def search_page(request: SignedInRequest) -> HttpResponse:
    """Show what answers a question, the best first."""
    filters = filters_read(request.GET, request.user)
    context = {
        "answer": search(filters=filters),
        "filters": filters,
        "sources": SOURCES,
        "examples": EXAMPLES,
    }
    template = "search.html#results" if request.htmx and not request.htmx.boosted else "search.html"
    return render(request, template, context)


@login_required
@require_GET
def operator_anywhere(request: SignedInRequest, key: str) -> HttpResponse:
    """Go on to an operator's page of the project scanned last; without one, say what PyTorch does."""
    if key.removeprefix("aten::") not in newest().by_base:
        raise Http404(f"PyTorch has no operator {key}.")
    choice = branch_choose(user=request.user, repository="", branch="")
    if choice.branch is not None:
        return redirect("operator-detail", choice.branch.repository.slug, key)
    context = {"operator": key, "rationale": operator_rationale(key), "version": newest().version}
    return render(request, "operator_plain.html", context)
