"""What the database holds: sites and work units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from django.db.models import (
    BigIntegerField,
    Count,
    Exists,
    F,
    Max,
    OuterRef,
    QuerySet,
    Subquery,
    TextField,
)
from django.db.models.functions import Cast
from django.urls import reverse

from audit.models import Branch, Crate, FallbackSite, LineageRuling, SiteState
from audit.rules import RULES
from migrations_tracker.models import SearchDocument, WorkUnit
from migrations_tracker.search.documents import TEXT_SHOWN, Document, Source, in_scope

READ_AT_ONCE = 5000
_RULE_NAMES = {rule.id: rule.name for rule in RULES}


class SiteSource(Source):
    """The sites of the default branches, with what the scanner sees of each."""

    kind = "site"
    label = "Sites"
    model = FallbackSite
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
        """Yield the sites of a repository that the index has otherwise, or not at all."""
        indexed = SearchDocument.objects.filter(kind=self.kind, key=Cast(OuterRef("site_id"), TextField()))
        rows = self._states(scope).annotate(text_indexed=Subquery(indexed.values("text")[:1]))
        columns = ("site_id", "symbol", "path", "crate", "rule_id", "form", "message", "is_open")
        for *told, text_indexed in rows.values_list(*columns, "text_indexed").iterator(READ_AT_ONCE):
            document = _site_document(*told)
            if document.text[:TEXT_SHOWN].replace("\0", "") != text_indexed:
                yield document

    def gone(self, scope: int | None) -> Iterator[str]:
        """Yield the sites that are no longer on the default branch."""
        living = self._states(scope).filter(site_id=Cast(OuterRef("key"), BigIntegerField()))
        documents = SearchDocument.objects.filter(in_scope("repository_id", scope), kind=self.kind)
        yield from documents.filter(~Exists(living)).values_list("key", flat=True)

    def _states(self, scope: int | None) -> QuerySet[SiteState]:
        return SiteState.objects.filter(
            in_scope("branch__repository_id", scope), branch__name=F("branch__repository__default_branch")
        ).order_by("pk")


@cache
def _site_address() -> str:
    # Making a hundred thousand addresses one by one takes longer than all else.
    return reverse("site-detail", args=[0]).replace("0", "{}")


def _site_document(
    site_id: int, symbol: str, path: str, crate: str, rule_id: str, form: str, message: str, is_open: bool
) -> Document:
    """Make a document whose text says all that it is made of: sites that are gone come after the others."""
    name = _RULE_NAMES.get(rule_id, "")
    gone = "" if is_open else " Gone."
    return Document(
        key=str(site_id),
        address=_site_address().format(site_id),
        title=symbol or path,
        text=f"{rule_id} {name}: {message}.{gone} {symbol} in {path} of {crate} ({form})",
        names=symbol,
        words=f"{path} {rule_id} {name} {form}",
        crate=crate,
        rule_id=rule_id,
        boost=0.7 if is_open else 0.5,
    )


class CrateSource(Source):
    """The crates of the repositories that have pages: those with a scan of the default branch."""

    kind = "crate"
    label = "Crates"
    model = Crate

    def states(self) -> Mapping[int | None, str]:
        """Name a repository's crates by its last scan, which is what they come from."""
        scans = Branch.objects.filter(name=F("repository__default_branch")).exclude(last_scan=None)
        return {
            repository_id: str(scan_id)
            for repository_id, scan_id in scans.values_list("repository_id", "last_scan_id")
        }

    def documents(self, scope: int | None) -> Iterator[Document]:
        """Yield the crates of a repository."""
        crates = Crate.objects.filter(in_scope("repository_id", scope)).select_related("repository")
        for crate in crates.order_by("pk"):
            yield Document(
                key=str(crate.pk),
                address=reverse("crate-detail", args=[crate.repository.slug, crate.name]),
                title=crate.name,
                text=f"Crate {crate.name} in {crate.path or 'the root'} of {crate.repository.name}",
                names=crate.name,
                words="crate",
                prose=crate.path,
                crate=crate.name,
                boost=0.9,
            )


class UnitSource(Source):
    """The work units of the plans."""

    kind = "unit"
    label = "Work units"
    model = WorkUnit

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
