"""The capability matrix of a linked workspace: every case, its state, and the code that proves it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from audit.parity.backend import BackendMethod, Body, backend_methods, body_kind, place_of
from audit.parity.capability import Case, Cell, Effect, Implementation, Layer, Place, derive
from audit.parity.catalogue import Catalogue, Direction
from audit.parity.counterparts import Support, infos, support
from audit.parity.declarations import declarations
from audit.parity.matching import Match, Ruling, Verdict, matches, ruled
from audit.parity.operations import FERROTORCH, Layout, Operation, OperationKind, operations
from audit.parity.reach import Reach
from audit.scanner.extract.facts import Call, CallKind, RegionKind
from audit.scanner.link.summaries import Summaries
from audit.scanner.link.unit import Fn

DTYPES = ("float32", "float64")
_DEPTH = 3
_KERNEL_DEPTH = 2
_HELPER_DEPTH = 2
_LADDER = re.compile(r"\bf(16|32|64)\b|is_(bf16|f16|f32|f64)|TypeId|DType")
# The method that a type's operation is.
_METHODS = {OperationKind.AUTOGRAD_NODE: "backward", OperationKind.MODULE: "forward"}
_WITHOUT_DEVICE = frozenset({OperationKind.OPTIMIZER, OperationKind.SCHEDULER, OperationKind.TRANSFORM})
# A portable GPU backend is held to what PyTorch does on CUDA.
REFERENCE = {"cubecl": "cuda"}


@dataclass(frozen=True, slots=True)
class BackendCall:
    """A call of a backend method, and the function it stands in."""

    function: Fn
    call: Call


def operator_of(match: Match, catalogue: Catalogue) -> str:
    """Return the name under which the layers of an operator meet: `aten::abs` for `torch.abs`, `abs_f64`.

    An alias stands under the operator it is an alias of, `special_digamma` under `digamma`.
    """
    if match.counterpart.startswith("torch.nn.") and not match.counterpart.startswith("torch.nn.functional."):
        return match.counterpart
    if len(match.operators) != 1 or match.counterpart.startswith("torch.distributions."):
        return match.counterpart
    base = match.operators[0].rstrip("_") or match.operators[0]
    if match.direction is Direction.BACKWARD:
        base = base.removesuffix("_backward")
    rows = catalogue.infos(base)
    if rows and base in {alias.replace(".", "_") for alias in rows[0].aliases}:
        base = rows[0].aten_name if rows[0].aten_name in catalogue.by_base else base
    return f"aten::{base.removeprefix('native_')}"


class Matrix:
    """Reads a workspace's capabilities.

    `broken_ptx` maps the symbols of functions to the constants they launch that the assembler rejects;
    `rulings` are people's words on what operations are, by kind and symbol; `tested` maps functions, by
    index, to a test that runs them on a device.
    """

    def __init__(
        self,
        summaries: Summaries,
        catalogue: Catalogue,
        layout: Layout = FERROTORCH,
        broken_ptx: Mapping[str, str] | None = None,
        rulings: Mapping[tuple[str, str], Ruling] | None = None,
        tested: Mapping[int, Fn] | None = None,
    ) -> None:
        self.summaries = summaries
        self.catalogue = catalogue
        self.layout = layout
        self.workspace = summaries.workspace
        self.profile = summaries.profile
        self._broken = broken_ptx or {}
        self._rulings = rulings or {}
        self._tested = tested or {}
        self._reach = Reach(summaries, layout)

    @cached_property
    def methods(self) -> Mapping[str, BackendMethod]:
        """The backend trait's methods by name."""
        found = backend_methods(self.workspace, self.profile, self.layout.devices, self.layout.backend_trait)
        return {method.name: method for method in found}

    @cached_property
    def matches(self) -> tuple[Match, ...]:
        """Every operation of the workspace with its match, as people ruled it where they did."""
        return tuple(ruled(match, self._rulings, self.catalogue) for match in self.machine_matches)

    @cached_property
    def machine_matches(self) -> tuple[Match, ...]:
        """Every operation of the workspace with its match by rule."""
        return matches(operations(declarations(self.workspace), self.layout), self.catalogue)

    def cells(self) -> tuple[Cell, ...]:
        """Return every cell, sorted by case."""
        found: dict[Case, list[Implementation]] = defaultdict(list)
        for match in self.matches:
            if match.verdict is Verdict.MATCHED and self._is_operator(match):
                for case, implementation in self._serves(match):
                    found[case].append(implementation)
        return tuple(derive(case, found[case], self._support(case)) for case in sorted(found))

    def uncalled_kernels(self) -> tuple[Place, ...]:
        """Return the functions that launch and that no product code calls, whatever they are in PyTorch."""
        kernels = (match.operation for match in self.matches if self._is_kernel(match))
        found = ((operation, self._function(operation)) for operation in kernels)
        return tuple(
            sorted(
                {
                    Place(operation.path, operation.line, operation.symbol)
                    for operation, function in found
                    if function is not None
                    and function.index in self.summaries.launching
                    and not self.summaries.is_kernel(function)
                    and not self._is_called(function)
                    and not self._is_made_and_called(function, operation)
                }
            )
        )

    def _is_kernel(self, match: Match) -> bool:
        is_other = match.verdict is Verdict.INFRASTRUCTURE
        return match.operation.kind is OperationKind.KERNEL and not is_other

    def _is_operator(self, match: Match) -> bool:
        """Say whether there is something to compute: hooks, metadata and optimizers have no cell."""
        return match.operation.kind not in _WITHOUT_DEVICE and bool(
            match.operators or infos(self.catalogue, match.counterpart)
        )

    def _support(self, case: Case) -> Support:
        device = REFERENCE.get(case.device, case.device)
        return support(self.catalogue, case.operator, case.dtype, device, case.direction)

    # -- which cases an operation serves -----------------------------------------------------------------

    def _serves(self, match: Match) -> Iterator[tuple[Case, Implementation]]:
        operation = match.operation
        operator = operator_of(match, self.catalogue)
        if operation.kind is OperationKind.BACKEND_METHOD:
            method = self.methods[operation.name]
            for device in sorted(set(self.layout.devices.values()) & self._implementing_devices):
                case = Case(operator, match.dtype or DTYPES[0], device, match.direction)
                yield case, self._backend(method, device)
            return
        function = self._function(operation)
        if function is None:
            return
        if operation.kind is OperationKind.KERNEL:
            device = self.layout.kernel_devices[operation.crate]
            case = Case(operator, match.dtype or DTYPES[0], device, match.direction)
            yield case, self._kernel(function, operation)
            return
        if operation.kind is OperationKind.SCALAR_FUNCTION:
            for dtype in (match.dtype,) if match.dtype else DTYPES:
                yield Case(operator, dtype, "cuda", match.direction), self._scalar(function)
            return
        on_host = Implementation(
            place_of(function), Layer.OPERATION, frozenset({Effect.HOST}), test=self._test_of(function)
        )
        for dtype in (match.dtype,) if match.dtype else DTYPES:
            yield Case(operator, dtype, "cpu", match.direction), on_host
            for implementation in self._operation(function, dtype):
                yield Case(operator, dtype, "cuda", match.direction), implementation

    @cached_property
    def _implementing_devices(self) -> frozenset[str]:
        return frozenset(device for method in self.methods.values() for device in method.overrides)

    @cached_property
    def _functions(self) -> Mapping[tuple[str, int], Fn]:
        return {(f.unit.path, f.line): f for f in self.workspace.functions}

    @cached_property
    def _by_type(self) -> Mapping[tuple[str, str, str], Fn]:
        return {
            (f.unit.path, f.self_type, f.name): f
            for f in self.workspace.functions
            if f.self_type and f.is_product_code
        }

    def _function(self, operation: Operation) -> Fn | None:
        method = _METHODS.get(operation.kind)
        if method is not None:
            return self._by_type.get((operation.path, operation.name, method))
        place = (operation.path, operation.line)
        return self._functions.get(place) or self._spliced.get(place)

    @cached_property
    def _spliced(self) -> Mapping[tuple[str, int], Fn]:
        """Return the functions that item-level macro invocations make, by the invocation's place."""
        spliced = (f for f in self.workspace.functions if f.facts.has_spliced_name and f.facts.visibility)
        # Of twins under opposite features the one with a device comes last, and stays.
        twins = sorted(spliced, key=lambda f: not self.summaries.is_device_off(f))
        made = {(f.unit.path, f.facts.macro): f for f in twins}
        return {
            (unit.path, unit.line(call.start)): made[unit.path, call.name]
            for unit in self.workspace.units.values()
            for call in unit.facts.calls
            if (unit.path, call.name) in made
        }

    # -- what an implementation does ---------------------------------------------------------------------

    def _effects(self, functions: Iterable[Fn]) -> frozenset[Effect]:
        found: set[Effect] = set()
        for function in functions:
            for read in self.summaries.reads.get(function.index, ()):
                if not read.pardon:
                    found.add(Effect.HOST_READ)
                elif read.pardon in ("opt-in", "callers-opt-in"):
                    found.add(Effect.GATED_HOST_READ)
        return frozenset(found)

    def _device_function(self, function: Fn) -> frozenset[Effect]:
        """Return what a function of a GPU crate does, its callees in GPU crates included."""
        own = body_kind(function, self.profile)
        if own is Body.TEXT_ERROR:
            return frozenset({Effect.TEXT_ERROR})
        if own is Body.STRUCTURED_ERROR:
            return frozenset({Effect.STRUCTURED_ERROR})
        effects = self._effects(self._reach.of(function, _KERNEL_DEPTH, in_gpu=True))
        if function.index in self.summaries.launching or self.summaries.is_kernel(function):
            effects |= {Effect.LAUNCH}
        if own is Body.DOWNLOAD:
            effects |= {Effect.HOST_READ}
        return effects or frozenset({Effect.HOST})

    def _backend(self, method: BackendMethod, device: str, via: Place | None = None) -> Implementation:
        function = method.in_force(device)
        note = "" if device in method.overrides else f"the trait's default is in force on {device}"
        return Implementation(
            place_of(function),
            Layer.BACKEND,
            self._device_function(function),
            broken_ptx=self._broken_in(function),
            via=via,
            note=note,
            test=self._test_of(function),
        )

    def _test_of(self, function: Fn) -> Place | None:
        test = self._tested.get(function.index)
        return place_of(test) if test is not None else None

    def _broken_in(self, function: Fn) -> str:
        """Return the rejected constant that a function or a callee in the GPU crates launches."""
        reach = self._reach.of(function, _KERNEL_DEPTH, in_gpu=True)
        return next((self._broken[one.symbol] for one in reach if one.symbol in self._broken), "")

    def _kernel(self, function: Fn, operation: Operation) -> Implementation:
        place = Place(operation.path, operation.line, operation.symbol)
        return Implementation(
            place,
            Layer.DEVICE_CODE if self.summaries.is_kernel(function) else Layer.KERNEL,
            self._device_function(function),
            is_called=self._is_called(function) or self._is_made_and_called(function, operation),
            broken_ptx=self._broken_in(function),
            test=self._test_of(function),
        )

    def _scalar(self, function: Fn) -> Implementation:
        """Return a function of single numbers, with the first line of other code that calls it.

        One that is handed on by its name (`unary_map(input, erf_scalar)`) has no such line, and is called.
        """
        calls = sorted(
            place_of(caller, call.start)
            for caller, call in self.summaries.callers(function)
            if caller.is_product_code and caller is not function
        )
        return Implementation(
            place_of(function),
            Layer.SCALAR,
            frozenset({Effect.HOST}),
            via=calls[0] if calls else None,
            note="a function of single numbers, written for the host",
        )

    def _is_called(self, function: Fn) -> bool:
        return function.name in self._launched_by_path or any(
            caller.is_product_code and not self.summaries.is_device_off(caller)
            for caller, _ in self.summaries.callers(function)
        )

    def _is_made_and_called(self, function: Fn, operation: Operation) -> bool:
        """Say whether a function that a macro made is called, under the name it was given."""
        return function.facts.has_spliced_name and (
            operation.name in self._launched_by_path
            or bool(self.summaries.graph.calls_by_name.get(operation.name))
        )

    @cached_property
    def _launched_by_path(self) -> frozenset[str]:
        """Return the names that item-level macros and paths (`kernel::launch`) mention in GPU crates."""
        texts: list[str] = []
        for unit in self.workspace.units.values():
            if unit.package is None or unit.package.name not in self.layout.gpu_crates:
                continue
            texts += [unit.text(call.start, call.end) for call in unit.facts.calls]
            for facts in unit.facts.functions:
                texts += [
                    unit.text(call.start, call.name_start)
                    for call in facts.calls
                    if call.kind == CallKind.PATH
                ]
        return frozenset(word for text in texts for word in re.findall(r"\w+", text))

    def _operation(self, function: Fn, dtype: str) -> Iterator[Implementation]:
        """Yield what an operation of the upper layers needs for a dtype on the device."""
        calls = self._backend_calls(function)
        needed = {name: call for name, call in calls.items() if self._dtype(name) == dtype}
        for name, call in sorted(needed.items()):
            via = place_of(call.function, call.call.start)
            yield self._backend(self.methods[name], "cuda", via)
        if not needed or self._reads_whatever_the_dtype(function):
            effects = self._upper_effects(function, launches=bool(needed), has_device_path=bool(calls))
            test = self._test_of(function)
            yield Implementation(place_of(function), Layer.OPERATION, effects, test=test)

    def _upper_effects(self, function: Fn, *, launches: bool, has_device_path: bool) -> frozenset[Effect]:
        effects = self._effects(self._with_helpers(function))
        if launches or (effects and not has_device_path and self._calls_kernels(function)):
            return effects | {Effect.LAUNCH}
        if effects:
            return effects
        if function.index in self.summaries.rejecting:
            return frozenset({Effect.STRUCTURED_ERROR})
        if function.index in self.summaries.launching or not self._builds_on_host(function):
            return frozenset({Effect.DEVICE_OPERATORS})
        return frozenset({Effect.HOST})

    def _builds_on_host(self, function: Fn) -> bool:
        """Say whether a function makes its result from host data; views and compositions do not."""
        constructors = self.profile.transfer.host_constructors
        return any(
            call.name in constructors for one in self._with_helpers(function) for call in one.facts.calls
        )

    def _with_helpers(self, function: Fn) -> list[Fn]:
        """Return a function and the private ones it is written with: what they do, it does."""
        reach = self._reach.of(function, _HELPER_DEPTH, in_gpu=self._reach.is_in_gpu(function))
        return [one for one in reach if one is function or not one.is_public]

    def _calls_kernels(self, function: Fn) -> bool:
        """Say whether a function launches by calling a GPU crate, without the backend in between."""
        return any(
            self._reach.is_in_gpu(callee) and callee.index in self.summaries.launching
            for one in self._reach.of(function, 1, in_gpu=False)
            for callee in self._reach.callees(one)
        )

    def _reads_whatever_the_dtype(self, function: Fn) -> bool:
        """Say whether a host read stands outside a ladder of dtypes, so that no dtype is spared it."""
        for read in self.summaries.reads.get(function.index, ()):
            if not read.pardon and not self._is_in_ladder(function, read.call):
                return True
        return False

    def _is_in_ladder(self, function: Fn, call: Call) -> bool:
        for index in function.ancestors(call.region):
            region = function.facts.regions[index]
            condition = function.text(region.condition_start, region.condition_end)
            if region.kind == RegionKind.ELSE and _LADDER.search(condition):
                return True
        return False

    # -- the call graph ----------------------------------------------------------------------------------

    def _dtype(self, method: str) -> str:
        return self._method_dtypes.get(method, "")

    @cached_property
    def _method_dtypes(self) -> Mapping[str, str]:
        return {
            match.operation.name: match.dtype
            for match in self.matches
            if match.operation.kind is OperationKind.BACKEND_METHOD
        }

    def _backend_calls(self, function: Fn) -> dict[str, BackendCall]:
        """Return the backend methods a function calls, itself or through the layers above the backend."""
        found: dict[str, BackendCall] = {}
        for one in self._reach.of(function, _DEPTH, in_gpu=False):
            for call in one.facts.calls:
                if call.name in self.methods and self.summaries.is_backend_operation(one, call):
                    found.setdefault(call.name, BackendCall(one, call))
        return found
