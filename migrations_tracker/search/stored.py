"""What the database holds: sites and work units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.db.models import Count, F, Max
from django.urls import reverse

from audit.models import Branch, LineageRuling, SiteState
from audit.rules import RULES
from migrations_tracker.models import WorkUnit
from migrations_tracker.search.documents import Document, Source, in_scope

READ_AT_ONCE = 5000


class SiteSource(Source):
    """The sites of the default branches, with what the scanner sees of each."""

    kind = "site"
    label = "Sites"
    is_bulk = True

    def states(self) -> Mapping[int | None, str]:
        """Name a repository's sites by its last scan, and by the rulings on what is one site."""
        rulings = {
            row[0]: f"{row[1]}-{row[2]}"
            for row in LineageRuling.objects.order_by()
            .values_list("site__repository_id")
            .annotate(newest=Max("pk"), undone=Count("undone_at"))
        }
        scans = Branch.objects.filter(name=F("repository__default_branch")).exclude(last_scan=None)
        return {
            repository_id: f"{scan_id} {rulings.get(repository_id, 0)}"
            for repository_id, scan_id in scans.values_list("repository_id", "last_scan_id")
        }

    def documents(self, scope: int | None) -> Iterator[Document]:
        """Yield the sites of a repository; those that are gone come after the others."""
        names = {rule.id: rule.name for rule in RULES}
        states = SiteState.objects.filter(
            in_scope("branch__repository_id", scope), branch__name=F("branch__repository__default_branch")
        ).order_by("pk")
        columns = ("site_id", "symbol", "path", "crate", "rule_id", "form", "message", "is_open")
        for row in states.values_list(*columns).iterator(chunk_size=READ_AT_ONCE):
            site_id, symbol, path, crate, rule_id, form, message, is_open = row
            name = names.get(rule_id, "")
            gone = "" if is_open else " Gone."
            yield Document(
                key=str(site_id),
                address=reverse("site-detail", args=[site_id]),
                title=symbol or path,
                text=f"{rule_id} {name}: {message}.{gone} {path}",
                names=symbol,
                words=f"{path} {rule_id} {name} {form}",
                crate=crate,
                rule_id=rule_id,
                boost=0.7 if is_open else 0.5,
            )


class UnitSource(Source):
    """The work units of the plans."""

    kind = "unit"
    label = "Work units"

    def states(self) -> Mapping[int | None, str]:
        """Name a plan's units by their number and by the newest change."""
        rows = (
            WorkUnit.objects.order_by()
            .values_list("plan__repository_id")
            .annotate(number=Count("pk"), changed=Max("changed_at"), newest=Max("pk"))
        )
        return {row[0]: f"{row[1]} {row[2].isoformat()} {row[3]}" for row in rows}

    def documents(self, scope: int | None) -> Iterator[Document]:
        """Yield the units of a repository's plan."""
        for unit in WorkUnit.objects.filter(in_scope("plan__repository_id", scope)).order_by("pk"):
            yield Document(
                key=str(unit.pk),
                address=unit.get_absolute_url(),
                title=unit.title,
                text=unit.reason,
                names=unit.title,
                words=f"{unit.key} {unit.crate} {' '.join(unit.rules)} {unit.outcome} {unit.need_name}",
                prose=unit.reason,
                crate=unit.crate,
                boost=0.8,
            )
