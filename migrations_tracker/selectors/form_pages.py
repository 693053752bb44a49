"""Forms in the field: where they occur now, what became of them, what people say of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, F, QuerySet
from django.db.models.functions import Substr

from audit.models import Branch, Repository, Result, SiteState
from audit.policy.forms import FORMS, Form
from audit.selectors.rules import RulePage, rule_get

PLACES_SHOWN = 12
GONE_SHOWN = 8
SNIPPET_LINES = 12


@dataclass(frozen=True, slots=True)
class CrateCount:
    """How many open sites a crate has at the commit of a branch's last scan."""

    branch: Branch
    crate: str
    count: int


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """Where a form occurs: counts by crate at each branch's commit, places, what became of it."""

    crates: Sequence[CrateCount]
    places: Sequence[SiteState]
    gone: Sequence[SiteState]
    outcomes: Sequence[tuple[str, int]]

    @property
    def open_total(self) -> int:
        """How many sites are open on the default branches."""
        return sum(row.count for row in self.crates)

    @property
    def gone_total(self) -> int:
        """How many sites are gone from the default branches."""
        return sum(count for _, count in self.outcomes)

    @property
    def by_branch(self) -> Sequence[tuple[Branch, int, Sequence[CrateCount]]]:
        """The counts by branch, each with its crates, the fullest first."""
        branches = {row.branch.pk: row.branch for row in self.crates}
        return [
            (branch, sum(row.count for row in rows), rows)
            for pk, branch in branches.items()
            for rows in [[row for row in self.crates if row.branch.pk == pk]]
        ]


@dataclass(frozen=True, slots=True)
class FormRow:
    """A form in the list, with its rules and how many open sites it has."""

    form: Form
    rules: Sequence[RulePage]
    count: int


def form_rows(*, repositories: QuerySet[Repository]) -> list[FormRow]:
    """List the forms in the order of their rules, with open sites on the default branches."""
    counts = Counter(
        dict(
            _on_default_branches(repositories)
            .filter(is_open=True)
            .order_by()
            .values_list("form")
            .annotate(Count("id"))
            .values_list("form", "id__count")
        )
    )
    return [
        FormRow(form, [rule_get(rule_id=rule_id) for rule_id in form.rules], counts[form.key])
        for form in FORMS
    ]


def field_facts(*, repositories: QuerySet[Repository], form: str) -> FieldFacts:
    """Gather where a form occurs."""
    states = _on_default_branches(repositories).filter(form=form)
    is_open, gone = states.filter(is_open=True), states.filter(is_open=False)
    counts = list(
        is_open.order_by().values_list("branch_id", "crate").annotate(number=Count("id")).order_by("-number")
    )
    branches = {
        branch.pk: branch
        for branch in Branch.objects.filter(pk__in={row[0] for row in counts}).select_related(
            "repository", "last_scan__commit"
        )
    }
    outcomes = Counter(dict(gone.order_by().values_list("outcome").annotate(Count("id"))))
    return FieldFacts(
        crates=[CrateCount(branches[branch_id], crate, number) for branch_id, crate, number in counts],
        places=list(_shown(is_open)[:PLACES_SHOWN]),
        gone=list(_shown(gone.exclude(outcome=""))[:GONE_SHOWN]),
        outcomes=outcomes.most_common(),
    )


def snippets_of(*, states: Sequence[SiteState]) -> Mapping[int, str]:
    """Return the code of sites as it was when they were last seen, by the site's id."""
    rows = Result.objects.filter(pk__in=[state.result_id for state in states if state.result_id])
    texts = rows.annotate(start=Substr("snippet", 1, 2000)).values_list("site_id", "start")
    return {site_id: "\n".join(text.split("\n")[:SNIPPET_LINES]) for site_id, text in texts}


def _on_default_branches(repositories: QuerySet[Repository]) -> QuerySet[SiteState]:
    return SiteState.objects.filter(
        branch__name=F("branch__repository__default_branch"), branch__repository__in=repositories
    )


def _shown(states: QuerySet[SiteState]) -> QuerySet[SiteState]:
    return states.select_related("site", "branch__repository", "closed_scan__commit").order_by("-site_id")
