"""FT013: ungated-warning."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.judge import Candidate, Judgement, Step
from audit.scanner.link.paths import HostPath
from audit.scanner.link.unit import Fn
from audit.scanner.report import Level

_READ_ONCE = re.compile(r"\b(?:OnceLock|OnceCell|LazyLock|Lazy|lazy_static|thread_local)\b|get_or_init")


class UngatedWarning(Rule):
    """
    ## What it does
    Checks for fallbacks that warn and then compute on the host by default, and for opt-in gates that do not
    hold: read once for the life of the process, or computing on the host without a warning.

    ## Why is this bad?
    A warning is no consent. PyTorch's one fallback, for MPS, is off unless the environment variable is set,
    is asked for on every call, and warns on every call.

    ## Use instead
    Return the structured error unless the variable is set, read the variable on every call, and warn with
    `tracing::warn!`, naming kernel and variable, each time the host body runs.

    ## Known problems
    A gate kept in a struct that the caller fills from the environment is not seen.
    """

    id = "FT013"
    name = "ungated-warning"
    level = Level.ERROR
    message = "warns, and falls back to the host by default"
    invalid = (
        Example(
            "warning and then the host body",
            """
            pub fn gpu_scale(a: &CudaBuffer<f32>, s: f32, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                let f = match get_or_compile(device.context(), SCALE_PTX, "scale_kernel") {
                    Ok(f) => f,
                    Err(error) => {
                        tracing::warn!(%error, "scale: computing on the host");  //~ FT013
                        let host = gpu_to_cpu(a, device)?;
                        return cpu_to_gpu(&host.iter().map(|x| x * s).collect::<Vec<_>>(), device);
                    }
                };
                launch(&f, a, device)
            }
            """,
        ),
        Example(
            "variable that is read once",
            """
            static ENABLED: OnceLock<bool> = OnceLock::new();

            fn fallback_enabled() -> bool {
                *ENABLED.get_or_init(|| std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok())  //~ FT013
            }
            """,
        ),
        Example(
            "gate that says nothing",
            """
            fn check_opt_in(op: &'static str) -> GpuResult<()> {
                if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok() {
                    return Ok(());
                }
                Err(GpuError::Unsupported { op })
            }

            pub fn gpu_neg(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                check_opt_in("neg")?;
                let host = gpu_to_cpu(a, d)?;  //~ FT013
                cpu_to_gpu(&host.iter().map(|x| -x).collect::<Vec<_>>(), d)
            }
            """,
        ),
    )
    valid = (
        Example(
            "gate that warns on every call",
            """
            fn check_opt_in(op: &'static str) -> GpuResult<()> {
                if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok() {
                    tracing::warn!(op, "computing on the host");
                    return Ok(());
                }
                Err(GpuError::Unsupported { op })
            }

            pub fn gpu_neg(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                check_opt_in("neg")?;
                let host = gpu_to_cpu(a, d)?;
                cpu_to_gpu(&host.iter().map(|x| -x).collect::<Vec<_>>(), d)
            }
            """,
        ),
        Example(
            "warning before an error",
            """
            pub fn gpu_scale(a: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                match get_or_compile(device.context(), SCALE_PTX, "scale_kernel") {
                    Ok(f) => launch(&f, a, device),
                    Err(error) => {
                        tracing::warn!(%error, "scale: no kernel");
                        Err(GpuError::PtxCompileFailed { kernel: "scale_kernel" })
                    }
                }
            }
            """,
        ),
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield warnings on the way to a host body, gates that are read once, and gates that are silent."""
        warnings = frozenset(judgement.profile.gate.warning_macros)
        for path in judgement.paths.all:
            warning = _warning_before(path, warnings)
            if warning is not None:
                yield _ungated(path, warning)
        for index in judgement.summaries.gates:
            function = judgement.workspace.functions[index]
            if function.is_product_code:
                yield from _read_once(judgement, function)
        yield from _silent_gates(judgement, warnings)


def _warning_before(path: HostPath, warnings: frozenset[str]) -> Call | None:
    """Return the warning that control passes right before the first read of a path."""
    read = path.reads[0].call
    around = frozenset(path.function.ancestors(read.region))
    found = None
    for call in path.function.facts.calls:
        is_warning = call.kind == CallKind.MACRO and call.name in warnings
        if is_warning and call.start < read.start and call.region in around:
            found = call
    return found


def _ungated(path: HostPath, warning: Call) -> Candidate:
    function = path.function
    read = path.reads[0].call
    return Candidate(
        unit=function.unit,
        start=warning.start,
        end=warning.end,
        function=function,
        form="warning-by-default",
        guard=path.test.subject if path.test is not None else "",
        steps=(
            Step("anchor", function.unit, warning.start, warning.end, function.symbol, "warns here"),
            Step(
                "effect", function.unit, read.start, read.end, function.symbol, "and reads on the host here"
            ),
        ),
    )


def _read_once(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    """Yield the reads of the variable inside an initialiser that runs once."""
    for call in function.facts.calls:
        if judgement.summaries.is_gate_read(function, call):
            before = function.text(function.facts.body_start, call.start)
            if _READ_ONCE.search(before):
                yield Candidate(function.unit, call.start, call.end, function, "gate-read-once")


def _silent_gates(judgement: Judgement, warnings: frozenset[str]) -> Iterator[Candidate]:
    """Yield the gated reads of functions in which neither the gate nor the function warns."""
    for index, reads in judgement.summaries.reads.items():
        function = judgement.workspace.functions[index]
        gated = [read for read in reads if read.pardon == "opt-in"]
        if not gated or _warns(judgement, function, warnings):
            continue
        first = gated[0].call
        yield Candidate(
            function.unit,
            first.start,
            first.end,
            function,
            "silent-gate",
            message="falls back to the host without a warning when opted in",
        )


def _warns(judgement: Judgement, function: Fn, warnings: frozenset[str]) -> bool:
    for call in function.facts.calls:
        if call.kind == CallKind.MACRO and call.name in warnings:
            return True
        gate = judgement.summaries.gate_of(function, call)
        if gate is not None and gate.warns:
            return True
    return False
