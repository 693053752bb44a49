"""Whether this process can serve: asked by the supervisor, containers and load balancers."""

from __future__ import annotations

from collections.abc import Callable

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse

PATH = "/healthz"


class HealthMiddleware:
    """Answers `/healthz` before anything looks at the host name or asks for HTTPS.

    Who checks a container speaks to it by whatever address it has, without encryption.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer 200 when the database answers, 503 when it does not; say nothing else to strangers."""
        if request.path != PATH:
            return self._get_response(request)
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
        except DatabaseError:
            return HttpResponse("database unreachable\n", status=503, content_type="text/plain")
        return HttpResponse("ok\n", content_type="text/plain")
