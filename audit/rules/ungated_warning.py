"""FT013: ungated-warning."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.judge import Candidate, Judgement, Step, stand_in_candidate
from audit.scanner.link.consents import ONCE, PARTIAL
from audit.scanner.link.paths import HostPath
from audit.scanner.link.unit import Fn
from audit.scanner.outcome.gating import Gating
from audit.scanner.report import Level

_BY_DEFAULT = "warning-by-default"
_TELLS_OF_HOST = re.compile(r"(?i)cpu|host|fall|gpu|cuda|metal|device")
_MESSAGES = {
    ONCE: "computes on the host behind a gate that is read once, not at each call",
    PARTIAL: "computes on the host from data that the gate before it does not cover",
}


class UngatedWarning(Rule):
    """
    ## What it does
    Checks for fallbacks that warn and then compute on the host, or take its device, by default, and for
    opt-in gates that do not hold: read once for the life of the process, or computing on the host without a
    warning that names the kernel and the variable.

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
    follows_device_data = True
    invalid = (
        Example(
            "warning and then the host body",
            """
            pub fn gpu_scale(a: &CudaBuffer<f32>, s: f32, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                let f = match get_or_compile(device.context(), SCALE_PTX, "scale_kernel") {
                    Ok(f) => f,
                    Err(error) => {
                        tracing::warn!(%error, "scale: computing on the host");
                        let host = gpu_to_cpu(a, device)?;  //~ FT013
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
            "host body behind a gate that is read once",
            """
            static ENABLED: OnceLock<bool> = OnceLock::new();

            fn fallback_enabled() -> bool {
                *ENABLED.get_or_init(|| std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok())
            }

            pub fn gpu_neg(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                if let Some(out) = try_launch_neg(a, d)? {
                    return Ok(out);
                }
                if fallback_enabled() {
                    tracing::warn!("neg: computing on the host");
                    let host = gpu_to_cpu(a, d)?;  //~ FT013
                    return cpu_to_gpu(&host.iter().map(|x| -x).collect::<Vec<_>>(), d);
                }
                Err(GpuError::PtxCompileFailed { kernel: "neg_kernel" })
            }
            """,
        ),
        Example(
            "gate that covers one of two operands",
            """
            pub fn kl(p: &Tensor<f32>, q: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                check_opt_in(&[p], "kl")?;
                let left = p.data_vec()?;
                let right = q.data_vec()?;  //~ FT013
                Tensor::from_vec(left.iter().zip(&right).map(|(x, y)| x * (x / y).ln()).collect(), p.shape())
            }

            fn check_opt_in(inputs: &[&Tensor<f32>], op: &'static str) -> FerrotorchResult<()> {
                if inputs.iter().any(|one| one.is_cuda()) {
                    if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_err() {
                        return Err(FerrotorchError::NotImplementedOnCuda { op });
                    }
                    tracing::warn!(op, "on the host; unset FERROTORCH_ENABLE_GPU_FALLBACK for an error");
                }
                Ok(())
            }
            """,
            path="ferrotorch-distributions/src/lib.rs",
        ),
        Example(
            "warning of a helper, and then the host body",
            """
            fn warn_host(op: &'static str) {
                tracing::warn!(op, "computing on the host");
            }

            pub fn log_prob(value: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                warn_host("log_prob");
                let x = value.data_vec()?;  //~ FT013
                Tensor::from_vec(x.iter().map(|v| -v * v).collect(), value.shape())
            }
            """,
            path="ferrotorch-distributions/src/lib.rs",
        ),
        Example(
            "gate whose warning names neither kernel nor variable",
            """
            fn check_opt_in(op: &'static str) -> GpuResult<()> {
                if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok() {
                    tracing::warn!("computing on the host");  //~ FT013
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
        Example(
            "warning and then the host's device",
            """
            pub fn device() -> Result<Device> {
                match cuda_capability() {
                    Ok(true) => Device::new_cuda(0),
                    Ok(false) => Err(Error::NotCompiledWithCudaSupport),
                    Err(error) => {
                        tracing::warn!(%error, "no CUDA device, using the host");
                        Ok(Device::Cpu)  //~ FT013
                    }
                }
            }
            """,
            profile="candle",
        ),
    )
    valid = (
        Example(
            "gate that warns on every call",
            """
            fn check_opt_in(op: &'static str) -> GpuResult<()> {
                if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok() {
                    tracing::warn!(op, "on the host; unset FERROTORCH_ENABLE_GPU_FALLBACK for an error");
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
            "gate beside the question where the data is",
            """
            fn opted_in() -> bool {
                let set = std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok();
                if set {
                    tracing::warn!(op = "order", "unset FERROTORCH_ENABLE_GPU_FALLBACK for an error");
                }
                set
            }

            pub fn median(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() && !opted_in() {
                    return Err(FerrotorchError::NotImplementedOnCuda { op: "median" });
                }
                let mut data = x.data_vec()?;
                data.sort_by(f32::total_cmp);
                Tensor::from_vec(vec![data[data.len() / 2]], &[1])
            }

            pub fn mode(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() {
                    if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_err() {
                        return Err(FerrotorchError::NotImplementedOnCuda { op: "mode" });
                    }
                    tracing::warn!(op = "order", "unset FERROTORCH_ENABLE_GPU_FALLBACK for an error");
                }
                let data = x.data_vec()?;
                Tensor::from_vec(vec![data[0]], &[1])
            }
            """,
            path="ferrotorch-distributions/src/lib.rs",
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
        Example(
            "device that the user named, and a host without one",
            """
            pub fn device(named: Option<usize>) -> Result<Device> {
                match named {
                    Some(ordinal) => Device::new_cuda(ordinal),
                    None => {
                        tracing::warn!("no device is named, using the host");
                        Ok(Device::Cpu)
                    }
                }
            }

            pub fn numbered() -> Result<Device> {
                match std::env::var("CUDA_DEVICE") {
                    Ok(ordinal) => Device::new_cuda(ordinal.parse()?),
                    Err(_) => {
                        tracing::warn!("CUDA_DEVICE is not set, using the host");
                        Ok(Device::Cpu)
                    }
                }
            }

            pub fn kind(name: &str) -> Result<Device> {
                match Backend::from_str(name) {
                    Ok(Backend::Cuda) => Device::new_cuda(0),
                    Ok(Backend::Cpu) => Ok(Device::Cpu),
                    Err(error) => {
                        tracing::warn!(%error, "no such backend, using the CPU");
                        Ok(Device::Cpu)
                    }
                }
            }

            pub fn described(kind: Result<Kind>) -> Result<Device> {
                match kind {
                    Ok(kind) => named(kind),
                    Err(error) => {
                        tracing::warn!(%error, "no such kind, using the host");
                        Ok(Device::Cpu)
                    }
                }
            }

            pub fn counted() -> Result<Device> {
                match cuda_count() {
                    Ok(count) if count > 0 => Device::new_cuda(0),
                    Ok(_) => {
                        tracing::warn!("there is no CUDA device, using the host");
                        Ok(Device::Cpu)
                    }
                    Err(error) => Err(error),
                }
            }

            pub fn agreed(ordinal: usize, allow_fallback: bool) -> Result<Device> {
                match Device::new_cuda(ordinal) {
                    Ok(device) => Ok(device),
                    Err(error) if allow_fallback => {
                        tracing::warn!(%error, "no CUDA device, using the host");
                        Ok(Device::Cpu)
                    }
                    Err(error) => Err(error),
                }
            }

            pub fn opened(ordinal: usize) -> Result<Device> {
                Device::new_cuda(ordinal)
            }
            """,
            profile="candle",
        ),
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield host paths behind a warning alone or a gate that does not hold, and gates that are silent."""
        is_once_seen = False
        for path in judgement.paths.all:
            if path.reads[0].is_result:
                continue
            flaw = judgement.summaries.gate_flaw(path.function, path.reads[0].call)
            warning = _warning_before(judgement, path)
            if flaw:
                is_once_seen |= flaw == ONCE
                yield judgement.host_path_candidate(path, flaw, _MESSAGES[flaw])
            elif warning is not None:
                yield _ungated(judgement, path, warning)
        for stand_in in judgement.stand_ins_on_failure:
            warning = _warning_in_branch(judgement, stand_in.function, stand_in.start)
            if warning is not None:
                yield _with_warning(stand_in_candidate(stand_in), stand_in.function, warning)
        for index in judgement.summaries.gates if not is_once_seen else ():
            function = judgement.workspace.functions[index]
            if function.is_product_code:
                yield from _read_once(judgement, function)
        yield from _silent_gates(judgement)
        yield from _vague_warnings(judgement)


def _warning_before(judgement: Judgement, path: HostPath) -> Call | None:
    """Return the warning that control passes right before the first read of a path."""
    read = path.reads[0].call
    around = frozenset(path.function.ancestors(read.region))
    found = None
    for call in path.function.facts.calls:
        if call.start < read.start and call.region in around and _is_warning(judgement, path.function, call):
            found = call
    return found


def _is_warning(judgement: Judgement, function: Fn, call: Call) -> bool:
    """Say whether a call warns: by itself, or through a helper that does nothing else."""
    names = judgement.profile.gate.warning_macros
    if call.kind == CallKind.MACRO:
        return call.name in names
    return any(
        not callee.facts.return_type
        and any(one.kind == CallKind.MACRO and one.name in names for one in callee.facts.calls)
        for callee in judgement.summaries.resolver.resolve(function, call)
    )


def _warning_in_branch(judgement: Judgement, function: Fn, answer: int) -> Call | None:
    """Return the last warning of a branch that tells of its answer, the host's device or its work."""
    branch = function.innermost(answer)
    if not branch:
        return None
    start = function.facts.regions[branch].start
    warnings = [
        call
        for call in function.facts.calls
        if start <= call.start < answer
        and call.region == branch
        and _is_warning(judgement, function, call)
        and _TELLS_OF_HOST.search(function.text(call.arguments_start, call.end))
    ]
    return warnings[-1] if warnings else None


def _ungated(judgement: Judgement, path: HostPath, warning: Call) -> Candidate:
    return _with_warning(judgement.host_path_candidate(path, _BY_DEFAULT), path.function, warning)


def _with_warning(candidate: Candidate, function: Fn, warning: Call) -> Candidate:
    step = Step("call", function.unit, warning.start, warning.end, function.symbol, "warns here, and goes on")
    return candidate._replace(form=_BY_DEFAULT, steps=(*candidate.steps, step))


def _read_once(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    """Yield the reads of the variable inside an initialiser that runs once."""
    for call in function.facts.calls:
        if judgement.summaries.is_gate_read(function, call) and judgement.summaries.is_read_once(
            function, call
        ):
            yield Candidate(function.unit, call.start, call.end, function, ONCE)


def _vague_warnings(judgement: Judgement) -> Iterator[Candidate]:
    """Yield the warnings of gates that do not say which kernel it is, or what to unset."""
    gating = Gating(judgement.summaries)
    seen: set[tuple[int, int]] = set()
    for function in judgement.product_functions:
        for gate in gating.gates(function):
            found = gating.warning_of(function, gate)
            if found is None or gating.names_its_case(*found):
                continue
            holder, warning = found
            if (holder.index, warning.start) not in seen:
                seen.add((holder.index, warning.start))
                yield Candidate(
                    holder.unit,
                    warning.start,
                    warning.end,
                    holder,
                    "vague-warning",
                    message="warns of a fallback without naming the kernel and the variable",
                    level=Level.WARNING,
                )


def _silent_gates(judgement: Judgement) -> Iterator[Candidate]:
    """Yield the gated reads of functions in which neither the gate nor the function warns."""
    for index, reads in judgement.summaries.reads.items():
        function = judgement.workspace.functions[index]
        gated = [read for read in reads if read.pardon == "opt-in"]
        if not gated or _warns(judgement, function):
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


def _warns(judgement: Judgement, function: Fn) -> bool:
    for call in function.facts.calls:
        gate = judgement.summaries.gate_of(function, call)
        if (gate is not None and gate.warns) or _is_warning(judgement, function, call):
            return True
    return False
