"""FT014: comment-only-gap."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.comments import blocks_of, function_at
from audit.scanner.link.unit import Fn
from audit.scanner.report import Level

_HOST = r"(?:\bcpu\b|\bhost\b|\binterpreter\b)"
_FAILING = r"\bmissing\b|\bfail\w*|\bunsupported\b|\bdeclines?\b|\berrors?\b"
_WHEN = rf"(?:\bfor\b|\bwhen\b|\bif\b|{_FAILING}|\bnon-)"
_FALLING = r"(?:\bfall(?:s|ing)?[ -]?(?:back|through)\b|\bfallback\b)"
_GAPS = (
    # A heading (`CPU fallback`) says nothing yet: the case in which it happens is the gap.
    re.compile(rf"(?i)(?=.*{_HOST})(?=.*{_WHEN}).*{_FALLING}"),
    re.compile(r"(?i).*\b(?:gpu|cuda|device)\b[^.]{0,60}\bnot (?:yet )?(?:implemented|supported)"),
)
# What is no GPU falls back to nothing: the host is its device.
_NO_GPU = re.compile(r"(?i)\b(?:non-|no |not )(?:gpu|cuda|metal|accelerat)")
_REFUSES = re.compile(r"(?i)\b(?:error(?:s|ed)? out|refus|reject|returns? an? (?:structured )?error)")


class CommentOnlyGap(Rule):
    """
    ## What it does
    Checks for comments in dispatch code that say for which case the device is left, where the code beside
    them does leave it and no query tells a caller so.

    ## Why is this bad?
    A caller can't branch on a comment. PyTorch's dispatcher answers for each operator and backend whether a
    kernel is registered.

    ## Use instead
    A capability query (`DeviceCapabilities`) that the caller asks before dispatching, and a structured error
    in the operator.

    ## Known problems
    Only function comments count: what a module's or a type's documentation says is not held against its
    functions. A comment whose code refuses device tensors is stale, and no result.
    """

    id = "FT014"
    name = "comment-only-gap"
    level = Level.NOTE
    message = "states a capability gap in a comment only"
    invalid = (
        Example(
            "dtype gap in a comment",
            """
            pub fn split(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() && is_f32(x) {
                    return launch_split(x);
                }
                // CPU path (also serves as fallback for non-f32 or missing backend).  //~ FT014
                let data = x.data_vec()?;
                Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "gap in the documentation",
            """
            /// Gathers on the device up to rank 8. Higher ranks fall back to the  //~ FT014
            /// host if there is no backend.
            pub fn gather(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() && x.ndim() <= 8 {
                    return launch_gather(x);
                }
                let data = x.data_vec()?;
                Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
    )
    valid = (
        Example(
            "stale comment beside a refusal",
            """
            pub fn split(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() {
                    return Err(FerrotorchError::NotImplementedOnCuda { op: "split" });
                }
                // CPU path (also serves as fallback for non-f32 or missing backend).
                let data = x.data_vec()?;
                Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "heading",
            """
            pub fn scale(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() {
                    return launch_scale(x);
                }
                // CPU path
                let data = x.data()?;
                Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the first comment of a function that states a gap the function has."""
        by_path: dict[str, list[Fn]] = {}
        for function in judgement.product_functions:
            if not judgement.is_gpu_located(function):
                by_path.setdefault(function.unit.path, []).append(function)
        for path, functions in by_path.items():
            if not any(_reads_openly(judgement, function) for function in functions):
                continue
            seen: set[int] = set()
            for block in blocks_of(judgement.workspace.units[path]):
                if block.is_module_doc or _REFUSES.search(block.text) or _NO_GPU.search(block.text):
                    continue
                if not any(gap.match(block.text) for gap in _GAPS):
                    continue
                holder = function_at(functions, block)
                if holder is None or holder.index in seen or not _leaves_the_device(judgement, holder):
                    continue
                seen.add(holder.index)
                form = "doc-gap" if block.is_doc else "gap-comment"
                yield Candidate(block.unit, block.start, block.end, holder, form, guard=block.text)


def _leaves_the_device(judgement: Judgement, function: Fn) -> bool:
    """Say whether a function, or one that it hands its data to, reads device data on the host unpardoned."""
    reads = judgement.summaries.reads
    if any(not read.pardon for read in reads.get(function.index, ())):
        return True
    for call in function.facts.calls:
        for callee in judgement.summaries.resolver.resolve(function, call):
            if callee is not function and callee.unit is function.unit and _reads_openly(judgement, callee):
                return True
    return False


def _reads_openly(judgement: Judgement, callee: Fn) -> bool:
    return any(not read.pardon for read in judgement.summaries.reads.get(callee.index, ()))
