"""Reading sites."""

from __future__ import annotations

from django.db.models import Exists, F, OuterRef, QuerySet

from audit.models import FallbackSite, LineageRuling, SiteState


def site_is_open(*, site: FallbackSite) -> bool:
    """Whether the scanner sees the site on the repository's default branch."""
    return SiteState.objects.filter(
        site=site, is_open=True, branch__name=F("branch__repository__default_branch")
    ).exists()


def site_outcome(*, site: FallbackSite) -> str:
    """Return what the site became on the repository's default branch; nothing where no scan told."""
    states = SiteState.objects.filter(site=site, branch__name=F("branch__repository__default_branch"))
    return states.values_list("outcome", flat=True).first() or ""


def sites_of_their_own(*, repository_id: int) -> QuerySet[FallbackSite]:
    """List a repository's sites without those that people made a part of another one: no result is theirs."""
    rulings = LineageRuling.objects.filter(site__repository_id=repository_id)
    merged = rulings.filter(merged_site=OuterRef("pk"), undone_at=None)
    taken_back = rulings.filter(split_site=OuterRef("pk"), undone_at__isnull=False)
    return FallbackSite.objects.filter(~Exists(merged), ~Exists(taken_back), repository_id=repository_id)
