"""The list of capability gaps, and one gap."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers

from audit.models import CapabilityGap
from audit.parity.capability import State
from migrations_tracker.forms import AssignForm, CommentForm, DueForm, SuppressionForm, TransitionForm
from migrations_tracker.http import SignedInRequest
from migrations_tracker.models.site_migration import STATUS_LABELS
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.capability_list import DEVICES
from migrations_tracker.selectors.comment_list import comment_page
from migrations_tracker.selectors.gap_detail import gap_page
from migrations_tracker.selectors.gap_list import filters_read, gap_list
from migrations_tracker.selectors.watching import with_watch
from migrations_tracker.views import subject_changes
from migrations_tracker.views.capabilities import FAMILY_LABELS
from migrations_tracker.views.subject_changes import Forms

SEEN_LABELS = (("open", "Open"), ("closed", "Closed"), ("any", "Both"))


@login_required
@require_GET
@vary_on_headers("HX-Request")
def gap_index(request: SignedInRequest) -> HttpResponse:
    """List the gaps of a repository, narrowed as the URL says."""
    query = request.GET
    choice = branch_choose(user=request.user, repository=query.get("repository", ""), branch="")
    filters = filters_read(query)
    context: dict[str, object] = {"choice": choice, "filters": filters}
    if choice.repository is not None:
        context |= {
            "list": gap_list(repository=choice.repository, filters=filters, cursor=query.get("page", "")),
            "families": [(family.value, label) for family, label in FAMILY_LABELS.items()],
            "states": [state.value for state in State if not state.can],
            "statuses": [(status.value, label) for status, label in STATUS_LABELS.items()],
            "devices": DEVICES,
            "seen_values": SEEN_LABELS,
        }
    template = "gap_list.html#results" if request.htmx and not request.htmx.boosted else "gap_list.html"
    return render(request, template, context)


@login_required
@require_GET
def gap_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show a gap."""
    return _gap_page(request, _gap(request, pk))


@login_required
@require_POST
def gap_transition(request: SignedInRequest, pk: int) -> HttpResponse:
    """Move a gap's migration on."""
    form = TransitionForm(request.POST)
    return _changed(request, pk, Forms(transition=form), partial(subject_changes.transition, form=form))


@login_required
@require_POST
def gap_suppression(request: SignedInRequest, pk: int) -> HttpResponse:
    """Ask that a gap stays as it is, or take the question back."""
    form = SuppressionForm(request.POST)
    return _changed(request, pk, Forms(suppression=form), partial(subject_changes.suppression, form=form))


@login_required
@require_POST
def gap_assign(request: SignedInRequest, pk: int) -> HttpResponse:
    """Say who owns a gap."""
    form = AssignForm(request.POST)
    return _changed(request, pk, Forms(assign=form), partial(subject_changes.assign, form=form))


@login_required
@require_POST
def gap_due(request: SignedInRequest, pk: int) -> HttpResponse:
    """Say by which day a gap is to be done."""
    form = DueForm(request.POST)
    return _changed(request, pk, Forms(due=form), partial(subject_changes.due, form=form))


@login_required
@require_POST
def gap_comment(request: SignedInRequest, pk: int) -> HttpResponse:
    """Comment on a gap."""
    gap, form = _gap(request, pk), CommentForm(request.POST)
    address = subject_changes.comment(request, gap, form)
    if address:
        return redirect(address)
    return _gap_page(request, gap, Forms(comment=form), HTTPStatus.UNPROCESSABLE_ENTITY)


def _changed(
    request: SignedInRequest,
    pk: int,
    forms: Forms,
    change: Callable[[SignedInRequest, CapabilityGap], HTTPStatus],
) -> HttpResponse:
    """Change a gap, or show its page again with the form and why it was refused."""
    gap = _gap(request, pk)
    status = change(request, gap)
    return redirect(gap) if status is HTTPStatus.FOUND else _gap_page(request, gap, forms, status)


def _gap(request: SignedInRequest, pk: int) -> CapabilityGap:
    gaps = CapabilityGap.objects.select_related(
        "repository",
        "first_seen_scan__commit",
        "last_seen_scan__commit",
        "closed_scan__commit",
        "migration__assignee",
    )
    return get_object_or_404(with_watch(gaps, kind="gap", person=request.user), pk=pk)


def _gap_page(
    request: SignedInRequest,
    gap: CapabilityGap,
    forms: Forms | None = None,
    status: HTTPStatus = HTTPStatus.OK,
) -> HttpResponse:
    context = {
        "data": gap_page(gap=gap),
        "gap": gap,
        "comments": comment_page(subject=gap, through=request.GET.get("through", "")),
        "forms": forms or Forms(),
    }
    return render(request, "gap_detail.html", context, status=status)
