"""FT015: kernel-in-core."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from audit.rules.base import Example, Rule
from audit.scanner.extract.facts import Call, CallKind
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.cfg import cfgs_of
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.report import Level

_KERNEL_FILES = (".ptx", ".cu", ".cuh", ".wgsl", ".metal", ".cl", ".hlsl", ".glsl", ".comp", ".spv", ".cubin")
_INCLUDES = frozenset({"include_str", "include_bytes"})
# The head of a device function, with what opens its parameters: a text that only names one has none.
_KERNEL_TEXT = re.compile(
    r"\.entry\s+[\w$%{}]+\s*\(|__global__\s+(?:\w+\s+)+\*?[\w{}]+\s*\(|@compute\b[^;]*?\bfn\s+[\w{}]+\s*\("
    r"|\b(?:__)?kernel\s+void\s+[\w{}]+\s*\(|\blayout\s*\(\s*local_size_x\b|\[numthreads\s*\("
)
_HINT = re.compile(rb"\.entry|__global__|@compute|kernel\s+void|local_size_x|numthreads")


class KernelInCore(Rule):
    """
    ## What it does
    Checks for kernel bodies in the dispatch crate: device code as text (PTX, CUDA, WGSL, Metal, OpenCL, GLSL,
    HLSL), included kernel files, `#[cube]` functions, and code that builds launches.

    ## Why is this bad?
    The core crate decides where an operation runs; it is built for every backend. A kernel in it can be
    launched past the backend's checks, and builds without that backend carry it along. PyTorch keeps kernels
    in the backends' folders (`aten/src/ATen/native/cuda`) and registers them with the dispatcher.

    ## Use instead
    Move the kernel into the backend's crate and call it through the backend trait.

    ## Known problems
    Device code that is put together from pieces, none of which holds a whole function head, is not seen.
    """

    id = "FT015"
    name = "kernel-in-core"
    level = Level.ERROR
    message = "holds a kernel in the dispatch crate"
    invalid = (
        Example(
            "PTX constant",
            """
            pub const ADD_PTX: &str = "  //~ FT015
            .version 7.0
            .target sm_70
            .visible .entry add(.param .u64 x) { ret; }
            ";
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "WGSL in a function",
            """
            pub fn source() -> &'static str {
                r#"@compute @workgroup_size(64)  //~ FT015
                fn main(@builtin(global_invocation_id) id: vec3<u32>) {}"#
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "CUDA template",
            """
            pub fn source(name: &str) -> String {
                format!("extern \\"C\\" __global__ void {name}(float* x) {{ x[0] = 1.0f; }}")  //~ FT015
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "text of several pieces",
            """
            const COPY: &str = concat!(  //~ FT015
                ".version 7.0\\n.target sm_70\\n",
                ".visible .entry copy(.param .u64 x) { ret; }",
            );
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "included file",
            """
            pub const SUM: &str = include_str!("sum.wgsl");  //~ FT015

            pub fn text_of(name: &str) -> &'static str {
                match name {
                    "max" => include_str!("../kernels/max.cu"),  //~ FT015
                    _ => "",
                }
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "portable kernel",
            """
            #[cube(launch_unchecked)]
            pub fn double(x: &Array<f32>, out: &mut Array<f32>) {  //~ FT015
                out[ABSOLUTE_POS] = x[ABSOLUTE_POS] * 2.0;
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "launch builder",
            """
            pub fn relu(x: &CudaSlice<f32>, stream: &Stream, f: &Function) -> FerrotorchResult<()> {
                stream.launch_builder(f).arg(x).launch(config)?;  //~ FT015
                Ok(())
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
    )
    valid = (
        Example(
            "backend crate",
            """
            pub const ADD_PTX: &str = ".version 7.0\\n.visible .entry add(.param .u64 x) { ret; }";
            """,
        ),
        Example(
            "dispatch through the backend",
            """
            pub fn relu(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                wrap(backend.relu_f32(x.gpu_handle()?)?)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "names of kernels",
            """
            pub const ENTRY_POINTS: &[&str] = &["add", "__global__", ".entry"];

            pub fn kernel_name(op: &str) -> String {
                format!("{op}_kernel")
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "recognises device code",
            """
            pub fn looks_like_ptx(text: &str) -> bool {
                text.contains(".visible .entry") && text.contains(".target")
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "included text that is no kernel",
            """
            pub const NOTICE: &str = include_str!("../NOTICE.txt");
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "test",
            """
            #[cfg(test)]
            mod tests {
                const BROKEN: &str = ".version 7.0\\n.visible .entry x() { nonsense; }";

                #[test]
                fn a_kernel_is_recognised() {
                    assert!(looks_like_ptx(BROKEN));
                }
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "map entries and thread launches",
            """
            pub fn count(map: &mut HashMap<u32, u32>, pool: &Pool) {
                *map.entry(1).or_insert(0) += 1;
                pool.launch(|| {});
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
    )

    def not_run_reason(self, judgement: Judgement) -> str:
        """Say that the profile names no crate that dispatches."""
        if judgement.profile.gpu.core_crates:
            return ""
        return f"the profile `{judgement.profile.name}` names no core crate (`gpu.core_crates`)"

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the kernel texts, the kernels and the launch code of core crates."""
        for unit in judgement.workspace.units.values():
            if _is_core(judgement, unit):
                yield from unit.told_once(_texts, _texts)
        core = {path for path, unit in judgement.workspace.units.items() if _is_core(judgement, unit)}
        for function in judgement.product_functions if core else ():
            if function.unit.path in core:
                yield from _code(judgement, function)


def _is_core(judgement: Judgement, unit: Unit) -> bool:
    package = unit.package
    return (
        package is not None
        and unit.target_kind in ("lib", "bin")
        and any(fnmatchcase(package.name, pattern) for pattern in judgement.profile.gpu.core_crates)
    )


def _texts(unit: Unit) -> list[Candidate]:
    found = []
    functions = unit.functions or []
    calls = [*unit.facts.calls, *(call for one in functions for call in one.facts.calls)]
    macros = [call for call in calls if call.kind == CallKind.MACRO]
    seen: set[int] = set()
    for start, end, is_file in sorted((*_kernel_strings(unit), *_kernel_includes(unit, macros))):
        first, last = _anchor(unit, macros, start, end)
        if first in seen or not (is_file or _KERNEL_TEXT.search(unit.text(first, last))):
            continue
        seen.add(first)
        function = _function_at(functions, first)
        if not _is_test_place(unit, function, first):
            form = "included-kernel" if is_file else "kernel-text"
            found.append(Candidate(unit, first, last, function, form))
    return found


def _kernel_strings(unit: Unit) -> Iterator[tuple[int, int, bool]]:
    if _HINT.search(unit.data):
        for start, end in unit.facts.strings:
            if _HINT.search(unit.data, start, end):
                yield start, end, False


def _kernel_includes(unit: Unit, macros: list[Call]) -> Iterator[tuple[int, int, bool]]:
    for call in macros:
        if call.name in _INCLUDES:
            path = unit.text(call.arguments_start, call.end).strip('()[]{}"; \n')
            if path.endswith(_KERNEL_FILES):
                yield call.start, call.end, True


def _anchor(unit: Unit, macros: list[Call], start: int, end: int) -> tuple[int, int]:
    """Return the constant, or else the outermost macro call, that a text stands in; or the text itself."""
    for item in unit.facts.items:
        if item.kind in ("const", "static") and item.start <= start and end <= item.end:
            return item.start, item.end
    around = [call for call in macros if call.start <= start and end <= call.end]
    return min(((call.start, call.end) for call in around), default=(start, end))


def _function_at(functions: list[Fn], offset: int) -> Fn | None:
    around = [one for one in functions if one.facts.start <= offset < one.facts.end]
    return max(around, key=lambda one: one.facts.start, default=None)


def _is_test_place(unit: Unit, function: Fn | None, offset: int) -> bool:
    if function is not None:
        return function.is_test_code
    attributes = [
        attribute
        for scope in unit.facts.scopes
        if scope.body_start <= offset < scope.body_end
        for attribute in scope.attributes
    ]
    return any(cfg.requires("test") for cfg in (*unit.cfgs, *cfgs_of(attributes)))


def _code(judgement: Judgement, function: Fn) -> Iterator[Candidate]:
    if judgement.summaries.is_kernel(function):
        yield Candidate(
            function.unit, function.facts.start, function.facts.body_start, function, "kernel-function"
        )
        return
    for call in function.facts.calls:
        if _builds_launch(judgement, function, call):
            yield Candidate(function.unit, call.start, call.end, function, "launch-code")
            return


def _builds_launch(judgement: Judgement, function: Fn, call: Call) -> bool:
    """Say whether a call compiles a kernel or prepares a launch itself, past the backend."""
    if call.kind in (CallKind.PLAIN, CallKind.PATH):
        return call.name in judgement.profile.launch.compile_calls
    return (
        call.kind == CallKind.METHOD
        and call.name != "launch"
        and judgement.summaries.is_launch_name(call.name)
        and not judgement.summaries.is_backend_operation(function, call)
    )
