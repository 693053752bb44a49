"""A crate's page, and notes on what was read of a crate or for an operator."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from audit.errors import AuditError
from audit.knowledge.links import LinkKind
from audit.models import Crate, NoteSubject, Repository
from audit.selectors.audit_notes import entries_about, notes_of
from audit.selectors.crate_reading import crate_reading
from audit.services.audit_notes import audit_note_add
from migrations_tracker.http import SignedInRequest
from migrations_tracker.knowledge_forms import AuditNoteForm
from migrations_tracker.selectors.capability_detail import repository_branch
from migrations_tracker.selectors.overview import crate_open_counts
from migrations_tracker.typed import typed, typed_keep


@login_required
@require_GET
def crate_detail(request: SignedInRequest, slug: str, key: str) -> HttpResponse:
    """Show a crate: its open sites, what was read of it and when, and what is unread."""
    if "\0" in key:
        raise Http404("No crate has such a name.")
    crate = get_object_or_404(Crate.objects.select_related("repository"), repository__slug=slug, name=key)
    branch = repository_branch(slug=slug)
    if branch is None or branch.last_scan is None:
        raise Http404(f"{crate.repository} has no finished scan.")
    commit = branch.last_scan.commit
    context = {
        "crate": crate,
        "repository": crate.repository,
        "branch": branch,
        "commit": commit,
        "reading": crate_reading(crate=crate, branch=branch, after=request.GET.get("after", "")),
        "rules": crate_open_counts(branch=branch, crate=crate.name),
        "notes": notes_of(repository=crate.repository, kind=NoteSubject.CRATE, subject=key),
        "entries": entries_about(kind=LinkKind.CRATE, target=key, repositories=[crate.repository]),
        "note_kind": NoteSubject.CRATE.value,
        "note_subject": key,
        "note_form": AuditNoteForm(
            initial={"commit": commit.short_id, "paths": crate.path, **typed(request)["typed"]}
        ),
    }
    return render(request, "crate_detail.html", context)


@login_required
@require_POST
@permission_required("audit.add_auditnote", raise_exception=True)
def note_add(request: SignedInRequest, slug: str, kind: str, key: str) -> HttpResponse:
    """Keep a note on what was read."""
    repository = get_object_or_404(Repository, slug=slug)
    if kind not in NoteSubject.values or "\0" in key or len(key) > 200:
        raise Http404("There is nothing of the kind.")
    subject_kind = NoteSubject(kind)
    name = "crate-detail" if subject_kind == NoteSubject.CRATE else "operator-detail"
    page = reverse(name, args=[slug, key])
    form = AuditNoteForm(request.POST)
    if not form.is_valid():
        errors = [str(error) for field in form.errors.values() for error in field]
        typed_keep(request)
        messages.error(request, f"The note is not kept: {' '.join(errors)}")
        return redirect(f"{page}#notes")
    try:
        note = audit_note_add(
            repository=repository,
            kind=subject_kind,
            subject=key,
            reader=request.user,
            revision=form.cleaned_data["commit"],
            read_on=form.cleaned_data["read_on"],
            paths=form.cleaned_data["paths"].splitlines(),
            text=form.cleaned_data["text"],
            remaining=form.cleaned_data["remaining"],
        )
    except AuditError as error:
        typed_keep(request)
        messages.error(request, str(error))
        return redirect(f"{page}#notes")
    messages.success(request, f"Kept, with {len(note.files)} file{'' if len(note.files) == 1 else 's'} read.")
    return redirect(note)
