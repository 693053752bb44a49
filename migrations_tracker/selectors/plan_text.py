"""The plan as text, in every format, from the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils import timezone

from audit.parity import rationale as parity
from audit.parity.capability import Case
from audit.parity.catalogue import Direction, newest
from audit.parity.matrix import REFERENCE
from audit.scanner.output.markdown_text import escaped
from migrations_tracker.models import Plan, Precedence, PrecedenceState, Schedule, UnitMember, WorkUnit
from migrations_tracker.scheduling.precedence import Edge, PrecedenceGraph, PrecedenceReason
from migrations_tracker.scheduling.problem import Problem
from migrations_tracker.scheduling.problem import Schedule as Answer
from migrations_tracker.scheduling.rationale import ParityFact, question
from migrations_tracker.scheduling.stored import from_plain
from migrations_tracker.scheduling.texts.csv_table import csv_table
from migrations_tracker.scheduling.texts.icalendar_events import icalendar_events
from migrations_tracker.scheduling.texts.issue_body import issue_body
from migrations_tracker.scheduling.texts.json_document import json_document
from migrations_tracker.scheduling.texts.lines import PlanLine, plan_lines
from migrations_tracker.scheduling.texts.markdown_table import markdown_table
from migrations_tracker.selectors.plan_facts import member_item_ids, unit_of_row
from migrations_tracker.selectors.plan_problem import plan_problem
from migrations_tracker.selectors.unit_detail import estimate_of_row, unit_members, unit_reasons

CONTENT_TYPES = {
    "md": "text/markdown; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "ics": "text/calendar; charset=utf-8",
}


def plan_text(*, plan: Plan, form: str, host: str) -> str:
    """Return the plan with its newest schedule in one of the forms of `CONTENT_TYPES`."""
    lines, answer = _lines(plan)
    if form == "csv":
        return csv_table(lines)
    if form == "json":
        return json_document(lines, answer)
    if form == "ics":
        return icalendar_events(lines, timezone.now(), host)
    title = f"# The plan of {escaped(plan.repository.name)}\n\n"
    return title + markdown_table(lines)


def issue_text(*, unit: WorkUnit) -> str:
    """Return a unit as the Markdown body of an issue."""
    reasons = unit_reasons(unit=unit, members=unit_members(unit=unit))
    waits = unit.edges_in.exclude(state=PrecedenceState.CUT).values_list("before__key", flat=True)
    line = PlanLine(
        unit=unit_of_row(unit, reasons.items),
        hours=estimate_of_row(unit).hours,
        question=reasons.rationale.question,
        prerequisites=tuple(sorted(waits)),
    )
    return issue_body(line, reasons.rationale, reasons.pre_flight, reasons.items)


def _lines(plan: Plan) -> tuple[Sequence[PlanLine], Answer | None]:
    rows = list(WorkUnit.objects.filter(plan=plan))
    items = member_item_ids(plan=plan)
    units = [unit_of_row(row, items.get(row.pk, ())) for row in rows]
    newest_row = Schedule.objects.filter(plan=plan, what_if={}, makespan__isnull=False).first()
    answer = from_plain(Answer, newest_row.answer) if newest_row else None
    problem = (
        from_plain(Problem, newest_row.problem)
        if newest_row
        else plan_problem(plan=plan, now=timezone.now()).problem
    )
    facts = _parity_facts(plan)
    hours = {row.key: estimate_of_row(row).hours for row in rows}
    questions = {
        row.key: question(unit, facts.get(row.pk, ()), estimate_of_row(row))
        for row, unit in zip(rows, units, strict=True)
    }
    return plan_lines(units, hours, questions, _graph(plan), problem, answer), answer


def _graph(plan: Plan) -> PrecedenceGraph:
    edges = Precedence.objects.filter(before__plan=plan).exclude(state=PrecedenceState.CUT)
    return PrecedenceGraph(
        tuple(
            Edge(before, after, PrecedenceReason(reason), message)
            for before, after, reason, message in edges.order_by("before__key", "after__key").values_list(
                "before__key", "after__key", "reason", "message"
            )
        ),
        (),
    )


def _parity_facts(plan: Plan) -> Mapping[int, list[ParityFact]]:
    """What PyTorch does, for the operators of each unit's gaps."""
    cases: dict[int, dict[str, Case]] = {}
    members = UnitMember.objects.filter(unit__plan=plan, gap__isnull=False).order_by("gap__operator")
    for unit_id, operator, dtype, device, direction in members.values_list(
        "unit_id", "gap__operator", "gap__dtype", "gap__device", "gap__direction"
    ):
        case = Case(operator, dtype, device, Direction(direction))
        cases.setdefault(unit_id, {}).setdefault(operator, case)
    found: dict[int, list[ParityFact]] = {}
    for unit_id, by_operator in cases.items():
        for operator, case in by_operator.items():
            # The sentence names the first operator and counts the others.
            said = _behaviour(case) if not found.get(unit_id) else ("", "")
            found.setdefault(unit_id, []).append(ParityFact(operator, *said))
    return found


def _behaviour(case: Case) -> tuple[str, str]:
    why = parity.of_case(newest(), case, reference_device=REFERENCE.get(case.device, ""))
    return why.registers, why.source
