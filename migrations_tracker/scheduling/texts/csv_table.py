"""The plan as CSV; a cell that a spreadsheet would run as a formula is written as text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from migrations_tracker.scheduling.texts.lines import PlanLine

_HEAD = (
    "key",
    "title",
    "kind",
    "phase",
    "category",
    "crate",
    "outcome",
    "items",
    "hours_low",
    "hours_likely",
    "hours_high",
    "prerequisites",
    "person",
    "runner",
    "start",
    "finish",
)
# With those that a keyboard for Chinese or Japanese writes, which spreadsheets read as the narrow ones.
_STARTS = "=+@\uff1d\uff0b\uff20\uff0d-"
_FORMULA = re.compile(rf"[\t\r\n]|[\s\u200b-\u200f\u2060\ufeff]*[{_STARTS}]")
# Where `;` or a tab parts cells, the quotes of a cell that begins before it don't hold it together.
_FORMULA_AFTER_SPLIT = re.compile(rf"""(?<=[;\t\r\n])(?=[ "]*[{_STARTS}])""")


def csv_table(lines: Sequence[PlanLine]) -> str:
    """Return a header and one record per unit."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(_HEAD)
    for line in lines:
        unit = line.unit
        cells = [unit.key, unit.title, unit.kind, str(int(unit.phase)), unit.category, unit.crate]
        cells += [unit.outcome or "", str(len(unit.item_ids))]
        cells += [f"{hours:g}" for hours in (line.hours.low, line.hours.likely, line.hours.high)]
        cells += [" ".join(line.prerequisites), line.person, line.runner]
        cells += [moment.isoformat() if moment else "" for moment in (line.start, line.finish)]
        writer.writerow([neutralised(cell) for cell in cells])
    return out.getvalue()


def neutralised(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula, nor a part of it where that one splits cells."""
    cell = _FORMULA_AFTER_SPLIT.sub("'", cell)
    return f"'{cell}" if _FORMULA.match(cell) else cell
