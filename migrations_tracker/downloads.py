"""Sending a file that somebody else put here."""

from __future__ import annotations

from django.http import HttpResponse
from django.utils.http import content_disposition_header

from migrations_tracker.models import Attachment

#: Whatever a browser takes the bytes for, nothing in them runs or loads.
INERT = "default-src 'none'; sandbox"


def as_download(attachment: Attachment) -> HttpResponse:
    """Answer with a file."""
    response = HttpResponse(bytes(attachment.content), content_type=attachment.media_type)
    response["Content-Disposition"] = content_disposition_header(True, attachment.name)
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = INERT
    return response
