"""Entries of one's own: the list, one of them, writing, and the history with its comparison."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from audit.errors import AuditError, RevisionMovedError
from audit.knowledge.links import find_links
from audit.models import EntryRevision, KnowledgeEntry, LinkOrigin
from audit.policy.merging import merge_lists
from audit.selectors.entry_links import Sight, attached_list, entry_html
from audit.services.knowledge_entries import entry_create, entry_restore, entry_save
from migrations_tracker.http import SignedInRequest
from migrations_tracker.knowledge_forms import EntryForm, NewEntryForm
from migrations_tracker.roles import Role
from migrations_tracker.selectors.entry_list import entry_list, filters_read, revision_diff, revision_list
from migrations_tracker.selectors.standings import (
    repositories_led_by,
    repositories_seen_by,
    standing_of,
)

UNPROCESSABLE = 422
MAY_WRITE = "audit.change_knowledgeentry"


@login_required
@require_GET
def entry_index(request: SignedInRequest) -> HttpResponse:
    """List the entries, narrowed as the URL says."""
    standing = standing_of(request.user)
    filters = filters_read(request.GET, may_write=standing.highest >= Role.LEAD)
    page = entry_list(
        filters=filters,
        repositories=repositories_seen_by(request.user),
        led=None if standing.everywhere >= Role.LEAD else repositories_led_by(request.user),
        cursor=request.GET.get("page", ""),
    )
    context = {"filters": filters, "page": page, "may_write": standing.highest >= Role.LEAD}
    return render(request, "entry_list.html", context)


@login_required
@require_http_methods(["GET", "POST"])
@permission_required(MAY_WRITE, raise_exception=True)
def entry_add(request: SignedInRequest) -> HttpResponse:
    """Write a new entry."""
    return _written(request, None)


@login_required
@require_http_methods(["GET", "POST"])
@permission_required(MAY_WRITE, raise_exception=True)
def entry_edit(request: SignedInRequest, pk: int) -> HttpResponse:
    """Write an entry's next revision."""
    return _written(request, _entry(request, pk))


@login_required
@require_GET
def entry_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show an entry as it is published; those who may write see one that is only a draft."""
    entry = _entry(request, pk)
    sight = Sight(repositories_seen_by(request.user), entry.repository)
    text = entry.text if entry.is_published else entry.revisions.latest("number").text
    context = {
        "entry": entry,
        "html": entry_html(text=text, links=find_links(text), sight=sight),
        "attached": attached_list(entry=entry, sight=sight),
    }
    return render(request, "entry_detail.html", context)


@login_required
@require_GET
def entry_history(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show an entry's revisions, and compare the one the URL names with the one before it."""
    entry = _entry(request, pk)
    revisions = revision_list(entry=entry, may_write=request.user.has_perm(MAY_WRITE))
    named = request.GET.get("revision", "")
    index = next((at for at, one in enumerate(revisions) if str(one.number) == named), 0)
    after = revisions[index] if revisions else None
    before = revisions[index + 1] if index + 1 < len(revisions) else None
    context = {
        "entry": entry,
        "revisions": revisions,
        "after": after,
        "before": before,
        "lines": revision_diff(before=before, after=after) if after else (),
    }
    return render(request, "entry_history.html", context)


@login_required
@require_POST
@permission_required(MAY_WRITE, raise_exception=True)
def entry_revert(request: SignedInRequest, pk: int) -> HttpResponse:
    """Publish an earlier revision again."""
    entry = _entry(request, pk)
    number, seen = request.POST.get("revision", ""), request.POST.get("number", "")
    try:
        if not _is_number(number):
            raise AuditError("Choose a revision.")
        entry_restore(
            entry=entry,
            number=int(number),
            # A form that does not say what it showed overtakes nothing.
            seen_number=int(seen) if _is_number(seen) else 0,
            actor=request.user,
            repositories=repositories_seen_by(request.user),
        )
    except AuditError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"Revision {number} is published again, as a new one.")
    return redirect(entry)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 9


def _entry(request: SignedInRequest, pk: int) -> KnowledgeEntry:
    entry = get_object_or_404(KnowledgeEntry.objects.select_related("repository", "created_by"), pk=pk)
    is_hidden = not entry.is_published and not request.user.has_perm(MAY_WRITE)
    if is_hidden or not entry.latest_number:
        raise Http404("There is no such entry.")
    return entry


def _written(request: SignedInRequest, entry: KnowledgeEntry | None) -> HttpResponse:
    form = _form(request, entry)
    context: dict[str, object] = {"form": form, "entry": entry}
    if request.method != "POST":
        return render(request, "entry_edit.html", context)
    if form.is_valid():
        data = form.cleaned_data
        action = request.POST.get("action", "")
        if action == "preview":
            links = find_links(data["text"])
            owner = entry.repository if entry else data["repository"]
            sight = Sight(repositories_seen_by(request.user), owner)
            context["html"] = entry_html(text=data["text"], links=links, sight=sight)
            return render(request, "entry_edit.html", context)
        try:
            saved = _save(request, entry, data, is_draft=action != "publish")
        except RevisionMovedError as error:
            context |= _overtaken(request, entry, data)
            cast("EntryForm", context["form"]).add_error(None, str(error))
        except AuditError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Kept as a draft." if saved.is_draft else "Published.")
            return redirect(saved.entry)
    return render(request, "entry_edit.html", context, status=UNPROCESSABLE)


def _overtaken(
    request: SignedInRequest, entry: KnowledgeEntry | None, data: dict[str, Any]
) -> dict[str, object]:
    """Show what saving would change in the revision that somebody else saved; the form goes on from it.

    What was tagged or attached meanwhile is put beside what was typed, and what was taken away is not.
    """
    rows = EntryRevision.objects.filter(entry=entry).select_related("author", "entry")
    newest = rows.latest("number")
    newest.attached = _attached_to(newest)
    base = rows.filter(number=data["number"] or 0).first()
    typed = EntryRevision(
        title=data["title"],
        text=data["text"],
        tags=merge_lists(
            base=base.tags if base is not None else (), theirs=newest.tags, mine=_tags(data["tags"])
        ),
        attached=merge_lists(
            base=_attached_to(base) if base is not None else (),
            theirs=newest.attached,
            mine=[line.strip() for line in data["attached"].splitlines() if line.strip()],
        ),
    )
    values = request.POST.copy()
    values["number"] = str(newest.number)
    values["tags"] = ", ".join(typed.tags)
    values["attached"] = "\n".join(typed.attached or ())
    form = EntryForm(values)
    form.is_valid()
    return {"form": form, "newest": newest, "lines": revision_diff(before=newest, after=typed)}


def _tags(text: str) -> list[str]:
    return [tag.strip() for tag in text.split(",") if tag.strip()]


def _form(request: SignedInRequest, entry: KnowledgeEntry | None) -> EntryForm:
    if entry is not None:
        return EntryForm(request.POST or None, initial=_initial(entry))
    return NewEntryForm(
        request.POST or None,
        initial={"repository": request.GET.get("repository", "")},
        repositories=repositories_led_by(request.user),
        may_be_of_none=standing_of(request.user).everywhere >= Role.LEAD,
    )


def _save(
    request: SignedInRequest, entry: KnowledgeEntry | None, data: dict[str, Any], *, is_draft: bool
) -> EntryRevision:
    target = entry or entry_create(actor=request.user, title=data["title"], repository=data["repository"])
    try:
        return entry_save(
            entry=target,
            actor=request.user,
            title=data["title"],
            text=data["text"],
            tags=data["tags"].split(","),
            attached=data["attached"].splitlines(),
            is_draft=is_draft,
            repositories=repositories_seen_by(request.user),
            seen_number=(data["number"] or 0) if entry else None,
            note=data["note"],
        )
    except AuditError:
        if entry is None:
            target.delete()
        raise


def _initial(entry: KnowledgeEntry) -> dict[str, object]:
    newest = entry.revisions.latest("number")
    return {
        "title": newest.title,
        "text": newest.text,
        "tags": ", ".join(newest.tags),
        "attached": "\n".join(_attached_to(newest)),
        "number": entry.latest_number,
    }


def _attached_to(revision: EntryRevision) -> list[str]:
    """Return what a revision is attached to; where that was not kept yet, what its entry is."""
    if revision.attached is not None:
        return revision.attached
    return [str(link) for link in revision.entry.links.filter(origin=LinkOrigin.ATTACHED)]
