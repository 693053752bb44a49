"""What a person was told, and what waits to be."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, OuterRef, Prefetch, Q, Subquery
from django.db.models.functions import Coalesce

from audit.models import RowState
from migrations_tracker.models import Delivery, Notice, Subscription
from migrations_tracker.selectors.keyset import KeysetPage, keyset_page
from migrations_tracker.selectors.standings import repository_ids_seen_by

PAGE_SIZE = 50
NOTICES_SHOWN = 5


def subscriptions_of(*, owner: User) -> list[Subscription]:
    """List what a person asked to be told."""
    return list(Subscription.objects.filter(owner=owner, ended_at=None).select_related("repository"))


def deliveries_page(
    *, owner: User, state: str = "", message: str = "", cursor: str = ""
) -> KeysetPage[Delivery]:
    """List the messages to a person, newest first: the first notices of each, in `told`, of `notice_count`.

    Of a repository that they may not read any more none is shown. A state that is none does not narrow. The
    `message` of that key is alone, with all its notices.
    """
    seen = repository_ids_seen_by(owner)
    may_read = Q() if seen is None else Q(repository__in=seen)
    # A message holds what its own table says: to count that is cheaper than to join the notices.
    through: Any = Delivery.notices.through
    held = through.objects.order_by().filter(delivery=OuterRef("pk"))
    if seen is not None:
        held = held.filter(notice__repository__in=seen)
    held = held.values("delivery")
    rows = (
        Delivery.objects.filter(subscription__owner=owner)
        .select_related("subscription")
        .annotate(notice_count=Coalesce(Subquery(held.annotate(number=Count("*")).values("number")), 0))
    )
    notices = (
        Notice.objects.filter(may_read).select_related("repository").only("title", "path", "repository__name")
    )
    if message.isdecimal() and len(message) < 19:
        rows = rows.filter(pk=message)
    else:
        notices = notices[:NOTICES_SHOWN]
    if state in RowState.values:
        rows = rows.filter(state=state)
    rows = rows.prefetch_related(Prefetch("notices", notices, to_attr="told"))
    return keyset_page(rows, columns=("id",), cursor=cursor, size=PAGE_SIZE, is_descending=True)
