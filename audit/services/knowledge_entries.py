"""Writing entries: every save is a revision, only a published one is read by all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from audit.errors import AuditError, RevisionMovedError
from audit.knowledge.links import Link, LinkKind, find_links, link_parse
from audit.models import (
    EntryLink,
    EntryRevision,
    FallbackSite,
    KnowledgeEntry,
    LinkOrigin,
    ReferenceSource,
    Repository,
    TextReference,
)
from audit.selectors.entry_links import Sight, is_own_clause, links_broken
from audit.services.references import references_store

MAX_TEXT = 200_000
MAX_TAGS = 20
MAX_ATTACHED = 100
MAX_ATTACHMENT = 300


def entry_create(*, actor: User, title: str, repository: Repository | None = None) -> KnowledgeEntry:
    """Begin an entry; nobody else reads it before it is published."""
    return KnowledgeEntry.objects.create(title=_title(title), repository=repository, created_by=actor)


def entry_save(
    *,
    entry: KnowledgeEntry,
    actor: User,
    title: str,
    text: str,
    tags: Sequence[str] = (),
    attached: Sequence[str] = (),
    is_draft: bool,
    repositories: QuerySet[Repository] | None = None,
    seen_number: int | None = None,
    note: str = "",
    restored_from: int | None = None,
) -> EntryRevision:
    """Keep a new revision, as a draft or published.

    A published one leads nowhere wrong: a broken cross-link is refused with its line. `attached` are written
    as `rule:FT001`; `seen_number` is the revision the person changed. `repositories` are those that the
    person sees, all where none are given: what is in another is nowhere.
    """
    title, text = _title(title), text.replace("\0", "").replace("\r\n", "\n").strip()
    if len(text) > MAX_TEXT:
        raise AuditError(f"An entry has at most {MAX_TEXT:,} characters; this one has {len(text):,}.")
    clean_tags = _tags(tags)
    with transaction.atomic():
        entry = KnowledgeEntry.objects.select_for_update().get(pk=entry.pk)
        if seen_number is not None and seen_number != entry.latest_number:
            raise RevisionMovedError(
                f"Somebody saved revision {entry.latest_number} while you wrote: look at it, then save again."
            )
        links = [*find_links(text), *_attached(attached)]
        if not is_draft:
            if not text:
                raise AuditError("Write something before you publish it.")
            _refuse_broken(links, Sight(_or_all(repositories), entry.repository))
        entry.latest_number += 1
        revision = EntryRevision.objects.create(
            entry=entry,
            number=entry.latest_number,
            title=title,
            text=text,
            tags=clean_tags,
            attached=[_written(link) for link in links if not link.line],
            is_draft=is_draft,
            note=note.replace("\0", "").strip()[:300],
            restored_from=restored_from,
            author=actor,
        )
        if not is_draft:
            entry.title, entry.text, entry.tags = title, text, clean_tags
            entry.published_number = entry.latest_number
            _link(entry, links)
        elif not entry.is_published:
            entry.title = title
        entry.save()
    return revision


def entry_restore(
    *,
    entry: KnowledgeEntry,
    number: int,
    actor: User,
    repositories: QuerySet[Repository] | None = None,
    seen_number: int | None = None,
) -> EntryRevision:
    """Publish an earlier revision again, as a new one: nothing in the history is lost.

    `seen_number` is the newest revision that the person saw: one that came since is not overtaken.
    """
    revision = EntryRevision.objects.filter(entry=entry, number=number).first()
    if revision is None:
        raise AuditError(f"The entry has no revision {number}.")
    attached = revision.attached
    if attached is None:
        attached = [str(link) for link in EntryLink.objects.filter(entry=entry, origin=LinkOrigin.ATTACHED)]
    return entry_save(
        entry=entry,
        actor=actor,
        title=revision.title,
        text=revision.text,
        tags=revision.tags,
        attached=attached,
        is_draft=False,
        repositories=repositories,
        seen_number=seen_number,
        note=f"Revision {number} again",
        restored_from=number,
    )


def _title(title: str) -> str:
    title = " ".join(title.replace("\0", "").split())
    if not title:
        raise AuditError("Give it a title.")
    if len(title) > 200:
        raise AuditError(f"A title has at most 200 characters; this one has {len(title)}.")
    return title


def _tags(tags: Iterable[str]) -> list[str]:
    found = dict.fromkeys("-".join(tag.replace("\0", "").lower().split()) for tag in tags if tag.strip())
    if len(found) > MAX_TAGS or any(len(tag) > 40 for tag in found):
        raise AuditError(f"An entry has at most {MAX_TAGS} tags of 40 characters.")
    return list(found)


def _attached(attached: Sequence[str]) -> list[Link]:
    if len(attached) > MAX_ATTACHED:
        raise AuditError(f"An entry is attached to at most {MAX_ATTACHED} things.")
    if any(len(one.strip()) > MAX_ATTACHMENT for one in attached):
        raise AuditError(
            f"What an entry is attached to is named by at most {MAX_ATTACHMENT} characters a line."
        )
    return [Link(*link_parse(one), "", 0) for one in attached if one.strip()]


def _written(link: Link) -> str:
    """Write what an entry is attached to as a line of its form; what names no kind stays as it was typed."""
    return f"{link.kind}:{link.target}" if link.kind else link.target


def _or_all(repositories: QuerySet[Repository] | None) -> QuerySet[Repository]:
    return Repository.objects.all() if repositories is None else repositories


def _refuse_broken(links: Sequence[Link], sight: Sight) -> None:
    broken = links_broken(links=links, sight=sight)
    if broken:
        first = broken[0]
        where = f"Line {first.line}: " if first.line else "Attached: "
        more = f" {len(broken) - 1} more lead nowhere too." if len(broken) > 1 else ""
        raise AuditError(f"{where}{first} leads nowhere{_hint(first, sight)}.{more}")


def _hint(link: Link, sight: Sight) -> str:
    """Say how a repository's own clause is named where the text belongs to no repository."""
    is_bare = link.kind == LinkKind.CLAUSE and ":" not in link.target and is_own_clause(link.target)
    if not is_bare or sight.owner is not None:
        return ""
    return f": it is a clause of a repository. Write [[clause:REPOSITORY:{link.target}]] to say of which"


def _link(entry: KnowledgeEntry, links: Sequence[Link]) -> None:
    """Put what the published text names, and what it is attached to, in place of what it did before."""
    entry.links.all().delete()
    EntryLink.objects.bulk_create(
        [
            EntryLink(
                entry=entry,
                kind=link.kind,
                target=link.target,
                origin=LinkOrigin.TEXT if link.line else LinkOrigin.ATTACHED,
            )
            for link in links
        ],
        ignore_conflicts=True,
    )
    # What the text before this one named with a site is named no more.
    TextReference.objects.filter(source=ReferenceSource.ENTRY, source_path=entry.get_absolute_url()).delete()
    numbers = {int(link.target) for link in links if link.kind == LinkKind.SITE}
    for site in FallbackSite.objects.filter(pk__in=numbers).select_related("repository"):
        references_store(
            repository=site.repository,
            text=entry.text,
            sites=[site.pk],
            source=ReferenceSource.ENTRY,
            source_path=entry.get_absolute_url(),
        )
