"""Stubs: `todo!()` and the like, and what only looks like one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from audit.scanner.extract.facts import Call, CallKind, Region, RegionKind
from audit.scanner.extract.items import split_list
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.closures import recovery
from audit.scanner.link.places import Place
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern

STUBS = frozenset({"todo", "unimplemented"})
_NOT_YET = re.compile(r"not (?:yet|implemented)|unimplemented|todo\b|placeholder", re.IGNORECASE)
# What else a stub says. `Not a tensor map` refuses a wrong call, and `needs feature x` a wrong build.
_UNSUPPORTED = re.compile(r"support|implement|available|missing|later|kernel", re.IGNORECASE)
# `im2col not supported for writing`, `requires CUDA 12.8`: nobody will write that.
_REFUSAL = re.compile(r"not supported (?:for|in|by|as)\b|\b(?:requires|needs|must)\b", re.IGNORECASE)
_YET = re.compile(r"\byet\b|implemented", re.IGNORECASE)
_NO_MESSAGE = re.compile(r"^[(\[{]\s*[)\]}]$")
# What an interface asks of every type, also of one that is only written, or that can't be looked into.
_ACCESS = re.compile(r"^(?:__expand_)?(?:read|write|as|len|rank|shape|stride|slice|buffer_len)(?:_|$)")
_REST = re.compile(r"^(?:_|[a-z]\w*)$")
_VARIANT = re.compile(r"\b([A-Z]\w*)::([A-Z]\w*)")
_UNLESS = re.compile(r"^!\s*matches!\s*\((.*)\)$", re.DOTALL)
_LISTED = re.compile(r"\bmatches!\s*\(\s*\*?self\s*,(.*)\)", re.DOTALL)
_QUANTISED = re.compile(r"(?i)quant|\bq_?params\b|\bscheme\b|^q_")
_INNER = re.compile(r"\([^()]*\)|\{[^{}]*\}")


class Stubs:
    """Finds the stubs on the device's side: in GPU code, or in a branch for the device."""

    def __init__(self, judgement: Judgement) -> None:
        self._judgement = judgement
        transfer = judgement.profile.transfer
        self._host = any_pattern(transfer.host_name_patterns)
        self._variants = frozenset(judgement.profile.device.variants)

    def of(self, function: Fn) -> Iterator[Candidate]:
        """Yield the stubs of a function."""
        if self._host.search(function.name):
            return
        judgement = self._judgement
        is_named = judgement.is_gpu_named(function)
        is_promised = is_named or judgement.is_gpu_located(function)
        for call in function.facts.calls:
            if call.kind != CallKind.MACRO or not _puts_off(function, call, is_named=is_named):
                continue
            if (
                self._is_never_met(function, call)
                or self._is_out_of_use(function, call)
                or _mixes_devices_up(self._judgement, function, call)
            ):
                continue
            if (
                is_promised
                or judgement.summaries.graph.is_for_device(function, call)
                or self._leaves_a_device_out(function, call)
            ):
                yield Candidate(function.unit, call.start, call.end, function, f"{call.name}-macro")

    def _is_never_met(self, function: Fn, call: Call) -> bool:
        """Say whether a stub stands where no right argument leads."""
        region = function.facts.regions[call.region]
        if self._is_of_quantised(function, region):
            return True
        return call.name != "todo" and (
            (region.kind == RegionKind.CLOSURE and recovery(function, call.region) is not None)
            or self._is_wrong_kind(function, region)
            or self._is_refused_before(function, region)
        )

    def _is_out_of_use(self, function: Fn, call: Call) -> bool:
        """Say whether a whole body serves only defaults of its trait which this type has its own of."""
        if not function.trait or function.is_trait_default or call.region != 0:
            return False
        callers = [one for one, _ in self._judgement.summaries.callers(function) if one is not function]
        own = {
            one.name
            for one in self._judgement.functions_of(function.unit)
            if one.trait == function.trait and one.self_type == function.self_type
        }
        return bool(callers) and all(
            one.trait == function.trait
            and (one.is_trait_default or one.self_type != function.self_type)
            and one.name in own
            for one in callers
        )

    def _is_of_quantised(self, function: Fn, region: Region) -> bool:
        """Say whether a stub is for quantised operands, and none that calls the function is given any."""
        condition = function.text(region.condition_start, region.condition_end)
        if region.kind != RegionKind.THEN or not _QUANTISED.search(condition) or _takes_quantised(function):
            return False
        callers = [caller for caller, _ in self._judgement.summaries.graph.callers(function)]
        return bool(callers) and not any(map(_takes_quantised, callers))

    def _is_wrong_kind(self, function: Fn, region: Region) -> bool:
        """Say whether all variants of the kinds at hand are handled: what is left is another kind of thing.

        Kinds are what predicates of the enum tell: `is_float` lists its float types.
        """
        handled = _handled(function, region)
        enums = {enum for enum, _ in handled}
        if len(enums) != 1:
            return False
        names = frozenset(name for _, name in handled)
        met = [kind for kind in self._kinds.get(enums.pop(), ()) if not names.isdisjoint(kind)]
        return bool(met) and all(kind <= names for kind in met)

    @cached_property
    def _kinds(self) -> dict[str, list[frozenset[str]]]:
        found: dict[str, list[frozenset[str]]] = {}
        for function in self._judgement.product_functions:
            if function.name.startswith("is_") and function.facts.return_type == "bool":
                listed = _LISTED.search(function.region_text(function.facts.regions[0]))
                if listed is not None:
                    kind = frozenset(
                        name for enum, name in _variants(listed[1]) if enum in (function.self_type, "Self")
                    )
                    found.setdefault(function.self_type, []).append(kind)
        return found

    def _is_refused_before(self, function: Fn, region: Region) -> bool:
        """Say whether a function of the package answers `None` for the variants of an arm."""
        if region.kind != RegionKind.ARM:
            return False
        pattern = function.text(region.pattern_start, region.pattern_end)
        variants = _variants(pattern)
        package = function.unit.package
        return bool(variants) and variants <= self._declined.get(package.name if package else "", frozenset())

    @cached_property
    def _declined(self) -> dict[str, frozenset[tuple[str, str]]]:
        """The variants for which a conversion of a package yields nothing, by package."""
        found: dict[str, set[tuple[str, str]]] = {}
        for function in self._judgement.product_functions:
            if not function.facts.return_type.startswith("Option"):
                continue
            package = function.unit.package
            for region in function.facts.regions:
                if region.kind == RegionKind.ARM:
                    text = function.text(region.start, region.end)
                    if re.search(r"\bNone\b", text) and "Some(" not in text:
                        pattern = function.text(region.pattern_start, region.pattern_end)
                        found.setdefault(package.name if package else "", set()).update(_variants(pattern))
        return {name: frozenset(variants) for name, variants in found.items()}

    def _leaves_a_device_out(self, function: Fn, call: Call) -> bool:
        """Say whether a stub stands for all devices but those that the other arms name."""
        region = function.facts.regions[call.region]
        if region.kind != RegionKind.ARM or not _is_rest(function, region):
            return False
        named = {f"{enum}::{name}" for enum, name in _handled(function, region)} & self._variants
        enums = {one.partition("::")[0] for one in named}
        return any(one.partition("::")[0] in enums and one not in named and named for one in self._variants)


def _takes_quantised(function: Fn) -> bool:
    """Say whether a function is named for quantised tensors, or given one."""
    types = " ".join(one.type for one in function.facts.parameters)
    return bool(_QUANTISED.search(function.name) or _QUANTISED.search(types))


def _puts_off(function: Fn, call: Call, *, is_named: bool) -> bool:
    message = function.text(call.arguments_start, call.end)
    if call.name == "panic":
        return bool(_NOT_YET.search(message))
    if call.name not in STUBS:
        return False
    if call.name == "unimplemented" and _REFUSAL.search(message) and not _YET.search(message):
        return False
    if function.trait and _NO_MESSAGE.match(message) and _ACCESS.match(function.name):
        return False
    return bool(call.name == "todo" or is_named or _NO_MESSAGE.match(message) or _UNSUPPORTED.search(message))


def _handled(function: Fn, region: Region) -> frozenset[tuple[str, str]]:
    """Return the variants, by enum, that are handled elsewhere than in a branch for the rest."""
    condition = function.text(region.condition_start, region.condition_end)
    if region.kind == RegionKind.THEN:
        unless = _UNLESS.match(condition.strip())
        return _variants(unless[1]) if unless is not None else frozenset()
    if region.kind != RegionKind.ARM or not _is_rest(function, region):
        return frozenset()
    return frozenset(variant for pattern in _siblings(function, region) for variant in _variants(pattern))


def _siblings(function: Fn, region: Region) -> list[str]:
    """Return the patterns of the other arms of a match."""
    return [
        function.text(other.pattern_start, other.pattern_end)
        for other in function.facts.regions
        if other.kind == RegionKind.ARM and other.group_start == region.group_start and other is not region
    ]


def _is_rest(function: Fn, region: Region) -> bool:
    return bool(_REST.match(function.text(region.pattern_start, region.pattern_end).strip()))


def _variants(pattern: str) -> frozenset[tuple[str, str]]:
    """Return the variants that a pattern names, without those inside of others."""
    bare = pattern
    while bare != (bare := _INNER.sub("", bare)):
        pass
    return frozenset(_VARIANT.findall(bare))


def _mixes_devices_up(judgement: Judgement, function: Fn, call: Call) -> bool:
    """Say whether a stub stands for operands on different devices, beside an arm for one device."""
    region = function.facts.regions[call.region]
    is_for_device = judgement.summaries.graph.is_for_device(function, call)
    if region.kind != RegionKind.ARM or not is_for_device or not _is_rest(function, region):
        return False
    tests = judgement.summaries.tests
    for pattern in _siblings(function, region):
        parts = split_list(pattern[1:-1]) if pattern.startswith("(") else []
        places = [tests.pattern_place("", part.strip(), True) for part in parts]
        if len(places) > 1 and all(place is Place.DEVICE for place in places):
            return True
    return False
