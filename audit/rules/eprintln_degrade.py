"""FT012: eprintln-degrade."""

from __future__ import annotations

from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.rules.forms.probes import OF_DEVICE
from audit.rules.forms.unknown_examples import PRINT_VALID
from audit.scanner.extract.facts import CallKind
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.failures import failure_of
from audit.scanner.link.unit import Fn
from audit.scanner.report import Level

_PRINTS = frozenset({"print", "println", "eprint", "eprintln", "dbg"})


class EprintlnDegrade(Rule):
    """
    ## What it does
    Checks for prints on the path that is taken when a kernel can't be compiled, loaded or launched.

    ## Why is this bad?
    A print can't be filtered, routed or counted, and a library has no business on the standard streams
    (a program has, and is not looked at). It often stands where the error's cause is dropped: the caller
    gets less than the terminal. PyTorch raises with the cause, and its one fallback warns through
    `warnings`.

    ## Use instead
    Carry the cause in the error. Where the user opted in to a fallback, `tracing::warn!` with the kernel and
    the variable that turns the fallback off.

    ## Known problems
    A print inside a helper that only the failure path calls is not seen.
    """

    id = "FT012"
    name = "eprintln-degrade"
    level = Level.WARNING
    message = "prints on the failure path of GPU code"
    follows_device_data = True
    invalid = (
        Example(
            "cause printed and dropped",
            """
            pub fn gpu_silu(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                let f = get_or_compile(d.context(), SILU_PTX, "silu").map_err(|e| {
                    eprintln!("silu: {e}");  //~ FT012
                    GpuError::PtxCompileFailed { kernel: "silu" }
                })?;
                run(&f, a, d)
            }
            """,
        ),
        Example(
            "print, then the host",
            """
            pub fn gpu_norm(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                let f = match get_or_compile(d.context(), NORM_PTX, "norm") {
                    Ok(f) => f,
                    Err(e) => {
                        eprintln!("norm: {e}, using the CPU");  //~ FT012
                        eprintln!("dumped to /tmp/norm.ptx");
                        return host_norm(a, d);
                    }
                };
                run(&f, a, d)
            }
            """,
        ),
        Example(
            "print where the launch is let go",
            """
            pub fn gpu_scale(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<()> {
                if let Err(e) = d.stream().launch_builder(&SCALE).arg(a).launch(cfg) {
                    println!("launch failed: {e}");  //~ FT012
                }
                Ok(())
            }
            """,
        ),
    )
    valid = (
        *PRINT_VALID,
        Example(
            "warning behind a gate",
            """
            pub fn gpu_norm(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                match get_or_compile(d.context(), NORM_PTX, "norm") {
                    Ok(f) => run(&f, a, d),
                    Err(e) => {
                        tracing::warn!(error = %e, "norm");
                        Err(GpuError::PtxCompileFailed { kernel: "norm" })
                    }
                }
            }
            """,
        ),
        Example(
            "print of a result",
            """
            pub fn print_summary(t: &Tensor<f32>) {
                println!("{:?}", t.shape());
            }
            """,
        ),
        Example(
            "skip notice in a test",
            """
            #[test]
            fn scales() {
                let Ok(d) = GpuDevice::new(0) else {
                    eprintln!("no device");
                    return;
                };
                drop(d);
            }
            """,
        ),
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the first print of each failure path."""
        for function in judgement.product_functions_where(_prints, _prints):
            if function.unit.target_kind != "lib":
                continue
            seen: set[int] = set()
            for call in function.facts.calls:
                if call.kind != CallKind.MACRO or call.name not in _PRINTS or call.region in seen:
                    continue
                failure = failure_of(judgement.paths, judgement.summaries.flow(function), call)
                if failure is not None and _speaks_of_device(judgement, function):
                    seen.add(call.region)
                    yield Candidate(
                        function.unit, call.start, call.end, function, failure.form, guard=failure.subject
                    )


def _prints(function: Fn) -> bool:
    return any(call.kind == CallKind.MACRO and call.name in _PRINTS for call in function.facts.calls)


def _speaks_of_device(judgement: Judgement, function: Fn) -> bool:
    """Say whether a function names the device or its data itself, or stands in GPU code.

    A call may be taken for an operator's by its name alone: that is not enough to say that the device failed.
    """
    if judgement.is_gpu_located(function) or judgement.is_gpu_named(function):
        return True
    text = function.text(function.facts.name_start, function.facts.end)
    return bool(OF_DEVICE.search(text)) or judgement.summaries.operands.names_device_type(text)
