"""Where functions read device data on the host, directly or through helpers."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import NamedTuple

from audit.scanner.extract.facts import Call, CallKind, RegionKind
from audit.scanner.link.copies import Copies, round_trips
from audit.scanner.link.graph import CallGraph
from audit.scanner.link.launches import Launches
from audit.scanner.link.loads import Loads
from audit.scanner.link.pardons import Pardons
from audit.scanner.link.picks import bound_truth, is_count, is_status, only_decides, picks_elements
from audit.scanner.link.places import Place
from audit.scanner.link.results import OPERANDS_PARDONS, HostResults, root
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern

# A local, and the methods that are called on it.
_VIEWED = re.compile(r"(\w+)((?:\s*\??\s*\.\s*\w+\([^()]*\))*)\s*\??")
_METHOD = re.compile(r"\.\s*(\w+)\(")
# How many makers of tensors are followed back.
_DEPTH = 4


class Read(NamedTuple):
    """A place where data that may be on a device is read on the host.

    `helper` is the callee that reads for the function, None when the call is the download itself. `pardon`
    says why the read is legal, and is empty when nothing makes it so. `is_copy` tells that the read only
    serves to copy, `is_result` that it stands for a result computed on the host and uploaded here.
    """

    call: Call
    operand: str
    helper: Fn | None
    pardon: str
    is_copy: bool = False
    is_result: bool = False


class Reads:
    """Reads by function index, in source order."""

    def __init__(
        self,
        graph: CallGraph,
        launches: Launches,
        pardons: Pardons,
        found: dict[int, tuple[Read, ...]] | None = None,
    ) -> None:
        """Find them, unless it is known what another process found in the same workspace."""
        self._graph = graph
        self._launches = launches
        self._pardons = pardons
        self._loads = Loads(graph)
        self._host_name = any_pattern(graph.profile.transfer.host_name_patterns)
        self._host_only = any_pattern(graph.profile.transfer.host_only_patterns)
        self.found: dict[int, tuple[Read, ...]] = found or {}
        if found is None:
            self._find()

    def _find(self) -> None:
        pending: dict[int, list[Read]] = defaultdict(list)
        downloads = self._graph.profile.downloads
        for name in sorted(downloads | frozenset(self._graph.profile.transfer.device_arguments)):
            for function, call in self._graph.calls_by_name.get(name, ()):
                if call.name == name and self._graph.is_examined(function):
                    read = self._download(function, call)
                    if read is not None:
                        pending[function.index].append(read)
        self.found = {index: tuple(reads) for index, reads in pending.items()}
        self._spread()
        self._find_host_gradients()
        self._find_copies()
        self._find_host_results()
        for index, reads in self.found.items():
            self.found[index] = tuple(sorted(reads, key=lambda read: read.call.start))

    def _spread(self) -> None:
        """Make the calls of host helpers, with data of the device, reads of their callers."""
        functions = self._graph.workspace.functions
        queue = deque(index for index in self.found if self.is_host_helper(functions[index]))
        seen = set(queue)
        while queue:
            callee = functions[queue.popleft()]
            if is_count(callee, (read.call for read in self.found[callee.index])):
                continue
            for function, call in self._graph.callers(callee):
                if not self._hands_data(function, call):
                    continue
                read = Read(
                    call, self._graph.operand(function, call), callee, self._pardons.pardon(function, call)
                )
                self.found[function.index] = (*self.found.get(function.index, ()), read)
                if function.index not in seen and self.is_host_helper(function):
                    seen.add(function.index)
                    queue.append(function.index)

    def _hands_data(self, function: Fn, call: Call) -> bool:
        """Say whether a call hands data of the device on, in the body of a function that is looked at."""
        return (
            self._graph.is_examined(function)
            and self._graph.gets_device_data(function, call)
            and not self._is_metadata(function, call)
            and function.facts.body_start <= call.start < function.facts.body_end
        )

    def _find_host_gradients(self) -> None:
        """In a backward pass, a call of an operator with a host body only is a read too."""
        words = self._graph.profile.autograd
        host_only = {
            index
            for index, reads in self.found.items()
            if index not in self._launches.found
            and any(not read.pardon and self._always_runs(index, read.call) for read in reads)
        }
        found: dict[int, list[Read]] = defaultdict(list)
        for trait in words.traits:
            for function in self._graph.workspace.trait_methods.get(trait, ()):
                if function.name not in words.methods or function.index in self.found:
                    continue
                if not self._graph.is_examined(function):
                    continue
                for call in function.facts.calls:
                    callee = next(
                        (
                            one
                            for one in self._graph.resolver.resolve(function, call)
                            if one.index in host_only
                        ),
                        None,
                    )
                    if callee is not None and self._graph.gets_device_data(function, call):
                        operand = self._graph.operand(function, call)
                        found[function.index].append(
                            Read(call, operand, callee, self._pardons.pardon(function, call))
                        )
        for index, reads in found.items():
            self.found[index] = tuple(reads)

    def _find_copies(self) -> None:
        """Add the places where a clone of shared storage copies through the host."""
        reading = (
            self._graph.workspace.functions[index]
            for index, reads in self.found.items()
            if index not in self._launches.found and any(not read.pardon for read in reads)
        )
        for function, call, callee in Copies(self._graph, round_trips(self._graph, reading)).sites:
            operand = self._graph.operand(function, call)
            read = Read(call, operand, callee, self._pardons.pardon(function, call), is_copy=True)
            self.found[function.index] = (*self.found.get(function.index, ()), read)

    def _find_host_results(self) -> None:
        """Add the results that are computed on the host, and uploaded or handed out for the device."""
        results = HostResults(self._graph, self._launches, self._pardons)
        reading = {index: tuple(read.pardon for read in reads) for index, reads in self.found.items()}
        for function, call, operand, pardon in results.of_operators(reading):
            self.found[function.index] = (Read(call, operand, None, pardon, is_result=True),)
            reading[function.index] = (pardon,)
        for function, call, operand, pardon in results.for_device():
            before = self.found.get(function.index, ())
            if all(read.pardon or read.call.start != call.start for read in before):
                read = Read(call, operand, None, pardon, is_result=True)
                self.found[function.index] = (*before, read)

    def _always_runs(self, index: int, call: Call) -> bool:
        function = self._graph.workspace.functions[index]
        return all(
            function.facts.regions[region].kind in (RegionKind.BODY, RegionKind.LOOP, RegionKind.CLOSURE)
            for region in function.ancestors(call.region)
        )

    def _download(self, function: Fn, call: Call) -> Read | None:
        is_method = call.kind == CallKind.METHOD
        reads_data = self._graph.flow(function).kept_once(
            ("download", call.start, call.end), lambda: self._reads_data(function, call)
        )
        if not reads_data or self._is_own_method(function, call):
            return None
        operand = self._graph.operand(function, call)
        if (
            is_method
            and self._graph.resolver.type_of(function, operand) in self._graph.profile.launch.backend_traits
        ):
            arguments = self._graph.resolver.arguments(function, call)
            operand = arguments[0] if arguments else operand
        if not self._graph.operands.may_be_on_device(function, self._graph.flow(function), operand, call):
            return None
        if self._is_made_by_host_code(function, call, operand):
            return None
        pardon = self._pardons.pardon(function, call)
        if pardon in OPERANDS_PARDONS and (
            self._comes_from_gpu_code(function, call, operand) or self._is_idle_gpu_operator(function)
        ):
            pardon = ""
        return Read(call, operand, None, pardon)

    def _reads_data(self, function: Fn, call: Call) -> bool:
        """Say whether a call is a download by its text, and of more than counts or a status."""
        is_method = call.kind == CallKind.METHOD
        if call.kind not in (CallKind.METHOD, CallKind.PLAIN, CallKind.PATH):
            return False
        words = self._graph.profile.transfer
        if words.scalar_reads and (call.name in words.scalar_reads or picks_elements(function, call)):
            return False
        if words.scalar_reads and (only_decides(function, call) or self._is_only_checked(function, call)):
            return False
        if call.name in words.device_arguments:
            if not self._graph.moves_to_host(function, call):
                return False
        elif call.name not in (words.download_methods if is_method else words.download_functions):
            return False
        return not (
            self._is_metadata(function, call)
            or is_status(function, call)
            or _is_only_recorded(function, call, self._graph.resolver.arguments(function, call))
        )

    def _is_only_checked(self, function: Fn, call: Call) -> bool:
        """Say whether what is read decides on nothing but an error: an argument is checked."""
        name, end = bound_truth(function, call)
        if not name:
            return False
        refused = [
            region
            for index, region in enumerate(function.facts.regions)
            if region.kind == RegionKind.THEN
            and any(one.region == index and self._graph.is_error(one) for one in function.facts.calls)
        ]
        word = re.compile(rb"\b" + name.encode() + rb"\b")
        uses = [found.start() for found in word.finditer(function.unit.data, end, function.facts.body_end)]
        return bool(uses) and all(
            any(region.condition_start <= use < region.condition_end for region in refused) for use in uses
        )

    def _is_made_by_host_code(self, function: Fn, place: Call, operand: str, depth: int = _DEPTH) -> bool:
        """Say whether an operand is what a function made on the host, of nothing that may be on a device."""
        name = self._viewed(operand)
        let = self._graph.flow(function).let_in_scope(name, place.start, place.region)
        if let is None or not depth or self._graph.place_at(function, place) is Place.DEVICE:
            return False
        made = max(
            (
                one
                for one in function.facts.calls
                if let.value_start <= one.start and one.end <= let.value_end
            ),
            key=lambda one: one.end - one.start,
            default=None,
        )
        if made is None or function.text(made.end, let.value_end).strip("? \n"):
            return False
        makers = self._graph.resolver.resolve(function, made)
        return bool(makers) and all(self._works_on_host(function, made, one, depth) for one in makers)

    def _viewed(self, operand: str) -> str:
        """Return the local that an operand is, or is a view of; else the operand."""
        operand = operand.strip().lstrip("&")
        views = self._graph.profile.launch.views
        taken = _VIEWED.fullmatch(operand)
        return (
            taken[1]
            if taken is not None and views and set(_METHOD.findall(taken[2])) <= {*views}
            else operand
        )

    def _works_on_host(self, function: Fn, call: Call, maker: Fn, depth: int) -> bool:
        """Say whether a function that is called has no tensor of its own, and is given none of a device."""
        if not self._graph.profile.uploads.isdisjoint(one.name for one in maker.facts.calls):
            return False
        if self._graph.operands.holds_tensor(maker):
            return not maker.self_type and (
                not self._pardons.hands_tensors_over(function, call, maker)
                or self._is_given_host_data(function, call, maker, depth)
            )
        return maker.index not in self._launches.found and (
            self._answers_from_host(maker) or self._loads.are_on_host(maker)
        )

    def _is_given_host_data(self, function: Fn, call: Call, maker: Fn, depth: int) -> bool:
        """Say whether each tensor that a call gives was made on the host."""
        arguments = self._graph.resolver.arguments(function, call)
        parameters = [one for one in maker.facts.parameters if one.name != "self"]
        return len(parameters) == len(arguments) and all(
            self._is_made_by_host_code(function, call, argument, depth - 1)
            for parameter, argument in zip(parameters, arguments, strict=True)
            if self._graph.operands.names_device_type(parameter.type)
        )

    def _answers_from_host(self, maker: Fn) -> bool:
        """Say whether a function makes a tensor of the host, or hands on what another one makes."""
        return self._pardons.answers.makes_storage(maker) or any(
            self._pardons.answers.makes_storage(one)
            for call in maker.facts.calls
            for one in self._graph.resolver.resolve(maker, call)
        )

    def _is_idle_gpu_operator(self, function: Fn) -> bool:
        """Say whether GPU code yields tensors and never launches: to refuse one device is not its answer."""
        return (
            self._graph.is_gpu_located(function)
            and function.index not in self._launches.found
            and self._graph.operands.names_device_type(function.facts.return_type)
        )

    def _comes_from_gpu_code(self, function: Fn, read: Call, operand: str) -> bool:
        """Say whether an operand is what GPU code yielded: that operands are refused says nothing of it."""
        value = self._graph.flow(function).source_of(root(operand), read.region, read.start)
        if not value:
            return False
        called = [call for call in function.facts.calls if function.text(call.start, call.end) in value]
        reason = self._launches.found.get(function.index)
        is_spliced = f"${value.partition('(')[0]}(" in function.text(
            function.facts.body_start, function.facts.body_end
        )
        if is_spliced and reason is not None and reason.callee is not None:
            return self._graph.is_gpu_located(reason.callee)
        return any(
            self._graph.is_gpu_located(callee) and callee.index in self._launches.found
            for call in called
            for callee in self._graph.resolver.resolve(function, call)
        )

    def _is_metadata(self, function: Fn, call: Call) -> bool:
        """Say whether what is read is said to be of a type that holds counts, indices and shapes."""
        names = self._graph.profile.transfer.metadata_types
        if not names:
            return False
        told = function.text(call.name_start + len(call.name), call.arguments_start)
        for let in function.facts.lets:
            if let.value_start <= call.start and call.end <= let.value_end:
                told += function.text(let.pattern_end, let.value_start)
                told += " ".join(_TURBOFISH.findall(function.text(call.end, let.value_end)))
        cast = re.match(r"\??\s*as\s+(\w+)", function.text(call.end, call.end + 20))
        words = re.findall(r"\w+", told) + ([cast[1]] if cast is not None else [])
        return (
            any(word in names for word in words)
            and not self._answers_with_host_data(function)
            and not self._is_found_on_device(function, call)
        )

    def _is_found_on_device(self, function: Fn, call: Call) -> bool:
        """Say whether an operator has found the indices on the device, which could go on with them there."""
        operators = self._graph.profile.transfer.index_operators
        operand = self._graph.operand(function, call)
        source = operand + self._graph.flow(function).source_of(root(operand), call.region, call.start)
        return any(f".{one}(" in source for one in operators)

    def _answers_with_host_data(self, function: Fn) -> bool:
        """Say whether a function's value is a tensor of what it has worked out on the host: it is data."""
        if not self._graph.operands.names_device_type(function.facts.return_type):
            return False
        body, profile = function.facts.regions[0], self._graph.profile
        value = function.text(body.tail_start, body.tail_end)
        start = body.tail_end - len(value.removeprefix("Ok(").lstrip().encode())
        made = next(
            (one for one in function.facts.calls if one.start == start and one.name in _MAKE_OF_DATA), None
        )
        if made is None:
            return False
        # It may be moved and looked at in another shape: that computes nothing.
        idle = {*profile.launch.views, *profile.transfer.transfer_apis}
        behind = _ARGUMENTS.sub("()", function.text(made.end, body.tail_end))
        return idle.issuperset(_METHOD.findall(behind))

    def _is_own_method(self, function: Fn, call: Call) -> bool:
        """Say whether a method is one of a type of the workspace that is no tensor and keeps none."""
        if call.kind != CallKind.METHOD:
            return False
        type_ = self._graph.resolver.type_of(function, self._graph.operand(function, call))
        fields = self._graph.workspace.struct_fields.get(type_)
        if fields is None or self._graph.operands.names_device_type(type_):
            return False
        arguments = self._graph.resolver.arguments(function, call)
        if arguments and call.name in self._graph.profile.transfer.transfer_apis:
            # A device's method that copies what it is given.
            return False
        if any(self._comes_from_gpu_code(function, call, one) for one in arguments):
            return False
        callees = self._graph.resolver.resolve(function, call)
        return any(one.self_type == type_ and not one.trait for one in callees) and not any(
            self._graph.operands.names_device_type(field) for field in fields.values()
        )

    def is_host_helper(self, function: Fn) -> bool:
        """Say whether a function computes on the host for others, so that its callers answer for it."""
        if not any(
            not read.pardon
            or (
                read.pardon in _HELPER_PARDONS
                and not self._pardons.keeps_device_data_out(function, read.call)
            )
            for read in self.found.get(function.index, ())
        ):
            return False
        if function.name in self._graph.profile.transfer.transfer_apis:
            return False
        return (
            self._graph.operands.takes_callable(function)
            or self._pardons.answers.returns_host_data(function)
            # The name of a macro is not that of the functions which it defines.
            or (not function.facts.has_spliced_name and bool(self._host_name.search(function.name)))
            or self._is_host_only(function)
        )

    def _is_host_only(self, function: Fn) -> bool:
        return any(map(self._host_only.search, (function.name, *function.module[-1:])))

    def answers_elsewhere(self, function: Fn) -> bool:
        """Say whether only the callers of a host helper answer for it, and not the helper itself."""
        return self.is_host_helper(function) and (
            self._graph.operands.takes_callable(function)
            or self._pardons.answers.returns_host_data(function)
            or (self._graph.is_gpu_located(function) and function.index not in self._launches.found)
            or self._is_host_only(function)
        )


def _is_only_recorded(function: Fn, call: Call, arguments: Sequence[str]) -> bool:
    """Say whether a download is a statement that fills nothing and yields nothing: an order for later."""
    if (
        call.kind != CallKind.METHOD
        or len(arguments) != 1
        or arguments[0].lstrip().startswith(("&mut", "|", "move"))
    ):
        return False
    before = function.unit.data[function.facts.body_start : call.start].rstrip()
    behind = function.text(call.end, function.facts.body_end)
    if before.endswith(b"unsafe {"):
        before, behind = before.removesuffix(b"unsafe {").rstrip(), behind.lstrip().removeprefix("}")
    return before.endswith((b"{", b"}", b";")) and behind.startswith(";")


_ARGUMENTS = re.compile(r"\((?:[^()]|\([^()]*\))*\)")
# They make a tensor of the host's values.
_MAKE_OF_DATA = frozenset({"from_vec", "from_slice"})
_TURBOFISH = re.compile(r"::<[^<>]*>")
_HELPER_PARDONS = frozenset({"explicit-host-return"})
