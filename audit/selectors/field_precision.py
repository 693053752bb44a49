"""How often people found a rule right where they looked, by form, and their rulings as labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db.models import BigIntegerField, Case, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce

from audit.knowledge.labels import Label, LabelVerdict, item_name
from audit.models import LineageRuling, Precedent, PrecedentKind, Repository, Result
from audit.selectors.rules import rule_get

# The other kinds don't say whether it is a site: one may be left as it is for either reason.
VERDICTS: Mapping[str, LabelVerdict] = {
    PrecedentKind.NOT_A_SITE.value: LabelVerdict.ALLOWED,
    PrecedentKind.ACCEPTED.value: LabelVerdict.VIOLATION,
    PrecedentKind.CATEGORY.value: LabelVerdict.VIOLATION,
}
READ_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class FormJudged:
    """The sites of a form that people judged in a repository, and those of them that are none."""

    repository: Repository
    rule_id: str
    form: str
    judged: int
    not_sites: int

    @property
    def percent(self) -> float:
        """The share of the judged that are sites."""
        return 100 * (self.judged - self.not_sites) / self.judged


@dataclass(frozen=True, slots=True)
class FieldPrecision:
    """What people judged of a rule or a form, by repository and form."""

    rows: Sequence[FormJudged]

    @property
    def judged(self) -> int:
        """How many sites were judged."""
        return sum(row.judged for row in self.rows)

    @property
    def not_sites(self) -> int:
        """How many of them are none."""
        return sum(row.not_sites for row in self.rows)

    @property
    def percent(self) -> float | None:
        """The share of the judged that are sites; None where nobody judged."""
        return 100 * (self.judged - self.not_sites) / self.judged if self.judged else None

    @property
    def repositories(self) -> Sequence[tuple[Repository, int, int]]:
        """The repositories with how many sites were judged in each, and how many are none."""
        return [
            (repository, sum(row.judged for row in rows), sum(row.not_sites for row in rows))
            for repository, group in groupby(self.rows, key=lambda row: row.repository)
            for rows in [list(group)]
        ]


def rulings_judging(
    *, repositories: QuerySet[Repository], rule_id: str = "", form: str = ""
) -> QuerySet[Precedent]:
    """Return the ruling in force on each site that says whether it is one; of several the newest.

    A ruling on a site that people made a part of another one is a ruling on that one, its `judged_site`.
    """
    merges = LineageRuling.objects.order_by().filter(merged_site__isnull=False, undone_at=None)
    into = merges.filter(merged_site=OuterRef("site_id")).order_by("-id").values("site_id")[:1]
    # What a site was merged into is looked up for the few that were.
    was_merged = When(site__in=merges.values("merged_site"), then=Subquery(into))
    in_force = Precedent.objects.annotate(
        judged_site=Case(was_merged, default=F("site_id"), output_field=BigIntegerField())
    ).filter(repository__in=repositories, ended_at=None, kind__in=VERDICTS)
    newer = in_force.order_by().filter(judged_site=OuterRef("judged_site"), pk__gt=OuterRef("pk"))
    newest = in_force.filter(~Exists(newer))
    wanted = {"rule_id": rule_id, "form": form}
    return newest.filter(**{column: value for column, value in wanted.items() if value})


def field_precision(
    *, repositories: QuerySet[Repository], rule_id: str = "", form: str = ""
) -> FieldPrecision:
    """Count the sites of a rule or a form that people judged, and those that they found to be none."""
    rows = (
        rulings_judging(repositories=repositories, rule_id=rule_id, form=form)
        .order_by()
        .values("repository_id", "repository__name", "repository__slug", "rule_id", "form")
        .annotate(judged=Count("id"), none=Count("id", filter=Q(kind=PrecedentKind.NOT_A_SITE)))
        .order_by("repository__name", "repository_id", "rule_id", "form")
    )
    return FieldPrecision(
        [FormJudged(_named(row), row["rule_id"], row["form"], row["judged"], row["none"]) for row in rows]
    )


def _named(row: Mapping[str, Any]) -> Repository:
    """Make the repository of a row with what names it; the rest is read where somebody asks for it."""
    values = [row["repository_id"], row["repository__name"], row["repository__slug"]]
    return Repository.from_db(None, ["id", "name", "slug"], values)


def labels(*, repository: Repository, rule_id: str = "", form: str = "", commit: str = "") -> Iterator[Label]:
    """Yield a label for each site that a person judged, in order of place; `commit` is the start of an id.

    Both lines are of the commit that was judged; where its result is not kept, only the first is known.
    """
    rulings = rulings_judging(
        repositories=Repository.objects.filter(pk=repository.pk), rule_id=rule_id, form=form
    )
    if commit:
        rulings = rulings.filter(commit__object_id__startswith=commit)
    ruled_on = Result.objects.filter(
        site=OuterRef("judged_site"),
        scan_run__commit=OuterRef("commit"),
        path=OuterRef("path"),
        start_line=OuterRef("line"),
    ).order_by("-scan_run_id")
    rows = (
        rulings.order_by("path", "line", "id")
        .annotate(ends=Coalesce(Subquery(ruled_on.values("end_line")[:1]), F("line")))
        .select_related("commit")
        .defer("code", "shingles")
    )
    for ruling in rows.iterator(READ_AT_ONCE):
        rule = rule_get(rule_id=ruling.rule_id)
        yield Label(
            path=ruling.path,
            line=ruling.line,
            end_line=ruling.ends,
            symbol=item_name(ruling.symbol),
            rule=rule.id if rule.is_retired else rule.name,
            form=ruling.form,
            verdict=VERDICTS[ruling.kind],
            why=ruling.reason,
            commit=ruling.commit.object_id if ruling.commit else "",
        )
