"""FT003: deferred-kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.scanner.extract.facts import CallKind
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.report import Level

_STUBS = frozenset({"todo", "unimplemented"})
_NOT_YET = re.compile(r"not (?:yet|implemented)|unimplemented|todo|placeholder", re.IGNORECASE)


class DeferredKernel(Rule):
    """
    ## What it does
    Checks for GPU paths that put the work off: `todo!()`, `unimplemented!()`, `panic!("not yet ..")`.

    ## Why is this bad?
    The operator is there, is exported, and aborts the process when it is called. PyTorch raises an error
    that the caller can catch.

    ## Use instead
    Write the kernel, or return a structured error.

    ## Known problems
    `unreachable!()` is taken at its word.
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
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the stub macros of product code."""
        for function in judgement.product_functions:
            for call in function.facts.calls:
                if call.kind != CallKind.MACRO:
                    continue
                is_stub = call.name in _STUBS or (
                    call.name == "panic" and _NOT_YET.search(function.text(call.arguments_start, call.end))
                )
                if is_stub:
                    yield Candidate(function.unit, call.start, call.end, function, f"{call.name}-macro")
