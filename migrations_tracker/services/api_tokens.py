"""Making, using and revoking the tokens of programs."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from migrations_tracker.errors import PlanError
from migrations_tracker.models import ApiToken

PREFIX = "fa_"
TOKENS_AT_MOST = 50
# Noting each use would be a write for each request.
NOTED_EVERY = timedelta(minutes=1)


def api_token_create(*, owner: User, name: str) -> tuple[ApiToken, str]:
    """Make a token; its text is returned this once and kept nowhere."""
    name = name.replace("\0", "").strip()
    if not name or len(name) > 100:
        raise PlanError("Give the token a name of at most 100 characters, such as where it is used.")
    if ApiToken.objects.filter(owner=owner, revoked_at=None).count() >= TOKENS_AT_MOST:
        raise PlanError(f"You have {TOKENS_AT_MOST} tokens. Revoke one that is not used any more.")
    text = PREFIX + secrets.token_urlsafe(32)
    return ApiToken.objects.create(owner=owner, name=name, digest=_digest(text)), text


def api_token_revoke(*, token: ApiToken) -> bool:
    """End a token. False when it had ended already."""
    return bool(ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now()))


def api_token_owner(*, text: str) -> User | None:
    """Tell for whom a program acts; None where the token is unknown, revoked, or its owner may not log in."""
    if not text.startswith(PREFIX):
        return None
    token = (
        ApiToken.objects.select_related("owner")
        .filter(digest=_digest(text), revoked_at=None, owner__is_active=True)
        .first()
    )
    if token is None:
        return None
    ApiToken.objects.filter(pk=token.pk).filter(
        Q(last_used_at=None) | Q(last_used_at__lt=timezone.now() - NOTED_EVERY)
    ).update(last_used_at=Now())
    return token.owner


def _digest(text: str) -> str:
    # The token is random and long: a slow hash would add nothing but time to each request.
    return hashlib.sha256(text.encode()).hexdigest()
