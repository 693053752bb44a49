"""One unit as the Markdown body of an issue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from audit.scanner.output.markdown_text import code, escaped
from migrations_tracker.scheduling.items import OpenItem
from migrations_tracker.scheduling.rationale import PreFlight, Rationale
from migrations_tracker.scheduling.texts.lines import PlanLine


def issue_body(line: PlanLine, why: Rationale, plan: PreFlight, items: Mapping[str, OpenItem]) -> str:
    """Return what somebody needs who works on the unit without the tracker."""
    return "\n".join(_lines(line, why, plan, items)) + "\n"


def _lines(line: PlanLine, why: Rationale, plan: PreFlight, items: Mapping[str, OpenItem]) -> Iterator[str]:
    yield why.question
    yield ""
    yield f"**Category {why.category}**: {why.category_reason}."
    yield f"**Rests on**: {', '.join(why.clauses)} of the policy."
    if line.prerequisites:
        yield f"**Comes after**: {', '.join(map(code, line.prerequisites))}."
    for fact in why.parity:
        yield from ("", f"### PyTorch: {code(fact.operator)}", "", f"{fact.behaviour} ({fact.source})")
    members = [items[item_id] for item_id in line.unit.item_ids if item_id in items]
    if members:
        yield from ("", f"### Sites ({len(members)}, {why.call_sites} call sites)", "")
        for item in members:
            yield f"- [ ] {code(item.symbol)} in {code(item.path)}: {escaped(item.rule)}"
    if why.now:
        yield from ("", "### Now", "", *(f"- {escaped(text)}" for text in why.now))
    if why.after:
        yield from ("", f"### After: {why.after.title}", "", "```rust", why.after.rust, "```")
    yield from ("", f"**Behavioural change**: {why.behavioural_change}")
    yield from ("", "### Execution map", "", "| Operation | Executes on | Proved by |", "| --- | --- | --- |")
    for row in plan.execution_map:
        cells = (row.operation, row.executes_on, row.proved_by or "to be filled in")
        yield f"| {' | '.join(escaped(cell) for cell in cells)} |"
    if plan.open_questions:
        yield from ("", "To be filled in before work starts:", "")
        yield from (f"- [ ] {escaped(text)}" for text in plan.open_questions)
    yield from ("", "### Verification", "", "```sh", *plan.verification, "```")
