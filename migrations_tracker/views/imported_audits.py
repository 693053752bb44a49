"""Imported audits: the list, the upload with its preview, an audit, and a finding with its judgement."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from audit.errors import AuditError
from audit.models import FallbackSite, ImportedAudit, ImportedFinding, Judgement, Standing
from audit.services.imported_audits import (
    Imported,
    audit_import,
    finding_judge,
    finding_site_add,
    imported_audit_match,
)
from migrations_tracker.http import SignedInRequest
from migrations_tracker.knowledge_forms import AuditImportForm, JudgementForm, SiteNumberForm, packed
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.imported_audits import (
    TODAY_LABELS,
    filters_read,
    finding_page,
    imported_audit_list,
    imported_audit_page,
)
from migrations_tracker.selectors.standings import repositories_seen_by

UNPROCESSABLE = 422
PREVIEWED = 50
MOST_PACKED = 2_000_000


@login_required
@require_GET
def audit_index(request: SignedInRequest) -> HttpResponse:
    """List a repository's imported audits."""
    choice = branch_choose(user=request.user, repository=request.GET.get("repository", ""), branch="")
    context: dict[str, object] = {"choice": choice}
    if choice.repository is not None:
        context["page"] = imported_audit_list(
            repository=choice.repository, cursor=request.GET.get("page", "")
        )
    return render(request, "imported_audit_list.html", context)


@login_required
@require_http_methods(["GET", "POST"])
@permission_required("audit.add_importedaudit", raise_exception=True)
def audit_add(request: SignedInRequest) -> HttpResponse:
    """Show what a document holds, and import it."""
    seen = repositories_seen_by(request.user)
    if request.method != "POST":
        form = AuditImportForm(
            initial={"repository": request.GET.get("repository", "")[:100]}, repositories=seen
        )
        return render(request, "imported_audit_add.html", {"form": form})
    form = AuditImportForm(request.POST, request.FILES, repositories=seen)
    context: dict[str, object] = {"form": form}
    status = UNPROCESSABLE
    if form.is_valid():
        try:
            if request.POST.get("action") == "import":
                imported = _imported(request, form.cleaned_data)
                messages.success(request, _said(imported))
                return redirect(imported.audits[0])
            context |= _preview(request, form.cleaned_data)
            status = 200
        except AuditError as error:
            form.add_error(None, str(error))
    return render(request, "imported_audit_add.html", context, status=status)


@login_required
@require_GET
@vary_on_headers("HX-Request")
def audit_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show an audit: what the code says of its findings, and what became of them."""
    audit = get_object_or_404(
        ImportedAudit.objects.select_related("repository", "matched_scan__commit", "added_by"), pk=pk
    )
    filters = filters_read(request.GET)
    context = {
        "audit": audit,
        "filters": filters,
        "data": imported_audit_page(audit=audit, filters=filters, cursor=request.GET.get("page", "")),
        "today_labels": TODAY_LABELS.items(),
    }
    template = "imported_audit_detail.html"
    is_part = request.htmx and not request.htmx.boosted
    return render(request, f"{template}#results" if is_part else template, context)


@login_required
@require_POST
@permission_required("audit.change_importedaudit", raise_exception=True)
def audit_match(request: SignedInRequest, pk: int) -> HttpResponse:
    """Hold an audit's findings against its commit's newest scan."""
    audit = get_object_or_404(ImportedAudit.objects.select_related("repository"), pk=pk)
    if imported_audit_match(audit=audit):
        messages.success(request, "Its findings were held against the newest scan of the commit.")
    else:
        messages.error(request, f"There is no scan of {audit.short_commit} yet: ask for one first.")
    return redirect(audit)


@login_required
@require_GET
def finding_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show a finding."""
    return _finding_page(request, _finding(pk), JudgementForm(), SiteNumberForm())


@login_required
@require_POST
@permission_required("audit.change_importedfinding", raise_exception=True)
def finding_judgement(request: SignedInRequest, pk: int) -> HttpResponse:
    """Judge a finding."""
    finding = _finding(pk)
    form = JudgementForm(request.POST)
    if form.is_valid():
        try:
            finding_judge(
                finding=finding,
                judgement=Judgement(form.cleaned_data["judgement"]),
                reason=form.cleaned_data["reason"],
                actor=request.user,
            )
        except AuditError as error:
            form.add_error("reason", str(error))
        else:
            messages.success(request, "Judged. What was said before stays in its history.")
            return redirect(finding)
    return _finding_page(request, finding, form, SiteNumberForm(), status=UNPROCESSABLE)


@login_required
@require_POST
@permission_required("audit.change_importedfinding", raise_exception=True)
def finding_link(request: SignedInRequest, pk: int) -> HttpResponse:
    """Link a finding to a site."""
    finding = _finding(pk)
    form = SiteNumberForm(request.POST)
    if form.is_valid():
        site = FallbackSite.objects.filter(pk=form.cleaned_data["site"]).first()
        try:
            if site is None:
                raise AuditError(f"There is no site {form.cleaned_data['site']}.")
            finding_site_add(finding=finding, site=site, actor=request.user)
        except AuditError as error:
            form.add_error("site", str(error))
        else:
            messages.success(request, f"Linked to site {site.pk}.")
            return redirect(finding)
    return _finding_page(request, finding, JudgementForm(), form, status=UNPROCESSABLE)


def _imported(request: SignedInRequest, data: dict[str, Any]) -> Imported:
    return audit_import(
        repository=data["repository"],
        data=data["data"],
        file_name=data["file_name"],
        format_name=data["format"],
        name=data["name"],
        commit=data["commit"],
        actor=request.user,
    )


def _said(imported: Imported) -> str:
    added = sum(upload.added_count for upload in imported.uploads)
    kept = sum(upload.kept_count for upload in imported.uploads)
    withdrawn = sum(upload.withdrawn_count for upload in imported.uploads)
    return (
        f"{added} new findings, {kept} known before, {withdrawn} no longer in the document; "
        f"{len(imported.refused)} parts were not read as findings."
    )


def _preview(request: SignedInRequest, data: dict[str, Any]) -> dict[str, object]:
    """Import in a transaction that is undone, so that what is shown is what importing does."""
    with transaction.atomic():
        imported = _imported(request, data)
        findings = ImportedFinding.objects.filter(audit__in=imported.audits)
        about = findings.filter(is_about_device=True)
        counts = [(label, about.filter(standing=value).count()) for value, label in Standing.choices]
        shown = list(about.order_by("position")[:PREVIEWED])
        total = findings.count()
        transaction.set_rollback(True)
    carried = packed(data["data"])
    return {
        "said": _said(imported),
        "counts": [(label, count) for label, count in counts if count],
        "shown": shown,
        "total": total,
        "refused": imported.refused[:PREVIEWED],
        "refused_total": len(imported.refused),
        "audits": imported.audits,
        "packed": carried if len(carried) <= MOST_PACKED else "",
        "file_name": data["file_name"],
    }


def _finding(pk: int) -> ImportedFinding:
    return get_object_or_404(ImportedFinding.objects.select_related("audit__repository", "judged_by"), pk=pk)


def _finding_page(
    request: SignedInRequest,
    finding: ImportedFinding,
    judgement_form: JudgementForm,
    site_form: SiteNumberForm,
    status: int = 200,
) -> HttpResponse:
    context = {
        "data": finding_page(finding=finding),
        "finding": finding,
        "judgement_form": judgement_form,
        "site_form": site_form,
        "judgements": Judgement.choices,
    }
    return render(request, "imported_finding_detail.html", context, status=status)
