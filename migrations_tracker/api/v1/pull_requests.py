"""Pull requests: what they say, kept beside what their code changes."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Literal

from django.utils import timezone
from ninja import Router, Schema, Status
from pydantic import AfterValidator, Field

from audit.models import PullRequest, PullRequestCheck, RowState
from audit.selectors.claims import ClaimView
from audit.services.pull_requests import LONGEST_BODY, PullRequestText
from migrations_tracker.api.v1.choosing import repository_named
from migrations_tracker.api.v1.paging import Cursor, Page
from migrations_tracker.api.v1.parameters import Word, without_nul
from migrations_tracker.api.v1.problems import not_found
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.selectors.pull_requests import pull_request_list, pull_request_page
from migrations_tracker.services.pull_requests import pull_request_hear

router = Router(tags=["pull requests"])

Body = Annotated[str, Field(max_length=LONGEST_BODY), AfterValidator(without_nul)]
CommitId = Annotated[str, Field(pattern=r"^[0-9a-f]{40}(?:[0-9a-f]{24})?$")]
Number = Annotated[int, Field(ge=1, lt=2**31)]


class PullRequestIn(Schema):
    """What a pull request says, and the commits that it would join, by their full ids."""

    head: CommitId
    base: CommitId
    title: Word = ""
    body: Body = ""
    head_name: Word = ""
    base_name: Word = ""
    url: Word = ""
    state: Literal["open", "closed"] = "open"


class ClaimOut(Schema):
    """A claim of title or description, held against the change."""

    kind: str
    text: str
    source: str
    line: int
    bearing: str
    measured: str

    @classmethod
    def of(cls, view: ClaimView) -> ClaimOut:
        """Tell a claim."""
        claim = view.held.claim
        return cls(
            kind=claim.kind.value,
            text=claim.text,
            source=view.source,
            line=claim.line,
            bearing=view.held.bearing.value,
            measured=view.held.text,
        )


class PullRequestOut(Schema):
    """A pull request and how far the check of its head and base is; counts are null until it is over."""

    number: int
    title: str
    state: str
    head: str
    base: str
    check: str
    failure: str
    new: int | None
    gone: int | None
    url: str


class PullRequestDetail(PullRequestOut):
    """A pull request with what it claims."""

    claims: list[ClaimOut]


@router.get("/repositories/{slug}/pull-requests", response=Page[PullRequestOut])
def pull_request_index(
    request: ProgramRequest, slug: str, state: Literal["open", "closed"] = "open", cursor: Cursor = ""
) -> Page[PullRequestOut]:
    """List a repository's pull requests, highest number first."""
    page, rows = pull_request_list(repository=repository_named(slug), is_open=state == "open", cursor=cursor)
    items = [PullRequestOut(**_told(row.pull_request, row.check)) for row in rows]
    return Page[PullRequestOut](items=items, next=page.next, previous=page.previous)


@router.get("/repositories/{slug}/pull-requests/{number}", response=PullRequestDetail)
def pull_request_get(request: ProgramRequest, slug: str, number: Number) -> PullRequestDetail:
    """Show what a pull request changes and claims."""
    found = PullRequest.objects.filter(repository=repository_named(slug), number=number).first()
    if found is None:
        raise not_found("pull request")
    return _detail(found)


@router.put("/repositories/{slug}/pull-requests/{number}", response={HTTPStatus.ACCEPTED: PullRequestDetail})
def pull_request_put(
    request: ProgramRequest, slug: str, number: Number, body: PullRequestIn
) -> Status[PullRequestDetail]:
    """Tell what a pull request is and says now; what is checked already is not checked again."""
    repository = repository_named(slug)
    told = PullRequestText(
        number=number,
        head_id=body.head,
        base_id=body.base,
        title=body.title,
        body=body.body,
        changed_at=timezone.now(),
        head_name=body.head_name,
        base_name=body.base_name,
        url=body.url,
        is_open=body.state == "open",
    )
    pull_request_hear(repository=repository, told=told)
    row = PullRequest.objects.get(repository=repository, number=number)
    return Status(HTTPStatus.ACCEPTED, _detail(row))


def _detail(row: PullRequest) -> PullRequestDetail:
    page = pull_request_page(pull_request=row)
    claims = [ClaimOut.of(one) for one in page.claims]
    return PullRequestDetail(**_told(row, page.check), claims=claims)


def _told(row: PullRequest, check: PullRequestCheck | None) -> dict[str, Any]:
    # The counts come with the row that a selector read.
    is_over = check is not None and check.state == RowState.SUCCEEDED
    return {
        "number": row.number,
        "title": row.title,
        "state": "open" if row.is_open else "closed",
        "head": row.head_id,
        "base": row.base_id,
        "check": check.state if check is not None else "",
        "failure": check.failure_reason if check is not None else "",
        "new": getattr(check, "new_count", None) if is_over else None,
        "gone": getattr(check, "gone_count", None) if is_over else None,
        "url": row.get_absolute_url(),
    }
