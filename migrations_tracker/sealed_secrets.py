"""Secrets of second factors, sealed: who has a copy of the database alone has none of them."""

from __future__ import annotations

import base64
import hashlib

from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.core.exceptions import PermissionDenied

# What is sealed says so: rows of before are not, and are read as they are.
_MARK = "sealed:"
_PURPOSE = b"ferroaudit second factor\0"


def secret_seal(text: str) -> str:
    """Seal a secret with a key made from SECRET_KEY."""
    return _MARK + _box().encrypt(text.encode()).decode()


def secret_open(sealed: str) -> str:
    """Open what `secret_seal` made, or return what never was sealed.

    Raises PermissionDenied where it was sealed under another SECRET_KEY: no code would fit.
    """
    if not sealed.startswith(_MARK):
        return sealed
    try:
        return _box().decrypt(sealed.removeprefix(_MARK)).decode()
    except InvalidToken:
        raise PermissionDenied(
            "This second factor was set up under another SECRET_KEY and can't be read any more. An "
            "administrator takes it away; then it is set up anew."
        ) from None


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Keeps second factors sealed."""

    def encrypt(self, text: str) -> str:
        """Return a secret as it is kept."""
        return secret_seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Return a secret as it is used."""
        return secret_open(encrypted_text)


def _box() -> Fernet:
    digest = hashlib.sha256(_PURPOSE + settings.SECRET_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(digest))
