"""Sending messages: each until it arrived, at most three times by itself."""

from __future__ import annotations

import hashlib
import hmac
import uuid
from contextlib import suppress
from datetime import timedelta
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import OperationalError

from audit.errors import LeaseLostError
from audit.models import RowState
from audit.services.leases import lease_again, lease_claim, lease_finish, lease_return
from migrations_tracker.models import Channel, Delivery, Subscription
from migrations_tracker.notice_texts import json_of, subject_of, text_of
from migrations_tracker.roles import Role
from migrations_tracker.selectors.standings import standing_of
from migrations_tracker.webhooks import NotDeliveredError, post

LEASE = timedelta(minutes=3)
# After the first and the second time that a message did not arrive.
AGAIN_AFTER = (timedelta(minutes=1), timedelta(minutes=10))


def delivery_execute(*, pk: int) -> bool:
    """Send a message that waits. Returns whether this call delivered it."""
    lease_id = lease_claim(model=Delivery, pk=pk, lease=LEASE)
    if lease_id is None:
        return False
    delivery = Delivery.objects.select_related("subscription__owner").get(pk=pk)
    with suppress(LeaseLostError):
        try:
            _send(delivery)
        except OperationalError:
            # The database is away: the lease brings the message back.
            raise
        except (NotDeliveredError, SMTPException, OSError) as error:
            _not_delivered(delivery, lease_id, str(error) or type(error).__name__)
            return False
        except Exception as error:
            _not_delivered(delivery, lease_id, f"Sending broke down: {type(error).__name__}: {error}")
            raise
        lease_finish(row=delivery, lease_id=lease_id, state=RowState.SUCCEEDED)
        return True
    return False


def delivery_again(*, delivery: Delivery) -> bool:
    """Send a message again that did not arrive. False where there is nothing to send again."""
    return lease_again(row=delivery)


def webhook_secret(*, subscription: Subscription) -> str:
    """Return the secret that a webhook's messages are signed with; it is kept nowhere."""
    what = f"webhook {subscription.pk}"
    return hmac.new(settings.SECRET_KEY.encode(), what.encode(), hashlib.sha256).hexdigest()


def _send(delivery: Delivery) -> None:
    subscription = delivery.subscription
    if subscription.ended_at is not None:
        raise NotDeliveredError("The subscription has ended.")
    # A message waits, for a mail server or for a worker, and meanwhile a role may be taken.
    standing = standing_of(subscription.owner)
    notices = [
        notice
        for notice in delivery.notices.select_related("repository").order_by("pk")
        if standing.role_in(notice.repository_id) >= Role.READER
    ]
    if not notices:
        raise NotDeliveredError("The recipient may not read the repository any more.")
    if subscription.channel == Channel.EMAIL:
        EmailMessage(
            subject_of(notices),
            text_of(notices),
            to=[subscription.owner.email],
            # The same message has the same name, so that a mail program shows one that came twice once.
            headers={"Message-ID": f"<{_token(delivery)}@ferroaudit>", "Auto-Submitted": "auto-generated"},
        ).send()
        return
    body = json_of(delivery, notices)
    secret = webhook_secret(subscription=subscription)
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "X-Ferroaudit-Delivery": _token(delivery),
        "X-Ferroaudit-Signature-256": f"sha256={signature}",
    }
    post(subscription.address, body, headers)


def _token(delivery: Delivery) -> str:
    return hashlib.sha256(delivery.key.encode()).hexdigest()[:32]


def _not_delivered(delivery: Delivery, lease_id: uuid.UUID, reason: str) -> None:
    if delivery.attempts <= len(AGAIN_AFTER):
        wait = AGAIN_AFTER[delivery.attempts - 1]
        lease_return(row=delivery, lease_id=lease_id, reason=reason, wait=wait)
    else:
        lease_finish(row=delivery, lease_id=lease_id, state=RowState.FAILED, reason=reason)
