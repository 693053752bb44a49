"""FT010: disabled-gpu-test."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.scanner.extract.facts import ExitKind, RegionKind, Scope
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.cfg import Cfg, cfgs_of
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.profile import any_pattern
from audit.scanner.report import Level

_MAYBE = re.compile(r"^(?:Option\s*<|bool\b)")
_NOTHING = re.compile(r"\bNone\b|\.ok\(\)|\bfalse\b|is_ok\(\)|is_some\(\)")


class DisabledGpuTest(Rule):
    """
    ## What it does
    Checks for GPU tests that pass without a GPU: ignored, left early when no device is found, compiled out
    by a feature that the package does not declare, or built on a probe that turns a missing device into
    nothing.

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
    invalid = (
        Example(
            "returns when no device is found",
            """
            #[test]
            fn adds_on_the_device() {
                let Ok(device) = GpuDevice::new(0) else {  //~ FT010
                    return;
                };
                assert!(device.ordinal() == 0);
            }
            """,
        ),
        Example(
            "probe that turns a missing device into nothing",
            """
            #[cfg(test)]
            mod tests {
                fn context() -> Option<Arc<CudaContext>> {
                    CudaContext::new(0).ok()  //~ FT010
                }

                #[test]
                fn records_an_event() {
                    let Some(ctx) = context() else { return };  //~ FT010
                    assert!(ctx.default_stream().is_null());
                }
            }
            """,
        ),
        Example(
            "left unless the environment says so",
            """
            #[test]
            fn adds_on_the_device() {
                if std::env::var("RUN_CUDA_TESTS").is_err() {  //~ FT010
                    return;
                }
                gpu_add();
            }
            """,
        ),
        Example(
            "ignored",
            """
            #[test]
            #[ignore = "needs a GPU"]  //~ FT010
            fn adds_on_the_device() {
                let device = GpuDevice::new(0).expect("CUDA device");
                assert!(device.ordinal() == 0);
            }
            """,
        ),
        Example(
            "gated on a feature that the package does not declare",
            """
            #[cfg(test)]
            #[cfg(feature = "hip")]  //~ FT010
            mod tests {
                #[test]
                fn adds_on_the_device() {
                    assert!(gpu_add());
                }
            }
            """,
        ),
    )
    valid = (
        Example(
            "fails when no device is found",
            """
            #[test]
            fn adds_on_the_device() {
                let device = GpuDevice::new(0).expect("CUDA device");
                assert!(device.ordinal() == 0);
            }
            """,
        ),
        Example(
            "gated on the crate's feature",
            """
            #[cfg(all(test, feature = "cuda"))]
            mod tests {
                #[test]
                fn adds_on_the_device() {
                    let device = GpuDevice::new(0).expect("CUDA device");
                    assert!(device.ordinal() == 0);
                }
            }
            """,
        ),
        Example(
            "skips for want of another tool",
            """
            #[test]
            fn compiles_c() {
                if !have_c_compiler() {
                    return;
                }
                assert!(compile());
            }
            """,
        ),
        Example(
            "ignored test of the host",
            """
            #[test]
            #[ignore = "slow"]
            fn converges() {
                assert!(train() < 0.1);
            }
            """,
        ),
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield early returns, probes, ignored tests and gates that never open."""
        probes = _Probes(judgement)
        for function in judgement.workspace.functions:
            if not function.is_test_code or not function.has_body:
                continue
            if function.is_test:
                yield from _early_returns(function, probes)
                yield from _ignored(function, probes)
            elif probes.hides_missing_device(function):
                start, end = _first_statement(function)
                yield Candidate(function.unit, start, end, function, "probe-helper")
        for unit in judgement.workspace.units.values():
            yield from _closed_gates(unit, frozenset(judgement.profile.gpu.features))


class _Probes:
    """Knows what asks for a device."""

    def __init__(self, judgement: Judgement) -> None:
        words = judgement.profile.tests
        self._summaries = judgement.summaries
        self._probe = any_pattern(words.probe_patterns)
        self._constructor = any_pattern(tuple(rf"\b{re.escape(name)}\b" for name in words.constructors))
        self._variable = any_pattern(words.environment_patterns)

    def asks_for_device(self, function: Fn, condition: str) -> bool:
        """Say whether a condition depends on a device, directly or through a helper of the tests."""
        if self._probe.search(condition):
            return True
        if "env::var" in condition:
            return bool(self._variable.search(condition))
        return any(
            f"{call.name}(" in condition and self.hides_missing_device(callee)
            for call in function.facts.calls
            if f"{call.name}(" in condition
            for callee in self._summaries.resolver.resolve(function, call)
        )

    def hides_missing_device(self, function: Fn) -> bool:
        """Say whether a helper of the tests turns a missing device into `None` or `false`."""
        if not function.is_test_code or function.is_test or not _MAYBE.match(function.facts.return_type):
            return False
        body = function.text(function.facts.body_start, function.facts.body_end)
        return bool(self._probe.search(body)) and bool(_NOTHING.search(body))

    def opens_device(self, function: Fn) -> bool:
        """Say whether a test gets hold of a device."""
        return bool(
            self._constructor.search(function.text(function.facts.body_start, function.facts.body_end))
        )


def _early_returns(function: Fn, probes: _Probes) -> Iterator[Candidate]:
    regions = function.facts.regions
    seen: set[int] = set()
    for exit_ in function.facts.exits:
        region = regions[exit_.region]
        if exit_.kind != ExitKind.RETURN or region.kind not in (
            RegionKind.THEN,
            RegionKind.ELSE,
            RegionKind.ARM,
            RegionKind.LET_ELSE,
        ):
            continue
        condition = function.text(region.condition_start, region.condition_end)
        if region.group_start not in seen and probes.asks_for_device(function, condition):
            seen.add(region.group_start)
            end = max(region.condition_end, region.pattern_end)
            yield Candidate(function.unit, region.group_start, end, function, "early-return", guard=condition)


def _ignored(function: Fn, probes: _Probes) -> Iterator[Candidate]:
    for attribute in function.facts.attributes:
        if re.match(r"#\[\s*ignore\b", attribute) and probes.opens_device(function):
            start = function.unit.data.find(b"#[ignore", function.facts.doc_start, function.facts.start)
            yield Candidate(function.unit, start, start + len(attribute), function, "ignored")


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
