"""Solving a plan's schedule: a first answer at once, a better one from a worker, and what would be if."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import OperationalError, transaction
from django.utils import timezone

from audit.errors import LeaseLostError
from audit.models import RowState
from audit.services.leases import lease_claim, lease_fail, lease_finish, lease_kept
from migrations_tracker.errors import PlanError
from migrations_tracker.models import Person, Plan, Schedule, ScheduledUnit, WorkUnit
from migrations_tracker.scheduling.catalogue import Hours
from migrations_tracker.scheduling.critical import critical_path
from migrations_tracker.scheduling.forecasting import forecast
from migrations_tracker.scheduling.problem import Infeasible, Problem, SolveOptions
from migrations_tracker.scheduling.problem import Schedule as Answer
from migrations_tracker.scheduling.solving import list_schedule, solve
from migrations_tracker.scheduling.stored import from_plain, to_plain
from migrations_tracker.scheduling.validating import breaches
from migrations_tracker.scheduling.weighting import WeightRates
from migrations_tracker.scheduling.what_if import WhatIf, applied, in_words
from migrations_tracker.selectors.plan_problem import plan_problem
from migrations_tracker.services.plan_log import plan_note

SHOWN_PERCENTILES = (10, 50, 80, 90, 95)


def schedule_request(
    *,
    plan: Plan,
    actor: User | None,
    change: WhatIf | None = None,
    seed: int = 0,
    now: datetime | None = None,
) -> Schedule:
    """Store the answer of list scheduling at once, and leave it to a worker to improve.

    The search begins with the newest schedule of the plan, so that what need not move does not.
    """
    change = change or WhatIf()
    found = plan_problem(plan=plan, now=now or timezone.now())
    if not found.problem.units:
        raise PlanError("There is no unit to schedule: propose the plan first.")
    problem = applied(found.problem, change)
    first = list_schedule(problem)
    with transaction.atomic():
        earlier = schedule_newest(plan=plan)
        row = Schedule.objects.create(
            plan=plan,
            earlier=earlier,
            what_if={} if change.is_empty else to_plain(change),
            what_if_text=in_words(change),
            weight_rates=dict(change.rates) or asdict(WeightRates(**plan.weight_rates)),
            problem=to_plain(problem),
            hours={key: to_plain(hours) for key, hours in found.hours.items()},
            origin=problem.origin,
            seed=seed,
            notes=list(found.notes),
            requested_by=actor,
            **_columns(problem, first),
        )
        if isinstance(first, Answer):
            _check(problem, first)
            _place(row, problem, first)
        elif all(conflict.is_proved for conflict in first.conflicts):
            _close(row)
        what = (
            f"Asked for a schedule to compare with: {row.what_if_text}" if row.what_if else "Scheduled anew."
        )
        plan_note(plan=plan, actor=actor, what=what)
    return row


def schedule_newest(*, plan: Plan) -> Schedule | None:
    """Return the newest schedule of a plan as it is, which has an answer."""
    return Schedule.objects.filter(plan=plan, what_if={}, makespan__isnull=False).first()


def schedule_execute(*, pk: int, options: SolveOptions | None = None) -> bool:
    """Look for a better schedule, and prove a bound. Returns whether this call stored what it found."""
    lease_id = lease_claim(model=Schedule, pk=pk)
    if lease_id is None:
        return False
    row = Schedule.objects.select_related("earlier").get(pk=pk)
    try:
        with lease_kept(row=row, lease_id=lease_id):
            problem = problem_of_row(row)
            chosen = options or SolveOptions.for_size(len(problem.units), seed=row.seed)
            answer = solve(problem, chosen, _begin_with(row))
            outlook = _forecast(problem, answer, row)
            _store(row, lease_id, problem, answer, outlook)
    except LeaseLostError:
        return False
    except OperationalError:
        # The database is away: the row can't be written now, and its lease brings the schedule back.
        raise
    except Exception as error:
        lease_fail(row=row, lease_id=lease_id, reason=f"Solving broke down: {type(error).__name__}: {error}")
        raise
    return True


def baseline_set(*, plan: Plan, schedule: Schedule, actor: User) -> None:
    """Make a schedule the one against which slips are seen."""
    if schedule.plan_id != plan.pk or schedule.makespan is None or schedule.what_if:
        raise PlanError("Only a schedule of the plan as it was can be its baseline.")
    with transaction.atomic():
        plan = Plan.objects.select_for_update().get(pk=plan.pk)
        plan.baseline = schedule
        plan.save(update_fields=["baseline", "changed_at"])
        plan_note(plan=plan, actor=actor, what=f"Schedule {schedule.pk} is the baseline from now on.")


def problem_of_row(row: Schedule) -> Problem:
    """Return the problem that a schedule was solved for."""
    return from_plain(Problem, row.problem)


def answer_of_row(row: Schedule) -> Answer | None:
    """Return a stored schedule as the core made it."""
    return from_plain(Answer, row.answer) if row.answer is not None else None


def hours_of_row(row: Schedule) -> dict[str, Hours]:
    """Return the hours behind a schedule's efforts."""
    return {key: from_plain(Hours, hours) for key, hours in row.hours.items()}


def _begin_with(row: Schedule) -> Answer | None:
    earlier = answer_of_row(row.earlier) if row.earlier is not None else None
    return earlier or answer_of_row(row)


def _columns(problem: Problem, answer: Answer | Infeasible) -> dict[str, Any]:
    if isinstance(answer, Infeasible):
        return {"conflicts": [to_plain(conflict) for conflict in answer.conflicts]}
    best = answer.bound.best
    return {
        "answer": to_plain(answer),
        "conflicts": [],
        "method": answer.method,
        "makespan": answer.objective.makespan,
        "weighted_completion": answer.objective.weighted_completion,
        "list_makespan": answer.list_objective.makespan,
        "list_weighted_completion": answer.list_objective.weighted_completion,
        "bound": answer.bound.value,
        "bound_by": best.source if best else "",
        "is_bound_by_solver": answer.bound.is_by_solver,
        "is_optimal": answer.is_optimal_makespan,
        "is_cut_off": answer.is_cut_off,
        "ends_at": problem.instant(answer.objective.makespan),
    }


def _check(problem: Problem, answer: Answer) -> None:
    broken = breaches(problem, answer)
    if broken:
        first = broken[0]
        raise PlanError(f"The schedule breaks the rule `{first.rule}` at `{first.unit}`: {first.message}.")


def _place(row: Schedule, problem: Problem, answer: Answer) -> None:
    slack = {one.unit: one for one in critical_path(problem, answer).slacks}
    units = dict(WorkUnit.objects.filter(plan=row.plan_id).values_list("key", "pk"))
    people = dict(Person.objects.filter(plan=row.plan_id).values_list("name", "pk"))
    ScheduledUnit.objects.filter(schedule=row).delete()
    ScheduledUnit.objects.bulk_create(
        ScheduledUnit(
            schedule=row,
            unit_id=units[place.unit],
            person_id=people.get(place.person),
            runner=place.runner or "",
            starts_at=problem.instant(place.start),
            work_ends_at=problem.instant(place.work_end),
            verified_from=problem.instant(place.verification_start),
            ends_at=problem.instant(place.finish),
            slack=slack[place.unit].ticks,
            is_critical=slack[place.unit].is_critical,
        )
        for place in answer.placements
        if place.unit in units
    )


def _close(row: Schedule) -> None:
    row.state, row.finished_at = RowState.SUCCEEDED, timezone.now()
    row.save(update_fields=["state", "finished_at"])


def _forecast(problem: Problem, answer: Answer | Infeasible, row: Schedule) -> Mapping[str, object]:
    if isinstance(answer, Infeasible) or not answer.placements:
        return {}
    seen = forecast(problem, answer, hours_of_row(row), seed=row.seed)
    return {
        "runs": len(seen.makespans),
        "failed": seen.failed,
        "chance": seen.chance_of_plan,
        "percentiles": {
            str(share): problem.instant(seen.percentile(share)).isoformat() for share in SHOWN_PERCENTILES
        },
        "ends": [problem.instant(span).isoformat() for span in _thinned(seen.makespans)],
    }


def _thinned(spans: tuple[int, ...], shown: int = 100) -> Iterable[int]:
    step = max(1, len(spans) // shown)
    return spans[::step]


def _store(
    row: Schedule,
    lease_id: uuid.UUID,
    problem: Problem,
    answer: Answer | Infeasible,
    outlook: Mapping[str, object],
) -> None:
    if isinstance(answer, Answer):
        _check(problem, answer)
    with transaction.atomic():
        columns = _columns(problem, answer)
        if isinstance(answer, Answer):
            columns["notes"] = [*row.notes, *(note for note in answer.notes if note not in row.notes)]
            columns["forecast"] = outlook
        lease_finish(row=row, lease_id=lease_id, state=RowState.SUCCEEDED, **columns)
        if isinstance(answer, Answer):
            _place(row, problem, answer)
