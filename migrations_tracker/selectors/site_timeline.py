"""One site over time: when it came and went, and its code in each version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F

from audit.models import Branch, Commit, FallbackSite, Result, SiteEvent, SiteEventKind
from audit.models.site import MATCH_PASS_LABELS
from migrations_tracker.source_frames import SourceFrame, frame_of_snippet

MAX_VERSIONS = 60
_LABELS = {
    SiteEventKind.NEW.value: "Seen for the first time",
    SiteEventKind.REOPENED.value: "Back again: a regression",
    SiteEventKind.CLOSED.value: "No longer seen",
    "edited": "Changed",
}
_LABELS_OF_SCANNER = {
    SiteEventKind.NEW.value: "Seen for the first time, by another scanner",
    SiteEventKind.REOPENED.value: "Back again: the scanner sees it, the code is the same",
    SiteEventKind.CLOSED.value: "No longer reported: the scanner changed, the code is the same",
}
_TOLD = ("rule_id", "path", "symbol", "message", "form", "snippet")


@dataclass(frozen=True, slots=True)
class Moment:
    """A commit at which something happened to a site; `frame` is the code from then on."""

    what: str
    label: str
    commit: Commit
    scan_run_id: int
    path: str = ""
    line: int = 0
    symbol: str = ""
    message: str = ""
    recognised: str = ""
    outcome: str = ""
    outcome_text: str = ""
    steps: Sequence[dict[str, Any]] = ()
    is_same_code: bool = False
    frame: SourceFrame | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """The moments of a site on a branch, oldest first. `omitted` counts those that are not shown."""

    branch: Branch | None
    branches: Sequence[Branch]
    moments: Sequence[Moment]
    omitted: int = 0


def site_timeline(*, site: FallbackSite, branch: str = "") -> Timeline:
    """Tell a site's story on a branch: the named one, else the default one, else the first that knows it."""
    branches = list(Branch.objects.filter(site_states__site=site))
    by_name = {one.name: one for one in branches}
    chosen = by_name.get(branch) or by_name.get(site.repository.default_branch) or next(iter(branches), None)
    if chosen is None:
        return Timeline(None, (), ())
    moments = _moments(site, chosen)
    return Timeline(chosen, branches, moments[-MAX_VERSIONS:], max(len(moments) - MAX_VERSIONS, 0))


def _moments(site: FallbackSite, branch: Branch) -> list[Moment]:
    """Return the versions and the events in the branch's order."""
    on_branch = {"scan_run__branch_scans__branch": branch}
    results = (
        Result.objects.filter(site=site, **on_branch)
        .annotate(position=F("scan_run__branch_scans__position"), match_pass=F("lineage__match_pass"))
        .select_related("scan_run__commit")
        .order_by("position")
    )
    events = (
        SiteEvent.objects.filter(site=site, branch_scan__branch=branch)
        .select_related("branch_scan__scan_run__commit", "branch_scan__previous__scan_run")
        .order_by("branch_scan__position")
    )
    by_position = {event.branch_scan.position: event for event in events}
    closed = [
        (position, _closing(event))
        for position, event in by_position.items()
        if event.kind == SiteEventKind.CLOSED
    ]
    versions = []
    told: tuple[object, ...] = ()
    for result in results:
        event = by_position.get(result.position)
        before, told = told, tuple(getattr(result, name) for name in _TOLD)
        if event is not None or before != told:
            versions.append((result.position, _version(result, event)))
    return [moment for _, moment in sorted((*versions, *closed), key=lambda pair: pair[0])]


def _version(result: Any, event: SiteEvent | None) -> Moment:
    return Moment(
        what=event.kind if event is not None else "edited",
        label=_label(event) if event is not None else _LABELS["edited"],
        commit=result.scan_run.commit,
        scan_run_id=result.scan_run_id,
        path=result.path,
        line=result.start_line,
        symbol=result.symbol,
        message=result.message,
        recognised=MATCH_PASS_LABELS.get(result.match_pass, ""),
        frame=frame_of_snippet(result.snippet, first_line=result.start_line),
    )


def _closing(event: SiteEvent) -> Moment:
    scan_run = event.branch_scan.scan_run
    return Moment(
        what=event.kind,
        label=_label(event),
        commit=scan_run.commit,
        scan_run_id=scan_run.pk,
        outcome=event.outcome,
        outcome_text=event.outcome_evidence.get("text", ""),
        steps=event.outcome_evidence.get("steps", ()),
        is_same_code=event.branch_scan.is_same_code,
    )


def _label(event: SiteEvent) -> str:
    return (_LABELS_OF_SCANNER if event.branch_scan.is_same_code else _LABELS)[event.kind]
