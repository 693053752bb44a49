"""The plan as a Markdown table in the form of a decision record."""

from __future__ import annotations

from collections.abc import Sequence

from audit.scanner.output.markdown_text import escaped
from migrations_tracker.scheduling.texts.lines import PlanLine

_HEAD = ("#", "Unit", "Category", "Phase", "Hours", "Comes after", "Who", "Start", "Finish")


def markdown_table(lines: Sequence[PlanLine]) -> str:
    """Return one row per unit."""
    numbers = {line.unit.key: number for number, line in enumerate(lines, 1)}
    rows = [_row(_HEAD), _row(["---"] * len(_HEAD))]
    for line in lines:
        after = ", ".join(str(numbers[key]) for key in line.prerequisites if key in numbers)
        hours = f"{line.hours.likely:g} ({line.hours.low:g} to {line.hours.high:g})"
        start = line.start.strftime("%Y-%m-%d") if line.start else ""
        finish = line.finish.strftime("%Y-%m-%d") if line.finish else ""
        rows.append(
            _row(
                [
                    str(numbers[line.unit.key]),
                    line.unit.title,
                    f"{line.unit.category}: {line.unit.reason}",
                    line.unit.phase.name.lower(),
                    hours,
                    after,
                    line.person,
                    start,
                    finish,
                ]
            )
        )
    return "\n".join(rows) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(escaped(cell) for cell in cells)} |"
