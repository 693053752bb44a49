"""A branch over time, what changed between two commits, and a site's versions."""

from __future__ import annotations

import base64
import binascii
import json

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from audit.models import FallbackSite, Repository, ScanRun
from audit.selectors.changes import (
    ChangeKind,
    change_counts,
    change_page,
    latest_pair,
    scan_of_commit,
)
from audit.selectors.history import PAGE_SIZE, Dimension, counts_over_time, history_page, pace
from audit.selectors.rules import rule_list
from migrations_tracker.charts import chart_of
from migrations_tracker.http import SignedInRequest
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.history_legend import legend_of
from migrations_tracker.selectors.keyset import is_text
from migrations_tracker.selectors.pull_requests import pull_requests_of
from migrations_tracker.selectors.site_timeline import site_timeline

BY_LABELS = {
    Dimension.RULE: "Open, by rule",
    Dimension.CRATE: "Open, by crate",
    Dimension.OUTCOME: "Gone, by outcome",
}
KIND_LABELS = {
    ChangeKind.NEW: "New",
    ChangeKind.ABSENT: "No longer seen",
    ChangeKind.UNSETTLED: "Not settled",
    ChangeKind.MOVED: "Moved",
    ChangeKind.EDITED: "Edited",
    ChangeKind.UNCHANGED: "Unchanged",
}


@login_required
@require_GET
def branch_history(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show how many sites were open over time, and each scan's part in it."""
    repository = get_object_or_404(Repository, slug=slug)
    choice = branch_choose(user=request.user, repository=slug, branch=request.GET.get("branch", ""))
    context: dict[str, object] = {"repository": repository, "choice": choice}
    if choice.branch is not None:
        by = request.GET.get("by", "")
        dimension = Dimension(by) if by in set(Dimension) else Dimension.RULE
        filters = {name: request.GET.get(name, "").replace("\0", "")[:200] for name in ("rule", "crate")}
        counts = counts_over_time(branch=choice.branch, by=dimension, **filters)
        rows = history_page(branch=choice.branch, before=_number(request.GET.get("before", "")))
        speed = pace(branch=choice.branch)
        context |= {
            "by": dimension.value,
            "filters": filters,
            "dimensions": [(one.value, label) for one, label in BY_LABELS.items()],
            "rules": rule_list(),
            "counts": counts,
            "total": sum(series.counts[-1] for series in counts.series),
            "newest": counts.scans[-1] if counts.scans else None,
            "legend": legend_of(counts, branch=choice.branch, by=dimension, **filters),
            "chart": chart_of(counts),
            "pace": speed,
            "ends_on": speed.ends_on(timezone.now().date()) if speed is not None else None,
            "rows": rows[:PAGE_SIZE],
            "next": rows[PAGE_SIZE - 1].position if len(rows) > PAGE_SIZE else 0,
        }
    return render(request, "branch_history.html", context)


@login_required
@require_GET
def change_index(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show what changed between two scanned commits."""
    repository = get_object_or_404(Repository, slug=slug)
    choice = branch_choose(user=request.user, repository=slug, branch=request.GET.get("branch", ""))
    named = {side: request.GET.get(side, "").strip() for side in ("from", "to")}
    earlier, later = (
        scan_of_commit(repository_id=repository.pk, commit=named[side]) for side in ("from", "to")
    )
    pair = latest_pair(branch_id=choice.branch.pk) if choice.branch is not None else None
    if not any(named.values()) and pair is not None:
        earlier, later = pair
    context: dict[str, object] = {
        "repository": repository,
        "written": {
            side: named[side] or (scan.commit.object_id if scan is not None else "")
            for side, scan in (("from", earlier), ("to", later))
        },
        "unknown": _unknown(named, earlier, later),
        "earlier": earlier,
        "later": later,
    }
    if earlier is not None and later is not None:
        kind_name = request.GET.get("kind", "")
        kind = ChangeKind(kind_name) if kind_name in set(ChangeKind) else None
        counts = change_counts(earlier=earlier, later=later)
        shown = kind or next((one for one in ChangeKind if counts[one]), ChangeKind.NEW)
        page = change_page(
            earlier=earlier, later=later, kind=shown, after=_decode(request.GET.get("page", ""))
        )
        context |= {
            "kind": shown.value,
            "kinds": [(one.value, KIND_LABELS[one], counts[one]) for one in ChangeKind],
            "page": page,
            "next": _encode(page.next) if page.next else "",
        }
    return render(request, "change_list.html", context)


@login_required
@require_GET
def site_versions(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show the versions of a site, each with its code."""
    site = get_object_or_404(FallbackSite.objects.select_related("repository"), pk=pk)
    branch = request.GET.get("branch", "").replace("\0", "")[:255]
    context = {
        "site": site,
        "timeline": site_timeline(site=site, branch=branch),
        "pull_requests": pull_requests_of(site=site),
    }
    return render(request, "site_timeline.html", context)


def _unknown(named: dict[str, str], earlier: ScanRun | None, later: ScanRun | None) -> list[str]:
    found = {"from": earlier, "to": later}
    return [name for side, name in named.items() if name and found[side] is None]


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _encode(key: tuple[str, int, int]) -> str:
    text = json.dumps(key, separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(text: str) -> tuple[str, int, int]:
    """Read where a page begins; what can't be read is the first page."""
    try:
        path, line, site_id = json.loads(base64.urlsafe_b64decode((text + "=" * (-len(text) % 4)).encode()))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        return "", 0, 0
    if not is_text(path) or type(line) is not int or type(site_id) is not int:
        return "", 0, 0
    if not (0 <= line < 2**31 and 0 <= site_id < 2**63):
        return "", 0, 0
    return path, line, site_id
