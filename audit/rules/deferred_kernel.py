"""FT003: deferred-kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.scanner.extract.facts import Call, CallKind, ExitKind, Region, RegionKind
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.flow import Place
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern
from audit.scanner.report import Level

_STUBS = frozenset({"todo", "unimplemented"})
_NOT_YET = re.compile(r"not (?:yet|implemented)|unimplemented|todo\b|placeholder", re.IGNORECASE)
# What else a stub says. `Not a tensor map` refuses a wrong call, and `needs feature x` a wrong build.
_UNSUPPORTED = re.compile(r"support|implement|available|missing|later|kernel", re.IGNORECASE)
_NO_MESSAGE = re.compile(r"^[(\[{]\s*[)\]}]$")
_DROPPED_ERROR = re.compile(r"^Err\(_\w*\)$")
# `Ok(None)` and `Ok(false)` say that nothing was done; who answers them is another rule's matter.
_SUCCESS = re.compile(r"^(?:return\s+)?Ok\s*\((?!\s*(?:None|false|true|\(\))\s*\))")
_SAME_INPUT = re.compile(r"^Ok\(\s*(?:self|\w+)\.clone\(\)\s*\)$")
_NOTHING_DONE = re.compile(r"^return Ok\(\(\)\)$")
_NOTHING_STARTED = re.compile(r"^Ok\(\(\)\)$")
_BARE_HANDLE = re.compile(r"^Ok\(Self \{[\w\s,:]*\}\)$")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STARTS_DEVICE = re.compile(r"^(?:init|synchronize|sync|flush|wait|barrier)(?:_|$)")


class DeferredKernel(Rule):
    """
    ## What it does
    Checks for GPU paths that put the work off: `todo!()`, `unimplemented!()`, `panic!("not yet ..")`; and
    for success without the work: a device error that becomes `Ok`, a launch whose result is dropped, an
    initialisation that does nothing, a branch for the device that returns at once, a device match that
    hands the input back, a code generator that drops what it does not know.

    ## Why is this bad?
    The operator is there and is exported; it aborts the process, or it returns a value that nobody
    computed. PyTorch raises an error that the caller can catch.

    ## Use instead
    Write the kernel, or return a structured error.

    ## Known problems
    `unreachable!()` is taken at its word. Invented figures look like any other figures.
    """

    id = "FT003"
    name = "deferred-kernel"
    level = Level.ERROR
    message = "puts off the work of a reachable GPU path"
    invalid = (
        Example(
            "stub in a GPU function",
            """
            pub fn gpu_erf(a: &CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>> {
                todo!("write the kernel")  //~ FT003
            }
            """,
        ),
        Example(
            "initialisation that asks for a device and registers nothing",
            """
            pub fn init_backend() -> GpuResult<()> {
                if !cuda_available() {
                    return Err(GpuError::DeviceUnavailable);
                }
                // The kernels come later.
                Ok(())  //~ FT003
            }
            """,
        ),
        Example(
            "device handle that opens no device",
            """
            impl MpsDevice {
                pub fn new(ordinal: usize) -> GpuResult<Self> {
                    if !is_mps_available() {
                        return Err(GpuError::DeviceUnavailable);
                    }
                    Ok(Self { ordinal })  //~ FT003
                }
            }
            """,
        ),
        Example(
            "device error that becomes success",
            """
            pub fn inverse_ex(x: &Tensor<f32>) -> FerrotorchResult<(Tensor<f32>, i32)> {
                match gpu_inverse(x) {
                    Ok(inverse) => Ok((inverse, 0)),
                    Err(_) => Ok((creation::zeros(x.shape())?, 1)),  //~ FT003
                }
            }

            fn gpu_inverse(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                wrap(backend.inverse_f32(x.gpu_handle()?)?)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "launch whose result is dropped",
            """
            pub fn gpu_fill(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<()> {
                let _ = d.stream().launch_builder(&fill(d)?).arg(a).launch(cfg);  //~ FT003
                Ok(())
            }
            """,
        ),
        Example(
            "initialisation that does nothing",
            """
            pub fn init_backend() -> GpuResult<()> {
                Ok(())  //~ FT003
            }
            """,
        ),
        Example(
            "device match that hands the input back",
            """
            pub fn to(&self, device: Device) -> FerrotorchResult<Tensor<f32>> {
                match (self.device(), device) {
                    (Device::Cpu, Device::Cuda(ordinal)) => self.upload(ordinal),
                    _ => Ok(self.clone()),  //~ FT003
                }
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "check that returns at once for the device",
            """
            pub fn check_finite(x: &Tensor<f32>) -> FerrotorchResult<()> {
                if x.is_cuda() {  //~ FT003
                    return Ok(());
                }
                scan(x.data()?)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "kernel generator that drops what it does not know",
            """
            fn emit_ptx_statement(out: &mut String, statement: &Statement) {
                match statement {
                    Statement::Add => out.push_str("    add.f32 %val, %val, %t0;"),
                    _ => {}  //~ FT003
                }
            }
            """,
            path="ferrotorch-nn/src/lib.rs",
        ),
    )
    valid = (
        Example(
            "error instead of a stub",
            """
            pub fn gpu_erf(a: &CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>> {
                Err(GpuError::Unsupported { op: "erf" })
            }
            """,
        ),
        Example(
            "stub in a test",
            """
            #[test]
            fn later() {
                todo!()
            }
            """,
        ),
        Example(
            "device error passed on",
            """
            pub fn inverse_ex(x: &Tensor<f32>) -> FerrotorchResult<(Tensor<f32>, i32)> {
                match gpu_inverse(x) {
                    Ok(inverse) => Ok((inverse, 0)),
                    Err(error) => Err(error),
                }
            }

            fn gpu_inverse(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                wrap(backend.inverse_f32(x.gpu_handle()?)?)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "initialisation that opens the device",
            """
            pub fn init_backend() -> GpuResult<()> {
                register(GpuDevice::new(0)?);
                Ok(())
            }
            """,
        ),
        Example(
            "device handle that opens the device",
            """
            impl GpuDevice {
                pub fn new(ordinal: usize) -> GpuResult<Self> {
                    if !cuda_available() {
                        return Err(GpuError::DeviceUnavailable);
                    }
                    Ok(Self { context: open(ordinal)? })
                }
            }
            """,
        ),
        Example(
            "invariant that a device test guards",
            """
            pub fn select(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                match x.device() {
                    Device::Cuda(_) => launch(x),
                    Device::Cpu => host(x),
                    _ => unreachable!("checked above"),
                }
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield stubs, and success without the work."""
        emitter = any_pattern(judgement.profile.gpu.emitter_patterns)
        for function in judgement.product_functions:
            yield from _stubs(judgement, function)
            yield from _dropped_launches(judgement, function)
            yield from _empty_starts(judgement, function)
            if emitter.search(function.name):
                yield from _dropped_statements(function)
            for index, region in enumerate(function.facts.regions):
                if region.kind == RegionKind.ARM:
                    yield from _lying_arm(judgement, function, index, region)
                elif region.kind == RegionKind.THEN:
                    yield from _skipped_device(judgement, function, index, region)


def _stubs(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    """Yield the stubs on the device's side: in GPU code, or in a branch for the device."""
    for call in function.facts.calls:
        if call.kind != CallKind.MACRO or not _puts_off(function, call):
            continue
        is_promised = judgement.is_gpu_located(function) or judgement.is_gpu_named(function)
        if is_promised or judgement.summaries.graph.is_for_device(function, call):
            yield Candidate(function.unit, call.start, call.end, function, f"{call.name}-macro")


def _puts_off(function: Fn, call: Call) -> bool:
    message = function.text(call.arguments_start, call.end)
    if call.name == "panic":
        return bool(_NOT_YET.search(message))
    if call.name not in _STUBS:
        return False
    return bool(call.name == "todo" or _NO_MESSAGE.match(message) or _UNSUPPORTED.search(message))


def _dropped_launches(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    if function.index not in judgement.summaries.launching or function.trait == "Drop":
        return
    for let in function.facts.lets:
        if function.text(let.pattern_start, let.pattern_end) != "_":
            continue
        launch = next(
            (
                call
                for call in function.facts.calls
                if let.value_start <= call.start < let.value_end
                and call.end == let.value_end
                and judgement.summaries.is_launch_name(call.name)
            ),
            None,
        )
        if launch is not None:
            yield Candidate(function.unit, let.start, let.end, function, "dropped-launch")


def _empty_starts(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    """Yield public functions of GPU crates that say they start or open a device, and do nothing."""
    facts = function.facts
    if not judgement.is_gpu_located(function) or not facts.visibility or facts.lets:
        return
    is_start = _STARTS_DEVICE.match(function.name) and _NOTHING_STARTED
    is_handle = function.self_type in judgement.profile.tests.constructors and _BARE_HANDLE
    done = is_start or is_handle
    if done and done.match(_without_availability(judgement, function)):
        start, end = facts.regions[0].tail_start, facts.regions[0].tail_end
        form = "empty-init" if is_start else "empty-handle"
        yield Candidate(function.unit, start, end, function, form)


def _without_availability(judgement: Judgement, function: Fn) -> str:
    """Return what a body does beside refusing where no device is available, without comments."""
    probe = any_pattern(judgement.profile.tests.probe_patterns)
    flow = judgement.summaries.flow(function)
    facts = function.facts
    data = bytearray(function.unit.data[facts.body_start + 1 : facts.body_end - 1])
    for index, region in enumerate(facts.regions):
        condition = function.text(region.condition_start, region.condition_end)
        if region.kind == RegionKind.THEN and flow.returns(index) and probe.search(condition):
            start = region.group_start - facts.body_start - 1
            length = region.group_end - region.group_start
            data[start : start + length] = b" " * length
    return " ".join(_COMMENT.sub(" ", data.decode("utf-8", "replace")).split())


def _lying_arm(judgement: Judgement, function: Fn, index: int, region: Region) -> Iterator[Candidate]:
    pattern = function.text(region.pattern_start, region.pattern_end).strip()
    tail = function.text(region.tail_start, region.tail_end)
    if _DROPPED_ERROR.match(pattern) and _SUCCESS.match(tail):
        if _is_device_operation(judgement, function, region):
            yield Candidate(
                function.unit, region.pattern_start, region.end, function, "error-becomes-success"
            )
    elif pattern == "_" and _SAME_INPUT.match(tail) and _matches_devices(judgement, function, region):
        yield Candidate(function.unit, region.pattern_start, region.end, function, "input-handed-back")


def _is_device_operation(judgement: Judgement, function: Fn, region: Region) -> bool:
    """Say whether a match looks at the outcome of an operation that reaches or refuses the device."""
    summaries = judgement.summaries
    for call in function.facts.calls:
        if region.condition_start <= call.start and call.end == region.condition_end:
            if summaries.is_launch(function, call):
                return True
            callees = summaries.resolver.resolve(function, call)
            return any(
                one.index in summaries.launching or one.index in summaries.rejecting for one in callees
            )
    return False


def _matches_devices(judgement: Judgement, function: Fn, region: Region) -> bool:
    arms = [
        function.text(other.pattern_start, other.pattern_end)
        for other in function.facts.regions
        if other.kind == RegionKind.ARM and other.group_start == region.group_start
    ]
    return any(judgement.summaries.tests.mentions_device(pattern) for pattern in arms)


def _skipped_device(judgement: Judgement, function: Fn, index: int, region: Region) -> Iterator[Candidate]:
    """Yield branches for the device in which nothing happens but a successful return."""
    exits = [one for one in function.facts.exits if one.region == index and one.kind == ExitKind.RETURN]
    if len(exits) != 1 or not _NOTHING_DONE.match(function.text(exits[0].start, exits[0].end)):
        return
    flow = judgement.summaries.flow(function)
    calls = [call for call in function.facts.calls if call.region == index]
    is_transfer = function.name in judgement.profile.transfer.transfer_apis
    if len(calls) == 1 and not is_transfer and flow.place(flow.entering(index)) is Place.DEVICE:
        yield Candidate(function.unit, region.group_start, region.condition_end, function, "device-skipped")


def _dropped_statements(function: Fn) -> Iterator[Candidate]:
    """Yield the arms of a kernel generator that emit nothing, or nothing unless a condition holds."""
    if not any(call.name in ("push_str", "write", "writeln") for call in function.facts.calls):
        return
    for index, region in enumerate(function.facts.regions):
        if region.kind != RegionKind.ARM:
            continue
        pattern = function.text(region.pattern_start, region.pattern_end).strip()
        text = function.text(region.start, region.end)
        is_empty = pattern == "_" and re.fullmatch(r"\{\s*\}|\(\)", text) is not None
        if is_empty or _is_one_sided(function, index):
            yield Candidate(function.unit, region.pattern_start, region.end, function, "statement-dropped")


def _is_one_sided(function: Fn, arm: int) -> bool:
    """Say whether an arm is nothing but an `if` without an `else`."""
    regions = function.facts.regions
    inside = [one for one in regions if one.parent == arm and one is not regions[0]]
    if len(inside) != 1 or inside[0].kind != RegionKind.THEN:
        return False
    whole = function.text(regions[arm].start, regions[arm].end).strip("{} \n;")
    return whole == function.text(inside[0].group_start, inside[0].group_end).strip("{} \n;")
