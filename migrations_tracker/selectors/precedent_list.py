"""The rulings that are remembered, and what references of texts lead to."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q
from django.http import QueryDict

from audit.knowledge.references import ReferenceKind
from audit.models import Precedent, PrecedentKind, Repository, TextReference
from migrations_tracker.selectors.keyset import KeysetPage, keyset_page

PAGE_SIZE = 30
NUMBERED = (ReferenceKind.ISSUE.value, ReferenceKind.PULL.value)


@dataclass(frozen=True, slots=True)
class PrecedentFilters:
    """What the list is narrowed to; an empty field does not narrow."""

    kind: str = ""
    rule: str = ""
    form: str = ""
    ended: bool = False
    text: str = ""


def filters_read(query: QueryDict) -> PrecedentFilters:
    """Read the filters from a URL; a value that is none is left out."""
    kind = query.get("kind", "")
    return PrecedentFilters(
        kind=kind if kind in PrecedentKind.values else "",
        rule=query.get("rule", "").replace("\0", "").strip()[:10],
        form=query.get("form", "").replace("\0", "").strip()[:100],
        ended=query.get("ended", "") == "1",
        text=query.get("q", "").replace("\0", "").strip()[:200],
    )


def precedent_list(
    *, repository: Repository, filters: PrecedentFilters, cursor: str
) -> KeysetPage[Precedent]:
    """List a repository's rulings, the newest first; those that ended only where asked for."""
    rows = Precedent.objects.filter(repository=repository).defer("shingles", "code")
    if not filters.ended:
        rows = rows.filter(ended_at=None)
    if filters.kind:
        rows = rows.filter(kind=filters.kind)
    if filters.rule:
        rows = rows.filter(rule_id=filters.rule)
    if filters.form:
        rows = rows.filter(form=filters.form)
    for word in filters.text.split():
        rows = rows.filter(Q(symbol__icontains=word) | Q(reason__icontains=word) | Q(path__icontains=word))
    rows = rows.select_related("decided_by")
    return keyset_page(rows, columns=("id",), cursor=cursor, size=PAGE_SIZE, is_descending=True)


def reference_list(
    *, repository: Repository, kind: str, target: str, cursor: str
) -> KeysetPage[TextReference]:
    """List the sites that texts name together with a pull request, an issue or a commit.

    Issues and pull requests are numbered together: `#12` and `PR #12` are one thing, however it is named.
    """
    kinds = NUMBERED if kind in NUMBERED else (kind,)
    wanted = TextReference.objects.filter(repository=repository, kind__in=kinds, target=target)
    rows = wanted.select_related("site")
    return keyset_page(rows, columns=("id",), cursor=cursor, size=PAGE_SIZE)
