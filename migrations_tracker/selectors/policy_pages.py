"""What the pages of a repository's own policy show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber

from audit.models import Branch, Precedent, Repository, RepositoryPolicy
from audit.policy.clauses import CURRENT_VERSION, VERSIONS, Clause
from audit.policy.editions import Edition, PolicyVersion, house_edition, levels_profile
from audit.scanner.profile import DEFAULT_PROFILE
from audit.scanner.report import Level
from audit.selectors.repository_policies import edition_of, edition_of_row, version_of_row
from audit.selectors.rules import RulePage, rule_list
from migrations_tracker.selectors.policy_conflicts import clause_in

VERSIONS_SHOWN = 100
CHOICES_SHOWN = 400
PRECEDENTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class RuleLevel:
    """A rule, and the level that the repository gave it, if any."""

    rule: RulePage
    given: Level | None


class NamedVersion(NamedTuple):
    """A publication with its version, and how an address names that and the one before it."""

    row: RepositoryPolicy
    version: PolicyVersion
    name: str
    before: str


@dataclass(frozen=True, slots=True)
class PolicyPage:
    """A version of a repository's policy. `row` is None where the house's alone holds."""

    repository: Repository
    edition: Edition
    row: RepositoryPolicy | None
    newest: RepositoryPolicy | None
    versions: Sequence[RepositoryPolicy]
    branch: Branch | None
    rules: Sequence[RuleLevel]

    @property
    def own(self) -> tuple[Clause, ...]:
        """The clauses that the repository added."""
        return tuple(clause for clause in self.edition.clauses if clause.is_own)

    @property
    def is_in_force(self) -> bool:
        """Whether the next scan is judged under it."""
        return self.row == self.newest

    @property
    def judged_under(self) -> str:
        """The version under which the default branch was judged last; empty where it never was."""
        return self.branch.last_scan.policy_version if self.branch and self.branch.last_scan else ""

    @property
    def awaits_scan(self) -> bool:
        """Whether the default branch was judged under another version than the one in force."""
        return bool(self.judged_under) and self.judged_under != str(self.edition.version)

    @property
    def compare_name(self) -> str:
        """How an address names this version."""
        return _named(self.repository, self.edition.version)

    @property
    def newest_name(self) -> str:
        """How an address names the version in force."""
        return _named(self.repository, version_of_row(self.newest, newest=self.newest))

    @property
    def named_versions(self) -> list[NamedVersion]:
        """The versions, newest first, with how an address names each and the one before it."""
        versions = [version_of_row(one, newest=self.newest) for one in self.versions]
        names = [_named(self.repository, version) for version in versions]
        before = [*names[1:], self._name_before_listed] if names else []
        return [NamedVersion(*one) for one in zip(self.versions, versions, names, before, strict=True)]

    @property
    def _name_before_listed(self) -> str:
        """How an address names the version before the last that is listed."""
        last = self.versions[-1]
        return _named(self.repository, PolicyVersion(last.house_version, last.number - 1))

    @property
    def profile_name(self) -> str:
        """The profile that a file for the command line extends."""
        last = self.branch.last_scan if self.branch else None
        return last.profile_name if last else DEFAULT_PROFILE

    @property
    def profile_text(self) -> str:
        """The levels as a profile for the command line."""
        known = replace(self.edition, levels=self.levels_of_rules)
        return levels_profile(known, name=self.repository.slug, extends=self.profile_name)

    @property
    def levels_of_rules(self) -> Mapping[str, Level]:
        """The levels given to rules that the scanner still has: it takes no others."""
        return {one.rule.id: one.given for one in self.rules if one.given is not None}


@dataclass(frozen=True, slots=True)
class EditionChoice:
    """An edition that can be compared: how an address names it, and how a person does."""

    value: str
    label: str


class EditionChoices(NamedTuple):
    """The editions to choose from, and how many more there are."""

    listed: Sequence[EditionChoice]
    left_out: int


def policy_page(*, repository: Repository, number: int | None) -> PolicyPage | None:
    """Return the policy in force, or a version by its number, where 0 is the house's alone."""
    versions = list(
        RepositoryPolicy.objects.filter(repository=repository).select_related("author")[:VERSIONS_SHOWN]
    )
    newest = versions[0] if versions else None
    row = newest
    if number is not None:
        row = next((one for one in versions if one.number == number), None)
        if row is None and number and len(versions) == VERSIONS_SHOWN:
            row = RepositoryPolicy.objects.filter(repository=repository, number=number).first()
    if number and row is None:
        return None
    edition = edition_of_row(row, newest=newest)
    branches = Branch.objects.filter(repository=repository, name=repository.default_branch)
    return PolicyPage(
        repository=repository,
        edition=edition,
        row=row,
        newest=newest,
        versions=versions,
        branch=branches.select_related("last_scan").first(),
        rules=[RuleLevel(rule, edition.levels.get(rule.id)) for rule in rule_list()],
    )


def _named(repository: Repository, version: PolicyVersion) -> str:
    return f"{repository.slug}:{version}" if version.own else str(version)


@dataclass(frozen=True, slots=True)
class OwnClausePage:
    """A repository's own clause as it stood in a version, and as it stands in the one in force.

    `today` is None where the version in force has it no more.
    """

    repository: Repository
    clause: Clause
    row: RepositoryPolicy
    newest: RepositoryPolicy
    today: Clause | None

    @property
    def is_in_force(self) -> bool:
        """Whether the version is the one in force."""
        return self.row == self.newest

    @property
    def is_changed(self) -> bool:
        """Whether the clause says something else today."""
        return self.today is not None and self.today != self.clause

    @property
    def version(self) -> PolicyVersion:
        """The version in which the clause stands like this."""
        return version_of_row(self.row, newest=self.newest)

    @property
    def version_today(self) -> PolicyVersion:
        """The version in force."""
        return version_of_row(self.newest, newest=self.newest)

    @property
    def compare_names(self) -> tuple[str, str]:
        """How an address names both versions."""
        return _named(self.repository, self.version), _named(self.repository, self.version_today)


def clause_of_repository(
    *, repository: Repository, clause_id: str, number: int | None = None
) -> OwnClausePage | None:
    """Return a repository's own clause in a version, or without one as it last stood; None for none."""
    rows = RepositoryPolicy.objects.filter(repository=repository).order_by("-number")
    newest = rows.first()
    if newest is None:
        return None
    today = clause_in(newest, clause_id=clause_id)
    if number is None:
        row = newest if today else rows.filter(clauses__contains=[{"id": clause_id}]).first()
    else:
        row = newest if number == newest.number else rows.filter(number=number).first()
    clause = clause_in(row, clause_id=clause_id)
    if row is None or clause is None:
        return None
    return OwnClausePage(repository=repository, clause=clause, row=row, newest=newest, today=today)


def precedents_of_clause(
    *, clause_id: str, repositories: QuerySet[Repository]
) -> tuple[int, Sequence[Precedent]]:
    """Return how many rulings in force rest on a clause, and the newest of them."""
    rulings = Precedent.objects.filter(clause_id=clause_id, repository__in=repositories, ended_at=None)
    return rulings.count(), list(rulings.select_related("repository", "decided_by")[:PRECEDENTS_SHOWN])


def policies_of_repositories(*, repositories: QuerySet[Repository]) -> list[RepositoryPolicy]:
    """Return the policies in force of the repositories that have their own."""
    rows = RepositoryPolicy.objects.filter(repository__in=repositories).order_by("repository_id", "-number")
    return sorted(
        rows.distinct("repository_id").select_related("repository"), key=lambda row: row.repository.name
    )


def edition_choices(*, repositories: QuerySet[Repository], chosen: Sequence[str] = ()) -> EditionChoices:
    """List the editions that can be compared: the house's, then those of the repositories, newest first.

    Where there are too many, the oldest of each repository are left out before those of another; `chosen`
    are listed all the same.
    """
    rows = RepositoryPolicy.objects.filter(repository__in=repositories).annotate(
        behind=Window(RowNumber(), partition_by="repository_id", order_by=F("number").desc())
    )
    columns = ("behind", "repository__slug", "repository__name", "house_version", "number", "published_at")
    newest_first = rows.order_by("behind", "repository__name", "repository_id").values_list(*columns)
    listed = sorted(newest_first[:CHOICES_SHOWN], key=lambda row: (row[2], row[1], row[0]))
    own = [
        EditionChoice(f"{slug}:{version}", f"{name}, {version} of {published:%Y-%m-%d}")
        for behind, slug, name, house, number, published in listed
        for version in _versions_of(house, number, is_in_force=behind == 1)
    ]
    house_choices = [EditionChoice(version, f"The house, {version}") for version in reversed(VERSIONS)]
    known = {choice.value for choice in (*house_choices, *own)}
    beside = [EditionChoice(value, value) for value in dict.fromkeys(chosen) if value not in known]
    left_out = rows.count() - len(listed)
    return EditionChoices([*house_choices, *own, *beside], left_out)


def _versions_of(house: str, number: int, *, is_in_force: bool) -> list[PolicyVersion]:
    """Return what a publication is called: one in force goes with the house's policy of today, too."""
    houses = [CURRENT_VERSION, house] if is_in_force else [house]
    return [PolicyVersion(one, number) for one in dict.fromkeys(houses)]


def edition_named(*, value: str, repositories: QuerySet[Repository]) -> Edition | None:
    """Return the edition that an address names: `1`, or `SLUG:1+3`; None for one that is not to be seen."""
    slug, is_own, text = value.rpartition(":")
    version = PolicyVersion.parse(text)
    if version is None or bool(version.own) != bool(is_own):
        return None
    if not is_own:
        return house_edition(version.house) if version.house in VERSIONS else None
    repository = repositories.filter(slug=slug).first()
    return edition_of(repository=repository, version=version) if repository is not None else None
