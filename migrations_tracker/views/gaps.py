"""The list of capability gaps, and one gap."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers

from audit.models import CapabilityGap
from audit.parity.capability import State
from migrations_tracker.errors import PlanError
from migrations_tracker.forms import AssignForm, TransitionForm
from migrations_tracker.http import SignedInRequest
from migrations_tracker.lifecycle import Status, TransitionNotAllowedError
from migrations_tracker.models import SiteMigration
from migrations_tracker.models.site_migration import STATUS_LABELS
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.capability_list import DEVICES
from migrations_tracker.selectors.gap_detail import gap_page
from migrations_tracker.selectors.gap_list import filters_read, gap_list
from migrations_tracker.services.site_migrations import gap_migration_transition, site_migration_assign
from migrations_tracker.views.capabilities import FAMILY_LABELS

UNPROCESSABLE = 422
CONFLICT = 409
SEEN_LABELS = (("open", "Open"), ("closed", "Closed"), ("any", "Both"))


@login_required
@require_GET
@vary_on_headers("HX-Request")
def gap_index(request: SignedInRequest) -> HttpResponse:
    """List the gaps of a repository, narrowed as the URL says."""
    query = request.GET
    choice = branch_choose(repository=query.get("repository", ""), branch="")
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
    return _gap_page(request, _gap(pk), TransitionForm(), AssignForm())


@login_required
@require_POST
def gap_transition(request: SignedInRequest, pk: int) -> HttpResponse:
    """Move a gap's migration on."""
    gap = _gap(pk)
    form = TransitionForm(request.POST)
    status = UNPROCESSABLE
    if form.is_valid():
        data = form.cleaned_data
        try:
            to = Status(data["to"])
            gap_migration_transition(
                gap=gap, to=to, actor=request.user, reason=data["reason"], seen_version=data["version"]
            )
        except ValueError:
            form.add_error("to", "Choose the next status.")
        except TransitionNotAllowedError as error:
            form.add_error(None, str(error))
        except PlanError as error:
            form.add_error(None, str(error))
            status = CONFLICT
        else:
            messages.success(request, f"The gap is {STATUS_LABELS[to].lower()} now.")
            return redirect(gap)
    return _gap_page(request, gap, form, AssignForm(), status=status)


@login_required
@require_POST
def gap_assign(request: SignedInRequest, pk: int) -> HttpResponse:
    """Say who owns a gap."""
    gap = _gap(pk)
    form = AssignForm(request.POST)
    status = UNPROCESSABLE
    if form.is_valid():
        data = form.cleaned_data
        try:
            site_migration_assign(
                migration=get_object_or_404(SiteMigration, gap=gap),
                assignee=_person(data["assignee"]),
                actor=request.user,
                seen_version=data["version"],
            )
        except User.DoesNotExist:
            form.add_error("assignee", "Nobody has this name.")
        except PlanError as error:
            form.add_error(None, str(error))
            status = CONFLICT
        else:
            messages.success(request, f"The gap is {data['assignee'] or 'nobody'}'s now.")
            return redirect(gap)
    return _gap_page(request, gap, TransitionForm(), form, status=status)


def _gap(pk: int) -> CapabilityGap:
    gaps = CapabilityGap.objects.select_related(
        "repository", "first_seen_scan__commit", "last_seen_scan__commit", "closed_scan__commit"
    )
    return get_object_or_404(gaps, pk=pk)


def _person(name: str) -> User | None:
    return User.objects.get(username=name) if name else None


def _gap_page(
    request: SignedInRequest,
    gap: CapabilityGap,
    transition_form: TransitionForm,
    assign_form: AssignForm,
    status: int = 200,
) -> HttpResponse:
    context = {
        "data": gap_page(gap=gap),
        "gap": gap,
        "transition_form": transition_form,
        "assign_form": assign_form,
    }
    return render(request, "gap_detail.html", context, status=status)
