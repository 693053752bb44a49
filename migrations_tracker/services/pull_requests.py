"""Hearing of pull requests from Git servers and programs, and having them checked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from audit.errors import AuditError
from audit.models import PullRequestCheck, Repository
from audit.services.pull_requests import PullRequestText, pull_request_tell
from migrations_tracker.services.scans import row_wake


def pull_request_hear(*, repository: Repository, told: PullRequestText) -> PullRequestCheck | None:
    """Keep what is told of a pull request, and tell a worker where its code was not checked yet."""
    check = pull_request_tell(repository=repository, told=told)
    if check is not None:
        row_wake(row=check)
    return check


def pull_request_of_event(event: Mapping[str, Any]) -> PullRequestText:
    """Read what GitHub, Gitea or Forgejo says of a pull request; raise where it is none."""
    row = _part(event, "pull_request")
    head, base = _part(row, "head"), _part(row, "base")
    number = row.get("number", event.get("number"))
    if type(number) is not int:
        raise AuditError("The event tells of a pull request without a number.")
    return PullRequestText(
        number=number,
        head_id=_text(head, "sha"),
        base_id=_text(base, "sha"),
        title=_text(row, "title"),
        body=_text(row, "body"),
        changed_at=_moment(_text(row, "updated_at")),
        head_name=_text(head, "ref"),
        base_name=_text(base, "ref"),
        url=_text(row, "html_url"),
        is_open=_text(row, "state") != "closed",
    )


def _part(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = event.get(name)
    if not isinstance(found, dict):
        raise AuditError(f"The event tells of a pull request without `{name}`.")
    return found


def _text(fields: Mapping[str, Any], name: str) -> str:
    # A description that was never written is null.
    found = fields.get(name)
    if found is not None and not isinstance(found, str):
        raise AuditError(f"`{name}` of a pull request is text.")
    return found or ""


def _moment(text: str) -> datetime:
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    if found is None:
        return timezone.now()
    return found if timezone.is_aware(found) else timezone.make_aware(found)
