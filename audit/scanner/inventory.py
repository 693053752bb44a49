"""What the plan must know of a workspace beside its results: what stands on what, and what exists already."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from audit.scanner.ptx.kernels import text_digest

if TYPE_CHECKING:
    from audit.scanner.judge import Judgement

_ERROR_ENUM = re.compile(r"Error$")
_TEXT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_VARIANT = re.compile(r"\s*(?:#\[[^\]]*\]\s*)*([A-Z]\w*)")
_OPENING, _CLOSING = frozenset("({["), frozenset(")}]")


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a linked workspace consists of.

    `dependencies` maps each package to the real names of what it needs outside of tests; `error_variants`
    holds the variants of the error enums of product code (`GpuError::OutOfMemory`), `gate_helpers` the
    functions that check the opt-in, `gpu_crates` the packages that the profile says are GPU code.
    `callers` counts, by symbol, the other product functions that call a function. `kernels` holds, by the
    symbol of a function or constant, the digests of the PTX texts that it stands for, and `rejected_kernels`
    those digests that the assembler rejects.
    """

    dependencies: Mapping[str, frozenset[str]] = field(default_factory=dict)
    error_variants: frozenset[str] = frozenset()
    gate_helpers: frozenset[str] = frozenset()
    gpu_crates: frozenset[str] = frozenset()
    callers: Mapping[str, int] = field(default_factory=dict)
    kernels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rejected_kernels: frozenset[str] = frozenset()


def inventory_of(judgement: Judgement) -> Inventory:
    """Take the inventory of a linked workspace."""
    packages, functions = judgement.workspace.packages, judgement.workspace.functions
    return Inventory(
        dependencies={package.name: package.requirements for package in packages},
        error_variants=frozenset(_error_variants(judgement)),
        gate_helpers=frozenset(functions[index].name for index in judgement.summaries.gates),
        gpu_crates=frozenset(
            package.name for package in packages if judgement.profile.is_gpu_crate(package.name)
        ),
        callers=_callers(judgement),
        kernels=_kernels(judgement),
        rejected_kernels=frozenset(text_digest(one.text.text) for one in judgement.kernels.rejections),
    )


def _kernels(judgement: Judgement) -> Mapping[str, tuple[str, ...]]:
    kernels = judgement.kernels
    found: dict[str, tuple[str, ...]] = {
        symbol: (text_digest(text.text),)
        for symbol, text in zip(kernels.symbols, kernels.texts, strict=True)
        if text.name
    }
    for function in judgement.product_functions:
        texts = kernels.texts_in(function) if function.has_body else ()
        if texts:
            found[function.symbol] = tuple(sorted({text_digest(text.text) for text in texts}))
    return found


def _callers(judgement: Judgement) -> Mapping[str, int]:
    counts: Counter[str] = Counter()
    for function in judgement.product_functions:
        found = {
            caller.index
            for caller, _ in judgement.summaries.callers(function)
            if caller.is_product_code and caller.index != function.index
        }
        if found:
            counts[function.symbol] += len(found)
    return counts


def _error_variants(judgement: Judgement) -> Iterator[str]:
    for unit in judgement.workspace.units.values():
        if unit.target_kind not in ("lib", "bin"):
            continue
        for item in unit.facts.items:
            if item.kind == "enum" and _ERROR_ENUM.search(item.name):
                for variant in enum_variants(unit.text(item.start, item.end)):
                    yield f"{item.name}::{variant}"


def enum_variants(text: str) -> Collection[str]:
    """Return the names of an enum's variants, in their order, from its source text."""
    text = _TEXT.sub("", text)
    found: list[str] = []
    depth, begins = 0, True
    position = text.find("{") + 1
    while 0 < position < len(text):
        match = _VARIANT.match(text, position) if begins and depth == 0 else None
        if match is not None:
            found.append(match[1])
            position, begins = match.end(), False
            continue
        char = text[position]
        if char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth -= 1
            if depth < 0:
                break
        elif char == "," and depth == 0:
            begins = True
        position += 1
    return found
