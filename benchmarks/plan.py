"""Write the plan that is proposed for ferrotorch beside the one that was published.

`python -m benchmarks.plan REPO --rev 1af2b9cb7 > docs/plan.md`

REPO is a folder or a git repository. The published plan had nine items; they are written down in
`PUBLISHED` with how each is recognised among the proposed units. The exit status is 1 when fewer than
eight of them came out, or when the order that was published does not hold.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import networkx as nx

from audit.parity.catalogue import newest
from audit.parity.matrix import Matrix
from audit.parity.operations import layout_of
from audit.rules import RULES
from audit.scanner.cache import DirectoryCache
from audit.scanner.inventory import Inventory, inventory_of
from audit.scanner.judge import Judgement
from audit.scanner.pipeline import scan
from audit.scanner.profile_choice import profile_for
from audit.scanner.ptx.assembler import find_assembler
from audit.scanner.report import CrateInfo, Outcome, ScanReport
from audit.scanner.source.opening import open_source
from migrations_tracker.scheduling.catalogue import Hours
from migrations_tracker.scheduling.gathering import CaseFact, Facts, facts_of_cells, facts_of_results
from migrations_tracker.scheduling.items import ItemKind, NeedKind
from migrations_tracker.scheduling.precedence import PrecedenceReason
from migrations_tracker.scheduling.proposing import Proposal, propose
from migrations_tracker.scheduling.units import UnitKind, WorkUnit

WANTED = 8


@dataclass(frozen=True, slots=True)
class PublishedItem:
    """One item of the published plan, and which of our units do the same work."""

    number: int
    title: str
    is_same: Callable[[WorkUnit], bool]


def _makes(kind: NeedKind, words: str) -> Callable[[WorkUnit], bool]:
    return lambda unit: unit.need is not None and unit.need.kind is kind and words in unit.need.name


def _in_crate(crate: str) -> Callable[[WorkUnit], bool]:
    return lambda unit: unit.crate == crate and unit.kind is not UnitKind.DECISION


PUBLISHED = (
    PublishedItem(1, "the workspace dependency `tracing`", _makes(NeedKind.WORKSPACE_DEPENDENCY, "tracing")),
    PublishedItem(
        2, "the shared error variant `GpuError::Unsupported`", _makes(NeedKind.ERROR_VARIANT, "Unsupported")
    ),
    PublishedItem(3, "the GPU crate", _in_crate("ferrotorch-gpu")),
    PublishedItem(4, "nn", _in_crate("ferrotorch-nn")),
    PublishedItem(5, "jit", _in_crate("ferrotorch-jit")),
    PublishedItem(6, "distributed", _in_crate("ferrotorch-distributed")),
    PublishedItem(7, "distributions", _in_crate("ferrotorch-distributions")),
    PublishedItem(8, "cubecl's redesign", _makes(NeedKind.STORAGE_REDESIGN, "ferrotorch-cubecl")),
    PublishedItem(9, "xpu, which stands on cubecl", _in_crate("ferrotorch-xpu")),
)


@dataclass(frozen=True, slots=True)
class OrderClaim:
    """An order that was published: each of `firsts` before each of `thens`."""

    text: str
    firsts: tuple[str, ...]
    thens: tuple[str, ...]

    def broken(self, graph: nx.DiGraph[str]) -> list[tuple[str, str]]:
        """Return the pairs of units between which nothing makes the first come first."""
        return [
            (first, then)
            for first in self.firsts
            for then in self.thens
            if not nx.has_path(graph, first, then)
        ]


def read_facts(place: Path, revision: str) -> tuple[Facts, ScanReport]:
    """Scan a commit and gather what the plan needs of it."""
    source = open_source(place, revision)
    taken: list[tuple[Inventory, tuple[CaseFact, ...]]] = []

    def observe(judgement: Judgement) -> None:
        packages = judgement.workspace.packages
        layout = layout_of(package.name for package in packages)
        cells = Matrix(judgement.summaries, newest(), layout).cells() if layout is not None else ()
        crates = [CrateInfo(one.name, one.folder, one.is_workspace_member) for one in packages]
        taken.append((inventory_of(judgement), facts_of_cells(cells, crates)))

    with tempfile.TemporaryDirectory() as cache:
        report = scan(
            source,
            profile=profile_for(source, "").profile,
            rules=RULES,
            cache=DirectoryCache(Path(cache)),
            assembler=find_assembler(cache=Path(cache), jobs=1),
            observe=observe,
        )
    inventory, cases = taken[0]
    return Facts(facts_of_results(report.results), cases, inventory), report


def order_claims(proposal: Proposal) -> tuple[OrderClaim, ...]:
    """Return the partial order that was published, in terms of the proposed units."""
    units = proposal.units

    def found(number: int) -> tuple[str, ...]:
        return tuple(unit.key for unit in units if PUBLISHED[number - 1].is_same(unit))

    consumers = tuple(unit.key for unit in units if _needs(proposal, unit, "GpuError::Unsupported"))
    gated = tuple(unit.key for unit in units if unit.outcome is Outcome.OPT_IN_FALLBACK)
    return (
        OrderClaim("`tracing` before every opt-in fallback", found(1), gated),
        OrderClaim("the error variant before every consumer", found(2), consumers),
        OrderClaim("cubecl's storage before every unit of xpu", found(8), found(9)),
    )


def _needs(proposal: Proposal, unit: WorkUnit, name: str) -> bool:
    needs = (need for item_id in unit.item_ids for need in proposal.items[item_id].needs)
    return any(need.name == name for need in needs)


def graph_of(proposal: Proposal) -> nx.DiGraph[str]:
    """Return the precedences as a graph."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(unit.key for unit in proposal.units)
    graph.add_edges_from(proposal.graph.pairs())
    return graph


def hours_of(proposal: Proposal, units: Iterable[WorkUnit]) -> str:
    """Return the hours of units as likely (low to high)."""
    total = Hours(0.0, 0.0, 0.0)
    for unit in units:
        total += proposal.estimates[unit.key].hours
    likely, low, high = (
        f"{value:.{0 if value >= 10 else 1}f}" for value in (total.likely, total.low, total.high)
    )
    return f"{likely} ({low} to {high})"


def document(proposal: Proposal, report: ScanReport) -> Iterator[str]:
    """Yield the document's lines."""
    units = proposal.units
    items = proposal.items.values()
    yield "# The plan proposed for ferrotorch, beside the published one"
    yield ""
    sites, gaps = (sum((item.kind is ItemKind.GAP) is is_gap for item in items) for is_gap in (False, True))
    graph, coverage = proposal.graph, proposal.coverage
    yield (
        f"Made by `python -m benchmarks.plan REPO --rev 1af2b9cb7`, commit `{report.source.commit_id[:9]}`: "
        f"{sites:,} open sites and {gaps} groups of capability gaps (an operator and direction on a device, "
        f"its dtypes together) became {len(units)} units with {len(graph.edges)} precedences and "
        f"{len(graph.cycles)} cycles. {len(coverage.missing)} items are in no unit and "
        f"{len(coverage.repeated)} in more than one. Hours are likely (low to high); their rates are guesses "
        "until finished units correct them."
    )
    not_run = [run.rule_id for run in report.rule_runs if run.status != "ran"]
    if not_run:
        yield ""
        yield f"Rules that did not run, so that nothing of theirs is planned: {', '.join(not_run)}."
    yield ""
    yield "## The nine published items"
    yield ""
    yield "| Published item | Came out as | Units | Items | Hours | Waits for |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for item in PUBLISHED:
        yield _published_row(proposal, item)
    yield ""
    yield (
        f"{_came_out(proposal)} of the {len(PUBLISHED)} came out as units or groups of units. Theirs were "
        "one item for each crate; ours are bundles by cause, outcome and nearness, so that one person can do "
        "one in a day or a few."
    )
    yield ""
    yield "## Their order"
    yield ""
    yield "| Published order | Holds | Pairs of units that it was asked of |"
    yield "| --- | --- | --- |"
    reach = graph_of(proposal)
    for claim in order_claims(proposal):
        broken, asked = claim.broken(reach), len(claim.firsts) * len(claim.thens)
        holds = "yes" if asked and not broken else f"no: {len(broken)} pairs" if broken else "nothing to ask"
        yield f"| {claim.text} | {holds} | {asked} |"
    yield ""
    yield from _differences(proposal)
    yield ""
    yield "## All units"
    yield ""
    yield "| Phase | Unit | Category | Items | Hours | Waits for |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for unit in units:
        waits = len(proposal.graph.prerequisites(unit.key))
        yield (
            f"| {unit.phase.value} | {unit.title} | {unit.category.value} | {len(unit.item_ids)} "
            f"| {hours_of(proposal, [unit])} | {waits} |"
        )


def _published_row(proposal: Proposal, item: PublishedItem) -> str:
    mine = [unit for unit in proposal.units if item.is_same(unit)]
    keys = {unit.key for unit in mine}
    edges = [edge for edge in proposal.graph.edges if edge.after in keys and edge.before not in keys]
    needs = [e for e in edges if e.reason in (PrecedenceReason.NEEDS, PrecedenceReason.STORAGE)]
    before = sorted({proposal.by_key[edge.before].title for edge in needs})
    kinds = sorted({unit.kind.value for unit in mine})
    count = sum(len(unit.item_ids) for unit in mine)
    return (
        f"| {item.number}. {item.title} | {', '.join(kinds) or 'nothing'} | {len(mine)} | {count} "
        f"| {hours_of(proposal, mine)} | {'; '.join(before) or 'nothing'} |"
    )


def _came_out(proposal: Proposal) -> int:
    return sum(any(item.is_same(unit) for unit in proposal.units) for item in PUBLISHED)


def _differences(proposal: Proposal) -> Iterator[str]:
    theirs = [item for item in PUBLISHED if not any(item.is_same(unit) for unit in proposal.units)]
    ours = [unit for unit in proposal.units if not any(item.is_same(unit) for item in PUBLISHED)]
    yield "## What theirs had that ours has not"
    yield ""
    for item in theirs:
        yield f"- Item {item.number}, {item.title}: no unit does it."
    yield (
        "- A coordination list for each item: whom to tell. Ours names the consumers that the linker found "
        "and the behavioural change to announce, but knows no people outside the team."
    )
    yield (
        "- Costs in the words of those who would do the work. Ours are rates times counts, with their range, "
        "until finished units correct them."
    )
    yield ""
    yield "## What ours has that theirs had not"
    yield ""
    yield "| Crate | What | Units | Items | Hours |"
    yield "| --- | --- | --- | --- | --- |"
    for (crate, what), group in sorted(_grouped(ours).items()):
        count = sum(len(unit.item_ids) for unit in group)
        yield f"| {crate} | {what} | {len(group)} | {count} | {hours_of(proposal, group)} |"


def _grouped(units: Sequence[WorkUnit]) -> dict[tuple[str, str], list[WorkUnit]]:
    groups: dict[tuple[str, str], list[WorkUnit]] = {}
    for unit in units:
        what = unit.title if unit.need is not None else ", ".join(unit.rules)
        groups.setdefault((unit.crate or "the workspace", what), []).append(unit)
    return groups


def main() -> int:
    """Write the document, or say what does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", metavar="REPO", type=Path)
    parser.add_argument("--rev", default="1af2b9cb7")
    arguments = parser.parse_args()
    facts, report = read_facts(arguments.place, arguments.rev)
    proposal = propose(facts)
    sys.stdout.writelines(f"{line}\n" for line in document(proposal, report))
    graph = graph_of(proposal)
    is_ordered = all(claim.thens and not claim.broken(graph) for claim in order_claims(proposal))
    return 0 if is_ordered and _came_out(proposal) >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
