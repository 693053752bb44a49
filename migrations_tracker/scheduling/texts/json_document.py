"""The plan as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from migrations_tracker.scheduling.problem import Schedule
from migrations_tracker.scheduling.texts.lines import PlanLine

FORMAT_VERSION = 1


def json_document(lines: Sequence[PlanLine], schedule: Schedule | None) -> str:
    """Return a document with the units and, where there is one, what is known of the schedule."""
    document: dict[str, object] = {"version": FORMAT_VERSION, "units": [_unit(line) for line in lines]}
    if schedule is not None:
        document["schedule"] = {
            "makespan_quarter_hours": schedule.objective.makespan,
            "weighted_completion": schedule.objective.weighted_completion,
            "bound_quarter_hours": schedule.bound.value,
            "bound_by": schedule.bound.best.source if schedule.bound.best else "",
            "gap": round(schedule.gap, 4),
            "method": schedule.method,
            "seed": schedule.seed,
            "is_cut_off": schedule.is_cut_off,
            "notes": list(schedule.notes),
        }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _unit(line: PlanLine) -> dict[str, object]:
    unit = line.unit
    return {
        "key": unit.key,
        "title": unit.title,
        "kind": unit.kind,
        "phase": int(unit.phase),
        "status": unit.status,
        "category": unit.category,
        "reason": unit.reason,
        "crate": unit.crate,
        "outcome": unit.outcome,
        "items": list(unit.item_ids),
        "hours": {"low": line.hours.low, "likely": line.hours.likely, "high": line.hours.high},
        "question": line.question,
        "prerequisites": list(line.prerequisites),
        "person": line.person or None,
        "runner": line.runner or None,
        "start": line.start.isoformat() if line.start else None,
        "finish": line.finish.isoformat() if line.finish else None,
    }
