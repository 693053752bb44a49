"""The list of sites, and one site."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers

from audit.models import FallbackSite
from audit.selectors.rules import rule_list
from migrations_tracker.forms import AssignForm, CommentForm, DueForm, SuppressionForm, TransitionForm
from migrations_tracker.http import SignedInRequest
from migrations_tracker.models.site_migration import STATUS_LABELS
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.comment_list import comment_page
from migrations_tracker.selectors.form_pages import form_choices
from migrations_tracker.selectors.overview import LEVELS
from migrations_tracker.selectors.saved_filters import saved_filters_of
from migrations_tracker.selectors.site_columns import COLUMNS, columns_read
from migrations_tracker.selectors.site_csv import site_csv
from migrations_tracker.selectors.site_detail import site_page
from migrations_tracker.selectors.site_list import (
    DUE_LABELS,
    OUTCOMES,
    SEEN_LABELS,
    SORT_ORDERS,
    cursor_decode,
    filters_read,
    site_list,
)
from migrations_tracker.selectors.standings import repository_ids_seen_by
from migrations_tracker.selectors.watching import with_watch
from migrations_tracker.views import subject_changes
from migrations_tracker.views.subject_changes import Forms


@login_required
@require_GET
@vary_on_headers("HX-Request")
def site_index(request: SignedInRequest) -> HttpResponse:
    """List the sites of a branch, narrowed and sorted as the URL says."""
    choice = branch_choose(
        user=request.user, repository=request.GET.get("repository", ""), branch=request.GET.get("branch", "")
    )
    filters = filters_read(request.GET)
    context: dict[str, object] = {"choice": choice, "filters": filters}
    if choice.branch is not None:
        cursor = cursor_decode(request.GET.get("page", ""), filters.sort)
        context |= {
            "page": site_list(branch=choice.branch, filters=filters, cursor=cursor),
            "rules": [(rule.id, f"{rule.id} {rule.name}") for rule in rule_list()],
            "forms": form_choices(rule=filters.rule, chosen=filters.form),
            "columns": columns_read(request.GET),
            "all_columns": COLUMNS.items(),
            "saved": saved_filters_of(person=request.user, repository=choice.repository),
            "levels": LEVELS,
            "statuses": [(status.value, label) for status, label in STATUS_LABELS.items()],
            "sorts": [(key, order.label) for key, order in SORT_ORDERS.items()],
            "outcomes": OUTCOMES,
            "due_values": DUE_LABELS,
            "seen_values": [(seen.value, label) for seen, label in SEEN_LABELS.items()],
        }
    template = "site_list.html#results" if request.htmx and not request.htmx.boosted else "site_list.html"
    return render(request, template, context)


@login_required
@require_GET
def site_export(request: SignedInRequest) -> StreamingHttpResponse:
    """Give all sites that the list narrows down to as CSV."""
    choice = branch_choose(
        user=request.user, repository=request.GET.get("repository", ""), branch=request.GET.get("branch", "")
    )
    if choice.branch is None or choice.repository is None:
        raise Http404("No scan is finished.")
    rows = site_csv(branch=choice.branch, filters=filters_read(request.GET))
    response = StreamingHttpResponse(rows, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="sites-{choice.repository.slug}.csv"'
    return response


@login_required
@require_GET
def site_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show a site."""
    return _site_page(request, _site(request, pk))


@login_required
@require_POST
def site_transition(request: SignedInRequest, pk: int) -> HttpResponse:
    """Move a site's migration on."""
    form = TransitionForm(request.POST)
    return _changed(request, pk, Forms(transition=form), partial(subject_changes.transition, form=form))


@login_required
@require_POST
def site_suppression(request: SignedInRequest, pk: int) -> HttpResponse:
    """Ask that a site stays as it is, or take the question back."""
    form = SuppressionForm(request.POST)
    return _changed(request, pk, Forms(suppression=form), partial(subject_changes.suppression, form=form))


@login_required
@require_POST
def site_assign(request: SignedInRequest, pk: int) -> HttpResponse:
    """Say who owns a site."""
    form = AssignForm(request.POST)
    return _changed(request, pk, Forms(assign=form), partial(subject_changes.assign, form=form))


@login_required
@require_POST
def site_due(request: SignedInRequest, pk: int) -> HttpResponse:
    """Say by which day a site is to be done."""
    form = DueForm(request.POST)
    return _changed(request, pk, Forms(due=form), partial(subject_changes.due, form=form))


@login_required
@require_POST
def site_comment(request: SignedInRequest, pk: int) -> HttpResponse:
    """Comment on a site."""
    site, form = _site(request, pk), CommentForm(request.POST)
    address = subject_changes.comment(request, site, form)
    if address:
        return redirect(address)
    return _site_page(request, site, Forms(comment=form), HTTPStatus.UNPROCESSABLE_ENTITY)


def _changed(
    request: SignedInRequest,
    pk: int,
    forms: Forms,
    change: Callable[[SignedInRequest, FallbackSite], HTTPStatus],
) -> HttpResponse:
    """Change a site, or show its page again with the form and why it was refused."""
    site = _site(request, pk)
    status = change(request, site)
    return redirect(site) if status is HTTPStatus.FOUND else _site_page(request, site, forms, status)


def _site(request: SignedInRequest, pk: int) -> FallbackSite:
    sites = FallbackSite.objects.select_related("repository", "migration__assignee")
    return get_object_or_404(with_watch(sites, kind="site", person=request.user), pk=pk)


def _site_page(
    request: SignedInRequest,
    site: FallbackSite,
    forms: Forms | None = None,
    status: HTTPStatus = HTTPStatus.OK,
) -> HttpResponse:
    context = {
        "data": site_page(site=site, seen=repository_ids_seen_by(request.user)),
        "site": site,
        "comments": comment_page(subject=site, through=request.GET.get("through", "")),
        "forms": forms or Forms(),
    }
    return render(request, "site_detail.html", context, status=status)
