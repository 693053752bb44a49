"""The files beside comments."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_GET, require_POST

from migrations_tracker.downloads import as_download
from migrations_tracker.http import SignedInRequest
from migrations_tracker.models import Attachment
from migrations_tracker.services.attachments import attachment_delete


@login_required
@require_GET
def attachment_file(request: SignedInRequest, pk: int) -> HttpResponse:
    """Send a file to be saved; no browser shows it as a page of this site."""
    return as_download(get_object_or_404(Attachment, pk=pk))


@login_required
@require_POST
def attachment_remove(request: SignedInRequest, pk: int) -> HttpResponse:
    """Take a file away."""
    found = Attachment.objects.defer("content").select_related("comment__site", "comment__gap")
    attachment = get_object_or_404(found, pk=pk)
    subject = attachment.comment.site or attachment.comment.gap
    attachment_delete(attachment=attachment, actor=request.user)
    messages.success(request, f"{attachment.name} is taken away.")
    return redirect(subject or "overview")
