"""The operations of a repository and what they are in PyTorch."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet
from django.http import QueryDict

from audit.models import Capability, MatchRuling, OperationMatch, Repository
from audit.parity.catalogue import newest
from audit.parity.matching import Verdict, squeeze
from audit.parity.operations import GPU_KINDS, OperationKind
from audit.selectors.source import source_texts
from migrations_tracker.selectors.capability_list import percent, shares
from migrations_tracker.selectors.keyset import KeysetPage, keyset_page
from migrations_tracker.source_frames import SourceFrame, frame_of_source

PAGE_SIZE = 50
COLUMNS = ("confidence", "symbol", "id")
SUGGESTED = 12
CONTEXT_LINES = 6


@dataclass(frozen=True, slots=True)
class MatchFilters:
    """What the list is narrowed to; an empty field does not narrow."""

    verdict: str = Verdict.UNMATCHED.value
    kind: str = ""
    crate: str = ""
    ruled: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class MatchListPage:
    """A page of operations, and counts over all that the code has.

    `verdicts` counts by the machine's verdict; `gpu_matched` of `gpu_total` public GPU operations that
    compute have a counterpart.
    """

    page: KeysetPage[OperationMatch]
    total: int
    verdicts: Sequence[tuple[str, int, str]]
    operation_total: int
    ruled_total: int
    crates: Sequence[str]
    gpu_matched: int
    gpu_total: int

    @property
    def gpu_percent(self) -> str:
        """The share of the GPU operations that are matched."""
        return percent(self.gpu_matched, self.gpu_total)


@dataclass(frozen=True, slots=True)
class MatchPage:
    """What an operation's page shows; `cells` are the cases it serves at the default branch's last scan."""

    match: OperationMatch
    ruling: MatchRuling | None
    rulings: Sequence[MatchRuling]
    suggestions: Sequence[str]
    cells: Sequence[Capability]
    frame: SourceFrame | None


def filters_read(query: QueryDict) -> MatchFilters:
    """Read the filters from a URL; a value that is none is left out."""
    verdict, kind = query.get("verdict", MatchFilters().verdict), query.get("kind", "")
    return MatchFilters(
        verdict=verdict if verdict in set(Verdict) else "",
        kind=kind if kind in set(OperationKind) else "",
        crate=_clean(query.get("crate", "")),
        ruled=query.get("ruled", "") in {"1", "on"},
        text=_clean(query.get("q", "")),
    )


def match_list(*, repository: Repository, filters: MatchFilters, cursor: str = "") -> MatchListPage:
    """Return one page of a repository's operations, the least sure match first."""
    operations = OperationMatch.objects.filter(repository=repository, is_seen=True)
    groups = list(operations.order_by().values_list("kind", "verdict", "crate").annotate(Count("id")))
    fitting = _narrowed(operations, filters)
    in_force = MatchRuling.objects.filter(ended_at=None).select_related("decided_by")
    rows = fitting.prefetch_related(Prefetch("rulings", in_force, "in_force"))
    total = sum(count for *_, count in groups)
    by_verdict = {v: sum(count for _, one, _, count in groups if one == v) for v in Verdict}
    gpu = [(verdict, count) for kind, verdict, _, count in groups if kind in GPU_KINDS]
    return MatchListPage(
        page=keyset_page(rows, columns=COLUMNS, cursor=cursor, size=PAGE_SIZE),
        total=fitting.count(),
        verdicts=[
            (verdict.value, by_verdict[verdict], share)
            for verdict, share in zip(Verdict, shares([by_verdict[v] for v in Verdict]), strict=True)
        ],
        operation_total=total,
        ruled_total=operations.filter(_is_ruled()).count(),
        crates=sorted({crate for _, _, crate, _ in groups}),
        gpu_matched=sum(count for verdict, count in gpu if verdict == Verdict.MATCHED),
        gpu_total=sum(count for verdict, count in gpu if verdict != Verdict.INFRASTRUCTURE),
    )


def match_page(*, match: OperationMatch) -> MatchPage:
    """Gather what an operation's page shows."""
    rulings = list(match.rulings.select_related("decided_by", "ended_by"))
    scan_run = match.changed_by_scan
    text = source_texts(scan_run=scan_run, paths={match.path}).get(match.path) if match.is_seen else None
    flagged = (match.line, match.line)
    last_scan = match.repository.branches.filter(name=match.repository.default_branch).values("last_scan")
    cells = Capability.objects.filter(scan_run__in=last_scan, symbols__contains=[match.symbol])
    return MatchPage(
        match=match,
        ruling=next((ruling for ruling in rulings if ruling.ended_at is None), None),
        rulings=rulings,
        suggestions=suggestions(match.symbol.rpartition("::")[2]),
        cells=list(cells.order_by("operator", "device", "dtype", "direction")),
        frame=frame_of_source(text, flagged=flagged, context=CONTEXT_LINES) if text else None,
    )


@lru_cache(maxsize=4096)
def suggestions(name: str) -> Sequence[str]:
    """Name what in PyTorch is spelled most like `name`; the shipped catalogue is the same while we run."""
    known = _spellings()
    close = difflib.get_close_matches(squeeze(name), known, n=SUGGESTED, cutoff=0.6)
    return tuple(full for word in close for full in sorted(known[word]))[:SUGGESTED]


@lru_cache(maxsize=1)
def _spellings() -> Mapping[str, Sequence[str]]:
    known: dict[str, list[str]] = {}
    catalogue = newest()
    for base in catalogue.by_base:
        known.setdefault(squeeze(base), []).append(f"aten::{base}")
    for namespace, names in catalogue.namespaces.items():
        for one in names:
            known.setdefault(squeeze(one), []).append(f"{namespace}.{one}")
    return known


def _narrowed(operations: QuerySet[OperationMatch], filters: MatchFilters) -> QuerySet[OperationMatch]:
    exact = {"verdict": filters.verdict, "kind": filters.kind, "crate": filters.crate}
    operations = operations.filter(**{column: value for column, value in exact.items() if value})
    if filters.ruled:
        operations = operations.filter(_is_ruled())
    for word in filters.text.split():
        operations = operations.filter(Q(symbol__icontains=word) | Q(counterpart__icontains=word))
    return operations


def _is_ruled() -> Exists:
    return Exists(MatchRuling.objects.filter(match=OuterRef("pk"), ended_at=None))


def _clean(text: str) -> str:
    return text.replace("\0", "").strip()[:200]
