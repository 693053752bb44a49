"""`GET /api/capabilities`: what the code can do, for a build script or a CI job."""

from __future__ import annotations

from django.http import JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from migrations_tracker.api.access import readable_by_programs
from migrations_tracker.capability_texts import json_parts
from migrations_tracker.http import SignedInRequest
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.capability_list import capabilities_find, reading_of

NOT_FOUND = 404


@readable_by_programs
@require_GET
def capabilities(request: SignedInRequest) -> HttpResponseBase:
    """Answer with the cells of a branch's last scan, narrowed by `op`, `dtype`, `device` and `direction`."""
    query = request.GET
    choice = branch_choose(
        user=request.user, repository=query.get("repository", ""), branch=query.get("branch", "")
    )
    reading = reading_of(branch=choice.branch) if choice.branch is not None else None
    if reading is None:
        return JsonResponse({"error": "No scan with capabilities is stored."}, status=NOT_FOUND)
    cells = capabilities_find(
        scan_run_id=reading.scan_run_id,
        operator=query.get("op", ""),
        dtype=query.get("dtype", ""),
        device=query.get("device", ""),
        direction=query.get("direction", ""),
    )
    # A whole matrix is megabytes, read once by what is generated from it.
    return StreamingHttpResponse(json_parts(reading, cells), content_type="application/json")
