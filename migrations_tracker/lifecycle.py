"""The table of what a site's migration may become, by whom, and with what in hand.

A person may not overrule a machine. Nobody marks a site migrated that the scanner still sees, or of which
nobody can say what became of it, and only a verdict from a GPU makes it verified; the table carries these as
requirements, and the caller brings the facts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from audit.scanner.report import Outcome
from workers.protocol.outcome import PROVED, Verdict


class Status(StrEnum):
    OPEN = "open"
    ACCEPTED = "accepted"
    PLANNED = "planned"
    IN_PROGRESS = "in-progress"
    IN_REVIEW = "in-review"
    MIGRATED = "migrated"
    VERIFIED = "verified"
    SUPPRESSED = "suppressed"
    REOPENED = "reopened"


#: Where a migration has nothing left that is due.
AT_REST = frozenset({Status.MIGRATED, Status.VERIFIED, Status.SUPPRESSED})


#: Which verdict bears an outcome out. An error that is returned is not shown by a kernel that ran, nor an
#: opt-in by either. What was removed, transfers by its name or is not known leaves nothing else to be shown.
_FITTING = {
    Outcome.STRUCTURED_ERROR: frozenset({Verdict.REFUSED}),
    Outcome.OPT_IN_FALLBACK: frozenset({Verdict.OPT_IN_PROVED}),
    Outcome.DEVICE_KERNEL: frozenset({Verdict.ON_DEVICE}),
    Outcome.COMPOSITE: frozenset({Verdict.COMPOSITE, Verdict.ON_DEVICE}),
}


def fitting(outcome: str) -> frozenset[Verdict]:
    """Return the verdicts of which one makes a site verified that became `outcome`."""
    return _FITTING.get(Outcome(outcome), frozenset(PROVED)) if outcome else frozenset(PROVED)


class Cause(StrEnum):
    """Who moves a migration: a person, what a machine found out, or a day that a person set."""

    PERSON = "person"
    SCANNER = "scanner"
    GPU = "gpu"
    CALENDAR = "calendar"


class Requirement(StrEnum):
    """What must be in hand."""

    REASON = "reason"
    SITE_PRESENT = "site-present"
    SITE_ABSENT = "site-absent"
    SETTLED = "settled"
    VERDICT = "verdict"
    NO_VERDICT = "no-verdict"


REFUSALS = {
    Requirement.REASON: "Say why: this step is kept with its reason.",
    Requirement.SITE_PRESENT: "The scanner does not see this site at the moment.",
    Requirement.SITE_ABSENT: "The scanner still sees this site. Change the code, then scan again.",
    Requirement.SETTLED: "What became of it is not known: name the commit that settled it in the reason.",
    Requirement.VERDICT: "No verdict of a GPU run bears this out.",
    Requirement.NO_VERDICT: "A verdict of a GPU run bears this out, for the code as it stands.",
}


@dataclass(frozen=True, slots=True)
class Edge:
    """One allowed transition."""

    source: Status
    target: Status
    cause: Cause
    requires: frozenset[Requirement] = frozenset()


@dataclass(frozen=True, slots=True)
class Situation:
    """The facts a transition is judged by.

    `is_settled`: a scan told what the site became, or a commit is named that settled it.
    """

    has_reason: bool
    is_seen_by_scanner: bool
    has_fitting_verdict: bool
    is_settled: bool = False


class TransitionNotAllowedError(Exception):
    """The transition is not in the table, or something it requires is missing."""


AT_WORK = (
    Status.OPEN,
    Status.ACCEPTED,
    Status.PLANNED,
    Status.IN_PROGRESS,
    Status.IN_REVIEW,
    Status.REOPENED,
)


def _edges() -> Iterator[Edge]:
    forward = (
        (Status.OPEN, Status.ACCEPTED),
        (Status.ACCEPTED, Status.PLANNED),
        (Status.ACCEPTED, Status.IN_PROGRESS),
        (Status.PLANNED, Status.IN_PROGRESS),
        (Status.IN_PROGRESS, Status.IN_REVIEW),
        (Status.REOPENED, Status.ACCEPTED),
        (Status.REOPENED, Status.IN_PROGRESS),
    )
    backward = (
        (Status.ACCEPTED, Status.OPEN),
        (Status.PLANNED, Status.ACCEPTED),
        (Status.IN_PROGRESS, Status.ACCEPTED),
        (Status.IN_REVIEW, Status.IN_PROGRESS),
    )
    reason = frozenset({Requirement.REASON})
    for source, target in forward:
        yield Edge(source, target, Cause.PERSON)
    for source, target in backward:
        yield Edge(source, target, Cause.PERSON, reason)
    for source in AT_WORK:
        yield Edge(source, Status.SUPPRESSED, Cause.PERSON, reason | {Requirement.SITE_PRESENT})
        gone = {Requirement.SITE_ABSENT, Requirement.SETTLED}
        yield Edge(source, Status.MIGRATED, Cause.PERSON, reason | gone)
        yield Edge(source, Status.MIGRATED, Cause.SCANNER, frozenset({Requirement.SITE_ABSENT}))
    yield Edge(Status.MIGRATED, Status.VERIFIED, Cause.GPU, frozenset({Requirement.VERDICT}))
    # A verdict holds for the code that ran: a scan that sees other code ends it.
    ended = frozenset({Requirement.SITE_ABSENT, Requirement.NO_VERDICT})
    yield Edge(Status.VERIFIED, Status.MIGRATED, Cause.SCANNER, ended)
    # The same test, run again on the same code, may show the contrary.
    yield Edge(Status.VERIFIED, Status.MIGRATED, Cause.GPU, ended)
    for source in (Status.MIGRATED, Status.VERIFIED):
        yield Edge(source, Status.REOPENED, Cause.SCANNER, frozenset({Requirement.SITE_PRESENT}))
        yield Edge(source, Status.REOPENED, Cause.PERSON, reason)
    yield Edge(Status.SUPPRESSED, Status.OPEN, Cause.PERSON, reason)
    yield Edge(Status.SUPPRESSED, Status.OPEN, Cause.SCANNER, frozenset({Requirement.SITE_ABSENT}))
    yield Edge(Status.SUPPRESSED, Status.OPEN, Cause.CALENDAR)


EDGES: tuple[Edge, ...] = tuple(_edges())

_BY_KEY = {(edge.source, edge.target, edge.cause): edge for edge in EDGES}


def targets(source: Status, cause: Cause) -> tuple[Edge, ...]:
    """List the transitions the table allows from `source`, in the order of `Status`."""
    found = [edge for edge in EDGES if edge.source is source and edge.cause is cause]
    order = list(Status)
    return tuple(sorted(found, key=lambda edge: order.index(edge.target)))


def way(source: Status, target: Status) -> tuple[Status, ...]:
    """List the fewest steps by which people come from one status to another; none where no way leads there.

    No step in between is at rest: to pass there would be a ruling.
    """
    ways: dict[Status, tuple[Status, ...]] = {source: ()}
    reached = [source]
    for status in reached:
        if status is not source and status in AT_REST:
            continue
        for edge in targets(status, Cause.PERSON):
            if edge.target not in ways:
                ways[edge.target] = (*ways[status], edge.target)
                reached.append(edge.target)
    return ways.get(target, ())


def missing(edge: Edge, situation: Situation) -> tuple[Requirement, ...]:
    """List what `edge` requires and `situation` lacks."""
    in_hand = {
        Requirement.REASON: situation.has_reason,
        Requirement.SITE_PRESENT: situation.is_seen_by_scanner,
        Requirement.SITE_ABSENT: not situation.is_seen_by_scanner,
        Requirement.SETTLED: situation.is_settled,
        Requirement.VERDICT: situation.has_fitting_verdict,
        Requirement.NO_VERDICT: not situation.has_fitting_verdict,
    }
    return tuple(
        requirement
        for requirement in Requirement
        if requirement in edge.requires and not in_hand[requirement]
    )


def check(source: Status, target: Status, cause: Cause, situation: Situation) -> None:
    """Raise `TransitionNotAllowedError` unless the transition may happen now."""
    edge = _BY_KEY.get((source, target, cause))
    if edge is None:
        raise TransitionNotAllowedError(f"A migration that is `{source}` can't become `{target}`.")
    lacking = missing(edge, situation)
    if lacking:
        raise TransitionNotAllowedError(" ".join(REFUSALS[requirement] for requirement in lacking))
