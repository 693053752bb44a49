"""The list of sites, and one site."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers

from audit.models import FallbackSite
from audit.selectors.rules import rule_list
from migrations_tracker.errors import PlanError
from migrations_tracker.forms import CommentForm, TransitionForm
from migrations_tracker.http import SignedInRequest
from migrations_tracker.lifecycle import Status, TransitionNotAllowedError
from migrations_tracker.models.site_migration import STATUS_LABELS
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.overview import LEVELS
from migrations_tracker.selectors.site_detail import site_page
from migrations_tracker.selectors.site_list import (
    OUTCOMES,
    SORT_ORDERS,
    Seen,
    cursor_decode,
    filters_read,
    site_list,
)
from migrations_tracker.services.comments import comment_create
from migrations_tracker.services.site_migrations import site_migration_transition

UNPROCESSABLE = 422
SEEN_LABELS = {Seen.OPEN: "Still there", Seen.ABSENT: "Gone", Seen.ANY: "Both"}
CONFLICT = 409


@login_required
@require_GET
@vary_on_headers("HX-Request")
def site_index(request: SignedInRequest) -> HttpResponse:
    """List the sites of a branch, narrowed and sorted as the URL says."""
    choice = branch_choose(repository=request.GET.get("repository", ""), branch=request.GET.get("branch", ""))
    filters = filters_read(request.GET)
    context: dict[str, object] = {"choice": choice, "filters": filters}
    if choice.branch is not None:
        cursor = cursor_decode(request.GET.get("page", ""), filters.sort)
        context |= {
            "page": site_list(branch=choice.branch, filters=filters, cursor=cursor),
            "rules": rule_list(),
            "levels": LEVELS,
            "statuses": [(status.value, label) for status, label in STATUS_LABELS.items()],
            "sorts": [(key, order.label) for key, order in SORT_ORDERS.items()],
            "outcomes": OUTCOMES,
            "seen_values": [(seen.value, label) for seen, label in SEEN_LABELS.items()],
        }
    template = "site_list.html#results" if request.htmx and not request.htmx.boosted else "site_list.html"
    return render(request, template, context)


@login_required
@require_GET
def site_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show a site."""
    return _site_page(request, _site(pk), TransitionForm(), CommentForm())


@login_required
@require_POST
def site_transition(request: SignedInRequest, pk: int) -> HttpResponse:
    """Move a site's migration on."""
    site = _site(pk)
    form = TransitionForm(request.POST)
    status = UNPROCESSABLE
    if form.is_valid():
        data = form.cleaned_data
        try:
            to = Status(data["to"])
            site_migration_transition(
                site=site, to=to, actor=request.user, reason=data["reason"], seen_version=data["version"]
            )
        except ValueError:
            form.add_error("to", "Choose the next status.")
        except TransitionNotAllowedError as error:
            form.add_error(None, str(error))
        except PlanError as error:
            form.add_error(None, str(error))
            status = CONFLICT
        else:
            messages.success(request, f"The site is {STATUS_LABELS[to].lower()} now.")
            return redirect(site)
    return _site_page(request, site, form, CommentForm(), status=status)


@login_required
@require_POST
def site_comment(request: SignedInRequest, pk: int) -> HttpResponse:
    """Comment on a site."""
    site = _site(pk)
    form = CommentForm(request.POST)
    if form.is_valid():
        try:
            comment = comment_create(site=site, author=request.user, text=form.cleaned_data["text"])
        except PlanError as error:
            form.add_error("text", str(error))
        else:
            return redirect(f"{site.get_absolute_url()}#comment-{comment.pk}")
    return _site_page(request, site, TransitionForm(), form, status=UNPROCESSABLE)


def _site(pk: int) -> FallbackSite:
    return get_object_or_404(FallbackSite.objects.select_related("repository", "migration__assignee"), pk=pk)


def _site_page(
    request: SignedInRequest,
    site: FallbackSite,
    transition_form: TransitionForm,
    comment_form: CommentForm,
    status: int = 200,
) -> HttpResponse:
    context = {
        "data": site_page(site=site),
        "transition_form": transition_form,
        "comment_form": comment_form,
    }
    return render(request, "site_detail.html", context, status=status)
