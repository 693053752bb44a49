"""Pull requests as their pages show them, and those that concern a site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, F, Q, QuerySet

from audit.models import FallbackSite, PullRequest, PullRequestCheck, PullRequestSite, Repository, RowState
from audit.selectors.claims import ClaimView, description_claims_of
from migrations_tracker.selectors.keyset import KeysetPage, keyset_page

PAGE_SIZE = 50
SITES_SHOWN = 50
OF_SITE = 10


@dataclass(frozen=True, slots=True)
class PullRequestRow:
    """A pull request in a list, with the check of its head and base as they are now."""

    pull_request: PullRequest
    check: PullRequestCheck | None


@dataclass(frozen=True, slots=True)
class PullRequestPage:
    """What a pull request brings and ends, a page of each, and what it says beside that."""

    check: PullRequestCheck | None
    claims: Sequence[ClaimView]
    new: Sequence[PullRequestSite]
    gone: Sequence[PullRequestSite]
    new_count: int
    gone_count: int
    next: int
    texts: int


def pull_request_list(
    *, repository: Repository, is_open: bool, cursor: str
) -> tuple[KeysetPage[PullRequest], list[PullRequestRow]]:
    """List a repository's pull requests, highest number first."""
    rows = PullRequest.objects.filter(repository=repository, is_open=is_open)
    page = keyset_page(rows, columns=("number",), cursor=cursor, size=PAGE_SIZE, is_descending=True)
    checks = {one.pull_request_id: one for one in _current(Q(pull_request__in=list(page.rows)))}
    return page, [PullRequestRow(row, checks.get(row.pk)) for row in page.rows]


def check_of(*, pull_request: PullRequest) -> PullRequestCheck | None:
    """Return the check of a pull request's head and base as they are now, with its counts."""
    return _current(Q(pull_request=pull_request)).first()


def _current(which: Q) -> QuerySet[PullRequestCheck]:
    return (
        PullRequestCheck.objects.filter(
            which, head_id=F("pull_request__head_id"), base_id=F("pull_request__base_id")
        )
        .annotate(
            new_count=Count("sites", filter=Q(sites__is_new=True)),
            gone_count=Count("sites", filter=Q(sites__is_new=False)),
        )
        .select_related("pull_request", "head_scan__commit", "start_scan__commit")
    )


def pull_request_page(*, pull_request: PullRequest, after: int = 0) -> PullRequestPage:
    """Gather what the page of a pull request shows."""
    check = check_of(pull_request=pull_request)
    texts = pull_request.events.count()  # type: ignore[attr-defined]
    if check is None or check.state != RowState.SUCCEEDED:
        return PullRequestPage(check, (), (), (), 0, 0, 0, texts)
    rows = list(check.sites.filter(pk__gt=after).select_related("site").order_by("pk")[: SITES_SHOWN + 1])
    shown = rows[:SITES_SHOWN]
    return PullRequestPage(
        check=check,
        claims=description_claims_of(check=check),
        new=[one for one in shown if one.is_new],
        gone=[one for one in shown if not one.is_new],
        new_count=getattr(check, "new_count", 0),
        gone_count=getattr(check, "gone_count", 0),
        next=shown[-1].pk if len(rows) > SITES_SHOWN else 0,
        texts=texts,
    )


def pull_requests_of(*, site: FallbackSite) -> list[PullRequestSite]:
    """List what pull requests do to a site, by their heads as they are now, newest first."""
    return list(
        PullRequestSite.objects.filter(
            site=site,
            check_row__head_id=F("check_row__pull_request__head_id"),
            check_row__base_id=F("check_row__pull_request__base_id"),
        )
        .select_related("check_row__pull_request")
        .order_by("-check_row__pull_request__number")[:OF_SITE]
    )
