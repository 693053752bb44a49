"""GPU operations: which functions a user calls to have work done on the device."""

from __future__ import annotations

import re
from functools import cached_property

from audit.scanner.extract.facts import CallKind
from audit.scanner.judge import Judgement
from audit.scanner.link.made import MadeFunction
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern

# Modules that bind a foreign library hold no operations of their own.
_BINDING = re.compile(r"(?:^|_)(?:sys|ffi)$")


class Operations:
    """Tells which functions are GPU operations that a test should run."""

    def __init__(self, judgement: Judgement) -> None:
        self._judgement = judgement
        self._summaries = judgement.summaries
        profile = judgement.profile
        self._gpu_name = any_pattern(profile.gpu.function_patterns)
        self._constructor_name = any_pattern(profile.setup.constructor_patterns)
        self._transfers = frozenset(profile.transfer.transfer_apis) | profile.uploads | profile.downloads
        # A backend's methods forward to kernels; a destructor is no operation.
        self._not_operators = frozenset((*profile.launch.backend_traits, "Drop"))
        words = profile.device.buffer_types
        self._device_type = _any_type(words)
        self._data_type = _any_type((*words, *profile.device.tensor_types))

    @cached_property
    def all(self) -> tuple[Fn, ...]:
        """The GPU operations, in the order of the workspace's functions."""
        near = {*self._summaries.launching, *self._summaries.reads, *self._driving}
        found = [
            function
            for function in self._judgement.product_functions
            if function.index in near and self._is_operation(function)
        ]
        chosen = {function.index for function in found}
        return tuple(function for function in found if not self._is_part(function, chosen))

    def _is_part(self, function: Fn, chosen: set[int]) -> bool:
        """Say whether a private function serves other operations only: they are reported."""
        if self._is_offered(function) or function.trait:
            return False
        callers = {
            caller.index for caller, _ in self._summaries.callers(function) if caller.is_product_code
        } - {function.index}
        return bool(callers) and callers <= chosen

    def form(self, function: Fn) -> str:
        """Say what kind of operation it is."""
        if self._judgement.paths.is_backward(function):
            return "untested-backward"
        if self._judgement.is_gpu_located(function):
            return "untested-kernel-operation"
        return "untested-device-branch"

    def is_made_operation(self, made: MadeFunction) -> bool:
        """Say whether a function that a macro makes is a GPU operation."""
        if not made.template.is_product_code or not made.template.facts.visibility:
            return False
        launching = self._summaries.launching
        return self._judgement.is_gpu_located(made.template) or any(
            one.index in launching for one in (made.template, *made.arguments)
        )

    def _is_operation(self, function: Fn) -> bool:
        launches = function.index in self._summaries.launching
        reads = function.index in self._summaries.reads
        drives = function.index in self._driving
        if self._is_no_operator(function):
            return False
        signature = self._signature(function)
        takes_data = self._data_type.search(signature) is not None
        if (takes_data and function.name in self._transfers) or self._is_constructor(function):
            return False
        is_located = self._judgement.is_gpu_located(function)
        if self._is_offered(function):
            if (launches or reads) and self._gpu_name.search(function.name):
                return True
            if is_located and (launches or drives):
                return True
            if launches and self._device_type.search(signature):
                return True
        if not launches or is_located or not self._has_device_branch(function):
            return False
        return takes_data or self._asks_for_device(function)

    def _is_no_operator(self, function: Fn) -> bool:
        is_binding = any(_BINDING.search(name) for name in function.module)
        return (
            bool(function.facts.macro)
            or is_binding
            or function.trait in self._not_operators
            or self._summaries.is_kernel(function)
        )

    def _asks_for_device(self, function: Fn) -> bool:
        """Say whether a method looks where its own data is."""
        body = function.text(function.facts.body_start, function.facts.body_end)
        has_self = any(one.name == "self" for one in function.facts.parameters)
        return has_self and self._summaries.tests.mentions_device(body)

    @cached_property
    def _driving(self) -> frozenset[int]:
        """The functions of GPU crates that call the driver, directly or through another one of them."""
        names = frozenset(self._judgement.profile.launch.driver_calls)
        graph = self._summaries.graph
        located = [one for one in self._judgement.product_functions if self._judgement.is_gpu_located(one)]
        calling = graph.calling(names)
        direct = {
            one.index
            for one in located
            if one.index in calling
            and any(call.name in names and call.kind == CallKind.METHOD for call in one.facts.calls)
        }
        near = graph.calling_any(graph.workspace.functions[index] for index in direct)
        return frozenset(
            one.index
            for one in located
            if one.index in direct
            or (
                one.index in near
                and any(
                    callee.index in direct and callee.is_public
                    for call in one.facts.calls
                    for callee in self._summaries.resolver.resolve(one, call)
                )
            )
        )

    def _is_offered(self, function: Fn) -> bool:
        return function.facts.visibility == "pub" and not function.is_trait_default

    def _is_constructor(self, function: Fn) -> bool:
        if not self._constructor_name.search(function.name):
            return False
        own = rf"\b(?:Self|{re.escape(function.self_type or 'Self')})\b"
        return re.search(own, function.facts.return_type) is not None

    def _signature(self, function: Fn) -> str:
        types = [function.self_type if one.name == "self" else one.type for one in function.facts.parameters]
        return " ".join((*types, function.facts.return_type))

    def _has_device_branch(self, function: Fn) -> bool:
        """Say whether a function puts work on the device by itself."""
        return any(self._summaries.is_launch(function, call) for call in function.facts.calls)


def _any_type(names: tuple[str, ...]) -> re.Pattern[str]:
    """Match a type of the names, or a raw pointer: what foreign device code takes."""
    return re.compile(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b|\*(?:const|mut) \w*c_void")
