"""Pull requests: the list, and one with what it changes and what it says."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from audit.models import PullRequest, Repository
from migrations_tracker.http import SignedInRequest
from migrations_tracker.selectors.pull_requests import pull_request_list, pull_request_page


@login_required
@require_GET
def pull_request_index(request: SignedInRequest, slug: str) -> HttpResponse:
    """List a repository's pull requests, the open ones unless the URL says else."""
    repository = get_object_or_404(Repository, slug=slug)
    is_closed = request.GET.get("state", "") == "closed"
    page, rows = pull_request_list(
        repository=repository, is_open=not is_closed, cursor=request.GET.get("cursor", "")
    )
    context = {"repository": repository, "is_closed": is_closed, "page": page, "rows": rows}
    return render(request, "pull_request_list.html", context)


@login_required
@require_GET
def pull_request_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show what a pull request brings and ends, and what it says beside that."""
    row = get_object_or_404(PullRequest.objects.select_related("repository"), pk=pk)
    after = request.GET.get("after", "")
    number = int(after) if after.isascii() and after.isdigit() and len(after) < 18 else 0
    page = pull_request_page(pull_request=row, after=number)
    context = {"row": row, "repository": row.repository, "page": page}
    return render(request, "pull_request_detail.html", context)
