"""Where cross-links lead, and which lead nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.urls import reverse

from audit.knowledge.links import Link, LinkKind
from audit.knowledge.rendering import Resolver, render_markdown
from audit.models import (
    Crate,
    FallbackSite,
    KnowledgeEntry,
    LinkOrigin,
    Precedent,
    Repository,
    RepositoryPolicy,
)
from audit.parity.catalogue import newest
from audit.parity.counterparts import is_known
from audit.policy.clauses import OWN_LETTER, own_clauses
from audit.selectors.policy import clause_find
from audit.selectors.rules import rule_find

_NUMBERED = (LinkKind.SITE, LinkKind.ENTRY, LinkKind.PRECEDENT)
Found = Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Sight:
    """What a reader sees: some repositories; `owner` is the one that the text belongs to, if any."""

    repositories: QuerySet[Repository]
    owner: Repository | None = None


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link of a published entry that leads nowhere any more."""

    entry: KnowledgeEntry
    link: str


def links_resolve(*, links: Iterable[Link], sight: Sight) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the address and the name behind each link that leads somewhere, one query a kind at most.

    What is in a repository that the reader does not see is as if it were not there.
    """
    wanted: dict[str, set[str]] = {}
    for link in links:
        wanted.setdefault(link.kind, set()).add(link.target)
    return {
        (kind, target): found
        for kind, targets in wanted.items()
        if kind
        for target, found in _RESOLVERS[LinkKind(kind)](targets, sight).items()
    }


def links_broken(*, links: Sequence[Link], sight: Sight) -> list[Link]:
    """List the links that lead nowhere."""
    found = links_resolve(links=links, sight=sight)
    return [link for link in links if (link.kind, link.target) not in found]


def entry_html(*, text: str, links: Sequence[Link], sight: Sight) -> str:
    """Render an entry's text, with its cross-links as a reader may follow them."""
    found = links_resolve(links=links, sight=sight)
    resolve: Resolver = lambda kind, target: found.get((kind, target))  # noqa: E731
    return render_markdown(text, resolve)


def attached_list(*, entry: KnowledgeEntry, sight: Sight) -> list[tuple[str, str]]:
    """List addresses and names of what an entry is attached to; no address for what is gone or hidden."""
    links = [
        Link(one.kind, one.target, "", 0) for one in entry.links.all() if one.origin == LinkOrigin.ATTACHED
    ]
    found = links_resolve(links=links, sight=sight)
    return [found.get((link.kind, link.target), ("", f"{link.kind}:{link.target}")) for link in links]


def entries_broken() -> list[BrokenLink]:
    """List what published entries link to that is not there any more."""
    broken, everything = [], Repository.objects.all()
    for entry in KnowledgeEntry.objects.filter(published_number__gt=0).select_related("repository"):
        links = [Link(one.kind, one.target, "", 0) for one in entry.links.all()]
        broken += [
            BrokenLink(entry, str(link))
            for link in links_broken(links=links, sight=Sight(everything, entry.repository))
        ]
    return broken


def _rules(targets: set[str], sight: Sight) -> Found:
    pages = {target: rule_find(key=target, repositories=sight.repositories) for target in targets}
    return {
        target: (reverse("rule-detail", args=[page.id]), f"{page.id} {page.name}")
        for target, page in pages.items()
        if page is not None and not page.is_retired
    }


def _clauses(targets: set[str], sight: Sight) -> Found:
    pages = {target: clause_find(clause_id=target) for target in targets}
    house = {
        target: (reverse("clause-detail", args=[page.clause.id]), f"{page.clause.id} {page.clause.title}")
        for target, page in pages.items()
        if page is not None
    }
    return {**house, **_own_clauses({target for target in targets if is_own_clause(target)}, sight)}


def is_own_clause(target: str) -> bool:
    """Tell whether what a link to a clause names is one of a repository, `P1` or `SLUG:P1`."""
    return target.rpartition(":")[2].startswith(OWN_LETTER)


def _own_clauses(targets: set[str], sight: Sight) -> Found:
    """Find clauses of repositories as they are in force: without a repository, those of the text's own."""
    owner = sight.owner.slug if sight.owner is not None else ""
    named = {target: target.rpartition(":")[0] or owner for target in targets}
    slugs = set(named.values()) - {""}
    if not slugs:
        return {}
    rows = RepositoryPolicy.objects.filter(
        repository__in=sight.repositories, repository__slug__in=slugs
    ).order_by("repository_id", "-number")
    in_force = rows.distinct("repository_id").select_related("repository")
    titles = {
        (row.repository.slug, clause.id): f"{clause.id} {clause.title}"
        for row in in_force
        for clause in own_clauses(row.clauses)
    }
    return {
        target: (reverse("repository-clause", args=[slug, key[1]]), titles[key])
        for target, slug in named.items()
        if (key := (slug, target.rpartition(":")[2])) in titles
    }


def _numbers(targets: set[str]) -> list[int]:
    return [int(target) for target in targets if target.isascii() and target.isdigit() and len(target) < 18]


def _sites(targets: set[str], sight: Sight) -> Found:
    rows = FallbackSite.objects.filter(pk__in=_numbers(targets), repository__in=sight.repositories)
    return {str(row.pk): (row.get_absolute_url(), f"site {row.pk}, {row.symbol}") for row in rows}


def _entries(targets: set[str], sight: Sight) -> Found:
    rows = KnowledgeEntry.objects.filter(
        Q(repository=None) | Q(repository__in=sight.repositories),
        pk__in=_numbers(targets),
        published_number__gt=0,
    )
    return {str(row.pk): (row.get_absolute_url(), row.title) for row in rows}


def _precedents(targets: set[str], sight: Sight) -> Found:
    rows = Precedent.objects.filter(pk__in=_numbers(targets), repository__in=sight.repositories)
    rows = rows.defer("shingles", "code")
    return {str(row.pk): (row.get_absolute_url(), f"precedent {row.pk}, {row.title}") for row in rows}


def _operators(targets: set[str], sight: Sight) -> Found:
    owner = sight.owner or sight.repositories.first()
    catalogue = newest()
    return {name: (_operator_address(owner, name), name) for name in targets if is_known(catalogue, name)}


def _operator_address(owner: Repository | None, name: str) -> str:
    if owner is None:
        return reverse("operator-anywhere", args=[name])
    return reverse("operator-detail", args=[owner.slug, name])


def _crates(targets: set[str], sight: Sight) -> Found:
    rows = Crate.objects.filter(name__in=targets, repository__in=sight.repositories)
    rows = rows.select_related("repository")
    if sight.owner is not None:
        rows = rows.filter(repository=sight.owner)
    return {
        row.name: (reverse("crate-detail", args=[row.repository.slug, row.name]), row.name) for row in rows
    }


_RESOLVERS: Mapping[LinkKind, Callable[[set[str], Sight], Found]] = {
    LinkKind.RULE: _rules,
    LinkKind.CLAUSE: _clauses,
    LinkKind.SITE: _sites,
    LinkKind.OPERATOR: _operators,
    LinkKind.CRATE: _crates,
    LinkKind.ENTRY: _entries,
    LinkKind.PRECEDENT: _precedents,
}
