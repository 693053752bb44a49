"""Capabilities as files: JSON, CSV, Markdown and Rust source."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator

from audit.models import Capability, CapabilityReading
from audit.parity.capability import State
from audit.scanner.output.markdown_text import escaped
from migrations_tracker.scheduling.texts.csv_table import neutralised

COLUMNS = (
    "operator",
    "dtype",
    "device",
    "direction",
    "family",
    "state",
    "is_gap",
    "pytorch_state",
    "pytorch_proof",
    "crate",
    "path",
    "line",
    "symbol",
    "note",
)

PART_LENGTH = 100_000

_RUST_HEAD = """\
// Capabilities of {name} at {commit}, held to torch {torch}. Made by `manage.py capabilities --rust`.

/// What becomes of a case.
#[allow(dead_code)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapabilityState {{
{variants}}}

#[allow(dead_code)]
impl CapabilityState {{
    /// Whether the case is computed on the device, and nowhere else by default.
    pub const fn can(self) -> bool {{
        matches!(self, {able})
    }}
}}

/// What the code does for an operator, dtype, device and direction.
#[allow(dead_code)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {{
    pub operator: &'static str,
    pub dtype: &'static str,
    pub device: &'static str,
    pub direction: &'static str,
    pub state: CapabilityState,
    /// PyTorch computes the case on the device, and the code does not, or not always.
    pub is_gap: bool,
}}

/// Every case, sorted.
#[allow(dead_code)]
pub static CAPABILITIES: &[Capability] = &[
"""

_RUST_TAIL = """\
];

/// Finds a case; `None` where nothing serves it.
#[allow(dead_code)]
pub fn capability(
    operator: &str,
    dtype: &str,
    device: &str,
    direction: &str,
) -> Option<&'static Capability> {
    CAPABILITIES
        .binary_search_by(|row| {
            (row.operator, row.dtype, row.device, row.direction)
                .cmp(&(operator, dtype, device, direction))
        })
        .ok()
        .map(|index| &CAPABILITIES[index])
}
"""


def as_json(reading: CapabilityReading, cells: Iterable[Capability]) -> str:
    """Write the capabilities of a scan as JSON."""
    document = _head(reading) | {"capabilities": [_record(cell) for cell in cells]}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def json_parts(reading: CapabilityReading, cells: Iterable[Capability]) -> Iterator[str]:
    """Write the same some cells at a time, and why there are none where they could not be derived."""
    head = json.dumps(_head(reading) | {"failure": reading.failure_reason})
    text = f'{head[:-1]}, "capabilities": ['
    for number, cell in enumerate(cells):
        text += f"{',' if number else ''}\n{json.dumps(_record(cell))}"
        if len(text) >= PART_LENGTH:
            yield text
            text = ""
    yield f"{text}]}}\n"


def _head(reading: CapabilityReading) -> dict[str, object]:
    scan_run = reading.scan_run
    return {
        "repository": scan_run.repository.name,
        "commit": scan_run.commit.object_id,
        "scan": scan_run.pk,
        "torch": reading.torch_version,
    }


def _record(cell: Capability) -> dict[str, object]:
    return {**{column: getattr(cell, column) for column in COLUMNS}, "can": State(cell.state).can}


def as_csv(reading: CapabilityReading, cells: Iterable[Capability]) -> str:
    """Write the capabilities of a scan as CSV, one row a cell."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(["commit", *COLUMNS])
    commit = reading.scan_run.commit.object_id
    for cell in cells:
        writer.writerow([commit, *(_inert(getattr(cell, column)) for column in COLUMNS)])
    return output.getvalue()


def as_markdown(reading: CapabilityReading, cells: Iterable[Capability]) -> str:
    """Write the capabilities of a scan as Markdown: counts by state, then one row a cell."""
    rows = list(cells)
    scan_run = reading.scan_run
    counts = Counter(cell.state for cell in rows)
    gaps = Counter(cell.state for cell in rows if cell.is_gap)
    lines = [
        f"# Capabilities of {escaped(scan_run.repository.name)} at {scan_run.commit.short_id}",
        "",
        f"Held to torch {escaped(reading.torch_version)}.",
        f"{len(rows):,} cases, {gaps.total():,} of them gaps.",
        "",
        "| state | cases | gaps |",
        "| --- | ---: | ---: |",
        *(f"| {s.value} | {counts[s.value]} | {gaps[s.value]} |" for s in State if counts[s.value]),
        "",
        "| operator | dtype | device | direction | state | gap | PyTorch | proof |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for cell in rows:
        proof = f"{cell.symbol} ({cell.path}:{cell.line})" if cell.path else "no code"
        words = (cell.operator, cell.dtype, cell.device, cell.direction, cell.state)
        row = (*words, "gap" if cell.is_gap else "", f"{cell.pytorch_state}: {cell.pytorch_proof}", proof)
        lines.append(f"| {' | '.join(map(escaped, row))} |")
    return "\n".join(lines) + "\n"


def as_rust(reading: CapabilityReading, cells: Iterable[Capability]) -> str:
    """Write the capabilities of a scan as a Rust module without dependencies."""
    rows = sorted(cells, key=lambda cell: (cell.operator, cell.dtype, cell.device, cell.direction))
    able = " | ".join(f"Self::{_variant(state)}" for state in State if state.can)
    head = _RUST_HEAD.format(
        name=_one_line(reading.scan_run.repository.name),
        commit=reading.scan_run.commit.short_id,
        torch=_one_line(reading.torch_version),
        variants="".join(f"    {_variant(state)},\n" for state in State),
        able=able,
    )
    return head + "".join(map(_rust_row, rows)) + _RUST_TAIL


def _rust_row(cell: Capability) -> str:
    words = (cell.operator, cell.dtype, cell.device, cell.direction)
    operator, dtype, device, direction = (json.dumps(word) for word in words)
    state = f"CapabilityState::{_variant(State(cell.state))}"
    gap = "true" if cell.is_gap else "false"
    return (
        f"    Capability {{ operator: {operator}, dtype: {dtype}, device: {device}, direction: {direction}, "
        f"state: {state}, is_gap: {gap} }},\n"
    )


def _variant(state: State) -> str:
    return "".join(word.capitalize() for word in state.value.split("-"))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _inert(value: object) -> object:
    """Keep a spreadsheet from reading text as a formula."""
    return neutralised(value) if isinstance(value, str) else value
