from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from audit.scanner.report import Outcome
from migrations_tracker.scheduling.bundling import bundle
from migrations_tracker.scheduling.catalogue import Hours, default_catalogue
from migrations_tracker.scheduling.deciding import WorkspaceFacts, with_needs
from migrations_tracker.scheduling.estimating import estimate
from migrations_tracker.scheduling.items import OpenItem
from migrations_tracker.scheduling.naming import PolicyNames
from migrations_tracker.scheduling.planning import problem_of
from migrations_tracker.scheduling.precedence import build_precedences
from migrations_tracker.scheduling.problem import ALWAYS, Person, Runner, Schedule
from migrations_tracker.scheduling.rationale import (
    ParityFact,
    after_form,
    after_shape,
    pre_flight,
    question,
    rationale,
    unseen_kernels,
)
from migrations_tracker.scheduling.solving import list_schedule
from migrations_tracker.scheduling.texts.csv_table import csv_table, neutralised
from migrations_tracker.scheduling.texts.icalendar_events import icalendar_events
from migrations_tracker.scheduling.texts.issue_body import issue_body
from migrations_tracker.scheduling.texts.json_document import json_document
from migrations_tracker.scheduling.texts.lines import PlanLine, plan_lines
from migrations_tracker.scheduling.texts.markdown_table import markdown_table
from migrations_tracker.scheduling.weighting import weights
from tests.migrations_tracker.scheduling.problems import MONDAY

KERNELS = [
    OpenItem(
        f"K{n}",
        "host-readback",
        "ferrotorch-gpu",
        "ferrotorch-gpu/src/conv.rs",
        f"ferrotorch_gpu::conv::gpu_conv{n}d",
        operator=f"aten::conv{n}d",
        callers=3,
        is_always_taken=n == 1,
    )
    for n in range(1, 4)
]
SWEPT = [
    OpenItem(f"S{n}", "ungated-warning", "ferrotorch-nn", "ferrotorch-nn/src/a|b.rs", f"ferrotorch_nn::op{n}")
    for n in range(6)
]
ITEMS = with_needs([*KERNELS, *SWEPT], WorkspaceFacts({}), default_catalogue(), PolicyNames())
BY_ID = {item.id: item for item in ITEMS}
UNITS = bundle(ITEMS).units
GRAPH = build_precedences(UNITS, BY_ID, {})
ESTIMATES = {unit.key: estimate(unit, BY_ID) for unit in UNITS}
HOURS = {key: found.hours for key, found in ESTIMATES.items()}
WEIGHTS = weights(UNITS, BY_ID, GRAPH.pairs())
PEOPLE = (Person("ada", frozenset({"kernel", "build"}), ALWAYS),)
PROBLEM = problem_of(UNITS, HOURS, WEIGHTS, GRAPH, PEOPLE, (Runner("h100", frozenset({"cuda"})),), MONDAY)
CONV = next(unit for unit in UNITS if "K1" in unit.item_ids)
SWEEP = next(unit for unit in UNITS if "S1" in unit.item_ids)
FACT = ParityFact("aten::conv1d", "PyTorch launches cuDNN for conv1d", "torch 2.9.0")


def lines() -> tuple[PlanLine, ...]:
    schedule = list_schedule(PROBLEM)
    assert isinstance(schedule, Schedule)
    questions = {unit.key: question(unit, (), ESTIMATES[unit.key]) for unit in UNITS}
    return plan_lines(UNITS, HOURS, questions, GRAPH, PROBLEM, schedule)


def test_the_question_has_the_form_of_the_policy() -> None:
    found = question(CONV, (FACT,), ESTIMATES[CONV.key])
    hours = HOURS[CONV.key]
    assert found == (
        "PyTorch launches cuDNN for conv1d. Implementation cost: "
        f"{hours.likely:.0f} hours ({hours.low:.0f} to {hours.high:.0f}). Now or next phase?"
    )


def test_every_outcome_has_a_canonical_shape_with_all_names_filled_in() -> None:
    for outcome in Outcome:
        form = after_form(replace(SWEEP, outcome=outcome), SWEPT, PolicyNames())
        assert form is not None
        assert "{kernel}" not in form.rust
        assert "{{" not in form.rust + form.announce
        assert form.title


def test_the_shape_of_an_opt_in_names_variable_error_and_warning() -> None:
    form = after_form(SWEEP, SWEPT, PolicyNames(opt_in_variable="MY_FALLBACK", error_enum="MyError"))
    assert form is not None
    for name in ("MY_FALLBACK", "MyError::PtxCompileFailed", "tracing::warn!"):
        assert name in form.rust


def test_a_pre_flight_plan_asks_for_what_no_fact_says() -> None:
    plan = pre_flight(replace(CONV, outcome=Outcome.DEVICE_KERNEL), BY_ID)
    assert plan.files == ("ferrotorch-gpu/src/conv.rs",)
    assert [row.executes_on for row in plan.execution_map] == ["GPU"] * 3
    assert "aten::conv1d: signature" in plan.open_questions
    assert pre_flight(SWEEP, BY_ID).open_questions == ()


def test_kernels_that_the_plan_named_and_no_trace_shows_are_listed() -> None:
    plan = pre_flight(CONV, BY_ID)
    assert unseen_kernels(plan, ["conv1d_forward_f32", "conv3d_kernel"]) == ("aten::conv2d",)


def test_a_change_of_a_shared_item_builds_the_workspace() -> None:
    decision = UNITS[0]
    assert pre_flight(decision, BY_ID).verification[0] == "cargo build --workspace --all-targets"


def test_the_weight_is_the_sum_of_reasons_that_are_shown() -> None:
    parts = dict(WEIGHTS[CONV.key].parts)
    assert parts == {
        "every unit": 1,
        "1 path always taken, as the driver refuses the PTX": 3,
        "9 callers": 4,
    }
    assert WEIGHTS[CONV.key].value == 8
    tracing = next(unit for unit in UNITS if unit.need and unit.need.name == "tracing")
    assert dict(WEIGHTS[tracing.key].parts)["2 units wait for it"] == 4


def test_a_decision_needs_no_runner_and_a_sweep_does() -> None:
    demand = {unit.key: unit for unit in PROBLEM.units}
    assert demand[UNITS[0].key].verification == 0
    assert demand[SWEEP.key].verification == 2


def test_markdown_keeps_every_cell_in_its_column() -> None:
    rows = markdown_table(lines()).splitlines()
    assert len(rows) == len(UNITS) + 2
    for row in rows:
        assert row.replace("\\|", "").count("|") == 10


def test_csv_reads_back_and_no_cell_is_a_formula() -> None:
    hostile = replace(lines()[0], person="=HYPERLINK(1)")
    records = list(csv.DictReader(io.StringIO(csv_table([hostile, *lines()[1:]]))))
    assert [record["key"] for record in records] == [line.unit.key for line in lines()]
    assert records[0]["person"] == "'=HYPERLINK(1)"


@pytest.mark.parametrize("cell", ["=1", "+1", "-1", "@a", "\ta", " =1", "\ra"])
def test_a_formula_is_written_as_text(cell: str) -> None:
    assert neutralised(cell) == f"'{cell}"


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize(
    "cell", ["a;=1", "a; +1", 'a;"=1"', "a\n=1", "a\t@b", "a;;-1", "a\r\n =1", 'a";"=1', "\t=1"]
)
def test_no_formula_begins_where_another_separator_splits_a_cell(cell: str, separator: str) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(["first", neutralised(cell), "last"])
    read = csv.reader(io.StringIO(out.getvalue(), newline=""), delimiter=separator)
    parts = [part.lstrip(' "') for record in read for part in record]
    assert [part for part in parts if part.startswith(("=", "+", "-", "@"))] == []


@pytest.mark.parametrize("cell", ["a-b; c", "x = 1; y = 2", "(a;b)", "FT001;FT002"])
def test_a_cell_without_a_formula_is_as_it_was(cell: str) -> None:
    assert neutralised(cell) == cell


def test_json_has_units_and_schedule() -> None:
    schedule = list_schedule(PROBLEM)
    assert isinstance(schedule, Schedule)
    document = json.loads(json_document(lines(), schedule))
    assert [unit["key"] for unit in document["units"]] == [line.unit.key for line in lines()]
    assert document["schedule"]["makespan_quarter_hours"] == schedule.objective.makespan


def test_icalendar_folds_at_75_octets_and_escapes() -> None:
    long = replace(lines()[0].unit, title="Ümläut; " * 30)
    text = icalendar_events([replace(lines()[0], unit=long)], datetime(2026, 6, 1, tzinfo=UTC), "example.org")
    assert text.endswith("END:VCALENDAR\r\n")
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    unfolded = text.replace("\r\n ", "")
    assert "SUMMARY:" + "Ümläut\\; " * 30 in unfolded
    assert "DTSTART:20260601T090000Z" in unfolded


def test_a_unit_without_a_place_is_no_event() -> None:
    line = PlanLine(SWEEP, Hours(1, 2, 3), "")
    assert "VEVENT" not in icalendar_events([line], MONDAY, "example.org")


def test_an_issue_says_what_to_do_without_the_tracker() -> None:
    line = next(line for line in lines() if line.unit == CONV)
    facts, messages = {"aten::conv1d": FACT}, {"K1": "reads back after the launch"}
    why = rationale(CONV, BY_ID, ESTIMATES[CONV.key], facts, messages)
    body = issue_body(line, why, pre_flight(CONV, BY_ID), BY_ID)
    for text in (
        "Now or next phase?",
        "**Category A**",
        "### Sites (3, 9 call sites)",
        "- [ ] `ferrotorch_gpu::conv::gpu_conv1d` in `ferrotorch-gpu/src/conv.rs`: host-readback",
        "reads back after the launch",
        "```rust",
        "cargo test -p ferrotorch-gpu --features cuda",
        "**Behavioural change**",
    ):
        assert text in body


def test_lines_stand_in_the_order_of_their_starts() -> None:
    starts = [line.start for line in lines()]
    assert starts == sorted(starts)  # type: ignore[type-var]
    assert lines()[-1].finish - MONDAY > timedelta(hours=1)  # type: ignore[operator]


@pytest.mark.parametrize("outcome", [one for one in Outcome if one is not Outcome.REMOVED])
def test_an_outcome_has_its_shape_with_the_names_that_are_given(outcome: Outcome) -> None:
    names = PolicyNames(opt_in_variable="MINITORCH_FALLBACK")
    shape = after_shape(outcome, kernel="gpu_erfinv", operator="erfinv", names=names)
    assert shape.title
    assert "erfinv" in shape.rust + shape.announce
    # No word is left to be filled in.
    assert not re.findall(r"\{(?:kernel|op|\w+_error|opt_in_variable)\}", shape.rust + shape.announce)
    assert ("MINITORCH_FALLBACK" in shape.rust) == (outcome is Outcome.OPT_IN_FALLBACK)
