"""Which PyTorch operator an operation of the workspace is, by rule, and how sure that is.

A name is brought to a normal form (affixes, dtype and direction taken off), looked up in the namespaces
that the operation's kind and module call for, and last in a reviewed table (`data/matching.toml`). Every
match names the rule that made it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib import resources
from typing import Any

from audit.parity.catalogue import Catalogue, Direction
from audit.parity.counterparts import operator_names
from audit.parity.operations import Operation, OperationKind

# Kinds whose names carry affixes; a type's name stands as it is.
_AFFIXED = frozenset(
    {
        OperationKind.KERNEL,
        OperationKind.BACKEND_METHOD,
        OperationKind.FUNCTION,
        OperationKind.SCALAR_FUNCTION,
        OperationKind.TENSOR_METHOD,
    }
)


class Verdict(StrEnum):
    """How an operation stands to PyTorch."""

    MATCHED = "matched"
    NO_COUNTERPART = "no-counterpart"
    INFRASTRUCTURE = "infrastructure"
    UNMATCHED = "unmatched"


@dataclass(frozen=True, slots=True)
class Match:
    """An operation and what it is in PyTorch. `dtype` is empty where the name tells none."""

    operation: Operation
    verdict: Verdict
    counterpart: str = ""
    operators: tuple[str, ...] = ()
    direction: Direction = Direction.FORWARD
    dtype: str = ""
    rule: str = ""
    confidence: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A person's word on what the operation of a kind and a symbol is; it outranks every rule."""

    kind: str
    symbol: str
    verdict: Verdict
    counterpart: str = ""
    direction: Direction = Direction.FORWARD
    dtype: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Name:
    """A name in normal form: its `stems` from least to most taken off."""

    stems: tuple[str, ...]
    direction: Direction = Direction.FORWARD
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The reviewed data: affixes, spellings, namespaces by module, exceptions."""

    prefixes: tuple[str, ...]
    suffixes: tuple[str, ...]
    scalar_suffixes: tuple[str, ...]
    dtypes: Mapping[str, str]
    spellings: Mapping[str, str]
    namespaces: tuple[tuple[str, str, tuple[str, ...]], ...]
    exceptions: tuple[Mapping[str, str], ...]
    default_dtype: Mapping[str, str] = field(default_factory=dict)


@lru_cache(maxsize=1)
def table() -> Table:
    """Return the shipped table."""
    data = tomllib.loads((resources.files("audit.parity") / "data" / "matching.toml").read_text("utf-8"))
    return Table(
        prefixes=tuple(data["affixes"]["prefixes"]),
        suffixes=tuple(data["affixes"]["suffixes"]),
        scalar_suffixes=tuple(data["affixes"]["scalar_suffixes"]),
        dtypes=data["dtypes"],
        spellings=data["spellings"],
        namespaces=tuple((row["kind"], row["module"], tuple(row["names"])) for row in data["namespace"]),
        exceptions=tuple(data["exception"]),
        default_dtype=data["default_dtype"],
    )


def squeeze(name: str) -> str:
    """Return the form in which `LayerNorm`, `layer_norm` and `layernorm` are equal."""
    return name.replace("_", "").lower()


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _shorter(name: str, data: Table, suffixes: tuple[str, ...]) -> tuple[str, Direction] | None:
    """Take one affix off; say which direction it stood for."""
    for suffix in data.dtypes:
        if name.endswith(f"_{suffix}"):
            return name.removesuffix(f"_{suffix}"), Direction.FORWARD
    if "_backward" in name:
        return name.replace("_backward", "", 1), Direction.BACKWARD
    for prefix in data.prefixes:
        if name.startswith(prefix) and len(name) > len(prefix):
            return name.removeprefix(prefix), Direction.FORWARD
    for suffix in suffixes:
        if name.endswith(suffix) and len(name) > len(suffix):
            return name.removesuffix(suffix), Direction.FORWARD
    return None


def normal_form(operation: Operation, data: Table) -> Name:
    """Take dtype, direction and the project's affixes off a name, one by one.

    Of several dtypes the first counts: `matmul_f16_f32` computes in float16 and returns float32.
    """
    name, direction = operation.name, Direction.FORWARD
    if operation.kind is OperationKind.AUTOGRAD_NODE:
        return Name((re.sub(r"Back(ward)?[A-Z0-9]?\w*$", "", name),), Direction.BACKWARD)
    if operation.kind not in _AFFIXED:
        return Name((name,))
    stems = [name]
    dtype = next((data.dtypes[word] for word in name.split("_") if word in data.dtypes), "")
    is_scalar = operation.kind is OperationKind.SCALAR_FUNCTION
    suffixes = (*data.scalar_suffixes, *data.suffixes) if is_scalar else data.suffixes
    while (step := _shorter(name, data, suffixes)) is not None:
        name, towards = step
        direction = towards if towards is Direction.BACKWARD else direction
        stems.append(name)
    if not dtype and operation.kind is OperationKind.KERNEL:
        dtype = data.default_dtype.get(operation.crate, "")
    return Name(tuple(stems), direction, dtype)


class Matcher:
    """Matches operations against one catalogue."""

    def __init__(self, catalogue: Catalogue, data: Table | None = None) -> None:
        self.catalogue = catalogue
        self.table = data or table()
        aten = sorted(catalogue.by_base, key=lambda base: (base.startswith("_"), base.endswith("_"), base))
        self._spaces: dict[str, dict[str, str]] = {"aten": self._squeezed(aten)}
        for path, names in catalogue.namespaces.items():
            self._spaces[path] = self._squeezed(sorted(names, key=lambda n: (n.endswith("_"), n)))

    @staticmethod
    def _squeezed(names: Iterable[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in names:
            found.setdefault(squeeze(name), name)
        return found

    def match(self, operation: Operation) -> Match:
        """Return the match of one operation; what no rule knows is `unmatched`."""
        exception = self._exception(operation)
        if exception is not None:
            return self._reviewed(operation, exception)
        if operation.kind is OperationKind.DISTRIBUTION_METHOD:
            return self._distribution(operation, operation.owner, operation.name, Direction.FORWARD)
        name = normal_form(operation, self.table)
        node = re.fullmatch(r"(\w+?)(Rsample|LogProb)", name.stems[0])
        if operation.kind is OperationKind.AUTOGRAD_NODE and node:
            return self._distribution(operation, node[1], _snake(node[2]), Direction.BACKWARD)
        return self._by_name(operation, name) or Match(operation, Verdict.UNMATCHED, dtype=name.dtype)

    def _exception(self, operation: Operation) -> Mapping[str, str] | None:
        for row in self.table.exceptions:
            inner = f"{operation.owner}::{operation.name}" if operation.owner else operation.name
            # A pattern with `::` speaks of the whole symbol, one without of the name alone.
            subject = operation.symbol if "::" in row["name"] else operation.name
            if row.get("kind", operation.kind) != operation.kind:
                continue
            if fnmatchcase(subject, row["name"]) or fnmatchcase(inner, row["name"]):
                return row
        return None

    def _reviewed(self, operation: Operation, row: Mapping[str, str]) -> Match:
        name = normal_form(operation, self.table)
        verdict = Verdict(row.get("verdict", Verdict.MATCHED))
        counterpart = row.get("counterpart", "")
        return Match(
            operation=operation,
            verdict=verdict,
            counterpart=counterpart,
            operators=operator_names(self.catalogue, counterpart) if counterpart else (),
            direction=Direction(row.get("direction", name.direction)),
            dtype=name.dtype,
            rule="reviewed",
            confidence=1.0,
            note=row.get("reason", ""),
        )

    def _distribution(self, operation: Operation, owner: str, method: str, direction: Direction) -> Match:
        spelled = self.table.spellings.get(f"distribution:{owner}", owner)
        cls = self._spaces["torch.distributions"].get(squeeze(spelled), "")
        row = self.catalogue.distribution(f"torch.distributions.{cls}")
        methods = {name for place in row.methods.values() for name in place} if row else set()
        if method not in methods:
            return Match(operation, Verdict.UNMATCHED)
        counterpart = f"torch.distributions.{cls}.{method}"
        return Match(
            operation,
            Verdict.MATCHED,
            counterpart,
            operator_names(self.catalogue, counterpart),
            direction,
            rule="distribution-method",
            confidence=0.99,
        )

    def _namespaces(self, operation: Operation) -> tuple[str, ...]:
        where = f"{operation.module_path}::"
        for kind, module, names in self.table.namespaces:
            if kind in ("", operation.kind) and (not module or re.search(module, where)):
                return names
        return ()

    def _stems(self, operation: Operation, name: Name) -> list[tuple[str, str, float]]:
        """Return stems to look up, with the rule each stands for and what it costs in confidence."""
        found: list[tuple[str, str, float]] = []
        for position, stem in enumerate(name.stems):
            cost = 0.01 if position else 0.0
            snake = _snake(stem)
            keys = (f"{operation.kind}:{snake}", f"{operation.kind}:{stem}", snake, stem)
            spelled = next((self.table.spellings[key] for key in keys if key in self.table.spellings), "")
            if spelled:
                found.append((spelled, "spelling", cost + 0.02))
            found.append((stem, "name", cost))
            if operation.kind is OperationKind.AUTOGRAD_NODE:
                found += [(snake, "name", cost), (f"{snake}_loss", "loss", 0.03)]
                found.append((re.sub(r"_dim$|\d$", "", snake), "reduced", 0.04))
        return found

    def _by_name(self, operation: Operation, name: Name) -> Match | None:
        spaces = self._namespaces(operation)
        for stem, rule, cost in self._stems(operation, name):
            for position, space in enumerate(spaces):
                found = self._look_up(space, stem, name.direction)
                if found is None:
                    continue
                counterpart, exactness = found
                confidence = 0.99 - cost - (0.0 if exactness == "exact" else 0.02)
                # A name found outside the first namespace may be a namesake.
                confidence -= 0.03 if position and spaces[0] != "aten" else 0.0
                return Match(
                    operation,
                    Verdict.MATCHED,
                    counterpart,
                    operator_names(self.catalogue, counterpart),
                    name.direction,
                    name.dtype,
                    f"{rule}-{exactness} in {space}",
                    round(confidence, 2),
                )
        return None

    def _look_up(self, space: str, stem: str, direction: Direction) -> tuple[str, str] | None:
        """Return the qualified name in a namespace and whether it is the very word."""
        prefix = ""
        if space.startswith("aten:"):
            space, prefix = "aten", space.removeprefix("aten:")
        names = self._spaces.get(space, {})
        joint = "aten::" if space == "aten" else f"{space}."
        wanted = [prefix + stem]
        if space == "torch.nn.init":
            # The names without the underscore are deprecated there.
            wanted.insert(0, f"{stem.rstrip('_')}_")
        if space == "aten" and direction is Direction.BACKWARD:
            wanted.insert(0, f"{prefix}{stem}_backward")
        known: Any = self.catalogue.by_base if space == "aten" else self.catalogue.namespaces.get(space, {})
        for word in wanted:
            if word in known:
                return joint + word, "exact"
            if squeeze(word) in names:
                return joint + names[squeeze(word)], "normal-form"
        return None


def ruled(match: Match, rulings: Mapping[tuple[str, str], Ruling], catalogue: Catalogue) -> Match:
    """Return a match as a person ruled it, or as it is."""
    ruling = rulings.get((match.operation.kind, match.operation.symbol))
    if ruling is None:
        return match
    return Match(
        operation=match.operation,
        verdict=ruling.verdict,
        counterpart=ruling.counterpart,
        operators=operator_names(catalogue, ruling.counterpart) if ruling.counterpart else (),
        direction=ruling.direction,
        dtype=ruling.dtype,
        rule="person",
        confidence=1.0,
        note=ruling.reason,
    )


def matches(operations: Iterable[Operation], catalogue: Catalogue) -> tuple[Match, ...]:
    """Match every operation. A scalar function is one only where it is an operator of PyTorch by its name."""
    matcher = Matcher(catalogue)
    found = (matcher.match(operation) for operation in operations)
    return tuple(row for row in found if not _is_any_scalar(row))


def _is_any_scalar(match: Match) -> bool:
    is_scalar = match.operation.kind is OperationKind.SCALAR_FUNCTION
    return is_scalar and match.verdict is Verdict.UNMATCHED
