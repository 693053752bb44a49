"""Entries as lists, and their revisions side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import F, Q, QuerySet
from django.http import QueryDict

from audit.knowledge.differences import BoundedMatcher, TooMuchWorkError, WorkBudget, shared_ends
from audit.models import EntryRevision, KnowledgeEntry, Repository
from migrations_tracker.selectors.keyset import KeysetPage, keyset_page

PAGE_SIZE = 30
REVISIONS_SHOWN = 100
CONTEXT_LINES = 3
# Pairs of equal lines that are looked at for a comparison.
MOST_WORK = 3_000_000

Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class EntryFilters:
    """What the list is narrowed to; an empty field does not narrow."""

    tag: str = ""
    text: str = ""
    drafts: bool = False


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a comparison. `kind` is added, removed, or empty for one that is in both."""

    kind: str
    text: str


def filters_read(query: QueryDict, *, may_write: bool) -> EntryFilters:
    """Read the filters from a URL; drafts are for those who may write."""
    return EntryFilters(
        tag=query.get("tag", "").replace("\0", "")[:40],
        text=query.get("q", "").replace("\0", "").strip()[:200],
        drafts=may_write and query.get("drafts", "") == "1",
    )


def entry_list(
    *,
    filters: EntryFilters,
    repositories: QuerySet[Repository],
    led: QuerySet[Repository] | None,
    cursor: str,
) -> KeysetPage[KnowledgeEntry]:
    """List entries of some repositories and of none, newest first: published ones, or those with a draft.

    Drafts are listed of the repositories in `led`; of all, and of none, where it is None.
    """
    rows = KnowledgeEntry.objects.select_related("repository", "created_by")
    rows = rows.filter(Q(repository=None) | Q(repository__in=repositories), latest_number__gt=0)
    if filters.drafts:
        rows = rows.exclude(latest_number=F("published_number"))
        rows = rows if led is None else rows.filter(repository__in=led)
    else:
        rows = rows.filter(published_number__gt=0)
    if filters.tag:
        rows = rows.filter(tags__contains=[filters.tag])
    for word in filters.text.split():
        rows = rows.filter(Q(title__icontains=word) | Q(text__icontains=word))
    return keyset_page(rows, columns=("id",), cursor=cursor, size=PAGE_SIZE, is_descending=True)


def revision_list(*, entry: KnowledgeEntry, may_write: bool) -> list[EntryRevision]:
    """List an entry's revisions, the newest first; drafts are for those who may write."""
    rows = entry.revisions.select_related("author")
    return list((rows if may_write else rows.filter(is_draft=False))[:REVISIONS_SHOWN])


def revision_diff(*, before: EntryRevision | None, after: EntryRevision) -> Sequence[DiffLine]:
    """Compare two revisions line by line: the title, the tags, what it is attached to, then the text.

    Where so much differs that comparing takes long, it is shown whole, and that is said.
    """
    old, new = _lines(before), _lines(after)
    start, end = shared_ends(old, new)
    removed, added = old[start : len(old) - end], new[start : len(new) - end]
    try:
        groups = list(BoundedMatcher(old, new, WorkBudget(MOST_WORK)).get_grouped_opcodes(CONTEXT_LINES))
    except TooMuchWorkError:
        return [
            DiffLine("", "Too many lines differ to compare them one by one: they are shown whole."),
            *(DiffLine("removed", line) for line in removed),
            *(DiffLine("added", line) for line in added),
        ]
    return [line for number, group in enumerate(groups) for line in _hunk(group, old, new, number)]


def _hunk(group: Sequence[Opcode], old: Sequence[str], new: Sequence[str], number: int) -> Iterator[DiffLine]:
    if number:
        yield DiffLine("", f"Line {group[0][3] + 1}:")
    for tag, old_start, old_end, new_start, new_end in group:
        if tag == "equal":
            yield from (DiffLine("", line) for line in old[old_start:old_end])
            continue
        yield from (DiffLine("removed", line) for line in old[old_start:old_end])
        yield from (DiffLine("added", line) for line in new[new_start:new_end])


def _lines(revision: EntryRevision | None) -> list[str]:
    if revision is None:
        return []
    head = [f"Title: {revision.title}", f"Tags: {', '.join(revision.tags)}"]
    if revision.attached is not None:
        head.append(f"Attached to: {', '.join(revision.attached)}")
    return [*head, *revision.text.split("\n")]
