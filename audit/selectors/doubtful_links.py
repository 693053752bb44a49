"""Links between results and sites that a person is asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import BigIntegerField, Case, Exists, F, OuterRef, QuerySet, Subquery, Value, When

from audit.models import Lineage, LineageRuling, Repository, Result
from audit.models.site import DOUBTFUL_BELOW

PAGE_SIZE = 20


@dataclass(frozen=True, slots=True)
class DoubtfulLink:
    """A guess: the result that was taken for a site, and the site's result before it."""

    lineage: Lineage
    before: Result | None
    ruling: LineageRuling | None


@dataclass(frozen=True, slots=True)
class DoubtfulPage:
    """A page of links, newest first; `next` is 0 at the end."""

    links: Sequence[DoubtfulLink]
    total: int
    next: int = 0


def doubtful_links(
    *, repository: Repository, is_ruled: bool = False, before: int = 0, size: int = PAGE_SIZE
) -> DoubtfulPage:
    """List the guesses that nobody has ruled about, or all links that somebody has."""
    in_force = LineageRuling.objects.filter(lineage=OuterRef("pk"), undone_at=None)
    links: QuerySet[Lineage] = Lineage.objects.filter(site__repository=repository)
    if is_ruled:
        links = links.filter(Exists(in_force))
    else:
        links = links.filter(~Exists(in_force), confidence__lt=DOUBTFUL_BELOW)
    total = links.count()
    if before:
        links = links.filter(pk__lt=before)
    found = list(
        links.select_related("site", "result", "scan_run", "to_commit", "from_commit").order_by("-pk")[
            : size + 1
        ]
    )
    shown = found[:size]
    rulings = {
        ruling.lineage_id: ruling
        for ruling in LineageRuling.objects.filter(lineage__in=shown, undone_at=None).select_related(
            "actor", "split_site", "merged_site"
        )
    }
    before_links = _before({link: rulings.get(link.pk) for link in shown})
    rows = [DoubtfulLink(link, before_links.get(link.pk), rulings.get(link.pk)) for link in shown]
    return DoubtfulPage(rows, total, shown[-1].pk if len(found) > size else 0)


def _before(links: Mapping[Lineage, LineageRuling | None]) -> dict[int, Result]:
    """Return the result before each link, by the link's key, of the site that a ruling gave it to."""
    before = Result.objects.filter(site=OuterRef("of_site"), pk__lt=OuterRef("result")).order_by("-pk")
    of_site = Case(
        *(When(pk=link.pk, then=Value(ruling.site_id)) for link, ruling in links.items() if ruling),
        default=F("site"),
        output_field=BigIntegerField(),
    )
    found = dict(
        Lineage.objects.filter(pk__in=[link.pk for link in links])
        .annotate(of_site=of_site)
        .annotate(before=Subquery(before.values("pk")[:1]))
        .order_by()
        .values_list("pk", "before")
    )
    results = Result.objects.in_bulk([pk for pk in found.values() if pk is not None])
    return {link_pk: results[pk] for link_pk, pk in found.items() if pk is not None}
