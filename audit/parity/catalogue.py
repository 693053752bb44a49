"""The catalogue: one dump of PyTorch, read into frozen rows with indexes by name."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

SCHEMA = "ferroaudit-torch-dump/1"
SHIPPED = ("torch-2.9.1-cpu.json.xz", "torch-2.11.0.json.xz")


class CatalogueError(Exception):
    """The file is no dump this version reads: the message says which file and why."""


class Direction(StrEnum):
    """A pass through an operator."""

    FORWARD = "forward"
    BACKWARD = "backward"


class Composite(StrEnum):
    """How an operator without a kernel of its own for a backend gets one."""

    NONE = "none"
    IMPLICIT = "CompositeImplicitAutograd"
    EXPLICIT = "CompositeExplicitAutograd"


class Autograd(StrEnum):
    """Where an operator's backward comes from."""

    FORMULA = "formula"
    COMPOSITE = "composite"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Operator:
    """An overload of an `aten` operator.

    `kernels` are the dispatch keys with a registration of their own, `runs_on` those whose computed table
    entry is a kernel (also through a composite), `declared` native_functions.yaml's dispatch, a structured
    delegate's included: the only source for backends that the dumped build has not (MPS, XPU).
    """

    name: str
    schema: str
    variants: tuple[str, ...]
    declared: Mapping[str, str]
    kernels: tuple[str, ...]
    runs_on: tuple[str, ...]
    python_module: str
    tags: tuple[str, ...]
    derivative: Mapping[str, str]
    decomposition: str
    generated_from: str
    is_native: bool
    is_structured: bool

    @property
    def base(self) -> str:
        """The name without its overload."""
        return self.name.partition(".")[0]

    @property
    def overload(self) -> str:
        """The overload's name; empty for the default."""
        return self.name.partition(".")[2]

    @property
    def composite(self) -> Composite:
        """The composite key it is registered under."""
        if "CompositeImplicitAutograd" in self.kernels:
            return Composite.IMPLICIT
        explicit = {"CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"}
        return Composite.EXPLICIT if explicit & set(self.kernels) else Composite.NONE

    @property
    def autograd(self) -> Autograd:
        """Where its backward comes from."""
        if self.derivative:
            return Autograd.FORMULA
        return Autograd.COMPOSITE if self.composite is Composite.IMPLICIT else Autograd.NONE


@dataclass(frozen=True, slots=True)
class Reached:
    """The operators that a call reached below autograd, by direction; `error` says why none are known."""

    forward: tuple[str, ...] = ()
    backward: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What PyTorch raised, or that it `ran` although its own table does not list the dtype."""

    state: str
    exception: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class OpInfo:
    """A row of PyTorch's own operator tests: what is claimed and tested for each device."""

    name: str
    variant: str
    family: str
    aten_name: str
    aliases: tuple[str, ...]
    method: str
    supports_autograd: bool
    dtypes: Mapping[str, tuple[str, ...]]
    backward_dtypes: Mapping[str, tuple[str, ...]]
    reached: Reached

    def supports(self, dtype: str, device: str, direction: Direction) -> bool:
        """Say whether the dtype is listed for the device and direction."""
        table = self.dtypes if direction is Direction.FORWARD else self.backward_dtypes
        return dtype in table.get(device, ())


@dataclass(frozen=True, slots=True)
class Module:
    """A class of `torch.nn` from PyTorch's module tests."""

    name: str
    dtypes: tuple[str, ...]
    reached: Reached


@dataclass(frozen=True, slots=True)
class Optimizer:
    """A class of `torch.optim` and the operators one step reached."""

    name: str
    options: tuple[str, ...]
    reached: Reached


@dataclass(frozen=True, slots=True)
class Distribution:
    """A class of `torch.distributions`; `methods` is keyed `device:dtype`, then by method."""

    name: str
    has_rsample: bool
    own_methods: tuple[str, ...]
    kl_with: tuple[str, ...]
    methods: Mapping[str, Mapping[str, Reached]]


@dataclass(frozen=True)
class Catalogue:
    """Everything one dump says. Built by `parse`."""

    environment: Mapping[str, str]
    operators: tuple[Operator, ...]
    op_infos: tuple[OpInfo, ...]
    modules: tuple[Module, ...]
    optimizers: tuple[Optimizer, ...]
    distributions: tuple[Distribution, ...]
    namespaces: Mapping[str, Mapping[str, str]]
    refusals: Mapping[tuple[str, str, Direction], Refusal]
    missing_kernels: Mapping[str, Refusal]
    behaviours: Mapping[str, Refusal]
    kl_pairs: Mapping[tuple[str, str], Reached]
    by_base: Mapping[str, tuple[Operator, ...]] = field(repr=False, default_factory=dict)
    infos_by_name: Mapping[str, tuple[OpInfo, ...]] = field(repr=False, default_factory=dict)
    infos_by_reached: Mapping[str, tuple[OpInfo, ...]] = field(repr=False, default_factory=dict)

    @property
    def version(self) -> str:
        """PyTorch's version with its build tag."""
        return self.environment["torch_version"]

    def overloads(self, base: str) -> tuple[Operator, ...]:
        """Return an operator's overloads, empty if PyTorch has no such operator."""
        return self.by_base.get(base, ())

    def infos(self, name: str) -> tuple[OpInfo, ...]:
        """Return the OpInfos of an operator, public function or alias (`add`, `linalg.svd`)."""
        return self.infos_by_name.get(name, ())

    def has_public(self, qualified: str) -> bool:
        """Say whether PyTorch has this public name (`torch.nn.functional.relu`)."""
        namespace, _, name = qualified.rpartition(".")
        return name in self.namespaces.get(namespace, {})

    def module(self, name: str) -> Module | None:
        """Return a tested module by qualified name."""
        return next((row for row in self.modules if row.name == name), None)

    def optimizer(self, name: str) -> Optimizer | None:
        """Return an optimizer by qualified name."""
        return next((row for row in self.optimizers if row.name == name), None)

    def distribution(self, name: str) -> Distribution | None:
        """Return a distribution by qualified name."""
        return next((row for row in self.distributions if row.name == name), None)


def _bases(reached: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name.removeprefix("aten::") for name in reached if name.startswith("aten::")}))


def _reached(row: Mapping[str, Any]) -> Reached:
    """Read both shapes of a recording: lists of names (OpInfos) and a row per direction (all others)."""
    if "error" in row:
        return Reached(error=str(row["error"]))
    names: dict[str, tuple[str, ...]] = {}
    refused: dict[str, Refusal] = {}
    devices: tuple[str, ...] = ()
    for direction in ("forward", "backward"):
        seen = row.get(direction, [])
        if isinstance(seen, list):
            names[direction] = _bases(seen)
            continue
        names[direction] = _bases(seen.get("operators", ()))
        devices = tuple(seen["devices"]) if "devices" in seen else devices
        if "refusal" in seen:
            refused[direction] = _refusal({"state": "refused", **seen["refusal"]})
    return Reached(names["forward"], names["backward"], devices, refused)


def _refusal(row: Mapping[str, Any]) -> Refusal:
    return Refusal(row["state"], row.get("exception", ""), row.get("text", ""))


def _operator(row: Mapping[str, Any]) -> Operator:
    return Operator(
        name=row["name"],
        schema=row["schema"],
        variants=tuple(row["variants"]),
        declared=row["declared"],
        kernels=tuple(row["kernels"]),
        runs_on=tuple(row["runs_on"]),
        python_module=row["python_module"],
        tags=tuple(row["tags"]),
        derivative=row["derivative"],
        decomposition=row["decomposition"],
        generated_from=row["generated_from"],
        is_native=row["is_native"],
        is_structured=row["structured"],
    )


def _op_info(row: Mapping[str, Any]) -> OpInfo:
    return OpInfo(
        name=row["name"],
        variant=row["variant"],
        family=row["family"],
        aten_name=row["aten_name"],
        aliases=tuple(row["aliases"]),
        method=row["method"],
        supports_autograd=row["supports_autograd"],
        dtypes={device: tuple(names) for device, names in row["dtypes"].items()},
        backward_dtypes={device: tuple(names) for device, names in row["backward_dtypes"].items()},
        reached=_reached(row["reached"]),
    )


def _distribution(row: Mapping[str, Any]) -> Distribution:
    return Distribution(
        name=row["name"],
        has_rsample=row["has_rsample"],
        own_methods=tuple(row["own_methods"]),
        kl_with=tuple(row["kl_with"]),
        methods={
            place: {method: _reached(seen) for method, seen in methods.items()}
            for place, methods in row.get("methods", {}).items()
        },
    )


def _refusals(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, Direction], Refusal]:
    """Index the tries by OpInfo name, dtype and direction; the unnamed variant stands for its name."""
    found: dict[tuple[str, str, Direction], Refusal] = {}
    for row in sorted(rows, key=lambda r: bool(r["variant"])):
        for seen in row["tries"]:
            if seen["state"] in ("refused", "ran"):
                key = (row["name"], seen["dtype"], Direction(seen["direction"]))
                found.setdefault(key, _refusal(seen))
    return found


def _names(row: OpInfo) -> set[str]:
    """Return the names an OpInfo goes by: its own, the operator's, its aliases', `linalg.svd` as one word."""
    names = {row.name, row.aten_name, *row.aliases}
    names |= {name.replace(".", "_") for name in names}
    if row.name.startswith("nn.functional."):
        names.add(row.name.removeprefix("nn.functional."))
    return names - {""}


def _index(rows: Iterable[OpInfo]) -> dict[str, tuple[OpInfo, ...]]:
    found: dict[str, list[OpInfo]] = {}
    for row in rows:
        for name in sorted(_names(row)):
            found.setdefault(name, []).append(row)
    return {
        name: tuple(sorted(infos, key=lambda i: (i.name != name, i.variant))) for name, infos in found.items()
    }


def _reaching(rows: Iterable[OpInfo]) -> dict[str, tuple[OpInfo, ...]]:
    """Index OpInfos by the operators they reach going forward, those that reach least first."""
    found: dict[str, list[OpInfo]] = {}
    for row in rows:
        for base in sorted({name.partition(".")[0] for name in row.reached.forward}):
            found.setdefault(base, []).append(row)
    return {
        base: tuple(sorted(infos, key=lambda i: (len(i.reached.forward), i.name, i.variant)))
        for base, infos in found.items()
    }


def parse(data: Mapping[str, Any], origin: str = "the dump") -> Catalogue:
    """Build a catalogue from a dump's JSON."""
    if data.get("schema") != SCHEMA:
        raise CatalogueError(f"{origin} has schema `{data.get('schema')}`, not `{SCHEMA}`: dump it again")
    lacking = [name for name, section in data["sections"].items() if section["state"] != "taken"]
    if lacking:
        raise CatalogueError(f"{origin} lacks the sections {', '.join(sorted(lacking))}: dump it again")
    operators = tuple(_operator(row) for row in data["operators"])
    by_base: dict[str, list[Operator]] = {}
    for operator in operators:
        by_base.setdefault(operator.base, []).append(operator)
    op_infos = tuple(_op_info(row) for row in data["op_infos"])
    return Catalogue(
        environment=data["environment"],
        operators=operators,
        op_infos=op_infos,
        modules=tuple(Module(r["name"], tuple(r["dtypes"]), _reached(r["reached"])) for r in data["modules"]),
        optimizers=tuple(
            Optimizer(r["name"], tuple(r["options"]), _reached(r["reached"])) for r in data["optimizers"]
        ),
        distributions=tuple(_distribution(row) for row in data["distributions"]),
        namespaces={path: row["names"] for path, row in data["namespaces"].items() if "names" in row},
        refusals=_refusals(data["refusals"]),
        missing_kernels={row["name"]: _refusal(row) for row in data["missing_kernels"]},
        kl_pairs={(r["left"], r["right"]): _reached(r.get("reached", {})) for r in data["kl_divergences"]},
        behaviours={row["code"]: _refusal(row) for row in data["behaviours"]},
        by_base={base: tuple(rows) for base, rows in by_base.items()},
        infos_by_name=_index(op_infos),
        infos_by_reached=_reaching(op_infos),
    )


def load(path: Path) -> Catalogue:
    """Read a dump, compressed or not."""
    raw = path.read_bytes()
    try:
        data = json.loads(lzma.decompress(raw) if path.suffix == ".xz" else raw)
    except (lzma.LZMAError, ValueError) as error:
        raise CatalogueError(f"`{path}` is no dump: {error}") from error
    return parse(data, f"`{path}`")


def shipped() -> Iterator[Path]:
    """Yield the dumps that come with the package, oldest PyTorch first."""
    for name in SHIPPED:
        with resources.as_file(resources.files("audit.parity") / "data" / name) as path:
            yield path


@lru_cache(maxsize=1)
def newest() -> Catalogue:
    """Return the shipped catalogue of the newest PyTorch."""
    return load(list(shipped())[-1])
