"""The call graph: who calls whom, the control flow of each function, and what is compiled where."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.link.answers import Answers
from audit.scanner.link.called import CalledNames
from audit.scanner.link.flow import Flow
from audit.scanner.link.mentions import Mentions
from audit.scanner.link.operands import Operands
from audit.scanner.link.places import DeviceTests, Place
from audit.scanner.link.resolve import Resolver
from audit.scanner.link.unit import Fn
from audit.scanner.link.workspace import Workspace
from audit.scanner.profile import Profile


class Reason(NamedTuple):
    """Why a function has an effect: the call, and the callee whose effect it is (none: the call itself)."""

    call: Call
    callee: Fn | None


class _Callers(NamedTuple):
    """The calls by one name, and which of them may call each function."""

    calls: Sequence[tuple[Fn, Call]]
    by_callee: Mapping[Fn, Sequence[tuple[Fn, Call]]]

    def handed_on(self, successors: Mapping[Fn, Fn]) -> _Callers:
        """Return the same with successors for their predecessors."""
        if successors.keys().isdisjoint(self.by_callee):
            return self
        by_callee = {successors.get(callee, callee): calls for callee, calls in self.by_callee.items()}
        return self._replace(by_callee=by_callee)


class CallGraph:
    """A linked workspace under one profile, as everything that computes effects needs it."""

    def __init__(
        self, workspace: Workspace, resolver: Resolver, profile: Profile, before: CallGraph | None = None
    ) -> None:
        """Take over the control flow of functions that have not changed since the graph before."""
        self.workspace = workspace
        self.resolver = resolver
        self.profile = profile
        self.tests = DeviceTests(profile)
        self.launch_names: dict[str, bool] = {}
        """Whether a name launches work, as far as it was asked."""
        self._flows: dict[Fn, Flow] = {}
        self._callers: dict[str, _Callers] = {}
        self._callers_before: dict[str, _Callers] = {}
        if before is not None and before.profile == profile:
            self.tests = before.tests
            self.launch_names = before.launch_names
            functions = set(workspace.functions)
            self._flows = {one: flow for one, flow in before._flows.items() if one in functions}
            self._callers_before = before._callers
        self.operands = Operands(profile, workspace, resolver.uses)
        self.constructors = Mentions(profile.tests.constructors)
        self.transfers = frozenset(profile.transfer.transfer_apis) | profile.uploads | profile.downloads
        self._answers = Answers(resolver, self.flow)
        self._features = frozenset(profile.gpu.features)
        self._error_macros = frozenset(profile.errors.macros)
        self._device_off: dict[int, bool] = {}
        self._gpu_files: dict[str, bool] = {}

    def flow(self, function: Fn) -> Flow:
        """Return the control flow of a function."""
        found = self._flows.get(function)
        if found is None:
            found = self._flows[function] = Flow(function, self.tests)
        return found

    @cached_property
    def calls_by_name(self) -> CalledNames:
        """All calls in functions, by the name that is called; renamed imports under the real name too."""
        return CalledNames(
            self.workspace.units.values(), self.resolver.renamed, self.macros, self._passing_calls()
        )

    def _passing_calls(self) -> Mapping[str, list[tuple[Fn, Call]]]:
        """Return the calls that are given functions as arguments, by the names of these."""
        found: dict[str, list[tuple[Fn, Call]]] = defaultdict(list)
        for (index, start, end), paths in self.resolver.passed.items():
            function = self.workspace.functions[index]
            call = next(one for one in function.facts.calls if (one.start, one.end) == (start, end))
            for path in paths:
                found[path[-1]].append((function, call))
        return found

    @cached_property
    def macros(self) -> frozenset[str]:
        """The names of the macros that the workspace defines."""
        return frozenset(macro.name for unit in self.workspace.units.values() for macro in unit.facts.macros)

    def prepare(self) -> None:
        """Put the calls by name together now, which all effects ask for: copies of this process have them."""
        calls = self.calls_by_name
        del calls

    def calling(self, names: Iterable[str]) -> frozenset[int]:
        """Return the functions with a call of one of these names: most have none, and need no closer look."""
        known = self.calls_by_name
        return frozenset(function.index for name in names for function, _ in known.get(name, ()))

    def calling_any(self, callees: Iterable[Fn]) -> frozenset[int]:
        """Return the functions with a call of a name of one of these functions."""
        return self.calling({name for one in callees for name in self._names_of(one)})

    def _names_of(self, function: Fn) -> Iterator[str]:
        """Yield the names of a function: a macro may define several."""
        yield function.name
        yield from self.workspace.expansions.get(function.index, ())

    @cached_property
    def erring(self) -> frozenset[int]:
        """The functions that may make an answer an error."""
        return self.calling(("Err", *self._error_macros))

    def callers(self, callee: Fn) -> Iterator[tuple[Fn, Call]]:
        """Yield the calls that may call a function."""
        for function, call in self.calls_of(callee):
            if function is not callee:
                yield function, call

    def calls_of(self, callee: Fn) -> Iterator[tuple[Fn, Call]]:
        """Yield the calls that may call a function, its own too, by any name."""
        for name in self._names_of(callee):
            known = self._callers.get(name)
            if known is None:
                known = self._callers[name] = self._callers_of(name)
            yield from known.by_callee.get(callee, ())

    def _callers_of(self, name: str) -> _Callers:
        """Resolve the calls by a name once, for all functions that have it."""
        calls = self.calls_by_name.get(name, ())
        before, lost = self._callers_before.get(name), self.resolver.lost
        if (
            before is not None
            and lost is not None
            and before.calls == calls
            and not any(lost.holds(*pair) for pair in calls)
        ):
            return before.handed_on(lost.successors)
        found: dict[Fn, list[tuple[Fn, Call]]] = {}
        resolve = self.resolver.resolve
        for pair in calls:
            callees = resolve(*pair)
            for callee in callees if len(callees) < 2 else dict.fromkeys(callees):
                found.setdefault(callee, []).append(pair)
        return _Callers(calls, found)

    def spread(
        self, found: dict[int, Reason], accepts: Callable[[Fn, Call], bool], start: Iterable[int]
    ) -> None:
        """Give an effect to the callers of those that have it, as long as anything changes."""
        queue = deque(start)
        while queue:
            callee = self.workspace.functions[queue.popleft()]
            for function, call in self.calls_of(callee):
                if function.index not in found and accepts(function, call):
                    found[function.index] = Reason(call, callee)
                    queue.append(function.index)

    def is_part_of_optimizer(self, function: Fn) -> bool:
        """Say whether a function is a private method of an optimizer: it serves its step."""
        return function.self_type in self._optimizers and not function.facts.visibility and not function.trait

    @cached_property
    def _optimizers(self) -> frozenset[str]:
        implementors = self.workspace.implementors
        traits = self.profile.autograd.optimizer_traits
        return frozenset(type_ for trait in traits for type_ in implementors.get(trait, ()))

    def is_device_off(self, function: Fn) -> bool:
        """Say whether a function is compiled only where no GPU feature is on."""
        if not function.cfgs:
            return False
        known = self._device_off.get(function.index)
        if known is None:
            known = self._device_off[function.index] = any(
                cfg.excludes("feature", self._features) for cfg in function.cfgs
            )
        return known

    def is_error(self, call: Call) -> bool:
        """Say whether a call makes the function's answer an error: `Err(..)`, or a macro that returns one."""
        return call.name == "Err" or (call.kind == CallKind.MACRO and call.name in self._error_macros)

    def is_gpu_located(self, function: Fn) -> bool:
        """Say whether a function stands in GPU code, by its crate or its path."""
        unit = function.unit
        known = self._gpu_files.get(unit.path)
        if known is None:
            package = unit.package.name if unit.package is not None else ""
            known = self._gpu_files[unit.path] = self.profile.is_gpu_file(package, unit.path)
        return known

    def moves_to_host(self, function: Fn, call: Call) -> bool:
        """Say whether a transfer is told to go to the host."""
        flow = self.flow(function)
        return any(
            self.tests.names_host(flow.value_of(argument.lstrip("& ")) or argument)
            for argument in self.resolver.arguments(function, call)
        )

    def uploads(self, function: Fn, call: Call) -> bool:
        """Say whether a call copies to the device: a transfer that is told the host does not."""
        if call.name not in self.profile.uploads:
            return False
        return call.name not in self.profile.transfer.device_arguments or not self.moves_to_host(
            function, call
        )

    def is_kernel(self, function: Fn) -> bool:
        """Say whether the body of a function is device code."""
        names = self.profile.launch.kernel_attributes
        return any(
            attribute[2:].lstrip().startswith(name)
            for attribute in function.facts.attributes
            for name in names
        )

    def is_examined(self, function: Fn) -> bool:
        """Say whether a function is one that host reads are looked for in."""
        return function.is_product_code and not self.is_device_off(function) and not self.is_kernel(function)

    def operand(self, function: Fn, call: Call) -> str:
        """Return what a call works on: its receiver, else its first argument."""
        if call.kind == CallKind.METHOD:
            return function.text(call.start, call.name_start).rstrip(". \n")
        arguments = self.resolver.arguments(function, call)
        return arguments[0] if arguments else ""

    def propagates(self, function: Fn, call: Call) -> bool:
        """Say whether an error of a call becomes the function's own."""
        if call.is_tried:
            return True
        region = function.facts.regions[call.region]
        return region.tail_end == call.end and call.start >= region.tail_start

    def gets_device_data(self, function: Fn, call: Call) -> bool:
        """Say whether an argument, or the receiver, of a call may be device data."""
        flow = self.flow(function)
        operands = self.resolver.arguments(function, call)
        if call.kind == CallKind.METHOD:
            receiver = function.text(call.start, call.name_start).rstrip(". \n")
            type_ = self.resolver.type_of(function, receiver)
            if not operands or not type_ or receiver == "self" or self.operands.names_device_type(type_):
                operands.append(receiver)
        return any(
            self.operands.may_be_on_device(function, flow, operand, call)
            for operand in operands
            if not operand.startswith(("|", '"', "move "))
        )

    def is_for_device(self, function: Fn, call: Call) -> bool:
        """Say whether a call stands in a branch for the device."""
        flow = self.flow(function)
        return any(
            test.encloses and flow.place(test) is Place.DEVICE
            for test in flow.tests_at(call.start, call.region)
        )

    def place_at(self, function: Fn, call: Call) -> Place | None:
        """Say where data must be when control reaches a call: the first test that tells decides."""
        flow = self.flow(function)
        for test in flow.tests_at(call.start, call.region):
            place = flow.place(test) or self._answers.place(function, test)
            if place is not None:
                return place
        return None
