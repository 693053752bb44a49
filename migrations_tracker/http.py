"""What the middleware adds to a request, as types."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails


class SignedInRequest(HttpRequest):
    """The request of a person who is logged in."""

    user: User
    htmx: HtmxDetails
