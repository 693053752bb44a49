"""Asking to be told, and ending that."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Exists, Max, OuterRef
from django.db.models.functions import Now

from audit.models import Repository
from migrations_tracker.errors import PlanError
from migrations_tracker.models import Channel, Frequency, Notice, NoticeKind, Subscription
from migrations_tracker.models.notice import PERSONAL
from migrations_tracker.webhooks import address_check


def subscription_create(
    *,
    owner: User,
    repository: Repository | None,
    kinds: Sequence[str],
    channel: str,
    address: str = "",
    frequency: str = Frequency.AT_ONCE,
) -> Subscription:
    """Ask to be told from now on; what happened before is not told."""
    kinds = [kind for kind in NoticeKind.values if kind in kinds]
    if not kinds:
        raise PlanError("Choose what to be told of.")
    if channel == Channel.EMAIL:
        address = ""
        if not settings.EMAIL_HOST:
            raise PlanError("No e-mail is sent from here: the administrator has set no EMAIL_HOST.")
        if not owner.email:
            raise PlanError("Your account has no e-mail address. An administrator can add it.")
    else:
        address_check(address)
        address = address.strip()
    newest = Notice.objects.aggregate(newest=Max("pk"))["newest"] or 0
    try:
        with transaction.atomic():
            return Subscription.objects.create(
                owner=owner,
                repository=repository,
                kinds=kinds,
                channel=channel,
                address=address,
                frequency=frequency,
                told_up_to=newest,
            )
    except IntegrityError as error:
        raise PlanError("You are told of this already. End the earlier one first to change it.") from error


def subscriptions_begin(*, people: Collection[int]) -> int:
    """Tell people by e-mail what concerns them who never said how they want to be told; return how many.

    Who ended such a wish, or has one of another kind by e-mail for every repository, is left alone.
    """
    if not settings.EMAIL_HOST or not people:
        return 0
    personal = Subscription.objects.filter(kinds__overlap=sorted(PERSONAL), owner=OuterRef("pk"))
    others = Subscription.objects.filter(
        owner=OuterRef("pk"), repository=None, channel=Channel.EMAIL, ended_at=None
    )
    untold = User.objects.filter(~Exists(personal), ~Exists(others), pk__in=people).exclude(email="")
    rows = [Subscription(owner=person, kinds=sorted(PERSONAL), channel=Channel.EMAIL) for person in untold]
    return len(Subscription.objects.bulk_create(rows, ignore_conflicts=True))


def subscription_end(*, subscription: Subscription) -> bool:
    """Stop telling. False when that was so already."""
    return bool(Subscription.objects.filter(pk=subscription.pk, ended_at=None).update(ended_at=Now()))
