"""What functions do, directly and through what they call: a fixpoint over the call graph."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from audit.scanner.extract.facts import Call, CallKind, RegionKind
from audit.scanner.link.flow import DeviceTests, Flow, Place
from audit.scanner.link.operands import Operands
from audit.scanner.link.resolve import Resolver
from audit.scanner.link.standard import STANDARD_METHODS
from audit.scanner.link.unit import Fn
from audit.scanner.link.workspace import Workspace
from audit.scanner.profile import Profile, any_pattern

_ENVIRONMENT_READS = frozenset({"var", "var_os"})
_ALLOCATION = re.compile(r"^(?:alloc|free|len|device|ordinal|numel|shape|size)")


class Reason(NamedTuple):
    """Why a function has an effect: the call, and the callee whose effect it is (none: the call itself)."""

    call: Call
    callee: Fn | None


class Read(NamedTuple):
    """A place where data that may be on a device is read on the host.

    `helper` is the callee that reads for the function, None when the call is the download itself. `pardon`
    says why the read is legal, and is empty when nothing makes it so.
    """

    call: Call
    operand: str
    helper: Fn | None
    pardon: str


class Gate(NamedTuple):
    """An opt-in gate: does it warn, and does it refuse (return an error) by itself when not opted in?"""

    warns: bool
    refuses: bool


class Summaries:
    """Effects of all functions of a workspace under one profile."""

    def __init__(self, workspace: Workspace, resolver: Resolver, profile: Profile) -> None:
        self.workspace = workspace
        self.resolver = resolver
        self.profile = profile
        self.tests = DeviceTests(profile)
        self.operands = Operands(profile, workspace)
        self._flows: dict[int, Flow] = {}
        self._launch_pattern = any_pattern(profile.launch.call_patterns)
        self._launch_names: dict[str, bool] = {}
        self._host_name = any_pattern(profile.transfer.host_name_patterns)
        self._gate_text = any_pattern(profile.gate.environment_patterns)
        self._setup_name = any_pattern(profile.setup.constructor_patterns)
        self._export_name = any_pattern(profile.setup.export_patterns)
        self._features = frozenset(profile.gpu.features)
        self._transfers = frozenset(profile.transfer.transfer_apis) | profile.uploads | profile.downloads
        self._refusing = frozenset(profile.transfer.refusing_accessors)
        self.launching: dict[int, Reason] = {}
        self.gates: dict[int, Gate] = {}
        self.rejecting: dict[int, Reason] = {}
        self.reads: dict[int, tuple[Read, ...]] = {}
        self._find_launching()
        self._find_gates()
        self._find_rejecting()
        self._find_reads()

    # -- shared ------------------------------------------------------------------------------------------

    def flow(self, function: Fn) -> Flow:
        """Return the control flow of a function."""
        found = self._flows.get(function.index)
        if found is None:
            found = self._flows[function.index] = Flow(function, self.tests)
        return found

    @cached_property
    def calls_by_name(self) -> dict[str, list[tuple[Fn, Call]]]:
        """All calls in functions, by the name that is called; renamed imports under the real name too."""
        found: dict[str, list[tuple[Fn, Call]]] = defaultdict(list)
        renamed = self._renamed
        for function in self.workspace.functions:
            for call in function.facts.calls:
                found[call.name].append((function, call))
                for real in renamed.get(call.name, ()):
                    found[real].append((function, call))
        return found

    @cached_property
    def _renamed(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for unit in self.workspace.units.values():
            for name, path in self.resolver.uses(unit).items():
                if path[-1] != name:
                    found[name].add(path[-1])
        return found

    def callers(self, callee: Fn) -> Iterator[tuple[Fn, Call]]:
        """Yield the calls that may call a function."""
        for function, call in self.calls_by_name.get(callee.name, ()):
            if function is not callee and callee in self.resolver.resolve(function, call):
                yield function, call

    def _spread(
        self, found: dict[int, Reason], accepts: Callable[[Fn, Call], bool], start: Iterable[int]
    ) -> None:
        """Give an effect to the callers of those that have it, as long as anything changes."""
        queue = deque(start)
        while queue:
            callee = self.workspace.functions[queue.popleft()]
            for function, call in self.callers(callee):
                if function.index not in found and accepts(function, call):
                    found[function.index] = Reason(call, callee)
                    queue.append(function.index)

    def is_device_off(self, function: Fn) -> bool:
        """Say whether a function is compiled only where no GPU feature is on."""
        return any(cfg.excludes("feature", self._features) for cfg in function.cfgs)

    def is_kernel(self, function: Fn) -> bool:
        """Say whether the body of a function is device code."""
        names = self.profile.launch.kernel_attributes
        return any(
            attribute[2:].lstrip().startswith(name)
            for attribute in function.facts.attributes
            for name in names
        )

    # -- launches ----------------------------------------------------------------------------------------

    def is_launch(self, function: Fn, call: Call) -> bool:
        """Say whether a call puts work on the device by itself."""
        if self.is_launch_name(call.name):
            return call.kind != CallKind.MACRO or call.name == "launch"
        return call.kind == CallKind.METHOD and self.is_backend_operation(function, call)

    def is_launch_name(self, name: str) -> bool:
        """Say whether a name launches work whatever it is called on."""
        known = self._launch_names.get(name)
        if known is None:
            known = self._launch_names[name] = name in self.profile.launches or bool(
                self._launch_pattern.search(name)
            )
        return known

    def is_backend_operation(self, function: Fn, call: Call) -> bool:
        """Say whether a call is an operation of the device backend, no transfer and no allocation."""
        names = self.profile
        if call.name in names.uploads or call.name in names.downloads or _ALLOCATION.match(call.name):
            return False
        if call.name in STANDARD_METHODS:
            return False
        receiver = function.text(call.start, call.name_start).rstrip(". \n")
        if receiver.isidentifier():
            type_ = self.resolver.types(function).get(receiver, "")
            if type_ in names.launch.backend_traits:
                return True
            value = self.flow(function).value_of(receiver)
            return any(f"{accessor}(" in value for accessor in names.launch.backend_accessors) or (
                not value and "backend" in receiver and self._binds_backend(function, receiver)
            )
        return any(f"{accessor}(" in receiver for accessor in names.launch.backend_accessors)

    def _binds_backend(self, function: Fn, name: str) -> bool:
        """Say whether an if-let, match arm or let-else binds a name to the backend."""
        for region in function.facts.regions:
            subject = function.text(region.condition_start, region.condition_end)
            if any(f"{accessor}(" in subject for accessor in self.profile.launch.backend_accessors):
                pattern = function.text(region.pattern_start, region.pattern_end)
                if re.search(rf"\b{name}\b", pattern or subject):
                    return True
        return False

    def _find_launching(self) -> None:
        for function in self.workspace.functions:
            if self.is_device_off(function) or function.name in self._transfers:
                continue
            for call in function.facts.calls:
                if self.is_launch(function, call):
                    self.launching[function.index] = Reason(call, None)
                    break
        self._spread(self.launching, self._passes_launch_on, list(self.launching))

    def _passes_launch_on(self, function: Fn, call: Call) -> bool:
        return function.name not in self._transfers and not self.is_device_off(function)

    # -- gates -------------------------------------------------------------------------------------------

    def is_gate_read(self, function: Fn, call: Call) -> bool:
        """Say whether a call reads the opt-in variable of the environment."""
        return call.name in _ENVIRONMENT_READS and bool(
            self._gate_text.search(function.text(call.arguments_start, call.end))
        )

    def _find_gates(self) -> None:
        named = frozenset(self.profile.gate.functions)
        warnings = frozenset(self.profile.gate.warning_macros)
        for name in (*_ENVIRONMENT_READS, *named):
            for function, call in self.calls_by_name.get(name, ()):
                if call.name in named or self.is_gate_read(function, call):
                    calls = function.facts.calls
                    self.gates[function.index] = Gate(
                        warns=any(one.kind == CallKind.MACRO and one.name in warnings for one in calls),
                        refuses=any(one.name == "Err" for one in calls),
                    )

    def gate_of(self, function: Fn, call: Call) -> Gate | None:
        """Return the gate that a call checks: a helper's, or the variable itself."""
        if self.is_gate_read(function, call):
            return self.gates.get(function.index)
        for callee in self.resolver.resolve(function, call):
            gate = self.gates.get(callee.index)
            if gate is not None:
                return gate
        return None

    @cached_property
    def _gate_names(self) -> frozenset[str]:
        return frozenset(self.workspace.functions[index].name for index in self.gates) | frozenset(
            self.profile.gate.functions
        )

    def opens(self, condition: str, holds: bool) -> bool | None:
        """Say whether an atomic condition that holds means that the user opted in."""
        mentions = any(f"{name}(" in condition for name in self._gate_names) or (
            "env" in condition and self._gate_text.search(condition)
        )
        if not mentions:
            return None
        is_inverted = "is_err()" in condition or "is_none()" in condition
        return holds != is_inverted

    # -- rejecting device data ---------------------------------------------------------------------------

    def _find_rejecting(self) -> None:
        for function in self.workspace.functions:
            if not function.has_body or function.is_test_code or function.name in self._transfers:
                continue
            reason = self._own_rejection(function)
            if reason is not None:
                self.rejecting[function.index] = reason
        self._spread(self.rejecting, self._passes_rejection_on, list(self.rejecting))

    def _own_rejection(self, function: Fn) -> Reason | None:
        for call in function.facts.calls:
            if call.name == "Err" and self._refuses_here(function, call):
                return Reason(call, None)
            if call.name in self._refusing and call.region == 0 and self.is_refusing_access(function, call):
                return Reason(call, None)
        return None

    def _refuses_here(self, function: Fn, call: Call) -> bool:
        """Say whether an `Err(..)` is the answer to nothing but a device test at the top of a function."""
        region = function.facts.regions[call.region]
        if call.region == 0 or region.parent != 0:
            return False
        flow = self.flow(function)
        entering = flow.tests_at(call.start, call.region)
        if region.kind == RegionKind.ARM and self._has_working_device_arm(function, call.region):
            return False
        return (
            bool(entering)
            and flow.place(entering[0]) is Place.DEVICE
            and flow.place(entering[0]._replace(holds=not entering[0].holds)) is Place.HOST
        )

    def _has_working_device_arm(self, function: Fn, arm: int) -> bool:
        """Say whether another arm of the match takes device data and does not refuse it."""
        flow = self.flow(function)
        group = function.facts.regions[arm].group_start
        refusing = {call.region for call in function.facts.calls if call.name == "Err"}
        return any(
            region.kind == RegionKind.ARM
            and region.group_start == group
            and index not in refusing
            and flow.place(flow.entering(index)) is not Place.HOST
            for index, region in enumerate(function.facts.regions)
        )

    def is_refusing_access(self, function: Fn, call: Call) -> bool:
        """Say whether a call returns an error when its receiver is on a device, and passes it on."""
        if (
            call.name not in self._refusing
            or call.kind != CallKind.METHOD
            or not self._propagates(function, call)
        ):
            return False
        operand = function.text(call.start, call.name_start).rstrip(". \n")
        if not self.operands.may_be_on_device(function, self.flow(function), operand):
            return False
        return self.place_at(function, call) is not Place.HOST

    def _propagates(self, function: Fn, call: Call) -> bool:
        """Say whether an error of a call becomes the function's own."""
        if call.is_tried:
            return True
        region = function.facts.regions[call.region]
        return region.tail_end == call.end and call.start >= region.tail_start

    def _passes_rejection_on(self, function: Fn, call: Call) -> bool:
        if (
            call.region != 0
            or function.is_test_code
            or function.name in self._transfers
            or not self._propagates(function, call)
        ):
            return False
        if self.place_at(function, call) is Place.HOST:
            return False
        return self._gets_device_data(function, call)

    def _gets_device_data(self, function: Fn, call: Call) -> bool:
        flow = self.flow(function)
        operands = self.resolver.arguments(function, call)
        if call.kind == CallKind.METHOD:
            receiver = function.text(call.start, call.name_start).rstrip(". \n")
            type_ = self.resolver.type_of(function, receiver)
            if not operands or not type_ or receiver == "self" or self.operands.names_device_type(type_):
                operands.append(receiver)
        return any(
            self.operands.may_be_on_device(function, flow, operand)
            for operand in operands
            if not operand.startswith(("|", '"', "move "))
        )

    def place_at(self, function: Fn, call: Call) -> Place | None:
        """Say where data must be when control reaches a call: the first test that tells decides."""
        flow = self.flow(function)
        for test in flow.tests_at(call.start, call.region):
            place = flow.place(test)
            if place is not None:
                return place
        return None

    # -- host reads --------------------------------------------------------------------------------------

    def _find_reads(self) -> None:
        pending: dict[int, list[Read]] = defaultdict(list)
        downloads = self.profile.downloads
        for name in sorted(downloads):
            for function, call in self.calls_by_name.get(name, ()):
                if call.name == name and self._is_examined(function):
                    read = self._download(function, call)
                    if read is not None:
                        pending[function.index].append(read)
        self.reads = {index: tuple(reads) for index, reads in pending.items()}
        queue = deque(index for index in pending if self.is_host_helper(self.workspace.functions[index]))
        seen = set(queue)
        while queue:
            callee = self.workspace.functions[queue.popleft()]
            for function, call in self.callers(callee):
                if not self._is_examined(function) or not self._gets_device_data(function, call):
                    continue
                read = Read(call, self._operand(function, call), callee, self.pardon(function, call))
                self.reads[function.index] = (*self.reads.get(function.index, ()), read)
                if function.index not in seen and self.is_host_helper(function):
                    seen.add(function.index)
                    queue.append(function.index)
        self._find_host_gradients()
        for index, reads in self.reads.items():
            self.reads[index] = tuple(sorted(reads, key=lambda read: read.call.start))

    def _find_host_gradients(self) -> None:
        """In a backward pass, a call of an operator with a host body only is a read too."""
        words = self.profile.autograd
        host_only = {
            index
            for index, reads in self.reads.items()
            if index not in self.launching
            and any(not read.pardon and self._always_runs(index, read.call) for read in reads)
        }
        found: dict[int, list[Read]] = defaultdict(list)
        for trait in words.traits:
            for function in self.workspace.trait_methods.get(trait, ()):
                if function.name not in words.methods or function.index in self.reads:
                    continue
                if not self._is_examined(function):
                    continue
                for call in function.facts.calls:
                    callee = next(
                        (one for one in self.resolver.resolve(function, call) if one.index in host_only), None
                    )
                    if callee is not None and self._gets_device_data(function, call):
                        operand = self._operand(function, call)
                        found[function.index].append(Read(call, operand, callee, self.pardon(function, call)))
        for index, reads in found.items():
            self.reads[index] = tuple(reads)

    def _always_runs(self, index: int, call: Call) -> bool:
        function = self.workspace.functions[index]
        return all(
            function.facts.regions[region].kind in (RegionKind.BODY, RegionKind.LOOP, RegionKind.CLOSURE)
            for region in function.ancestors(call.region)
        )

    def _is_examined(self, function: Fn) -> bool:
        return function.is_product_code and not self.is_device_off(function) and not self.is_kernel(function)

    def _operand(self, function: Fn, call: Call) -> str:
        if call.kind == CallKind.METHOD:
            return function.text(call.start, call.name_start).rstrip(". \n")
        arguments = self.resolver.arguments(function, call)
        return arguments[0] if arguments else ""

    def _download(self, function: Fn, call: Call) -> Read | None:
        is_method = call.kind == CallKind.METHOD
        if call.kind not in (CallKind.METHOD, CallKind.PLAIN, CallKind.PATH):
            return None
        words = self.profile.transfer
        if call.name not in (words.download_methods if is_method else words.download_functions):
            return None
        operand = self._operand(function, call)
        if is_method and self.resolver.type_of(function, operand) in self.profile.launch.backend_traits:
            arguments = self.resolver.arguments(function, call)
            operand = arguments[0] if arguments else operand
        if not self.operands.may_be_on_device(function, self.flow(function), operand):
            return None
        return Read(call, operand, None, self.pardon(function, call))

    def is_host_helper(self, function: Fn) -> bool:
        """Say whether a function computes on the host for others, so that its callers answer for it."""
        if not any(
            not read.pardon or read.pardon in _HELPER_PARDONS for read in self.reads.get(function.index, ())
        ):
            return False
        if function.name in self.profile.transfer.transfer_apis:
            return False
        return (
            self.operands.takes_callable(function)
            or self.returns_host_data(function)
            or bool(self._host_name.search(function.name))
        )

    def returns_host_data(self, function: Fn) -> bool:
        """Say whether a function is for reading: its result is host data, and it does nothing else."""
        return self.operands.returns_host_data(function) and not self._makes_tensors(function)

    def answers_elsewhere(self, function: Fn) -> bool:
        """Say whether only the callers of a host helper answer for it, and not the helper itself."""
        return self.is_host_helper(function) and (
            self.operands.takes_callable(function)
            or self.returns_host_data(function)
            or (function.unit.package is not None and self.profile.is_gpu_crate(function.unit.package.name))
        )

    def pardon(self, function: Fn, call: Call) -> str:
        """Say what makes reading device data on the host legal at a call; empty when nothing does."""
        if function.name in self.profile.transfer.transfer_apis:
            return "transfer-api"
        if self._is_setup(function):
            return "setup"
        if self._export_name.search(function.name):
            return "export"
        if self.returns_host_data(function):
            return "explicit-host-return"
        flow = self.flow(function)
        tests = flow.tests_at(call.start, call.region)
        for test in tests:
            place = flow.place(test)
            if place is Place.HOST:
                return "host-branch"
            if not test.pattern and flow.told(test.subject, test.holds, self.opens, _never):
                return "opt-in"
        around = frozenset(function.ancestors(call.region))
        behind = self._reached_behind(function, call)
        for other in function.facts.calls:
            if other.start != call.start and other.region in (around if other.start < call.start else behind):
                reason = self._pardon_by(function, call, other)
                if reason:
                    return reason
        return "rejected" if self._is_rejected_behind(function, call, behind) else ""

    def _is_setup(self, function: Fn) -> bool:
        """Say whether a function builds its own type, once."""
        own = r"\bSelf\b" + (rf"|\b{re.escape(function.self_type)}\b" if function.self_type else "")
        return bool(self._setup_name.search(function.name) and re.search(own, function.facts.return_type))

    def _makes_tensors(self, function: Fn) -> bool:
        """Say whether a function builds tensors or uploads: then it does more than read."""
        uploads = self.profile.uploads
        return any(
            call.name in uploads
            or self.operands.makes_host_storage(function.text(call.start, call.arguments_start + 1))
            for call in function.facts.calls
        )

    def _reached_behind(self, function: Fn, call: Call) -> frozenset[int]:
        """Return the regions around a call whose further course is reached behind it."""
        flow = self.flow(function)
        found = set()
        for region in function.ancestors(call.region):
            found.add(region)
            if flow.leaves(region):
                break
        return frozenset(found)

    def _pardon_by(self, function: Fn, call: Call, other: Call) -> str:
        if (
            other.start < call.start
            and (gate := self.gate_of(function, other))
            and gate.refuses
            and other.is_tried
        ):
            return "opt-in"
        if self.is_refusing_access(function, other) and self._speaks_for(function, other, call):
            return "refusing-access"
        if self._propagates(function, other) and not self._is_download(other):
            for callee in self.resolver.resolve(function, other):
                if callee.index in self.rejecting and self._gets_device_data(function, other):
                    return "rejected"
        return ""

    def _speaks_for(self, function: Fn, access: Call, read: Call) -> bool:
        """Say whether what an accessor refuses is what is read, or the operator's first tensor."""
        operand = function.text(access.start, access.name_start).rstrip(". \n")
        first = next(
            (
                parameter.name
                for parameter in function.facts.parameters
                if parameter.name == "self" or self.operands.names_device_type(parameter.type)
            ),
            "",
        )
        root = re.split(r"\W", operand, maxsplit=1)[0]
        return root == first or operand == self._operand(function, read)

    def _is_download(self, call: Call) -> bool:
        return call.name in self.profile.downloads

    def _is_rejected_behind(self, function: Fn, call: Call, around: frozenset[int]) -> bool:
        """Say whether the function goes on to refuse device data after the read, whatever the read yields."""
        flow = self.flow(function)
        for index, region in enumerate(function.facts.regions):
            if region.kind != RegionKind.THEN or region.parent not in around or region.start < call.start:
                continue
            condition = function.text(region.condition_start, region.condition_end)
            if flow.condition_place(condition, False) is Place.HOST and flow.returns(index):
                text = function.region_text(region)
                if "Err(" in text and not any(
                    self.is_launch(function, one) for one in function.facts.calls if one.region == index
                ):
                    return True
        return False


_HELPER_PARDONS = frozenset({"explicit-host-return"})


def _never(subject: str, pattern: str, holds: bool) -> bool | None:
    return None
