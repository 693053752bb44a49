"""One cell of the matrix, one operator, and what a site's operators do in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, Q, Subquery, Value
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import JSONObject, Length, Reverse, StrIndex, Substr

from audit.models import (
    Branch,
    Capability,
    CapabilityGap,
    CapabilityGapChange,
    MatchRuling,
    OperationMatch,
    ParityDump,
    ParityOperator,
    ScanRun,
    SiteState,
)
from audit.parity import rationale
from audit.parity.capability import Case, Place, State
from audit.parity.catalogue import Direction, newest
from audit.parity.counterparts import operator_names
from audit.parity.matching import Verdict
from audit.parity.matrix import REFERENCE
from audit.parity.rationale import Rationale
from audit.selectors.source import source_texts
from migrations_tracker.selectors.capability_list import device_rank
from migrations_tracker.selectors.capability_proofs import (
    LayerRow,
    Tested,
    layers_of,
    tests_of,
)
from migrations_tracker.selectors.parity_changes import parity_dumps
from migrations_tracker.source_frames import SourceFrame, frame_of_source
from workers.selectors.verifications import Proof, proofs_of

CONTEXT_LINES = 3
SITES_SHOWN = 50
OPERATORS_SHOWN = 12
RATIONALES_SHOWN = 2
CHANGES_SHOWN = 50
HISTORY_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Served:
    """Something that serves a case, with its code."""

    facts: Mapping[str, Any]
    is_proof: bool
    frame: SourceFrame | None


@dataclass(frozen=True, slots=True)
class CellPage:
    """What a cell's page shows."""

    cell: Capability
    scan_run: ScanRun
    gap: CapabilityGap | None
    rationale: Rationale
    served: Sequence[Served]
    siblings: Sequence[Capability]
    proofs: Sequence[Proof]
    history: Sequence[Capability]


@dataclass(frozen=True, slots=True)
class OperatorPage:
    """What an operator's page shows; `facts` are PyTorch's of it, or of the operators it is made of."""

    operator: str
    dump: ParityDump | None
    dumps: Sequence[ParityDump]
    facts: Sequence[ParityOperator]
    cells: Sequence[Capability]
    gaps: Sequence[CapabilityGap]
    sites: Sequence[SiteState]
    layers: Sequence[tuple[str, Sequence[LayerRow]]]
    tests: Sequence[Tested]
    proofs: Sequence[Proof]
    changes: Sequence[CapabilityGapChange]


def cell_rationale(cell: Capability) -> Rationale:
    """Say from data alone what PyTorch does, what the code does, and so what the answer is."""
    return rationale.of_case(
        newest(),
        Case(cell.operator, cell.dtype, cell.device, Direction(cell.direction)),
        state=State(cell.state),
        place=Place(cell.path, cell.line, cell.symbol) if cell.path else None,
        note=cell.note,
        reference_device=REFERENCE.get(cell.device, ""),
    )


def cell_page(*, branch: Branch, operator: str, dtype: str, device: str, direction: str) -> CellPage | None:
    """Gather a cell's page at the branch's last scan; None where there is no such cell.

    An empty word does not narrow: of several cells the first gap is shown.
    """
    cells = _cells(branch, operator)
    wanted = {"dtype": dtype, "device": device, "direction": direction}
    named = {column: value for column, value in wanted.items() if value}
    fitting = [c for c in cells if all(getattr(c, column) == value for column, value in named.items())]
    if not fitting:
        return None
    cell = next((c for c in fitting if c.is_gap), fitting[0])
    scan_run = ScanRun.objects.select_related("repository", "commit").get(pk=cell.scan_run_id)
    return CellPage(
        cell=cell,
        scan_run=scan_run,
        gap=CapabilityGap.objects.filter(
            repository_id=branch.repository_id,
            operator=operator,
            dtype=cell.dtype,
            device=cell.device,
            direction=cell.direction,
        )
        .select_related("first_seen_scan__commit", "last_seen_scan__commit", "closed_scan__commit")
        .first(),
        rationale=cell_rationale(cell),
        served=served_of(scan_run, cell),
        siblings=cells,
        proofs=proofs_of(repository=scan_run.repository, symbols={cell.symbol, *cell.symbols} - {""}),
        history=_history(branch, cell),
    )


def operator_page(*, branch: Branch, operator: str, dump_id: str = "") -> OperatorPage | None:
    """Gather an operator's page; None where neither PyTorch nor the code has it.

    PyTorch's facts are those of the dump that `dump_id` names, or that the matrix is held to.
    """
    dumps = parity_dumps()
    dump = next((d for d in dumps if str(d.pk) == dump_id), None) or next(
        (d for d in dumps if d.torch_version == newest().version), next(iter(dumps), None)
    )
    names = [f"aten::{name}" for name in operator_names(newest(), operator)]
    facts = list(ParityOperator.objects.filter(dump=dump, name__in=[operator, *names[:OPERATORS_SHOWN]]))
    cells = _cells(branch, operator)
    if not facts and not cells:
        return None
    symbols = {symbol for cell in cells for symbol in cell.symbols}
    layers = layers_of(cells)
    return OperatorPage(
        operator=operator,
        dump=dump,
        dumps=dumps,
        facts=sorted(facts, key=lambda row: (row.name != operator, row.name)),
        cells=cells,
        gaps=list(CapabilityGap.objects.filter(repository_id=branch.repository_id, operator=operator)),
        sites=list(
            SiteState.objects.filter(branch=branch, is_open=True, symbol__in=symbols)
            .select_related("site")
            .order_by("path", "start_line", "id")[:SITES_SHOWN]
        ),
        layers=layers,
        tests=tests_of(layers),
        proofs=proofs_of(repository=branch.repository, symbols=symbols),
        changes=list(
            CapabilityGapChange.objects.filter(
                gap__repository_id=branch.repository_id, gap__operator=operator
            )
            .select_related("gap", "scan_run__commit")
            .order_by("-id")[:CHANGES_SHOWN]
        ),
    )


def said_of_symbol(*, repository_id: int) -> dict[str, Subquery]:
    """Return annotations of a query of sites' states: what a ruling and the rules say the function is."""
    # A type's operation is one of its methods, and its other methods are parts of it.
    named = [OuterRef("symbol"), Reverse(Substr(Reverse(OuterRef("symbol")), _after_last_separator()))]
    matches = OperationMatch.objects.filter(repository_id=repository_id, symbol__in=named)
    rulings = MatchRuling.objects.filter(
        match__repository_id=repository_id, match__symbol__in=named, ended_at=None
    )
    matches = matches.order_by(Length("symbol").desc())
    rulings = rulings.order_by(Length("match__symbol").desc())
    columns = ("verdict", "counterpart", "direction", "dtype")
    by_rule = JSONObject(**{name: name for name in columns}, reason="note")
    by_person = JSONObject(**{name: name for name in columns}, reason="reason")
    return {
        "said_by_rule": Subquery(matches.values_list(by_rule)[:1]),
        "said_by_person": Subquery(rulings.values_list(by_person)[:1]),
    }


def _after_last_separator() -> CombinedExpression:
    """Return where the owner begins in a symbol written backwards: behind its first `::`."""
    at = StrIndex(Reverse(OuterRef("symbol")), Value("::"))
    return CombinedExpression(at, CombinedExpression.ADD, Value(2))


def site_rationales(
    *,
    scan_run_id: int,
    symbol: str,
    chain: Sequence[str] = (),
    said: Mapping[str, str] | None = None,
    place: Place | None = None,
    note: str = "",
    is_about_test: bool = False,
) -> list[tuple[Capability | None, Rationale]]:
    """Explain what a site stands in the way of: gaps that its function serves, or its callers and callees.

    `chain` are the functions of the site's evidence. Where none of them serves an operator, the one
    explanation says whether PyTorch has a counterpart, from what is `said` of the function; `place` and
    `note` are the site's own, and say what the code does there now. A site that is about a test is answered
    with a test, whatever its function computes.
    """
    serves = Q(symbols__overlap=[name for name in (symbol, *chain) if name])
    text = symbol.rpartition("::")[2]
    if text.isupper() and "_" in text:
        # A text of PTX is launched by the functions that serve a case.
        serves |= Q(implementations__contains=[{"broken_ptx": text}])
    cells = Capability.objects.filter(serves, scan_run_id=scan_run_id).exclude(device="cpu")
    found = sorted(
        cells.defer("implementations"),
        key=lambda c: (symbol not in c.symbols, not c.is_gap, c.operator, c.dtype, c.direction),
    )
    if is_about_test:
        case = _case(found[0]) if found else _said_case(said)
        now = rationale.said_now(None, place, note)
        return [(found[0] if found else None, rationale.of_test(newest(), case, now=now))]
    if found:
        return [(cell, cell_rationale(cell)) for cell in found[:RATIONALES_SHOWN]]
    return [(None, _without_cell(symbol, said, place, note))]


def _without_cell(symbol: str, said: Mapping[str, str] | None, place: Place | None, note: str) -> Rationale:
    """Explain a function that serves no operator: by what people or rules say it is, or that it is none."""
    catalogue, name = newest(), symbol or "this place"
    now = rationale.said_now(None, place, note)
    if said is None:
        reason = "it is no operation that a PyTorch operator stands for"
        return rationale.without_counterpart(catalogue, name, reason=reason, now=now)
    case = _said_case(said)
    if case is not None:
        return rationale.of_case(catalogue, case, place=place, note=note)
    reason = said["reason"]
    if said["verdict"] == Verdict.UNMATCHED.value:
        reason = "no operator of its name is in the catalogue, and nobody has set one"
    return rationale.without_counterpart(catalogue, name, reason=reason, now=now)


def _case(cell: Capability) -> Case:
    """Return the case of a cell, on the device that PyTorch is asked about."""
    device = REFERENCE.get(cell.device) or cell.device
    return Case(cell.operator, cell.dtype, device, Direction(cell.direction))


def _said_case(said: Mapping[str, str] | None) -> Case | None:
    """Return the case that people or rules say a function is of."""
    if said is None or said["verdict"] != Verdict.MATCHED.value:
        return None
    return Case(said["counterpart"], said["dtype"] or "float32", "cuda", Direction(said["direction"]))


def repository_branch(*, slug: str) -> Branch | None:
    """Return a repository's default branch, or another one that was scanned, with the commit of its scan."""
    scanned = Branch.objects.filter(repository__slug=slug).exclude(last_scan=None)
    branches = list(scanned.select_related("repository", "last_scan__commit"))
    return next((b for b in branches if b.name == b.repository.default_branch), None) or next(
        iter(branches), None
    )


def _history(branch: Branch, cell: Capability) -> list[Capability]:
    """The case in the newest scans of the branch, the newest first."""
    return list(
        Capability.objects.filter(
            scan_run__branch=branch,
            operator=cell.operator,
            dtype=cell.dtype,
            device=cell.device,
            direction=cell.direction,
        )
        .select_related("scan_run__commit")
        .defer("implementations", "symbols", "pytorch_proof", "note")
        .order_by("-scan_run_id")[:HISTORY_SHOWN]
    )


def _cells(branch: Branch, operator: str) -> list[Capability]:
    cells = Capability.objects.filter(scan_run_id=branch.last_scan_id, operator=operator)
    return sorted(cells, key=lambda c: (device_rank(c.device), c.dtype, c.direction == "backward"))


def served_of(scan_run: ScanRun, cell: Capability) -> list[Served]:
    """Return what serves a case, with its code, the proof first."""
    texts = source_texts(scan_run=scan_run, paths={row["path"] for row in cell.implementations})
    served = []
    for row in cell.implementations:
        text = texts.get(row["path"])
        frame = None
        if text is not None:
            line = row["line"]
            frame = frame_of_source(text, flagged=(line, line), context=CONTEXT_LINES)
        is_proof = (row["path"], row["line"], row["symbol"]) == (cell.path, cell.line, cell.symbol)
        served.append(Served(row, is_proof, frame))
    return sorted(served, key=lambda row: not row.is_proof)
