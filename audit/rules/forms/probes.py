"""What asks whether a device is there, in the code of tests."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.scanner.extract.facts import Call, CallKind, ExitKind, Region, RegionKind
from audit.scanner.judge import Judgement
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.profile import any_pattern

_MAYBE = re.compile(r"^(?:Option\s*<|bool\b)")
_NOTHING = re.compile(r"\bNone\b|\.ok\(\)|\bfalse\b|is_ok\(\)|is_some\(\)")
# What stands behind a call whose failure goes no further.
_GIVEN_UP = re.compile(r"\s*(?:\.\s*(?:ok|is_ok|is_err)\(\)|$)")
# A type or function whose name says that it is the device's, in any project's words.
_WORDS = r"cuda|cudnn|cublas|gpu|wgpu|metal|rocm|hip|vulkan|opencl"
_TYPES = "|".join(word.title() for word in _WORDS.split("|"))
OF_DEVICE = re.compile(rf"\b(?:{_TYPES})(?:[A-Z]\w*)?\b|(?:\b|_)(?:{_WORDS})(?:\b|_)")
# A device that something is told: `AllocationDevice::CUDA`, `Backend::Gpu`.
_TOLD_DEVICE = re.compile(rf"\b[A-Z]\w*::(?:{_TYPES}|{_WORDS.upper()})\b")
# A constructor that gives the host where there is no device, and what else stands in for a failed one.
_IF_AVAILABLE = re.compile(r"\b\w+_if_available\s*\(")
_OR_ELSE = re.compile(r"\.\s*(?:unwrap_or|unwrap_or_else|or_else|map_or|map_or_else)\s*\([^;]*")
_LOCAL = re.compile(r"(?<![\w.:])[a-z_]\w*\b(?!\s*[(!:])")
# How far the helpers of a test are followed.
_DEPTH = 3


class Probes:
    """Knows what asks for a device."""

    def __init__(self, judgement: Judgement) -> None:
        words = judgement.profile.tests
        self._judgement = judgement
        self._summaries = judgement.summaries
        self._probe = any_pattern(words.probe_patterns)
        self._constructor = any_pattern(tuple(rf"\b{re.escape(name)}\b" for name in words.constructors))
        self._variable = any_pattern(words.environment_patterns)
        device = judgement.profile.device
        self._host = any_pattern(tuple(rf"\b{re.escape(name)}\b" for name in device.host_variants))
        told = (*device.variants, *device.host_variants)
        self._tells_device = any_pattern(
            (
                *(rf"\.{re.escape(name)}\(\)" for name in (*device.predicates, *device.host_predicates)),
                *(rf"\b{re.escape(name)}\b" for name in told),
            )
        )
        self._asked = any_pattern(tuple(rf"\.{re.escape(name)}\(\)" for name in device.predicates))
        self._opening = re.compile(rf"\b(?:{'|'.join(self._backend_types()) or '(?!)'})::\w+\s*\(")

    def asks_for_device(self, function: Fn, condition: str) -> bool:
        """Say whether a condition depends on a device, directly or through a helper of the tests."""
        if self._probe.search(condition) or self._opening.search(condition):
            return True
        if "env::var" in condition:
            return bool(self._variable.search(condition))
        if self._asks_what_was_there(function, condition):
            return True
        if any(self._moves_or_gives_up(function, call, condition) for call in function.facts.calls):
            return True
        return any(
            self.hides_missing_device(callee)
            for call in function.facts.calls
            if re.search(rf"\b{re.escape(call.name)}(?:::<[^()]*>)?\(", condition)
            for callee in self._summaries.resolver.resolve(function, call)
        )

    def _asks_what_was_there(self, function: Fn, condition: str) -> bool:
        """Say whether a condition asks which device a constructor has given that gives the host as well."""
        flow = self._summaries.flow(function)
        return self._tells_device.search(condition) is not None and any(
            _IF_AVAILABLE.search(flow.value_of(name)) for name in _LOCAL.findall(condition)
        )

    def hides_missing_device(self, function: Fn) -> bool:
        """Say whether a helper of the tests turns a missing device into `None` or `false`."""
        if not function.is_test_code or function.is_test or not _MAYBE.match(function.facts.return_type):
            return False
        body = function.text(function.facts.body_start, function.facts.body_end)
        if self._probe.search(body) or self._opening.search(body):
            return bool(_NOTHING.search(body))
        return any(self._moves_or_gives_up(function, call, body) for call in function.facts.calls)

    def _backend_types(self) -> list[str]:
        """Return the types that implement the device backend: to build one opens a device."""
        traits = self._judgement.profile.launch.backend_traits
        methods = (one for trait in traits for one in self._judgement.workspace.trait_methods.get(trait, ()))
        return sorted({re.escape(one.self_type) for one in methods if not one.is_trait_default})

    def _moves_or_gives_up(self, function: Fn, call: Call, within: str) -> bool:
        """Say whether a tensor is moved to the device in a text, and a failure to do so is no failure."""
        transfer = self._judgement.profile.transfer
        if call.kind != CallKind.METHOD or call.name not in transfer.upload_methods:
            return False
        text = function.text(call.name_start, call.end)
        found = within.find(text)
        if found < 0 or _GIVEN_UP.match(within, found + len(text)) is None:
            return False
        variants = self._judgement.profile.device.variants
        is_told = call.name in transfer.device_arguments
        return any(one in text for one in variants) if is_told else text.endswith("()")

    def names_device(self, unit: Unit, condition: str) -> bool:
        """Say whether a condition outside any function depends on a device."""
        if self._probe.search(condition):
            return True
        if "env::var" in condition:
            return bool(self._variable.search(condition))
        names = re.findall(r"(\w+)\s*\(", condition)
        return any(
            self.hides_missing_device(one)
            for name in names
            for one in self._judgement.workspace.by_name.get(name, ())
            if one.unit.package is unit.package
        )

    def computes(self, function: Fn) -> bool:
        """Say whether a test calls operators that have a device path, and whose operands say where they run.

        What is given no tensor opens the device by itself.
        """
        launching, operands = self._summaries.launching, self._summaries.operands
        return any(
            callee.index in launching and callee.is_product_code and operands.holds_tensor(callee)
            for call in function.facts.calls
            for callee in self._summaries.resolver.resolve(function, call)
        )

    def names_device_code(self, function: Fn, depth: int = _DEPTH) -> bool:
        """Say whether a test, or a helper of it, calls what is named as the device's, but for a probe.

        Whether that opens the device can't be told where a project's types are not known: it is not denied.
        """
        if _TOLD_DEVICE.search(function.text(function.facts.body_start, function.facts.body_end)):
            return True
        for call in function.facts.calls:
            if call.kind == CallKind.MACRO:
                continue
            named = function.text(call.start, call.arguments_start)
            if call.kind == CallKind.METHOD:
                named = function.text(call.name_start, call.arguments_start)
            if OF_DEVICE.search(named) and not self._probe.search(named):
                return True
            if depth and any(
                callee.is_test_code and self.names_device_code(callee, depth - 1)
                for callee in self._summaries.resolver.resolve(function, call)
                if callee is not function
            ):
                return True
        return False

    def opens_device(self, function: Fn) -> bool:
        """Say whether a test gets hold of a device, by itself or through a helper in its file."""
        return any(map(self._names_constructor, self._with_helpers(function)))

    def runs_without_device(self, function: Fn) -> bool:
        """Say whether a test, or its helper, takes the host in place of a device that is not there."""
        opening = list(filter(self._names_constructor, self._with_helpers(function)))
        return bool(opening) and all(map(self._falls_to_host, opening))

    def _with_helpers(self, function: Fn) -> Iterator[Fn]:
        yield function
        for call in function.facts.calls:
            if call.kind in (CallKind.PLAIN, CallKind.PATH):
                for helper in self._summaries.resolver.resolve(function, call):
                    if helper.is_test_code and helper.unit is function.unit:
                        yield helper

    def _falls_to_host(self, function: Fn) -> bool:
        """Say whether a function chooses between a device and the host when it runs, not when it is built."""
        facts = function.facts
        body = function.text(facts.body_start, facts.body_end)
        if _MAYBE.match(facts.return_type):
            # Whoever is given nothing decides.
            return False
        if _IF_AVAILABLE.search(body) and not self._asked.search(body):
            return True
        for found in _OR_ELSE.finditer(body):
            if self._host.search(found[0]):
                return True
        for region in facts.regions:
            if region.kind not in (RegionKind.THEN, RegionKind.ARM):
                continue
            asked = function.text(region.condition_start, region.condition_end)
            if not (self._constructor.search(asked) or self._probe.search(asked)):
                continue
            behind = function.text(
                region.group_start, facts.body_end if _leaves(function, region) else region.group_end
            )
            if self._host.search(behind):
                return True
        return False

    def _names_constructor(self, function: Fn) -> bool:
        return bool(
            self._constructor.search(function.text(function.facts.body_start, function.facts.body_end))
        )


def _leaves(function: Fn, region: Region) -> bool:
    """Say whether a branch returns: what stands behind it is for all others."""
    return any(
        one.kind == ExitKind.RETURN and region.start <= one.start < region.end for one in function.facts.exits
    )
