"""What a person is told: their wishes, and how each message fared."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.forms import ModelChoiceField
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from audit.models import Repository, RowState
from migrations_tracker.errors import PlanError
from migrations_tracker.forms import SubscriptionForm
from migrations_tracker.http import SignedInRequest
from migrations_tracker.models import Delivery, Subscription
from migrations_tracker.selectors.deliveries import deliveries_page, subscriptions_of
from migrations_tracker.selectors.standings import repositories_seen_by
from migrations_tracker.services.deliveries import delivery_again, webhook_secret
from migrations_tracker.services.scans import row_wake
from migrations_tracker.services.subscriptions import subscription_create, subscription_end

UNPROCESSABLE = 422


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def notice_index(request: SignedInRequest) -> HttpResponse:
    """Show what a person asked to be told and what they were; take another wish."""
    about = Repository.objects.filter(slug=request.GET.get("repository", "")).first()
    form = SubscriptionForm(request.POST if request.method == "POST" else None, initial={"repository": about})
    repository_field = cast("ModelChoiceField[Repository]", form.fields["repository"])
    repository_field.queryset = repositories_seen_by(request.user)
    status = 200
    if request.method == "POST":
        status = UNPROCESSABLE
        if form.is_valid() and _subscribed(request, form):
            messages.success(request, "From now on you are told.")
            return redirect("notice-list")
    state, message = request.GET.get("state", ""), request.GET.get("message", "")
    context = {
        "form": form,
        "subscriptions": [
            (one, webhook_secret(subscription=one) if one.address else "")
            for one in subscriptions_of(owner=request.user)
        ],
        "page": deliveries_page(
            owner=request.user, state=state, message=message, cursor=request.GET.get("page", "")
        ),
        "message": message,
        "states": RowState.choices,
        "state": state,
    }
    response = render(request, "notice_list.html", context, status=status)
    response["Cache-Control"] = "no-store"
    return response


def _subscribed(request: SignedInRequest, form: SubscriptionForm) -> bool:
    data = form.cleaned_data
    try:
        subscription_create(
            owner=request.user,
            repository=data["repository"],
            kinds=data["kinds"],
            channel=data["channel"],
            address=data["address"],
            frequency=data["frequency"],
        )
    except PlanError as error:
        form.add_error(None, str(error))
        return False
    return True


@login_required
@require_POST
def subscription_stop(request: SignedInRequest, pk: int) -> HttpResponse:
    """End one of a person's own wishes."""
    subscription = get_object_or_404(Subscription, pk=pk, owner=request.user)
    if subscription_end(subscription=subscription):
        messages.success(request, "You are no longer told of this.")
    return redirect("notice-list")


@login_required
@require_POST
def delivery_resend(request: SignedInRequest, pk: int) -> HttpResponse:
    """Send a message again that did not arrive."""
    delivery = get_object_or_404(Delivery, pk=pk, subscription__owner=request.user)
    if delivery_again(delivery=delivery):
        delivery.refresh_from_db()
        row_wake(row=delivery)
    return redirect("notice-list")
