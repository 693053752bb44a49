"""The folders of addresses that have no page of their own."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe


@require_safe
def parent_page(
    request: HttpRequest, page: str, *, slug: str = "", is_of_repository: bool = False, **rest: object
) -> HttpResponse:
    """Lead to the page that lists what is below an address, narrowed to the repository that it names."""
    del request, rest
    if is_of_repository:
        return redirect(page, slug)
    return redirect(reverse(page) + (f"?{urlencode({'repository': slug})}" if slug else ""))
