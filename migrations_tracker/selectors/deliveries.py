"""What a person was told, and what waits to be."""

from __future__ import annotations

from django.contrib.auth.models import User

from audit.models import RowState
from migrations_tracker.models import Delivery, Subscription
from migrations_tracker.selectors.keyset import KeysetPage, keyset_page

PAGE_SIZE = 50


def subscriptions_of(*, owner: User) -> list[Subscription]:
    """List what a person asked to be told."""
    return list(Subscription.objects.filter(owner=owner, ended_at=None).select_related("repository"))


def deliveries_page(*, owner: User, state: str = "", cursor: str = "") -> KeysetPage[Delivery]:
    """List the messages to a person, newest first; a state that is none does not narrow."""
    rows = (
        Delivery.objects.filter(subscription__owner=owner)
        .select_related("subscription")
        .prefetch_related("notices__repository")
    )
    if state in RowState.values:
        rows = rows.filter(state=state)
    return keyset_page(rows, columns=("id",), cursor=cursor, size=PAGE_SIZE, is_descending=True)
