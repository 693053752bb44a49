"""`GET /api/search`: what the policy, the rules and everything else say, for a program that asks first."""

from __future__ import annotations

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from migrations_tracker.api.access import BAD_REQUEST, readable_by_programs
from migrations_tracker.http import SignedInRequest
from migrations_tracker.search_texts import as_document
from migrations_tracker.selectors.search import filters_read, search


@readable_by_programs
@require_GET
def search_documents(request: SignedInRequest) -> HttpResponse:
    """Answer `q`, narrowed by `kind`, `repository` and `rule`; `page` leafs."""
    filters = filters_read(request.GET, request.user)
    if not filters.question:
        return JsonResponse({"error": "Say what you are looking for in `q`."}, status=BAD_REQUEST)
    return JsonResponse(as_document(search(filters=filters), base=request.build_absolute_uri("/")))
