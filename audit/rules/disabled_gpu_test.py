"""FT010: disabled-gpu-test."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.base import Rule
from audit.rules.forms.disabled_examples import INVALID, VALID
from audit.rules.forms.ignored_examples import IGNORED_INVALID, IGNORED_VALID
from audit.rules.forms.probes import OF_DEVICE, Probes
from audit.rules.forms.suite_examples import SUITE_INVALID, SUITE_VALID
from audit.rules.forms.suites import left_to_the_host
from audit.rules.forms.unknown_examples import DISABLED_VALID
from audit.scanner.extract.facts import CallKind, ExitKind, MacroDefinition, RegionKind, Scope
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.cfg import Cfg, cfgs_of
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.report import Level

_OPTIONAL = re.compile(r"^Option\s*<")
_MISSING = re.compile(r"\.(?:is_err|is_none)\(\)|==\s*(?:0|false)\b|<\s*1\b|!=\s*true\b")
_TELLS_HOST = re.compile(r"\.is_cpu\(\)|::Cpu\b")
_LEAVING = re.compile(
    r"\b(?:if|let)\s+(?P<condition>[^{};]+?)(?:\s+else)?\s*\{(?:[^{}]|\{[^{}]*\})*?\breturn\b[^{}]*\}"
)
_BLOCK = r"(?:[^{}]|\{[^{}]*\})*?"
_MATCHING = re.compile(
    rf"\bmatch\s+(?P<condition>[^{{}};]+?)\s*\{{{_BLOCK}"
    rf"\bErr\([^()]*\)\s*=>\s*(?:\{{{_BLOCK}\breturn\s*;|return\s*,)"
)
_SUCCEEDS = re.compile(r"\breturn\s*(?:Ok\s*\(\s*\(\s*\)\s*\)\s*)?;?\s*\}")
_PRINTS = frozenset({"print", "println", "eprint", "eprintln", "format", "format_args"})
_ASSERTS = re.compile(r"^(?:debug_)?assert|^(?:panic|unreachable)$")
_DONE = re.compile(r"^(?:let )?Ok\(|\.is_ok\(\)$")
# Cargo's key is `feature`: no build sets the other one.
_NO_KEY = "features"
_CLAIM = re.compile(r"(?i)(?:^|_)(?:gpu|cuda)(?:_|$)")
_HOST_CLAIM = re.compile(
    r"(?i)(?:^|_)(?:cpu|host|no|non|not|without|missing|reject\w*|refus\w*|err\w*|fail\w*)(?:_|$)"
)
# Why a test is left out that no missing device and no defect keeps from running.
_MEASURES = re.compile(r"^(?:bench|benchmark|profile|sweep)(?:_|$)|_(?:bench|benchmark|sweep)$")
_OTHER_REASON = re.compile(
    r"(?i)\bbench|\blatency\b|\breports\b|\bsweeps?\b|\binvalid\b|\bdo(?:es)?(?:n't| not) exist\b"
)


class DisabledGpuTest(Rule):
    """
    ## What it does
    Checks for GPU tests that pass without a GPU: ignored, left early when no device is found, compiled out
    by a feature that the package does not declare, left to the host's backends in a suite that all
    backends run, built on a probe that turns a missing device into nothing, or green with a printed line
    when the operation is refused.

    ## Why is this bad?
    A test that returns early is green on a machine where the GPU path is broken, or where there is none. It
    then tests nothing, and says that all is well. PyTorch's GPU tests are not collected without a device,
    and the count shows it.

    ## Use instead
    Let device creation fail the test (`expect("CUDA device")`), and gate the test on the crate's GPU
    feature.

    ## Known problems
    A skip that is decided in a macro of another crate is not seen.
    """

    id = "FT010"
    name = "disabled-gpu-test"
    level = Level.WARNING
    message = "passes without a GPU"
    invalid = (*INVALID, *IGNORED_INVALID, *SUITE_INVALID)
    valid = (*VALID, *IGNORED_VALID, *SUITE_VALID, *DISABLED_VALID)

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield early returns, probes, ignored tests and gates that never open."""
        probes = Probes(judgement)
        leaving = _leaving_macros(judgement)
        left_out = {path for path, unit in judgement.workspace.units.items() if judgement.orphans.has(unit)}
        for function in judgement.workspace.functions:
            if not function.is_test_code or not function.has_body or function.unit.path in left_out:
                continue
            if function.is_test and not judgement.summaries.is_device_off(function):
                yield from _early_returns(function, probes, leaving)
                yield from _green_when_refused(judgement, function)
                yield from _ignored(judgement, function, probes)
            elif probes.hides_missing_device(function) and _OPTIONAL.match(function.facts.return_type):
                start, end = _first_statement(function)
                yield Candidate(function.unit, start, end, function, "probe-helper")
        features = frozenset(judgement.profile.gpu.features)
        for unit in judgement.workspace.units.values():
            yield from _early_returns_of_macros(unit, probes)
            yield from _empty_claims(judgement, unit, probes)
            yield from _closed_gates(unit, features)
            yield from left_to_the_host(judgement, unit, probes)
            yield from _misspelt_gates(judgement, unit, features)


def _early_returns(function: Fn, probes: Probes, leaving: frozenset[str]) -> Iterator[Candidate]:
    facts = function.facts
    ways = [exit_.region for exit_ in facts.exits if exit_.kind == ExitKind.RETURN]
    ways += [call.region for call in facts.calls if call.kind == CallKind.MACRO and call.name in leaving]
    seen: set[int] = set()
    for index in ways:
        region = facts.regions[index]
        if region.kind not in (RegionKind.THEN, RegionKind.ELSE, RegionKind.ARM, RegionKind.LET_ELSE):
            continue
        condition = function.text(region.condition_start, region.condition_end)
        if _leaves_with_device(region.kind, condition):
            continue
        if region.group_start not in seen and probes.asks_for_device(function, condition):
            seen.add(region.group_start)
            end = max(region.condition_end, region.pattern_end)
            yield Candidate(function.unit, region.group_start, end, function, "early-return", guard=condition)


def _leaving_macros(judgement: Judgement) -> frozenset[str]:
    """Return the names of the macros that leave the test which invokes them as passed, whatever happens."""
    return frozenset(
        macro.name
        for unit in judgement.workspace.units.values()
        for macro in unit.facts.macros
        if b"return" in unit.data[macro.start : macro.end]
        and _SUCCEEDS.search(text := unit.text(macro.start, macro.end))
        and not _LEAVING.search(text)
    )


def _green_when_refused(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    """Yield where a device test compares only what has worked, and prints that the rest has not."""
    facts = function.facts
    rest = [(index, one) for index, one in enumerate(facts.regions) if one.kind == RegionKind.ELSE]
    if not rest or not judgement.reach.opens_device(function):
        return
    asserting = [call for call in facts.calls if call.kind == CallKind.MACRO and _ASSERTS.search(call.name)]
    for index, region in rest if asserting else ():
        condition = function.text(region.condition_start, region.condition_end).strip()
        if not _DONE.search(condition):
            continue
        inside = [call for call in facts.calls if index in function.ancestors(call.region)]
        macros = [call.name for call in inside if call.kind == CallKind.MACRO]
        is_told_only = bool(macros) and _PRINTS.issuperset(macros)
        others = [call for call in asserting if not region.group_start <= call.start < region.group_end]
        if is_told_only and not others:
            yield Candidate(
                function.unit,
                region.group_start,
                region.condition_end,
                function,
                "green-when-refused",
                guard=condition,
            )


def _empty_claims(judgement: Judgement, unit: Unit, probes: Probes) -> Iterator[Candidate]:
    """Yield the tests named after the GPU that open no device; where none is, the file that is."""
    stem = unit.path.rpartition("/")[2].removesuffix(".rs")
    if not judgement.reach.opens_in_tests(unit.package):
        # How this package opens a device is not known: that a test does not can't be told.
        return
    is_claimed = unit.target_kind == "test" and _CLAIM.search(stem) is not None
    message = "is named after the GPU and never opens one"
    tests = [one for one in judgement.functions_of(unit) if one.is_test and one.has_body]
    named = [
        one
        for one in tests
        if _CLAIM.search(one.name)
        and not _HOST_CLAIM.search(one.name)
        and _never_opens(judgement, probes, one)
        and probes.computes(one)
    ]
    for function in named:
        start, end = function.facts.start, function.facts.name_start + len(function.name)
        yield Candidate(unit, start, end, function, "test-without-device", message=message)
    if (
        is_claimed
        and not named
        and all(_never_opens(judgement, probes, one) for one in tests)
        and any(map(probes.computes, tests))
    ):
        start, end = unit.facts.comments[0] if unit.facts.comments else (0, 1)
        yield Candidate(unit, start, end, None, "test-file-without-device", message=message)


def _never_opens(judgement: Judgement, probes: Probes, test: Fn) -> bool:
    return not (judgement.reach.opens_device(test) or probes.names_device_code(test))


def _leaves_with_device(kind: str, condition: str) -> bool:
    """Say whether a branch is for a machine that has the device: it tests what happens on the others."""
    if kind not in (RegionKind.THEN, RegionKind.ELSE) or condition.startswith("let "):
        return False
    is_denied, is_host = condition.startswith("!"), _TELLS_HOST.search(condition) is not None
    is_missing = is_denied != is_host or bool(_MISSING.search(condition))
    return (kind == RegionKind.THEN) != is_missing


def _early_returns_of_macros(unit: Unit, probes: Probes) -> Iterator[Candidate]:
    """Yield the early returns that macros of test code put into the tests that invoke them."""
    for macro in unit.facts.macros:
        text = unit.text(macro.start, macro.end)
        for found in (*_LEAVING.finditer(text), *_MATCHING.finditer(text)):
            if not _in_tests(unit, macro) or not probes.names_device(unit, found["condition"]):
                continue
            is_match = found.re is _MATCHING
            if not is_match and _leaves_with_device(RegionKind.THEN, found["condition"].strip()):
                continue
            start = macro.start + len(text[: found.start()].encode())
            end = macro.start + len(text[: found.end("condition")].encode())
            yield Candidate(
                unit, start, end, None, "early-return-macro", guard=found["condition"], item=macro.name
            )


def _in_tests(unit: Unit, macro: MacroDefinition) -> bool:
    if unit.target_kind in ("test", "bench") or any(cfg.requires("test") for cfg in unit.cfgs):
        return True
    index = macro.scope
    while index >= 0:
        scope = unit.facts.scopes[index]
        if any(cfg.requires("test") for cfg in cfgs_of(scope.attributes)):
            return True
        index = scope.parent
    return False


def _ignored(judgement: Judgement, function: Fn, probes: Probes) -> Iterator[Candidate]:
    for attribute in function.facts.attributes:
        if not re.match(r"#\[\s*ignore\b", attribute):
            continue
        is_another = _MEASURES.search(function.name) or _OTHER_REASON.search(attribute)
        if is_another or not probes.opens_device(function):
            continue
        if not probes.runs_without_device(function) or _claims_device(judgement, function):
            start = function.unit.data.find(b"#[ignore", function.facts.doc_start, function.facts.start)
            yield Candidate(function.unit, start, start + len(attribute), function, "ignored")


def _claims_device(judgement: Judgement, function: Fn) -> bool:
    """Say whether a test is built for the device only, or its name, file or attributes speak of it."""
    features = frozenset(judgement.profile.gpu.features)
    stem = function.unit.path.rpartition("/")[2].removesuffix(".rs")
    return (
        any(cfg.requires("feature", features) for cfg in function.cfgs)
        or any(OF_DEVICE.search(one.lower()) for one in (function.name, stem))
        or any(OF_DEVICE.search(one.lower()) for one in function.facts.attributes if "ignore" in one)
    )


def _first_statement(function: Fn) -> tuple[int, int]:
    """Return the span of the first thing that happens in a function."""
    facts = function.facts
    if facts.lets and (not facts.calls or facts.lets[0].start <= facts.calls[0].start):
        return facts.lets[0].start, facts.lets[0].end
    if facts.calls:
        return facts.calls[0].start, facts.calls[0].end
    return facts.body_start, facts.body_end


def _closed_gates(unit: Unit, features: frozenset[str]) -> Iterator[Candidate]:
    """Yield test modules and tests behind a GPU feature that the package does not declare."""
    package = unit.package
    if package is None:
        return
    undeclared = features - frozenset(package.features)
    for scope in unit.facts.scopes:
        if not any(cfg.requires("test") for cfg in cfgs_of(scope.attributes)):
            continue
        for attribute, cfg in _cfg_attributes(scope.attributes):
            position = unit.data.rfind(attribute.encode(), 0, scope.start)
            if cfg.requires("feature", undeclared) and position >= 0:
                yield Candidate(
                    unit,
                    position,
                    position + len(attribute),
                    None,
                    "undeclared-feature",
                    item=_symbol(unit, scope),
                )


def _misspelt_gates(judgement: Judgement, unit: Unit, features: frozenset[str]) -> Iterator[Candidate]:
    """Yield tests behind a key that no build sets: `cfg(features = "cuda")`."""
    if b"features" not in unit.data:
        return
    for function in judgement.functions_of(unit):
        for attribute, cfg in _cfg_attributes(function.facts.attributes):
            start = unit.data.rfind(attribute.encode(), 0, function.facts.name_start)
            if function.is_test and cfg.requires(_NO_KEY, features) and start >= 0:
                end = start + len(attribute.encode())
                message = f"is never compiled: the key is `feature`, not `{_NO_KEY}`"
                yield Candidate(unit, start, end, function, "misspelt-feature", message=message)


def _symbol(unit: Unit, scope: Scope) -> str:
    """Return the fully qualified name of a module."""
    names = [scope.name]
    while scope.parent >= 0:
        scope = unit.facts.scopes[scope.parent]
        names.insert(0, scope.name)
    return "::".join(part for part in (unit.crate_name, *unit.module, *names) if part)


def _cfg_attributes(attributes: tuple[str, ...]) -> Iterator[tuple[str, Cfg]]:
    for attribute in attributes:
        for cfg in cfgs_of((attribute,)):
            yield attribute, cfg
