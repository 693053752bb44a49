"""FT010: disabled-gpu-test."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.rules.forms.probes import Probes
from audit.scanner.extract.facts import ExitKind, MacroDefinition, RegionKind, Scope
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.cfg import Cfg, cfgs_of
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.report import Level

_OPTIONAL = re.compile(r"^Option\s*<")
_MISSING = re.compile(r"\.(?:is_err|is_none)\(\)|==\s*(?:0|false)\b|<\s*1\b|!=\s*true\b")
_LEAVING = re.compile(
    r"\b(?:if|let)\s+(?P<condition>[^{};]+?)(?:\s+else)?\s*\{(?:[^{}]|\{[^{}]*\})*?\breturn\b[^{}]*\}"
)
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
            "test named after the GPU that opens no device",
            """
            #[test]
            fn test_gpu_relu() {  //~ FT010
                let x = Tensor::from_vec(vec![-1.0f32, 2.0], &[2]).unwrap();
                assert_eq!(ferrotorch_core::relu(&x).unwrap().shape(), &[2]);
            }
            """,
            path="ferrotorch-core/tests/activations.rs",
            others={
                "ferrotorch-core/src/lib.rs": """
                pub fn relu(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                    let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                    wrap(backend.relu_f32(x.gpu_handle()?)?)
                }
                """,
            },
        ),
        Example(
            "early return that a macro brings",
            """
            fn has_gpu() -> bool {
                GpuDevice::new(0).is_ok()
            }

            macro_rules! require_gpu {
                () => {
                    if !has_gpu() {  //~ FT010
                        return;
                    }
                };
            }

            #[test]
            fn adds() {
                require_gpu!();
                assert!(add_on_device().is_ok());
            }
            """,
            path="ferrotorch-gpu/tests/sums.rs",
        ),
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
            "helper that turns a tensor which can't be moved into nothing",
            """
            #[cfg(test)]
            mod tests {
                fn on_device<T: Float>(data: Vec<T>) -> Option<Tensor<T>> {
                    let host = from_vec(data).expect("host tensor");  //~ FT010
                    host.cuda().ok()
                }

                #[test]
                fn doubles() {
                    let Some(x) = on_device::<f32>(vec![1.0]) else { return };  //~ FT010
                    assert!(double(&x).is_cuda());
                }

                #[test]
                fn halves() {
                    let Ok(x) = from_vec(vec![1.0]).unwrap().to(Device::Cuda(0)) else {  //~ FT010
                        return;
                    };
                    assert!(half(&x).is_cuda());
                }
            }
            """,
            path="ferrotorch-jit/src/lib.rs",
        ),
        Example(
            "leaves when the backend finds no device",
            """
            impl GpuBackend for MtlBackend {
                fn add_f32(&self, a: &GpuBufferHandle) -> FerrotorchResult<GpuBufferHandle> {
                    self.launch(a)
                }
            }

            #[test]
            fn keeps_the_dtype() {
                let backend = match MtlBackend::new() {  //~ FT010
                    Ok(backend) => backend,
                    Err(FerrotorchError::DeviceUnavailable) => return,
                    Err(e) => panic!("{e}"),
                };
                assert_eq!(backend.dtype(), 4);
            }
            """,
            path="ferrotorch-mps/src/backend.rs",
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
            "test of what happens without a device",
            """
            fn has_gpu() -> bool {
                GpuDevice::new(0).is_ok()
            }

            #[test]
            fn a_missing_driver_is_an_error() {
                if has_gpu() {
                    return;
                }
                assert!(GpuDevice::new(0).is_err());
            }
            """,
            path="ferrotorch-gpu/tests/errors.rs",
        ),
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
            "fails when the tensor can't be moved",
            """
            #[test]
            fn doubles() -> FerrotorchResult<()> {
                let x = from_vec(vec![1.0])?.cuda()?;
                let Some(y) = double(&x)?.max() else { return Ok(()) };
                assert!(y > 1.0);
                Ok(())
            }
            """,
            path="ferrotorch-jit/tests/sums.rs",
        ),
        Example(
            "test of a build without the device",
            """
            #[test]
            #[cfg(not(feature = "cuda"))]
            fn refuses_device_tensors() {
                let Ok(x) = from_vec(vec![1.0]).unwrap().cuda() else { return };
                assert!(double(&x).is_err());
            }
            """,
            path="ferrotorch-jit/src/lib.rs",
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
            "measurement and sweep that are ignored for their length",
            """
            #[test]
            #[ignore = "requires an SM90 GPU and reports latency"]
            fn bench_matmul() {
                let device = GpuDevice::new(0).expect("CUDA device");
                report(&device);
            }

            #[test]
            #[ignore = "sweeps every f32"]
            fn encodes_all() {
                let device = GpuDevice::new(0).expect("CUDA device");
                assert!(sweep(&device));
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
        probes = Probes(judgement)
        for function in judgement.workspace.functions:
            if not function.is_test_code or not function.has_body:
                continue
            if function.is_test and not judgement.summaries.is_device_off(function):
                yield from _early_returns(function, probes)
                yield from _ignored(function, probes)
            elif probes.hides_missing_device(function) and _OPTIONAL.match(function.facts.return_type):
                start, end = _first_statement(function)
                yield Candidate(function.unit, start, end, function, "probe-helper")
        for unit in judgement.workspace.units.values():
            yield from _early_returns_of_macros(unit, probes)
            yield from _empty_claims(judgement, unit, probes)
            yield from _closed_gates(unit, frozenset(judgement.profile.gpu.features))


def _early_returns(function: Fn, probes: Probes) -> Iterator[Candidate]:
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
        if _leaves_with_device(region.kind, condition):
            continue
        if region.group_start not in seen and probes.asks_for_device(function, condition):
            seen.add(region.group_start)
            end = max(region.condition_end, region.pattern_end)
            yield Candidate(function.unit, region.group_start, end, function, "early-return", guard=condition)


def _empty_claims(judgement: Judgement, unit: Unit, probes: Probes) -> Iterator[Candidate]:
    """Yield the tests named after the GPU that open no device; where none is, the file that is."""
    stem = unit.path.rpartition("/")[2].removesuffix(".rs")
    is_claimed = unit.target_kind == "test" and _CLAIM.search(stem) is not None
    message = "is named after the GPU and never opens one"
    tests = [one for one in judgement.functions_of(unit) if one.is_test and one.has_body]
    named = [
        one
        for one in tests
        if _CLAIM.search(one.name)
        and not _HOST_CLAIM.search(one.name)
        and not judgement.reach.opens_device(one)
        and probes.computes(one)
    ]
    for function in named:
        start, end = function.facts.start, function.facts.name_start + len(function.name)
        yield Candidate(unit, start, end, function, "test-without-device", message=message)
    if (
        is_claimed
        and not named
        and not any(map(judgement.reach.opens_device, tests))
        and any(map(probes.computes, tests))
    ):
        start, end = unit.facts.comments[0] if unit.facts.comments else (0, 1)
        yield Candidate(unit, start, end, None, "test-file-without-device", message=message)


def _leaves_with_device(kind: str, condition: str) -> bool:
    """Say whether a branch is for a machine that has the device: it tests what happens on the others."""
    if kind not in (RegionKind.THEN, RegionKind.ELSE) or condition.startswith("let "):
        return False
    is_missing = condition.startswith("!") or bool(_MISSING.search(condition))
    return (kind == RegionKind.THEN) != is_missing


def _early_returns_of_macros(unit: Unit, probes: Probes) -> Iterator[Candidate]:
    """Yield the early returns that macros of test code put into the tests that invoke them."""
    for macro in unit.facts.macros:
        text = unit.text(macro.start, macro.end)
        for found in _LEAVING.finditer(text):
            if not _in_tests(unit, macro) or not probes.names_device(unit, found["condition"]):
                continue
            if _leaves_with_device(RegionKind.THEN, found["condition"].strip()):
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


def _ignored(function: Fn, probes: Probes) -> Iterator[Candidate]:
    for attribute in function.facts.attributes:
        if not re.match(r"#\[\s*ignore\b", attribute):
            continue
        is_another = _MEASURES.search(function.name) or _OTHER_REASON.search(attribute)
        if not is_another and probes.opens_device(function):
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
