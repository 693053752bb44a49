"""What operations are in PyTorch: the list, one operation, and a person's ruling about it."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers

from audit.errors import AuditError
from audit.models import OperationMatch
from audit.parity.catalogue import Direction
from audit.parity.matching import Verdict
from audit.parity.operations import OperationKind
from audit.services.matches import RULED_VERDICTS
from migrations_tracker.forms import RulingForm
from migrations_tracker.http import SignedInRequest
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.capability_list import DTYPES
from migrations_tracker.selectors.match_list import filters_read, match_list, match_page
from migrations_tracker.services.matches import match_rule, match_unrule

UNPROCESSABLE = 422


@login_required
@require_GET
@vary_on_headers("HX-Request")
def match_index(request: SignedInRequest) -> HttpResponse:
    """List a repository's operations with their matches, those without one unless the URL says else."""
    query = request.GET
    choice = branch_choose(user=request.user, repository=query.get("repository", ""), branch="")
    filters = filters_read(query)
    context: dict[str, object] = {"choice": choice, "filters": filters}
    if choice.repository is not None:
        context |= {
            "list": match_list(repository=choice.repository, filters=filters, cursor=query.get("page", "")),
            "kinds": [kind.value for kind in OperationKind],
            "verdicts": [verdict.value for verdict in Verdict],
        }
    template = "match_list.html#results" if request.htmx and not request.htmx.boosted else "match_list.html"
    return render(request, template, context)


@login_required
@require_GET
def match_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show an operation, the machine's match, and what people ruled."""
    return _page(request, _match(pk), RulingForm())


@login_required
@require_POST
@permission_required("audit.add_matchruling", raise_exception=True)
def match_ruling(request: SignedInRequest, pk: int) -> HttpResponse:
    """Rule what an operation is."""
    match = _match(pk)
    form = RulingForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        try:
            match_rule(
                match=match,
                verdict=Verdict(data["verdict"]),
                counterpart=data["counterpart"],
                direction=Direction(data["direction"]),
                dtype=data["dtype"],
                reason=data["reason"],
                actor=request.user,
                seen=data["seen"] or 0,
            )
        except AuditError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Ruled. The capabilities are derived again, which takes some seconds.")
            return redirect(match)
    return _page(request, match, form, status=UNPROCESSABLE)


@login_required
@require_POST
@permission_required("audit.add_matchruling", raise_exception=True)
def match_ruling_end(request: SignedInRequest, pk: int) -> HttpResponse:
    """Withdraw the ruling about an operation."""
    match = _match(pk)
    seen = request.POST.get("seen", "")
    is_number = seen.isascii() and seen.isdecimal() and len(seen) < 18
    try:
        match_unrule(match=match, actor=request.user, seen=int(seen) if is_number else 0)
    except AuditError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "The machine's match counts again.")
    return redirect(match)


def _match(pk: int) -> OperationMatch:
    matches = OperationMatch.objects.select_related(
        "repository", "changed_by_scan__commit", "changed_by_scan__repository"
    )
    return get_object_or_404(matches, pk=pk)


def _page(
    request: SignedInRequest, match: OperationMatch, form: RulingForm, status: int = 200
) -> HttpResponse:
    context = {
        "data": match_page(match=match),
        "match": match,
        "form": form,
        "verdicts": [verdict.value for verdict in RULED_VERDICTS],
        "directions": [direction.value for direction in Direction],
        "dtypes": DTYPES,
    }
    return render(request, "match_detail.html", context, status=status)
