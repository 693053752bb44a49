"""The imported dumps of PyTorch, and what changed between two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q
from django.http import QueryDict

from audit.models import ParityChange, ParityDump
from audit.parity.diff import Subject
from migrations_tracker.selectors.keyset import KeysetPage, keyset_page

PAGE_SIZE = 50
COLUMNS = ("name", "subject", "aspect", "id")
SUBJECT_LABELS = {
    Subject.OPERATOR: "Operators",
    Subject.OP_INFO: "Test tables: dtypes and gradients",
    Subject.PUBLIC_NAME: "Public names",
    Subject.REFUSAL: "What is raised",
}


@dataclass(frozen=True, slots=True)
class ChangeFilters:
    """What the list of changes is narrowed to; an empty field does not narrow."""

    subject: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class ChangesPage:
    """The dumps, the two that are compared, and a page of their differences.

    `subjects` counts the differences by subject, whatever the filters.
    """

    dumps: Sequence[ParityDump]
    before: ParityDump | None
    after: ParityDump | None
    subjects: Sequence[tuple[str, str, int]]
    page: KeysetPage[ParityChange]
    total: int

    @property
    def compares_refusals(self) -> bool:
        """Whether both dumps tried their operators on a device of the same kind."""
        pair = (self.before, self.after)
        return len({dump.device for dump in pair if dump is not None}) == 1


def filters_read(query: QueryDict) -> ChangeFilters:
    """Read the filters from a URL; a value that is none is left out."""
    subject = query.get("subject", "")
    text = query.get("q", "").replace("\0", "").strip()[:200]
    return ChangeFilters(subject if subject in set(Subject) else "", text)


def parity_dumps() -> list[ParityDump]:
    """List the dumps, the newest version first."""
    dumps = ParityDump.objects.defer("content")
    return sorted(dumps, key=lambda dump: dump.version_key, reverse=True)


def changes_page(*, before: str, after: str, filters: ChangeFilters, cursor: str = "") -> ChangesPage:
    """Compare the dumps with these primary keys, or the two newest versions; the older one comes first."""
    dumps = parity_dumps()
    named = [dump for dump in dumps if str(dump.pk) in {before, after}]
    pair = named if len(named) == 2 else dumps[:2]
    if len(pair) < 2:
        return ChangesPage(dumps, None, None, (), KeysetPage(()), 0)
    newer, older = pair
    rows = ParityChange.objects.filter(before=older, after=newer)
    counts = dict(rows.order_by().values_list("subject").annotate(Count("id")))
    if filters.subject:
        rows = rows.filter(subject=filters.subject)
    for word in (word.removeprefix("aten::") for word in filters.text.split()):
        rows = rows.filter(Q(name__icontains=word) | Q(aspect__icontains=word))
    return ChangesPage(
        dumps=dumps,
        before=older,
        after=newer,
        subjects=[(s.value, label, counts.get(s.value, 0)) for s, label in SUBJECT_LABELS.items()],
        page=keyset_page(rows, columns=COLUMNS, cursor=cursor, size=PAGE_SIZE),
        total=rows.count(),
    )
