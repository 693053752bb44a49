"""The table of transitions, read as a whole."""

from __future__ import annotations

import itertools

import pytest

from migrations_tracker.lifecycle import (
    AT_REST,
    AT_WORK,
    EDGES,
    REFUSALS,
    Cause,
    Requirement,
    Situation,
    Status,
    TransitionNotAllowedError,
    check,
    targets,
    way,
)

EVERYTHING_BUT_THE_SITE = Situation(
    has_reason=True, is_seen_by_scanner=False, has_fitting_verdict=True, is_settled=True
)
SEEN = Situation(has_reason=True, is_seen_by_scanner=True, has_fitting_verdict=True)


def test_an_edge_is_in_the_table_once() -> None:
    keys = [(edge.source, edge.target, edge.cause) for edge in EDGES]
    assert len(keys) == len(set(keys))


def test_no_edge_leads_back_to_where_it_starts() -> None:
    assert not [edge for edge in EDGES if edge.source is edge.target]


def test_every_status_can_be_reached_and_left() -> None:
    assert {edge.target for edge in EDGES} == set(Status)
    assert {edge.source for edge in EDGES} == set(Status)


def test_every_requirement_has_words_for_its_refusal() -> None:
    assert set(REFUSALS) == set(Requirement)


@pytest.mark.parametrize("source", Status)
def test_nobody_marks_a_site_migrated_that_the_scanner_sees(source: Status) -> None:
    for cause in Cause:
        with pytest.raises(TransitionNotAllowedError):
            check(source, Status.MIGRATED, cause, SEEN)


@pytest.mark.parametrize("source", Status)
def test_no_person_and_no_scanner_makes_a_site_verified(source: Status) -> None:
    for cause, situation in itertools.product((Cause.PERSON, Cause.SCANNER), (SEEN, EVERYTHING_BUT_THE_SITE)):
        with pytest.raises(TransitionNotAllowedError):
            check(source, Status.VERIFIED, cause, situation)


@pytest.mark.parametrize("source", AT_WORK)
def test_a_person_marks_nothing_migrated_of_which_nobody_says_what_became_of_it(source: Status) -> None:
    unknown = Situation(has_reason=True, is_seen_by_scanner=False, has_fitting_verdict=True)
    with pytest.raises(TransitionNotAllowedError, match="the commit that settled it"):
        check(source, Status.MIGRATED, Cause.PERSON, unknown)
    check(source, Status.MIGRATED, Cause.PERSON, EVERYTHING_BUT_THE_SITE)


def test_a_gpu_run_without_a_fitting_verdict_verifies_nothing() -> None:
    with pytest.raises(TransitionNotAllowedError, match="No verdict"):
        check(
            Status.MIGRATED,
            Status.VERIFIED,
            Cause.GPU,
            Situation(has_reason=True, is_seen_by_scanner=False, has_fitting_verdict=False),
        )


@pytest.mark.parametrize("cause", [Cause.SCANNER, Cause.GPU])
def test_only_a_machine_ends_what_was_verified_and_only_without_a_verdict(cause: Cause) -> None:
    unproved = Situation(has_reason=True, is_seen_by_scanner=False, has_fitting_verdict=False)
    check(Status.VERIFIED, Status.MIGRATED, cause, unproved)
    with pytest.raises(TransitionNotAllowedError, match="A verdict of a GPU run bears this out"):
        check(Status.VERIFIED, Status.MIGRATED, cause, EVERYTHING_BUT_THE_SITE)
    with pytest.raises(TransitionNotAllowedError, match="can't become"):
        check(Status.VERIFIED, Status.MIGRATED, Cause.PERSON, unproved)


@pytest.mark.parametrize("source", [edge.source for edge in EDGES if edge.target is Status.SUPPRESSED])
def test_a_suppression_needs_a_reason(source: Status) -> None:
    with pytest.raises(TransitionNotAllowedError, match="Say why"):
        check(
            source,
            Status.SUPPRESSED,
            Cause.PERSON,
            Situation(has_reason=False, is_seen_by_scanner=True, has_fitting_verdict=False),
        )


def test_an_edge_that_is_not_in_the_table_is_refused_whatever_is_in_hand() -> None:
    allowed = {(edge.source, edge.target, edge.cause) for edge in EDGES}
    for key in itertools.product(Status, Status, Cause):
        if key not in allowed:
            with pytest.raises(TransitionNotAllowedError, match="can't become"):
                check(*key, EVERYTHING_BUT_THE_SITE)


def test_a_way_is_of_a_person_s_steps_and_passes_no_rest() -> None:
    steps = {(edge.source, edge.target) for edge in EDGES if edge.cause is Cause.PERSON}
    for source, target in itertools.product(Status, repeat=2):
        found = way(source, target)
        assert set(itertools.pairwise((source, *found))) <= steps
        assert not AT_REST & set(found[:-1])
        assert not found or found[-1] is target
    assert way(Status.IN_PROGRESS, Status.PLANNED) == (Status.ACCEPTED, Status.PLANNED)
    assert way(Status.SUPPRESSED, Status.ACCEPTED) == (Status.OPEN, Status.ACCEPTED)
    assert way(Status.ACCEPTED, Status.REOPENED) == ()


def test_the_choices_of_a_person_are_in_the_order_of_the_statuses() -> None:
    found = [edge.target for edge in targets(Status.ACCEPTED, Cause.PERSON)]
    assert found == [
        Status.OPEN,
        Status.PLANNED,
        Status.IN_PROGRESS,
        Status.MIGRATED,
        Status.SUPPRESSED,
    ]
