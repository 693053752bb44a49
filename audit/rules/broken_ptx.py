"""FT017: broken-ptx."""

from __future__ import annotations

from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.ptx.driver import digest_of
from audit.scanner.ptx.kernels import Rejection
from audit.scanner.report import Level

_HEADER = ".version 7.0\n.target sm_70\n.address_size 64\n"
_GOOD = f"{_HEADER}.visible .entry nop() {{\n    ret;\n}}\n"


class BrokenPtx(Rule):
    """
    ## What it does
    Checks for embedded PTX that the assembler rejects for a target of the profile: string constants,
    literals, `concat!`, `include_str!`, and texts that a function makes from a constant by replacing parts.

    ## Why is this bad?
    The kernel never runs. Whatever stands on its failure path is the only path there is: a fallback beside
    it is always taken, and an error always returned. PyTorch's kernels are compiled when it is built, so that
    one that doesn't compile can't ship.

    ## Use instead
    Assemble each kernel in a test or in `build.rs`, for every target that the project names.

    ## Known problems
    The assembler is not the driver, and versions disagree: the version is part of the result. What a real
    driver answered to the text outranks it both ways: a text that a driver loads is no result, one that a
    driver refuses is, and only then is a fallback beside it said to be always taken. Without `ptxas` and
    without a driver's answer, or for a target that `ptxas` doesn't know, the rule has not run. A text that
    is put together at run time is not seen.
    """

    id = "FT017"
    name = "broken-ptx"
    level = Level.ERROR
    message = "holds PTX that the assembler rejects"
    needs_assembler = True
    invalid = (
        Example(
            "register named like a special register",
            """
            pub const SUM_PTX: &str = "  //~ FT017
            .version 7.0
            .target sm_70
            .address_size 64
            .visible .entry sum() {
                .reg .u32 %tid;
                mov.u32 %tid, %tid.x;
                ret;
            }
            ";
            """,
        ),
        Example(
            "floating point literal of 17 digits",
            """
            const HALF_PTX: &str = r#"  //~ FT017
            .version 7.0
            .target sm_70
            .address_size 64
            .visible .entry half() {
                .reg .f64 %a;
                mov.f64 %a, 0d3FE00000000000001;
                ret;
            }
            "#;
            """,
        ),
        Example(
            "text derived by replacing",
            """
            const INV_PTX: &str = "
            .version 7.0
            .target sm_70
            .address_size 64
            .visible .entry inv() {
                .reg .f32 %a;
                rcp.approx.f32 %a, %a;
                ret;
            }
            ";

            fn widen(ptx: &str) -> String {
                ptx.replace(".reg .f32", ".reg .f64")
            }

            pub fn gpu_inv_f64(d: &GpuDevice) -> GpuResult<Kernel> {
                let ptx = widen(INV_PTX);  //~ FT017
                get_or_compile(d.context(), &ptx, "inv")
            }
            """,
        ),
        Example(
            "constant of two parts",
            """
            const COPY_PTX: &str = concat!(  //~ FT017
                ".version 7.0\\n.target sm_70\\n.address_size 64\\n",
                ".visible .entry copy() {\\n    mov.u32 %r1, 1;\\n    ret;\\n}\\n",
            );
            """,
        ),
        Example(
            "included file",
            """
            const DOT_PTX: &str = include_str!("dot.ptx");  //~ FT017
            """,
            others={"ferrotorch-gpu/src/dot.ptx": f"{_HEADER}.visible .entry dot() {{\n    rte;\n}}\n"},
        ),
        Example(
            "literal in a function",
            """
            pub fn gpu_fill(d: &GpuDevice) -> GpuResult<Kernel> {
                let ptx = ".version 7.0  //~ FT017
                    .target sm_70
                    .address_size 64
                    .visible .entry fill() { st.global.f32 [%rd1], 0f00000000; ret; }";
                get_or_compile(d.context(), ptx, "fill")
            }
            """,
        ),
    )
    valid = (
        Example(
            "text that assembles",
            """
            pub const NOP_PTX: &str = "
            .version 7.0
            .target sm_70
            .address_size 64
            .visible .entry nop() {
                ret;
            }
            ";
            """,
        ),
        Example(
            "derived text that assembles",
            """
            const ADD_PTX: &str = "
            .version 7.0
            .target sm_70
            .address_size 64
            .visible .entry add() {
                .reg .f32 %a;
                add.f32 %a, %a, %a;
                ret;
            }
            ";

            fn widen(ptx: &str) -> String {
                ptx.replace(".reg .f32", ".reg .f64").replace("add.f32", "add.f64")
            }

            pub fn gpu_add_f64(d: &GpuDevice) -> GpuResult<Kernel> {
                get_or_compile(d.context(), &widen(ADD_PTX), "add")
            }
            """,
        ),
        Example(
            "template of a text",
            """
            pub fn ptx_of(name: &str) -> String {
                format!(".version 7.0\\n.target sm_70\\n.visible .entry {name}() {{ ret; }}")
            }
            """,
        ),
        Example(
            "broken on purpose, in a test",
            """
            #[test]
            fn a_broken_kernel_is_an_error() {
                let ptx = ".version 7.0\\n.target sm_70\\n.visible .entry x() { nonsense; }";
                assert!(compile(ptx).is_err());
            }
            """,
        ),
        Example(
            "text about PTX",
            """
            pub const HELP: &str = "A module starts with .version and .target, then .entry";
            """,
        ),
        Example(
            "included file that assembles",
            """
            const DOT_PTX: &str = include_str!("dot.ptx");
            """,
            others={"ferrotorch-gpu/src/dot.ptx": _GOOD},
        ),
    )

    def not_run_reason(self, judgement: Judgement) -> str:
        """Say why the texts were not assembled, or not for every target."""
        return judgement.kernels.not_run_reason

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the texts that a driver refuses, or that the assembler rejects where no driver was asked."""
        for rejection in judgement.kernels.rejections:
            yield _candidate(rejection, judgement.kernels.assembler_version)


def _candidate(rejection: Rejection, version: str) -> Candidate:
    text = rejection.text
    parts = (text.unit.crate_name, *text.unit.module, text.name)
    subject = f"`{text.name}`" if text.name else "this PTX"
    return Candidate(
        unit=text.unit,
        start=text.start,
        end=text.end,
        function=text.function,
        form=f"{text.form}-ptx",
        message=_message(rejection, subject, version),
        item="::".join(part for part in parts if part) if text.name and text.function is None else "",
        properties=_properties(rejection, version),
    )


def _message(rejection: Rejection, subject: str, version: str) -> str:
    refusal = rejection.refusal
    if refusal is None:
        error = next(iter(rejection.by_target.values())).first_error
        return f"ptxas {version} rejects {subject} for {rejection.targets}: {error}"
    said = f"{refusal.error}: {refusal.said}" if refusal.said else refusal.error
    assembler = ("rejects it too" if rejection.by_target else "takes it") if version else ""
    told = f"; ptxas {version} {assembler}" if assembler else ""
    place = f"{subject} ({refusal.machine})"
    return f"the driver refuses {place}: {said}; what stands beside it is always taken{told}"


def _properties(rejection: Rejection, version: str) -> dict[str, str]:
    properties = {"textSha256": digest_of(rejection.text.text)}
    if rejection.by_target:
        properties |= {"ptxas": version, "targets": rejection.targets}
    if rejection.refusal is not None:
        refusal = rejection.refusal
        properties |= {"driver": refusal.driver, "device": refusal.device, "driverError": refusal.error}
    return properties
