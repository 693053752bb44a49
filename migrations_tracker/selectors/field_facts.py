"""A rule or a form in the field: where it stands now and stood before, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, F, Q, QuerySet, Window
from django.db.models.functions import RowNumber, Substr

from audit.models import (
    Branch,
    BranchScan,
    Commit,
    Precedent,
    PrecedentOpinion,
    Repository,
    Result,
    SiteEvent,
    SiteEventKind,
    SiteState,
)
from migrations_tracker.models import Comment
from migrations_tracker.selectors.site_list import NOT_TOLD, of_form

PLACES_SHOWN = 12
GONE_SHOWN = 8
SNIPPET_LINES = 12
COMMITS_SHOWN = 6
_BRANCH_COLUMNS = ("name", "repository__name", "repository__slug", "last_scan__commit__object_id")
_PLACE_COLUMNS = ("site_id", "branch_id", "path", "start_line", "symbol", "form", "result_id")


@dataclass(frozen=True, slots=True)
class Tally:
    """A number of sites, and what the list of sites is narrowed by to show just these."""

    name: str
    count: int
    query: str = ""


@dataclass(frozen=True, slots=True)
class BranchFacts:
    """A default branch: what is open by crate, what became of the rest, and what was open at its commits."""

    branch: Branch
    query: str
    crates: Sequence[Tally]
    outcomes: Sequence[Tally]
    commits: Sequence[tuple[Commit, int]]

    @property
    def open_total(self) -> int:
        """How many sites are open."""
        return sum(row.count for row in self.crates)

    @property
    def gone_total(self) -> int:
        """How many sites are gone."""
        return sum(row.count for row in self.outcomes)


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """Where a rule or a form occurs on the default branches; people spoke of `looked_at` sites."""

    branches: Sequence[BranchFacts]
    places: Sequence[SiteState]
    gone: Sequence[SiteState]
    looked_at: int
    open_by_form: Mapping[str, int]

    @property
    def open_total(self) -> int:
        """How many sites are open."""
        return sum(facts.open_total for facts in self.branches)

    @property
    def total(self) -> int:
        """How many sites there are and were."""
        return self.open_total + sum(facts.gone_total for facts in self.branches)


def field_facts(*, repositories: QuerySet[Repository], rule_id: str = "", form: str = "") -> FieldFacts:
    """Gather where a rule, or a form, occurs in some repositories."""
    default = _default_branches(repositories)
    # With the branches by number, an index answers that has the rule beside them.
    states = SiteState.objects.filter(branch__in=[branch.pk for branch in default]).order_by("-site_id")
    if rule_id:
        states = states.filter(rule_id=rule_id)
    if form:
        states = of_form(states, form)
    narrowed = {name: value for name, value in (("rule", rule_id), ("form", form)) if value}
    cells = _counted(states)
    occurs_on = {row[0] for row in cells}
    open_by_branch: Counter[int] = Counter()
    open_by_form: Counter[str] = Counter()
    for branch_id, is_open, _, _, form_key, number in cells:
        open_by_branch[branch_id] += number if is_open else 0
        open_by_form[form_key] += number if is_open else 0
    commits = _commits(states, open_by_branch)
    return FieldFacts(
        branches=[
            _branch_facts(branch, narrowed, [row[1:] for row in cells if row[0] == branch.pk], commits)
            for branch in default
            if branch.pk in occurs_on
        ],
        places=_on_branches(states.filter(is_open=True).only(*_PLACE_COLUMNS)[:PLACES_SHOWN], default),
        gone=_on_branches(_gone(states)[:GONE_SHOWN], default),
        looked_at=states.filter(site__in=_spoken_of()).count(),
        open_by_form=open_by_form,
    )


def snippets_of(*, states: Sequence[SiteState]) -> Mapping[int, str]:
    """Return the code of sites as it was when they were last seen, by the site's id."""
    rows = Result.objects.filter(pk__in=[state.result_id for state in states if state.result_id])
    texts = rows.annotate(start=Substr("snippet", 1, 2000)).values_list("site_id", "start")
    return {site_id: "\n".join(text.split("\n")[:SNIPPET_LINES]) for site_id, text in texts}


def on_default_branches(repositories: QuerySet[Repository]) -> QuerySet[SiteState]:
    """Return the states of sites on the default branches of some repositories."""
    return SiteState.objects.filter(
        branch__name=F("branch__repository__default_branch"), branch__repository__in=repositories
    )


def _default_branches(repositories: QuerySet[Repository]) -> list[Branch]:
    default = Branch.objects.filter(name=F("repository__default_branch"), repository__in=repositories)
    named = default.select_related("repository", "last_scan__commit").only(*_BRANCH_COLUMNS)
    return list(named.order_by("repository__name", "pk"))


def _counted(states: QuerySet[SiteState]) -> list[tuple[int, bool, str, str, str, int]]:
    """Count states by branch, whether they are open, crate, outcome and form, the most first.

    Grouped by the columns of the index that counts, in its order, they need no sorting and no hashing: that
    takes a third of the time, and the rows become few either way.
    """
    rows = (
        states.order_by()
        .values_list("branch_id", "is_open", "rule_id", "crate", "level", "outcome", "form")
        .annotate(number=Count("*"))
    )
    cells: Counter[tuple[int, bool, str, str, str]] = Counter()
    for branch_id, is_open, _, crate, _, outcome, form, number in rows:
        cells[branch_id, is_open, crate, outcome, form] += number
    found = [(*cell, number) for cell, number in cells.items()]
    return sorted(found, key=lambda row: (-row[5], *row[2:5]))


def _branch_facts(
    branch: Branch,
    narrowed: Mapping[str, str],
    cells: Sequence[tuple[bool, str, str, str, int]],
    commits: Mapping[int, Sequence[tuple[Commit, int]]],
) -> BranchFacts:
    query = {"repository": branch.repository.slug, **narrowed}
    crates: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    for is_open, crate, outcome, _, number in cells:
        if is_open:
            crates[crate] += number
        else:
            outcomes[outcome] += number
    return BranchFacts(
        branch=branch,
        query=urlencode(query),
        # The list can't be narrowed to what is outside any crate.
        crates=[
            Tally(crate, number, urlencode({**query, "crate": crate}) if crate else "")
            for crate, number in crates.most_common()
        ],
        outcomes=[
            Tally(outcome, number, urlencode({**query, "seen": "absent", "outcome": outcome or NOT_TOLD}))
            for outcome, number in outcomes.most_common()
        ],
        commits=commits.get(branch.pk, ()),
    )


def _commits(
    states: QuerySet[SiteState], open_by_branch: Mapping[int, int]
) -> dict[int, list[tuple[Commit, int]]]:
    """Return how many were open at the newest commits of each branch, reckoned back from those open now."""
    rank = Window(RowNumber(), partition_by=[F("branch_id")], order_by=[F("position").desc()])
    scans = (
        BranchScan.objects.filter(branch__in=list(open_by_branch))
        .annotate(rank=rank)
        .filter(rank__lte=COMMITS_SHOWN)
        .select_related("scan_run__commit")
        .only("branch_id", "scan_run__commit__object_id")
        .order_by("branch_id", "-position")
    )
    by_branch: dict[int, list[BranchScan]] = {}
    for scan in scans:
        by_branch.setdefault(scan.branch_id, []).append(scan)
    # What the oldest one brought is not asked for: often that is everything.
    asked = [scan.pk for row in by_branch.values() for scan in row[:-1]]
    # A site is of one repository, and so on one of the default branches.
    events = (
        SiteEvent.objects.filter(site__in=states.order_by().values("site"), branch_scan__in=asked)
        .order_by()
        .values_list("branch_scan_id")
        .annotate(number=Count("id") - 2 * Count("id", filter=Q(kind=SiteEventKind.CLOSED)))
    )
    gained = dict(events) if asked else {}
    found: dict[int, list[tuple[Commit, int]]] = {}
    for branch_id, newest_first in by_branch.items():
        count = open_by_branch[branch_id]
        for one in newest_first:
            found.setdefault(branch_id, []).append((one.scan_run.commit, count))
            count -= gained.get(one.pk, 0)
    return found


def _spoken_of() -> QuerySet[Precedent, Any]:
    """Name the sites of rulings, of what was said of those, and of comments."""
    opinions, comments = PrecedentOpinion.objects.order_by(), Comment.objects.exclude(site=None).order_by()
    return Precedent.objects.order_by().values("site").union(opinions.values("site"), comments.values("site"))


def _gone(states: QuerySet[SiteState]) -> QuerySet[SiteState]:
    """Name those of which it is told what became of them, with the commit where that is known."""
    gone = states.filter(is_open=False).exclude(outcome="").select_related("closed_scan__commit")
    return gone.only(*_PLACE_COLUMNS, "outcome", "outcome_evidence", "closed_scan__commit__object_id")


def _on_branches(states: QuerySet[SiteState], branches: Sequence[Branch]) -> list[SiteState]:
    """Read states with their branches, which are known."""
    by_id = {branch.pk: branch for branch in branches}
    found = list(states)
    for state in found:
        state.branch = by_id[state.branch_id]
    return found
