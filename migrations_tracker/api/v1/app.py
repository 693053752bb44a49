"""The API: its routers, its errors, and its description at `/api/v1/openapi.json`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import get_script_prefix
from django.views.decorators.http import conditional_page
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from audit.version import VERSION
from migrations_tracker.api.v1 import (
    bulk_changes,
    gaps,
    imports,
    knowledge,
    people,
    plans,
    policies,
    pull_requests,
    reports,
    repositories,
    schedules,
    sites,
    suppressions,
    verifications,
    watching,
)
from migrations_tracker.api.v1.idempotency import HEADER, idempotent
from migrations_tracker.api.v1.problems import MEDIA_TYPE, Problem, problems_register
from migrations_tracker.api.v1.security import TokenAuth

ROUTERS = (
    repositories.router,
    pull_requests.router,
    sites.router,
    bulk_changes.router,
    gaps.router,
    suppressions.router,
    plans.router,
    schedules.router,
    reports.router,
    verifications.router,
    knowledge.router,
    policies.router,
    imports.router,
    people.router,
    watching.router,
)
WRITING = ("post", "put", "patch", "delete")
_KEY = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "The same key with the same request is answered once and done once, for a day.",
    "schema": {"type": "string", "maxLength": 200},
}


class Api(NinjaAPI):
    """The API with what holds for every operation written into its description."""

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        """Return the description, with problem documents and idempotency keys where they apply."""
        schema = super().get_openapi_schema(**options)
        refused = {"description": "Refused", "content": {MEDIA_TYPE: {"schema": _problem_schema()}}}
        for operations in schema["paths"].values():
            for method, operation in operations.items():
                operation["responses"]["4XX"] = refused
                if method in WRITING:
                    operation.setdefault("parameters", []).append(_KEY)
        return schema


def kept(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Let a description be written once: it follows from the code and from where the API stands alone."""

    @lru_cache(maxsize=4)
    def described(script_prefix: str) -> tuple[bytes, str]:
        answer = view(HttpRequest())
        return answer.content, answer["Content-Type"]

    def answer(request: HttpRequest) -> HttpResponse:
        content, content_type = described(get_script_prefix())
        return HttpResponse(content, content_type=content_type)

    return conditional_page(answer)


def _problem_schema() -> dict[str, Any]:
    return Problem.model_json_schema()


api = Api(
    title="Ferroaudit",
    version=VERSION,
    description=(
        "Sites, capability gaps, plan and reports, as the pages show them. Every request shows a token; "
        "what goes wrong is a problem document (RFC 9457); a write may carry an `Idempotency-Key`."
    ),
    urls_namespace="api-v1",
    auth=TokenAuth(),
    docs_url=None,
    docs_decorator=kept,
)
problems_register(api)
api.add_decorator(idempotent, mode="view")
api.add_decorator(conditional_page, mode="view")
for one in ROUTERS:
    api.add_router("", one)
