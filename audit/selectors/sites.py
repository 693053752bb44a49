"""Reading sites."""

from __future__ import annotations

from django.db.models import F

from audit.models import FallbackSite, SiteState


def site_is_open(*, site: FallbackSite) -> bool:
    """Whether the scanner sees the site on the repository's default branch."""
    return SiteState.objects.filter(
        site=site, is_open=True, branch__name=F("branch__repository__default_branch")
    ).exists()
