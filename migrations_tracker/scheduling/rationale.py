"""Why a unit exists and what its fix looks like, and the plan that is confirmed before its work starts."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from audit.scanner.report import Outcome
from migrations_tracker.scheduling import clauses
from migrations_tracker.scheduling.catalogue import FixCategory
from migrations_tracker.scheduling.estimating import Estimate
from migrations_tracker.scheduling.items import ItemKind, OpenItem
from migrations_tracker.scheduling.naming import PolicyNames
from migrations_tracker.scheduling.units import WorkUnit


@dataclass(frozen=True, slots=True)
class ParityFact:
    """What PyTorch does for one operator, as the parity catalogue has it."""

    operator: str
    behaviour: str
    source: str


@dataclass(frozen=True, slots=True)
class AfterForm:
    """The canonical Rust shape of an outcome, names filled in."""

    title: str
    rust: str
    announce: str


@dataclass(frozen=True, slots=True)
class MapRow:
    """Where one operation executes, and the call that proves it; a cell that no fact fills is empty."""

    operation: str
    executes_on: str
    proved_by: str


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """A kernel to be written. Empty fields are what a person has to say before work starts."""

    operation: str
    backend: str = ""
    signature: str = ""
    layout: str = ""
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreFlight:
    """The four sections of the policy's first step, pre-filled from facts."""

    execution_map: tuple[MapRow, ...]
    files: tuple[str, ...]
    kernels: tuple[KernelPlan, ...]
    verification: tuple[str, ...]

    @property
    def open_questions(self) -> tuple[str, ...]:
        """What has to be filled in before work may start, each by name."""
        unproved = (row for row in self.execution_map if not row.proved_by)
        missing = [f"{row.operation}: the call that proves it" for row in unproved]
        wanted = ("backend", "signature", "layout", "dtypes")
        for kernel in self.kernels:
            missing.extend(f"{kernel.operation}: {name}" for name in wanted if not getattr(kernel, name))
        return tuple(missing)


@dataclass(frozen=True, slots=True)
class Rationale:
    """Everything a unit's page says about why and how."""

    parity: tuple[ParityFact, ...]
    now: tuple[str, ...]
    category: FixCategory
    category_reason: str
    after: AfterForm | None
    call_sites: int
    behavioural_change: str
    verification: tuple[str, ...]
    siblings: tuple[str, ...]
    question: str
    clauses: tuple[str, ...]


def rationale(
    unit: WorkUnit,
    items: Mapping[str, OpenItem],
    estimate: Estimate,
    facts: Mapping[str, ParityFact],
    messages: Mapping[str, str],
    names: PolicyNames | None = None,
) -> Rationale:
    """Return a unit's rationale.

    `facts` are by PyTorch operator, `messages` by item: what the scanner said of it, with its evidence.
    """
    policy = names or PolicyNames()
    members = [items[item_id] for item_id in unit.item_ids if item_id in items]
    operators = sorted({item.operator for item in members if item.operator})
    parity = tuple(facts[name] for name in operators if name in facts)
    after = after_form(unit, members, policy)
    return Rationale(
        parity=parity,
        now=tuple(f"{item.symbol}: {messages[item.id]}" for item in members if item.id in messages),
        category=unit.category,
        category_reason=unit.reason,
        after=after,
        call_sites=sum(item.callers for item in members),
        behavioural_change=after.announce if after else clauses.NO_CHANGE.template,
        verification=verification_commands(unit, members, policy),
        siblings=tuple(sorted({item.symbol for item in members})),
        question=question(unit, parity, estimate),
        clauses=clauses.clauses_of_unit(unit),
    )


def question(unit: WorkUnit, parity: Sequence[ParityFact], estimate: Estimate) -> str:
    """Return the policy's sentence: a question of when, never of whether."""
    if parity:
        behaviour = parity[0].behaviour.rstrip(".")
        more = f" (and {len(parity) - 1} more operators, below)" if len(parity) > 1 else ""
    elif unit.need is not None:
        behaviour, more = clauses.ONE_PLACE.said(reason=unit.reason).text, ""
    else:
        behaviour, more = clauses.RAISES_BY_DEFAULT.template, ""
    hours = estimate.hours
    cost = f"{hours.likely:.0f} hours ({hours.low:.0f} to {hours.high:.0f})"
    return clauses.QUESTION.said(behaviour=behaviour, more=more, cost=cost).text


@cache
def _forms() -> dict[str, dict[str, str]]:
    return tomllib.loads(resources.files(__package__).joinpath("after_forms.toml").read_text("utf-8"))


def after_form(unit: WorkUnit, members: Sequence[OpenItem], names: PolicyNames) -> AfterForm | None:
    """Return the canonical shape of a unit's outcome; None where no code is wanted, as for tests."""
    if unit.outcome is None or not members:
        return None
    first = members[0]
    kernel = first.symbol.rpartition("::")[2] or first.symbol
    return after_shape(unit.outcome, kernel=kernel, operator=first.operator or kernel, names=names)


def after_shape(
    outcome: Outcome, *, kernel: str = "op", operator: str = "op", names: PolicyNames | None = None
) -> AfterForm:
    """Return the canonical Rust shape of an outcome."""
    names = names or PolicyNames()
    form = _forms()[outcome]
    words = {
        "kernel": kernel,
        "op": operator,
        "unsupported_error": names.unsupported_error,
        "compile_error": names.compile_error,
        "opt_in_variable": names.opt_in_variable,
        "logging_crate": names.logging_crate,
    }
    rust, announce = form["rust"].strip("\n").format(**words), form["announce"].format(**words)
    return AfterForm(form["title"], rust, announce)


def verification_commands(unit: WorkUnit, members: Iterable[OpenItem], names: PolicyNames) -> tuple[str, ...]:
    """Return commands that show whether the unit is done. A change to a shared item builds the workspace."""
    crates = sorted({item.crate for item in members if item.crate} | ({unit.crate} - {""}))
    commands = [f"cargo test -p {crate} --features {names.gpu_feature}" for crate in crates]
    if unit.need is not None or not crates:
        commands.insert(0, "cargo build --workspace --all-targets")
    if unit.rules:
        rules = ",".join(unit.rules)
        commands.append(f"python -m audit.scanner . --rules {rules} --fail-on any")
    return tuple(commands)


def pre_flight(unit: WorkUnit, items: Mapping[str, OpenItem], names: PolicyNames | None = None) -> PreFlight:
    """Return the plan of a unit as far as facts fill it; its open questions are for a person."""
    policy = names or PolicyNames()
    members = [items[item_id] for item_id in unit.item_ids if item_id in items]
    writes = unit.outcome in (Outcome.DEVICE_KERNEL, Outcome.COMPOSITE)
    rows = tuple(_row(item, unit.outcome, policy) for item in members)
    kernels = tuple(
        KernelPlan(item.operator or item.symbol, dtypes=item.dtypes)
        for item in members
        if writes and unit.outcome is Outcome.DEVICE_KERNEL and item.kind is not ItemKind.TEST
    )
    return PreFlight(
        execution_map=rows,
        files=tuple(sorted({item.path for item in members if item.path})),
        kernels=kernels,
        verification=verification_commands(unit, members, policy),
    )


def _row(item: OpenItem, outcome: Outcome | None, names: PolicyNames) -> MapRow:
    operation = f"{item.operator or item.symbol} {item.direction}".strip()
    if outcome is Outcome.STRUCTURED_ERROR:
        proof = clauses.REFUSAL_ASSERTED.said(error=names.unsupported_error)
        return MapRow(operation, clauses.REFUSES.template, proof.text)
    if outcome is Outcome.OPT_IN_FALLBACK:
        proof = clauses.CHOICE_PROVED.said(variable=names.opt_in_variable)
        return MapRow(operation, clauses.ON_CPU_BY_CHOICE.template, proof.text)
    if outcome is Outcome.COMPOSITE:
        return MapRow(operation, clauses.WHERE_INPUT_IS.template, clauses.KERNELS_OF_PARTS.template)
    if outcome is Outcome.DEVICE_KERNEL:
        return MapRow(operation, clauses.ON_GPU.template, "")
    return MapRow(operation, clauses.AS_BEFORE.template, clauses.TEST_ON_DEVICE.template)


def unseen_kernels(plan: PreFlight, kernels_seen: Iterable[str]) -> tuple[str, ...]:
    """Return what the plan said would launch and no kernel's name shows, compared when the unit ends."""
    seen = [name.lower() for name in kernels_seen]
    planned = [kernel.operation for kernel in plan.kernels]

    def stem(operation: str) -> str:
        return operation.rpartition("::")[2].split(".")[0].removeprefix("gpu_").lower()

    return tuple(name for name in planned if not any(stem(name) in kernel for kernel in seen))
