"""Where cross-links lead, and which lead nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse

from audit.knowledge.links import Link, LinkKind
from audit.knowledge.rendering import Resolver, render_markdown
from audit.models import Crate, FallbackSite, KnowledgeEntry, LinkOrigin, Precedent, Repository
from audit.parity.catalogue import newest
from audit.parity.counterparts import is_known
from audit.selectors.policy import clause_find
from audit.selectors.rules import rule_find

_NUMBERED = (LinkKind.SITE, LinkKind.ENTRY, LinkKind.PRECEDENT)
Found = Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link of a published entry that leads nowhere any more."""

    entry: KnowledgeEntry
    link: str


def links_resolve(
    *, links: Iterable[Link], repository: Repository | None
) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the address and the name behind each link that leads somewhere, one query a kind at most."""
    wanted: dict[str, set[str]] = {}
    for link in links:
        wanted.setdefault(link.kind, set()).add(link.target)
    return {
        (kind, target): found
        for kind, targets in wanted.items()
        if kind
        for target, found in _RESOLVERS[LinkKind(kind)](targets, repository).items()
    }


def links_broken(*, links: Sequence[Link], repository: Repository | None) -> list[Link]:
    """List the links that lead nowhere."""
    found = links_resolve(links=links, repository=repository)
    return [link for link in links if (link.kind, link.target) not in found]


def entry_html(*, text: str, links: Sequence[Link], repository: Repository | None) -> str:
    """Render an entry's text, with its cross-links."""
    found = links_resolve(links=links, repository=repository)
    resolve: Resolver = lambda kind, target: found.get((kind, target))  # noqa: E731
    return render_markdown(text, resolve)


def attached_list(*, entry: KnowledgeEntry) -> list[tuple[str, str]]:
    """List the address and the name of what an entry is attached to; no address where it is gone."""
    links = [
        Link(one.kind, one.target, "", 0) for one in entry.links.all() if one.origin == LinkOrigin.ATTACHED
    ]
    found = links_resolve(links=links, repository=entry.repository)
    return [found.get((link.kind, link.target), ("", f"{link.kind}:{link.target}")) for link in links]


def entries_broken() -> list[BrokenLink]:
    """List what published entries link to that is not there any more."""
    broken = []
    for entry in KnowledgeEntry.objects.filter(published_number__gt=0).select_related("repository"):
        links = [Link(one.kind, one.target, "", 0) for one in entry.links.all()]
        broken += [
            BrokenLink(entry, str(link)) for link in links_broken(links=links, repository=entry.repository)
        ]
    return broken


def _rules(targets: set[str], repository: Repository | None) -> Found:
    pages = {target: rule_find(key=target) for target in targets}
    return {
        target: (reverse("rule-detail", args=[page.id]), f"{page.id} {page.name}")
        for target, page in pages.items()
        if page is not None and not page.is_retired
    }


def _clauses(targets: set[str], repository: Repository | None) -> Found:
    pages = {target: clause_find(clause_id=target) for target in targets}
    return {
        target: (reverse("clause-detail", args=[page.clause.id]), f"{page.clause.id} {page.clause.title}")
        for target, page in pages.items()
        if page is not None
    }


def _numbers(targets: set[str]) -> list[int]:
    return [int(target) for target in targets if target.isascii() and target.isdigit() and len(target) < 18]


def _sites(targets: set[str], repository: Repository | None) -> Found:
    rows = FallbackSite.objects.filter(pk__in=_numbers(targets))
    return {str(row.pk): (row.get_absolute_url(), f"site {row.pk}, {row.symbol}") for row in rows}


def _entries(targets: set[str], repository: Repository | None) -> Found:
    rows = KnowledgeEntry.objects.filter(pk__in=_numbers(targets), published_number__gt=0)
    return {str(row.pk): (row.get_absolute_url(), row.title) for row in rows}


def _precedents(targets: set[str], repository: Repository | None) -> Found:
    rows = Precedent.objects.filter(pk__in=_numbers(targets)).defer("shingles", "code")
    return {str(row.pk): (row.get_absolute_url(), f"precedent {row.pk}, {row.title}") for row in rows}


def _operators(targets: set[str], repository: Repository | None) -> Found:
    owner = repository or Repository.objects.first()
    if owner is None:
        return {}
    catalogue = newest()
    return {
        name: (reverse("operator-detail", args=[owner.slug, name]), name)
        for name in targets
        if is_known(catalogue, name)
    }


def _crates(targets: set[str], repository: Repository | None) -> Found:
    rows = Crate.objects.filter(name__in=targets).select_related("repository")
    if repository is not None:
        rows = rows.filter(repository=repository)
    return {
        row.name: (reverse("crate-detail", args=[row.repository.slug, row.name]), row.name) for row in rows
    }


_RESOLVERS: Mapping[LinkKind, Callable[[set[str], Repository | None], Found]] = {
    LinkKind.RULE: _rules,
    LinkKind.CLAUSE: _clauses,
    LinkKind.SITE: _sites,
    LinkKind.OPERATOR: _operators,
    LinkKind.CRATE: _crates,
    LinkKind.ENTRY: _entries,
    LinkKind.PRECEDENT: _precedents,
}
