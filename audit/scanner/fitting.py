"""What a scan can say of a tree that no profile fits."""

from __future__ import annotations

from audit.scanner.link.summaries import Summaries


def blind_reason(summaries: Summaries) -> str:
    """Say why device data can't be followed at all; empty when it can."""
    if not summaries.profile.is_generic or summaries.launching:
        return ""
    if not summaries.profile.downloads.isdisjoint(summaries.graph.calls_by_name):
        return ""
    return "no profile fits, and no call is one that the generic one knows as a launch or a transfer"


def narrowed_reason(summaries: Summaries) -> str:
    """Say why device data is followed less far than under a profile of the project's own words."""
    if not summaries.profile.is_generic:
        return ""
    return "no profile fits: known are only names that libraries share"
