"""Asking for scans and hearing how they went, for programs; and pushes of Git servers."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from audit.errors import AuditError
from audit.models import AskedBy, Repository, RowState, ScanRequest, ScanRun
from audit.services.repositories import repository_add
from migrations_tracker.api.access import (
    NOT_FOUND,
    UNAUTHORISED,
    RefusedError,
    body_of,
    fields_of,
    for_programs,
    refusal,
    text_in,
)
from migrations_tracker.services.pull_requests import pull_request_hear, pull_request_of_event
from migrations_tracker.services.pushes import push_hear, push_is_signed
from migrations_tracker.services.scans import follow_ask, scan_ask

ACCEPTED = 202
UNPROCESSABLE = 422
PULL_REQUEST = "pull_request"
# What GitHub sends at most.
MAX_PUSH_BYTES = 25 * 1024 * 1024
SIGNATURES = ("X-Hub-Signature-256", "X-Gitea-Signature", "X-Forgejo-Signature")
EVENTS = ("X-GitHub-Event", "X-Gitea-Event", "X-Forgejo-Event")


@require_POST
@for_programs
def repository_create(request: HttpRequest, owner: User) -> HttpResponse:
    """Add a repository: `{"location": ..., "name": ...}`."""
    fields = fields_of(body_of(request))
    repository = repository_add(
        location=text_in(fields, "location"), name=text_in(fields, "name"), actor=owner
    )
    place = {"slug": repository.slug, "name": repository.name, "location": repository.location}
    return JsonResponse(place | {"url": repository.get_absolute_url()})


@require_POST
@for_programs
def scan_create(request: HttpRequest, owner: User, slug: str) -> HttpResponse:
    """Ask for a scan: `{"revision": ...}`, or `{"follow": true}` for what is new."""
    repository = _repository(slug)
    fields = fields_of(body_of(request))
    if fields.get("follow") is True:
        row: ScanRun | ScanRequest = follow_ask(repository=repository, actor=owner, asked_by=AskedBy.API)
    else:
        row = scan_ask(
            repository=repository,
            revision=text_in(fields, "revision"),
            actor=owner,
            asked_by=AskedBy.API,
            may_read_folder=False,
        )
    answer = request_answer(row) if isinstance(row, ScanRequest) else scan_answer(row)
    return JsonResponse(answer, status=ACCEPTED)


@require_GET
@for_programs
def scan_request_state(request: HttpRequest, owner: User, pk: int) -> HttpResponse:
    """Tell how far a request is, and which scan it became."""
    found = ScanRequest.objects.select_related("scan_run").filter(pk=pk).first()
    if found is None:
        raise RefusedError("There is no such request.", NOT_FOUND)
    return JsonResponse(request_answer(found))


@require_GET
@for_programs
def scan_state(request: HttpRequest, owner: User, pk: int) -> HttpResponse:
    """Tell how far a scan is, and what it counted."""
    found = ScanRun.objects.select_related("repository", "commit", "branch").filter(pk=pk).first()
    if found is None:
        raise RefusedError("There is no such scan.", NOT_FOUND)
    return JsonResponse(scan_answer(found))


@csrf_exempt
@require_POST
def push(request: HttpRequest, slug: str) -> HttpResponse:
    """Hear of a push or a pull request from GitHub, Gitea or Forgejo, signed with the repository's secret."""
    try:
        repository = Repository.objects.filter(slug=slug, listens_to_pushes=True).first()
        # Of strangers who speak to nobody, nothing is read.
        body = body_of(request, limit=MAX_PUSH_BYTES) if repository is not None else b""
        signature = next((request.headers[name] for name in SIGNATURES if name in request.headers), "")
        # The same answer for a repository that is not here: a stranger learns no names.
        if repository is None or not push_is_signed(repository=repository, body=body, signature=signature):
            return refusal("The push is not signed with the secret of this address.", UNAUTHORISED)
        event = next((request.headers[name] for name in EVENTS if name in request.headers), "")
        if event == PULL_REQUEST:
            return _pull_request_heard(repository, body)
        if event != "push":
            return JsonResponse({"heard": event, "asked": False})
        asked = push_hear(repository=repository, ref=text_in(fields_of(body), "ref"))
    except RefusedError as error:
        return refusal(str(error), error.status)
    if asked is None:
        return JsonResponse({"heard": event, "asked": False})
    return JsonResponse({"heard": event, "asked": True} | request_answer(asked), status=ACCEPTED)


def _pull_request_heard(repository: Repository, body: bytes) -> HttpResponse:
    try:
        told = pull_request_of_event(fields_of(body))
        check = pull_request_hear(repository=repository, told=told)
    except AuditError as error:
        raise RefusedError(str(error), UNPROCESSABLE) from error
    answer = {"heard": PULL_REQUEST, "asked": check is not None and check.state == RowState.PENDING}
    return JsonResponse(answer, status=ACCEPTED)


def request_answer(row: ScanRequest) -> dict[str, Any]:
    """Say what a program needs to know of a request."""
    return {
        "request": row.pk,
        "state": row.state,
        "failure": row.failure_reason,
        "scan": row.scan_run_id,
        "url": row.get_absolute_url(),
    }


def scan_answer(row: ScanRun) -> dict[str, Any]:
    """Say what a program needs to know of a scan."""
    return {
        "scan": row.pk,
        "state": row.state,
        "failure": row.failure_reason,
        "commit": row.commit.object_id,
        "branch": row.branch.name if row.branch else "",
        "results": row.result_count,
        "new": row.new_count,
        "absent": row.absent_count,
        "reopened": row.reopened_count,
        "url": row.get_absolute_url(),
    }


def _repository(slug: str) -> Repository:
    found = Repository.objects.filter(slug=slug).first()
    if found is None:
        raise RefusedError("There is no such repository.", NOT_FOUND)
    return found
