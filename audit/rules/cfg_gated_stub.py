"""FT004: cfg-gated-stub."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from audit.rules.base import Example, Rule
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.gated import Gated, code_of, first_token, gated_parts
from audit.scanner.link.paths import HostPath
from audit.scanner.link.unit import Fn
from audit.scanner.profile import any_pattern
from audit.scanner.report import Level

HOST_BODY = "host-body"
_IGNORING = r"(?:(?:let )?_\w* = [^;]*; ?)*"
_NOTHING = re.compile(rf"^{_IGNORING}(?:(?:return )?(?:Ok\(\(\)\)|\(\));?)?$")
_YES = re.compile(r"^(?:return )?(?:Ok\()?true\)?;?$")
_REFUSAL = re.compile(r"\bErr\b|\?|\b(?:panic|todo|unimplemented|unreachable|bail|compile_error)!")
# Nothing is handed out: the caller goes on by another way.
_SAYS_NOTHING = re.compile(rf"^{_IGNORING}(?:return )?(?:Ok\()?None\)?;?$")
_ALONE = re.compile(r"^(?:(?:let )?_\w* = [^;]*)?$")


class CfgGatedStub(Rule):
    """
    ## What it does
    Checks for a GPU feature gate (`#[cfg(feature = "cuda")]` on a function, module, block or statement, or
    `if cfg!(..)`) around a body that does nothing and reports success, or computes on the host; and for
    functions named as GPU code that, in the build without the feature, hand out data nobody computed on a
    device.

    ## Why is this bad?
    The gate is a promise: who enables the feature gets the GPU. A stub behind it makes the build green and
    the results wrong or slow. An operator that PyTorch was built without raises an error when it is called.

    ## Use instead
    Put the launch behind the gate; in the other build return a structured error (`GpuError::NoCudaFeature`).

    ## Known problems
    Where another rule sees the same read (`fake-gpu-function`, `reference-punt`), this rule reports it if the
    gate is on the item, block or statement itself, and nothing behind the gate reaches the device; unless
    the feature is on by default: then the body is a fake, gated or not. A gate on
    a whole file or out-of-line module says nothing about one function and is not looked at. In builds without
    the feature, bookkeeping that does nothing (`seal`, `set_current_stream`) is not reported. Functions in
    macro definitions are not looked at: what they launch may come from the invocation.
    """

    id = "FT004"
    name = "cfg-gated-stub"
    level = Level.ERROR
    message = "gates a GPU feature around a body that never reaches the device"
    invalid = (
        Example(
            "host body behind the feature",
            """
            #[cfg(feature = "wgpu")]
            pub fn gpu_median(x: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                let mut host = gpu_to_cpu(x, d)?;  //~ FT004
                host.sort_by(f32::total_cmp);
                cpu_to_gpu(&host[host.len() / 2..][..1], d)
            }
            """,
        ),
        Example(
            "no-op behind the feature",
            """
            #[cfg(feature = "cuda")]
            pub fn gpu_prefetch(x: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<()> {
                // Nothing to do yet.
                let _ = (x, d);  //~ FT004
                Ok(())
            }
            """,
        ),
        Example(
            "gated module",
            """
            #[cfg(feature = "cuda")]
            pub mod fused {
                pub fn prepare(_d: &GpuDevice) -> GpuResult<()> {
                    Ok(())  //~ FT004
                }
            }
            """,
        ),
        Example(
            "gated block",
            """
            pub fn gpu_mean(x: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                #[cfg(feature = "cuda")]
                {
                    let host = gpu_to_cpu(x, d)?;  //~ FT004
                    return cpu_to_gpu(&[host.iter().sum::<f32>() / host.len() as f32], d);
                }
                #[cfg(not(feature = "cuda"))]
                Err(GpuError::NoCudaFeature)
            }
            """,
        ),
        Example(
            "availability that is only claimed",
            """
            pub fn is_mps_available() -> bool {
                #[cfg(all(feature = "metal", target_os = "macos"))]
                {
                    true  //~ FT004
                }
                #[cfg(not(all(feature = "metal", target_os = "macos")))]
                {
                    false
                }
            }
            """,
            path="ferrotorch-xpu/src/lib.rs",
        ),
        Example(
            "residue of a removed body",
            """
            pub fn gpu_allreduce(x: &CudaBuffer<f32>) -> GpuResult<()> {
                #[cfg(feature = "nccl")]
                let _ = ();  //~ FT004
                Err(GpuError::Unsupported { op: "allreduce" })
            }
            """,
        ),
        Example(
            "made-up data in the other build",
            """
            #[cfg(not(feature = "cuda"))]
            pub fn gpu_norm(x: &[f32]) -> GpuResult<Vec<f32>> {
                Ok(vec![0.0; x.len()])  //~ FT004
            }
            """,
        ),
    )
    valid = (
        Example(
            "launch behind the feature, structured error without it",
            """
            #[cfg(feature = "cuda")]
            pub fn gpu_add(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<()> {
                d.stream().launch_builder(&add_kernel(d)?).arg(a).launch(cfg)
            }

            #[cfg(not(feature = "cuda"))]
            pub fn gpu_add(_a: &CudaBuffer<f32>, _d: &GpuDevice) -> GpuResult<()> {
                Err(GpuError::NoCudaFeature)
            }
            """,
        ),
        Example(
            "bookkeeping in the other build",
            """
            pub struct Pool;

            #[cfg(not(feature = "cuda"))]
            impl Pool {
                pub fn seal(&self) {}

                pub fn buffer_count(&self) -> usize {
                    0
                }
            }
            """,
        ),
        Example(
            "accessors behind the feature",
            """
            pub struct Handle {
                len: usize,
            }

            #[cfg(feature = "cuda")]
            impl Handle {
                pub fn len(&self) -> usize {
                    self.len
                }
            }
            """,
        ),
        Example(
            "transfer behind the feature",
            """
            #[cfg(feature = "cuda")]
            pub fn gpu_to_cpu(x: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<Vec<f32>> {
                d.stream().clone_dtoh(x)
            }
            """,
        ),
        Example(
            "reports the build",
            """
            pub fn features() -> Vec<&'static str> {
                let mut names = Vec::new();
                if cfg!(feature = "cuda") {
                    names.push("cuda");
                }
                names
            }
            """,
        ),
        Example(
            "launch in a gated block",
            """
            pub fn gpu_exp(x: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<()> {
                #[cfg(feature = "cuda")]
                {
                    return launch_unary(x, d);
                }
                #[cfg(not(feature = "cuda"))]
                {
                    let _ = (x, d);
                    Err(GpuError::NoCudaFeature)
                }
            }
            """,
        ),
        Example(
            "nothing handed out without the feature",
            """
            #[cfg(not(feature = "cuda"))]
            fn try_sample_cuda(_logits: &Tensor<f32>) -> GpuResult<Option<Vec<u32>>> {
                Ok(None)
            }
            """,
        ),
        Example(
            "feature that is about something else",
            """
            #[cfg(feature = "serde")]
            pub fn check(_name: &str) -> Result<(), Error> {
                Ok(())
            }
            """,
        ),
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the gated parts of functions that never reach the device."""
        stubs = _Stubs(judgement)
        for function in judgement.workspace.functions:
            if not function.has_body or not function.is_product_code or function.facts.macro:
                continue
            seen: set[int] = set()
            for part in gated_parts(function):
                form = stubs.form(function, part)
                start = first_token(function.unit, part.start, part.end)
                if form and start not in seen:
                    seen.add(start)
                    path = stubs.host_path(function, part) if form == HOST_BODY else None
                    yield _candidate(function, part, start, form, path)


def _candidate(function: Fn, part: Gated, start: int, form: str, path: HostPath | None) -> Candidate:
    unit = function.unit
    line_end = unit.data.find(b"\n", start)
    end = max(start + 1, min(part.end, line_end if line_end > 0 else part.end))
    cause = path.cause if path is not None else ()
    return Candidate(unit, start, end, function, form, cause=cause)


class _Stubs:
    """Tells what is wrong with a gated part."""

    def __init__(self, judgement: Judgement) -> None:
        profile = judgement.profile
        self._judgement = judgement
        self._summaries = judgement.summaries
        self._features = frozenset(profile.gpu.features)
        self._gpu_name = any_pattern(profile.gpu.function_patterns)
        self._probe_name = any_pattern(profile.tests.probe_patterns)
        devices = "|".join(map(re.escape, (*profile.device.buffer_types, *profile.tests.constructors)))
        data = "|".join(map(re.escape, (*profile.device.buffer_types, *profile.device.tensor_types, "Vec")))
        self._device_type = re.compile(rf"\b(?:{devices})\b")
        self._data_type = re.compile(rf"\b(?:{data})\b")

    def form(self, function: Fn, part: Gated) -> str:
        """Return the form of a stub; empty for what is none."""
        if not part.cfg.mentions("feature"):
            return ""
        if part.cfg.excludes("feature", self._features):
            return self._form_without(function, part)
        if not self._is_gpu_gate(function, part):
            return ""
        code = code_of(function.unit, part.start, part.end)
        if not self._launches(function, part):
            if self.host_path(function, part) is not None:
                return "" if part.is_whole and self._is_on_by_default(function, part) else HOST_BODY
            if self._is_probe(function) and _YES.match(code):
                return "claimed-availability"
            if part.is_whole and _NOTHING.match(code) and self._has_work(function):
                return "no-op"
            if not part.is_whole and self._is_gpu_code(function) and _is_residue(code):
                return "no-op-block"
        return ""

    def _is_on_by_default(self, function: Fn, part: Gated) -> bool:
        """Say whether a gate is open unless somebody closes it: then the body is fake, gated or not."""
        package = function.unit.package
        default = frozenset(package.features.get("default", ())) if package is not None else frozenset()
        asked = {value for name, value in part.cfg.flags() if name == "feature" and value is not None}
        return bool(asked) and asked <= default

    def _form_without(self, function: Fn, part: Gated) -> str:
        """Judge the build without the feature: data handed out by what is named as GPU code."""
        if not part.is_whole or not self._gpu_name.search(function.name):
            return ""
        code = code_of(function.unit, part.start, part.end)
        if _SAYS_NOTHING.match(code):
            return ""
        is_data = self._data_type.search(function.facts.return_type) is not None
        return "made-up-data" if is_data and not _REFUSAL.search(code) else ""

    def _is_gpu_gate(self, function: Fn, part: Gated) -> bool:
        """Say whether a gate asks for a GPU feature, or for any feature in code that handles the device."""
        if part.cfg.requires("feature", self._features):
            return True
        return part.cfg.requires("feature") and self._is_gpu_code(function)

    def _is_gpu_code(self, function: Fn) -> bool:
        types = " ".join(one.type for one in function.facts.parameters)
        return bool(self._gpu_name.search(function.name) or self._device_type.search(types))

    def _has_work(self, function: Fn) -> bool:
        """Say whether a function that does nothing was given something to do."""
        return not function.trait and self._is_gpu_code(function)

    def _is_probe(self, function: Fn) -> bool:
        return function.facts.return_type.rstrip("> ").endswith("bool") and bool(
            self._probe_name.search(function.name)
        )

    def _launches(self, function: Fn, part: Gated) -> bool:
        return function.index in self._summaries.launching and any(
            self._judgement.paths.is_device_call(function, call)
            for call in function.facts.calls
            if part.start <= call.start < part.end
        )

    def host_path(self, function: Fn, part: Gated) -> HostPath | None:
        """Return the host path that begins in a part."""
        paths = self._paths.get(function.index, ())
        return next((path for path in paths if part.start <= path.start < part.end), None)

    @cached_property
    def _paths(self) -> dict[int, list[HostPath]]:
        found: dict[int, list[HostPath]] = {}
        for path in self._judgement.paths.all:
            found.setdefault(path.function.index, []).append(path)
        return found


def _is_residue(code: str) -> bool:
    return bool(_NOTHING.match(code) or _ALONE.match(code))
