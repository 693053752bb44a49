"""The addresses of what people know: imported audits, precedents, entries and notes."""

from __future__ import annotations

from django.urls import path

from migrations_tracker.views import crates, entries, imported_audits, precedents

urlpatterns = [
    path("crates/<slug:slug>/<str:key>/", crates.crate_detail, name="crate-detail"),
    path("notes/<slug:slug>/<slug:kind>/<str:key>/add/", crates.note_add, name="audit-note-add"),
    path("audits/", imported_audits.audit_index, name="imported-audit-list"),
    path("audits/import/", imported_audits.audit_add, name="imported-audit-add"),
    path("audits/<int:pk>/", imported_audits.audit_detail, name="imported-audit-detail"),
    path("audits/<int:pk>/match/", imported_audits.audit_match, name="imported-audit-match"),
    path("findings/<int:pk>/", imported_audits.finding_detail, name="imported-finding-detail"),
    path("findings/<int:pk>/judge/", imported_audits.finding_judgement, name="imported-finding-judge"),
    path("findings/<int:pk>/link/", imported_audits.finding_link, name="imported-finding-link"),
    path("entries/", entries.entry_index, name="entry-list"),
    path("entries/add/", entries.entry_add, name="entry-add"),
    path("entries/<int:pk>/", entries.entry_detail, name="entry-detail"),
    path("entries/<int:pk>/edit/", entries.entry_edit, name="entry-edit"),
    path("entries/<int:pk>/history/", entries.entry_history, name="entry-history"),
    path("entries/<int:pk>/restore/", entries.entry_revert, name="entry-restore"),
    path("precedents/", precedents.precedent_index, name="precedent-list"),
    path("precedents/contradictions/", precedents.precedent_contradictions, name="precedent-contradictions"),
    path("precedents/<int:pk>/", precedents.precedent_detail, name="precedent-detail"),
    path("precedents/<int:pk>/opinion/", precedents.precedent_opinion, name="precedent-opinion"),
    path("precedents/<slug:slug>/labels.jsonl", precedents.label_export, name="label-export"),
    path("sites/<int:pk>/ruling/", precedents.site_ruling, name="site-ruling"),
    path(
        "references/<slug:slug>/<str:kind>/<str:key>/", precedents.reference_detail, name="reference-detail"
    ),
]
