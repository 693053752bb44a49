"""Making, using and revoking the tokens of programs."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from math import ceil

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Case, F, Q, When
from django.db.models.functions import Now
from django.utils import timezone

from migrations_tracker.errors import PlanError
from migrations_tracker.models import ApiToken, TokenScope

PREFIX = "fa_"
TOKENS_AT_MOST = 50
# Noting each use would be a write for each request.
NOTED_EVERY = timedelta(minutes=1)
WINDOW = timedelta(minutes=1)


def api_token_create(
    *,
    owner: User,
    name: str,
    scope: TokenScope = TokenScope.WRITE,
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Make a token; its text is returned this once and kept nowhere."""
    name = "".join(one for one in name if one.isprintable()).strip()
    if not name or len(name) > 100:
        raise PlanError("Give the token a name of at most 100 characters, such as where it is used.")
    if expires_at is not None and expires_at <= timezone.now():
        raise PlanError("The token would have expired already: choose a later day.")
    if ApiToken.objects.filter(owner=owner, revoked_at=None).count() >= TOKENS_AT_MOST:
        raise PlanError(f"You have {TOKENS_AT_MOST} tokens. Revoke one that is not used any more.")
    text = PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        owner=owner, name=name, digest=_digest(text), scope=scope, expires_at=expires_at
    )
    return token, text


def api_token_revoke(*, token: ApiToken) -> bool:
    """End a token. False when it had ended already."""
    return bool(ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now()))


def api_token_use(*, text: str) -> ApiToken | None:
    """Return the token with its owner; None where it is unknown or over, or its owner may not log in."""
    if not text.startswith(PREFIX):
        return None
    now = timezone.now()
    token = (
        ApiToken.objects.select_related("owner")
        .filter(digest=_digest(text), revoked_at=None, owner__is_active=True)
        .exclude(expires_at__lte=now)
        .first()
    )
    if token is None:
        return None
    if token.last_used_at is None or token.last_used_at < now - NOTED_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def api_token_spend(*, token: ApiToken) -> int:
    """Count a request. Returns the seconds to wait where the token asked too often, else 0."""
    now = timezone.now()
    mine = ApiToken.objects.filter(pk=token.pk)
    # One statement: two that begin a window at the same moment are two requests of it.
    is_on = Q(window_started_at__gt=now - WINDOW)
    mine.update(
        window_count=Case(When(is_on, then=F("window_count") + 1), default=1),
        window_started_at=Case(When(is_on, then=F("window_started_at")), default=now),
    )
    started_at, count = mine.values_list("window_started_at", "window_count").get()
    if started_at is None or count <= settings.API_REQUESTS_PER_MINUTE:
        return 0
    return max(1, ceil((started_at + WINDOW - now).total_seconds()))


def _digest(text: str) -> str:
    # The token is random and long: a slow hash would add nothing but time to each request.
    return hashlib.sha256(text.encode()).hexdigest()
