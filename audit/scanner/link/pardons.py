"""What makes it legal to read device data on the host."""

from __future__ import annotations

import re

from audit.scanner.extract.facts import Call, CallKind, RegionKind
from audit.scanner.link.consents import Consents
from audit.scanner.link.debugging import is_for_debugging
from audit.scanner.link.gates import Gates
from audit.scanner.link.graph import CallGraph
from audit.scanner.link.host_answers import HostAnswers
from audit.scanner.link.launches import Launches
from audit.scanner.link.places import Place
from audit.scanner.link.rejections import Rejections
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern

_READING = re.compile(r"^(?:read|download|readback|fetch)(?:_|$)|_(?:to_host|to_cpu)$")
# Operators of a graph whose type says that they move data off the device.
_MOVES_OFF = re.compile(
    r"(?:Copy|Move|Transfer|Download)\w*(?:From|Off)(?:Device|Gpu|Cuda|Metal)|(?:Device|Gpu|Cuda|Metal)ToHost|CopyToHost"
)
_SAVES = re.compile(r"^(?:save|dump|export|serialize)(?:_|$)")
_OPENS_FILE = re.compile(r"\bFile::(?:create|open|options)|\bOpenOptions::new")
# The end of a channel or socket: what is sent there leaves for the user, and not for another device.
_CHANNEL = re.compile(r"(?:^|[.\s])(?:\w*_)?(?:tx|sender|socket|sink)\w*$")
_FIRST_ELEMENT = re.compile(r"\s*\??\s*\[\s*0\s*\]")
# Given the path of a file and no tensor, a function works on what it loads.
_PATHS = frozenset({"Path", "PathBuf"})
# A table of weights that is filled.
_FILLED = re.compile(r"&\s*mut\s+(?:\w+::)*(?:Hash|BTree)Map\s*<")

# What keeps data of the device from a read where a function refuses it.
_REFUSED = frozenset({"host-branch", "rejected", "refusing-access"})


def _receivers(function: Fn, call: Call) -> list[str]:
    """Return the names of the calls that what a call yields is an argument of, at any depth."""
    return [
        one.name
        for one in function.facts.calls
        if one.kind != CallKind.MACRO and one.arguments_start <= call.start and call.end < one.end
    ]


def is_channel(function: Fn, call: Call) -> bool:
    """Say whether a call hands something to the end of a channel or socket."""
    receiver = function.text(call.start, call.name_start).rstrip(". \n")
    return call.kind == CallKind.METHOD and _CHANNEL.search(receiver) is not None


class Pardons:
    """Answers for one call graph."""

    def __init__(self, graph: CallGraph, launches: Launches, gates: Gates, rejections: Rejections) -> None:
        self._graph = graph
        self.answers = HostAnswers(graph)
        self._launches = launches
        self._gates = gates
        self._consents = Consents(graph, gates)
        self._rejections = rejections
        self._loaders = frozenset(graph.profile.setup.loader_types)
        self._on_host: dict[int, bool] = {}
        self._for_setup: dict[int, bool] = {}
        self._setup_name = any_pattern(graph.profile.setup.constructor_patterns)
        self._check_name = any_pattern(graph.profile.setup.check_patterns)
        self._export_name = any_pattern(graph.profile.setup.export_patterns)
        self._transfer_name = any_pattern(graph.profile.transfer.transfer_api_patterns)

    def pardon(self, function: Fn, call: Call) -> str:
        """Say what makes reading device data on the host legal at a call; empty when nothing does."""
        return self._purpose(function, call) or self._way(function, call)

    def keeps_device_data_out(self, function: Fn, call: Call) -> bool:
        """Say whether data of the device never gets to a call: it is refused before, or goes another way."""
        if self._graph.place_at(function, call) is Place.HOST:
            return True
        return function.index in self._rejections.found and self._way(function, call) in _REFUSED

    def _purpose(self, function: Fn, call: Call) -> str:
        """Say for what purpose a function may read: nothing it does is work of the device."""
        if function.name in self._graph.profile.transfer.transfer_apis or _READING.match(function.name):
            return "transfer-api"
        if _MOVES_OFF.search(function.self_type or "") or self._transfer_name.search(function.name):
            return "transfer-api"
        if self.is_setup(function):
            return "setup"
        if self._graph.flow(function).kept_once(
            ("export", call.start, call.end), lambda: self._is_exported(function, call)
        ):
            return "export"
        if self._is_saved(function):
            return "export"
        if any(map(self._check_name.search, (function.name, *function.module))):
            return "check"
        if self.answers.returns_host_data(function):
            return "explicit-host-return"
        return "host-record" if self.answers.returns_records(function) else ""

    def _way(self, function: Fn, call: Call) -> str:
        """Say what on the way to a call keeps device data from it, or lets it through by consent."""
        flow = self._graph.flow(function)
        tests = flow.tests_at(call.start, call.region)
        if self._graph.place_at(function, call) is Place.HOST or self._serves_host_branches(function):
            return "host-branch"
        if flow.kept_once(
            ("debugging", call.start, call.end), lambda: is_for_debugging(function, call, flow)
        ):
            return "debugging"
        if self._consents.is_given(function, call, tests):
            return "opt-in"
        if self._consents.is_given_by_callers(function, call):
            return "callers-opt-in"
        for other in flow.kept_once(
            ("may pardon", call.start, call.end), lambda: self._that_may_pardon(function, call)
        ):
            reason = self._pardon_by(function, call, other)
            if reason:
                return reason
        return "rejected" if self._is_rejected_behind(function, call) else ""

    def _that_may_pardon(self, function: Fn, call: Call) -> tuple[Call, ...]:
        """Return the calls on the way to a read, and behind it, whose error would be the function's."""
        around = frozenset(function.ancestors(call.region))
        behind = self._reached_behind(function, call)
        return tuple(
            other
            for other in function.facts.calls
            if other.start != call.start
            and other.region in (around if other.start < call.start else behind)
            and self._graph.propagates(function, other)
        )

    def _is_exported(self, function: Fn, call: Call) -> bool:
        """Say whether what is read leaves the program, by the names around it or by where it is sent."""
        if not self._graph.is_gpu_located(function) and any(
            map(self._export_name.search, (function.name, *function.module, *_receivers(function, call)))
        ):
            return True
        return self._goes_out(function, call)

    def _goes_out(self, function: Fn, read: Call) -> bool:
        """Say whether what is read goes to a file or to the user: one is opened, or sent to, behind it.

        What is uploaded again stays: then the file or the message is not all that the read is for.
        """
        behind = [
            call
            for call in function.facts.calls
            if call.start > read.start and read.region in function.ancestors(call.region)
        ]
        return any(
            (
                call.kind == CallKind.PATH
                and _OPENS_FILE.search(function.text(call.start, call.arguments_start)) is not None
            )
            or (call.name.startswith("send") and is_channel(function, call))
            for call in behind
        ) and not any(self._graph.uploads(function, call) for call in behind)

    def _is_saved(self, function: Fn) -> bool:
        """Say whether a function hands its data out to be kept, in GPU code too, and uploads nothing."""
        return _SAVES.match(function.name) is not None and not self.answers.makes_tensors(function)

    def _serves_host_branches(self, function: Fn) -> bool:
        """Say whether all that call a function do so where their data is on the host."""
        known = self._on_host.get(function.index)
        if known is None:
            callers = [
                (caller, call)
                for caller, call in self._graph.callers(function)
                if self._graph.is_examined(caller)
            ]
            known = self._on_host[function.index] = bool(callers) and all(
                self._graph.place_at(caller, call) is Place.HOST for caller, call in callers
            )
        return known

    def gate_flaw(self, function: Fn, call: Call) -> str:
        """Say why the gate before a read does not hold; empty when none stands there, or when it holds."""
        return self._consents.flaw(function, call)

    def is_setup(self, function: Fn) -> bool:
        """Say whether a function builds its own type, or loads weights, once."""
        known = self._for_setup.get(function.index)
        if known is None:
            known = self._for_setup[function.index] = self._sets_up(function)
        return known

    def _sets_up(self, function: Fn) -> bool:
        parameters = function.facts.parameters
        given = {word for one in parameters for word in re.findall(r"\w+", one.type)}
        own = self._graph.workspace.struct_fields.get(function.self_type, {}).values()
        if not self._loaders.isdisjoint(given.union(*(re.findall(r"\w+", field) for field in own))):
            return True
        if not _PATHS.isdisjoint(given) and (
            not self._graph.operands.holds_tensor(function)
            or any(_FILLED.match(one.type) for one in parameters)
        ):
            return True
        own_type = r"\bSelf\b" + (rf"|\b{re.escape(function.self_type)}\b" if function.self_type else "")
        return bool(
            self._setup_name.search(function.name) and re.search(own_type, function.facts.return_type)
        )

    def pardon_upload(self, function: Fn, call: Call) -> str:
        """Say what makes it legal that a result computed on the host is uploaded for the device.

        The branch for the device does not tell: what matters is whether device data gets that far.
        """
        tests = self._graph.flow(function).tests_at(call.start, call.region)
        if self._consents.is_given(function, call, tests):
            return "opt-in"
        if self._consents.is_given_for_parameters(function):
            return "callers-opt-in"
        around = frozenset(function.ancestors(call.region))
        for other in function.facts.calls:
            if other.region in around and other.start != call.start:
                reason = self._pardon_by(function, call, other)
                if reason:
                    return reason
        return "rejected" if self._is_refused_before(function, call) else ""

    def _is_refused_before(self, function: Fn, call: Call) -> bool:
        flow = self._graph.flow(function)
        return any(
            not test.encloses and flow.place(test) is Place.HOST
            for test in flow.tests_at(call.start, call.region)
        )

    def _reached_behind(self, function: Fn, call: Call) -> frozenset[int]:
        """Return the regions around a call whose further course is reached behind it."""
        flow = self._graph.flow(function)
        found = set()
        for region in function.ancestors(call.region):
            found.add(region)
            if flow.leaves(region):
                break
        return frozenset(found)

    def _pardon_by(self, function: Fn, call: Call, other: Call) -> str:
        if self._rejections.is_refusing_access(function, other) and self._speaks_for(function, other, call):
            return "refusing-access"
        if self._graph.propagates(function, other) and other.name not in self._graph.profile.downloads:
            for callee in self._graph.resolver.resolve(function, other):
                if callee.index in self._gates.found:
                    # Whether a gate speaks for what is read was asked before.
                    continue
                if (
                    callee.index in self._rejections.found
                    and self._graph.gets_device_data(function, other)
                    and self.hands_tensors_over(function, other, callee)
                ):
                    return "rejected"
        return ""

    def hands_tensors_over(self, function: Fn, call: Call, callee: Fn) -> bool:
        """Say whether what a call gives for the callee's tensors may be on a device; lists never are."""
        operands = self._graph.operands
        parameters = [one for one in callee.facts.parameters if one.name != "self"]
        arguments = self._graph.resolver.arguments(function, call)
        if len(parameters) != len(arguments) or operands.names_device_type(callee.self_type):
            return True
        flow = self._graph.flow(function)
        given = [
            argument
            for parameter, argument in zip(parameters, arguments, strict=True)
            if operands.names_device_type(parameter.type)
        ]
        return not given or any(operands.may_be_on_device(function, flow, one, call) for one in given)

    def _speaks_for(self, function: Fn, access: Call, read: Call) -> bool:
        """Say whether what an accessor refuses is what is read, or the operator's first tensor."""
        operand = function.text(access.start, access.name_start).rstrip(". \n")
        first = next(
            (
                parameter.name
                for parameter in function.facts.parameters
                if parameter.name == "self" or self._graph.operands.names_device_type(parameter.type)
            ),
            "",
        )
        if operand == self._graph.operand(function, read):
            return True
        # One element decides what to do; where it is says nothing of what is worked on.
        is_one_element = _FIRST_ELEMENT.match(function.text(access.end, function.facts.body_end))
        return re.split(r"\W", operand, maxsplit=1)[0] == first and is_one_element is None

    def _is_rejected_behind(self, function: Fn, call: Call) -> bool:
        """Say whether the function goes on to refuse device data after the read, whatever the read yields."""
        refusing = self._graph.flow(function).kept_once(
            ("refusing behind", call.start, call.end), lambda: self._refusing_behind(function, call)
        )
        return any(
            not any(
                self._launches.is_launch(function, one) for one in function.facts.calls if one.region == index
            )
            for index in refusing
        )

    def _refusing_behind(self, function: Fn, call: Call) -> tuple[int, ...]:
        """Return the branches behind a read that answer device data with an error."""
        flow = self._graph.flow(function)
        around = self._reached_behind(function, call)
        found = []
        for index, region in enumerate(function.facts.regions):
            if region.kind != RegionKind.THEN or region.parent not in around or region.start < call.start:
                continue
            condition = function.text(region.condition_start, region.condition_end)
            if flow.condition_place(condition, False) is Place.HOST and flow.returns(index):
                inside = [one for one in function.facts.calls if region.start <= one.start < region.end]
                if any(map(self._graph.is_error, inside)):
                    found.append(index)
        return tuple(found)
