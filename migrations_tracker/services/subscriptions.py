"""Asking to be told, and ending that."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.db.models.functions import Now

from audit.models import Repository
from migrations_tracker.errors import PlanError
from migrations_tracker.models import Channel, Frequency, Notice, NoticeKind, Subscription
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


def subscription_end(*, subscription: Subscription) -> bool:
    """Stop telling. False when that was so already."""
    return bool(Subscription.objects.filter(pk=subscription.pk, ended_at=None).update(ended_at=Now()))
