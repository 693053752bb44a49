"""What rests on a clause of the policy: beside rules and verdicts, the plan's kinds and all sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from audit.parity.sentences import PARITY_SENTENCES
from audit.policy.sentences import Sentence
from migrations_tracker.models.plan import KIND_LABELS
from migrations_tracker.reports.sentences import REPORT_SENTENCES
from migrations_tracker.scheduling.clauses import (
    CATEGORY_CLAUSES,
    NEED_CLAUSES,
    PRECEDENCE_CLAUSES,
    UNIT_KIND_CLAUSES,
    UNIT_SENTENCES,
)


@dataclass(frozen=True, slots=True)
class PlanRests:
    """What of the plan rests on a clause: kinds of units, fix categories, shared needs, reasons to wait."""

    kinds: Sequence[str]
    categories: Sequence[str]
    needs: Sequence[str]
    waits: Sequence[str]

    @property
    def is_none(self) -> bool:
        """Whether nothing does."""
        return not (self.kinds or self.categories or self.needs or self.waits)


@dataclass(frozen=True, slots=True)
class SentenceGroup:
    """Sentences of one place that rest on a clause."""

    title: str
    sentences: Sequence[Sentence]


# Every sentence that the product composes of a project's code, by where it is said.
SENTENCES: Mapping[str, tuple[Sentence, ...]] = {
    "In reports": REPORT_SENTENCES,
    "In rationales": PARITY_SENTENCES,
    "In work units": UNIT_SENTENCES,
}


def plan_rests(*, clause_id: str) -> PlanRests:
    """Return what of the plan rests on a clause."""
    return PlanRests(
        kinds=[KIND_LABELS[kind] for kind, ids in UNIT_KIND_CLAUSES.items() if clause_id in ids],
        categories=[category.value for category, ids in CATEGORY_CLAUSES.items() if clause_id in ids],
        needs=[need.value for need, ids in NEED_CLAUSES.items() if clause_id in ids],
        waits=[reason.value for reason, ids in PRECEDENCE_CLAUSES.items() if clause_id in ids],
    )


def sentences_resting(*, clause_id: str) -> list[SentenceGroup]:
    """Return the sentences that rest on a clause, by where they are said."""
    groups = [
        SentenceGroup(title, [one for one in sentences if clause_id in one.clauses])
        for title, sentences in SENTENCES.items()
    ]
    return [group for group in groups if group.sentences]
