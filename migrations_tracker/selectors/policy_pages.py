"""What the pages of a repository's own policy show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from audit.models import Branch, Precedent, Repository, RepositoryPolicy
from audit.policy.clauses import VERSIONS, Clause
from audit.policy.editions import Edition, PolicyVersion, house_edition, levels_profile
from audit.scanner.profile import DEFAULT_PROFILE
from audit.scanner.report import Level
from audit.selectors.repository_policies import edition_of, edition_of_row
from audit.selectors.rules import RulePage, rule_list

VERSIONS_SHOWN = 100
CHOICES_SHOWN = 400
PRECEDENTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class RuleLevel:
    """A rule, and the level that the repository gave it, if any."""

    rule: RulePage
    given: Level | None


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
        return _named(self.repository, self.edition.version.own)

    @property
    def newest_name(self) -> str:
        """How an address names the version in force."""
        return _named(self.repository, self.newest.number if self.newest is not None else 0)

    @property
    def named_versions(self) -> list[tuple[RepositoryPolicy, str, str]]:
        """The versions, with how an address names each and the one before it."""
        return [
            (one, _named(self.repository, one.number), _named(self.repository, one.number - 1))
            for one in self.versions
        ]

    @property
    def profile_name(self) -> str:
        """The profile that a file for the command line extends."""
        last = self.branch.last_scan if self.branch else None
        return last.profile_name if last else DEFAULT_PROFILE

    @property
    def profile_text(self) -> str:
        """The levels as a profile for the command line."""
        return levels_profile(self.edition, name=self.repository.slug, extends=self.profile_name)


@dataclass(frozen=True, slots=True)
class EditionChoice:
    """An edition that can be compared: how an address names it, and how a person does."""

    value: str
    label: str


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
    edition = edition_of_row(row)
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


def _named(repository: Repository, number: int) -> str:
    version = PolicyVersion(own=number)
    return f"{repository.slug}:{version}" if number else str(version)


def clause_of_repository(
    *, repository: Repository, clause_id: str
) -> tuple[Clause, RepositoryPolicy, bool] | None:
    """Return a repository's own clause as it last stood, its version, and whether that is in force."""
    rows = RepositoryPolicy.objects.filter(repository=repository).order_by("-number")
    newest = rows.first()
    row = newest
    if newest is not None and all(one["id"] != clause_id for one in newest.clauses):
        row = rows.filter(clauses__contains=[{"id": clause_id}]).first()
    if row is None:
        return None
    found = [clause for clause in edition_of_row(row).clauses if clause.is_own and clause.id == clause_id]
    return (found[0], row, row == newest) if found else None


def precedents_of_clause(
    *, clause_id: str, repositories: QuerySet[Repository]
) -> tuple[int, Sequence[Precedent]]:
    """Return how many rulings rest on a clause, and the newest of them."""
    rulings = Precedent.objects.filter(clause_id=clause_id, repository__in=repositories)
    return rulings.count(), list(rulings.select_related("repository", "decided_by")[:PRECEDENTS_SHOWN])


def policies_of_repositories(*, repositories: QuerySet[Repository]) -> list[RepositoryPolicy]:
    """Return the policies in force of the repositories that have their own."""
    rows = RepositoryPolicy.objects.filter(repository__in=repositories).order_by("repository_id", "-number")
    return sorted(
        rows.distinct("repository_id").select_related("repository"), key=lambda row: row.repository.name
    )


def edition_choices(*, repositories: QuerySet[Repository]) -> list[EditionChoice]:
    """List the editions that can be compared: the house's, then those of the repositories, newest first."""
    rows = RepositoryPolicy.objects.filter(repository__in=repositories).order_by(
        "repository__name", "-number"
    )
    columns = ("repository__slug", "repository__name", "house_version", "number", "published_at")
    own = [
        EditionChoice(
            f"{slug}:{PolicyVersion(house, number)}",
            f"{name}, {PolicyVersion(house, number)} of {published:%Y-%m-%d}",
        )
        for slug, name, house, number, published in rows.values_list(*columns)[:CHOICES_SHOWN]
    ]
    return [EditionChoice(version, f"The house, {version}") for version in reversed(VERSIONS)] + own


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
