"""FT014: comment-only-gap."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.scanner.extract.facts import RegionKind
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.comments import CommentBlock, blocks_of, function_at, span_of
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.profile import any_pattern
from audit.scanner.report import Level

_HOST = r"(?:\bcpu\b|\bhost\b|\binterpreter\b)"
_FAILING = r"\bmissing\b|\bfail\w*|\bunsupported\b|\bdeclines?\b|\berrors?\b"
_WHEN = rf"(?:\bfor\b|\bwhen\b|\bif\b|{_FAILING}|\bnon-)"
_FALLING = r"(?:\bfall(?:s|ing)?[ -]?(?:back|through)\b|\bfallback\b)"
_MOVED = r"(?![\s-]*(?:round|cop(?:y|ies)|transfer|sync))"
_DEVICE = r"(?:\bgpu\b|\bcuda\b|\bdevice\b|\bkernels?\b)"
_LACKS = r"(?:\bno\b|\bwithout\b|\blacks?\b|\bnot (?:yet )?(?:supported|implemented|available)\b|\bmissing\b)"
_CASES = r"(?:\b(?:ranks?|dtypes?|shapes?|layouts?|inputs?|views?|tensors?|targets?|sizes?|cases?)\b)"
_GOES = r"(?:\b(?:go|goes|run|runs|is|are|take|takes|stay|stays|routes?|routed)\b)"
# A case that the host only notices is not computed there.
_NOTICED = r"(?!\s*(?:detected|checked|validated|counted|known|decided)\b)"
# A heading (`CPU fallback`) says nothing yet: the case in which it happens is the gap.
_CASE_AND_HOST = re.compile(rf"(?i)(?=.*{_HOST})(?=.*{_WHEN})")
_NAMES_HOST = re.compile(rf"(?i){_HOST}")
_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_FALLS = re.compile(rf"(?i){_FALLING}")
_DENIED = re.compile(
    r"(?i)\b(?:instead of|rather than|without|never|not|no longer|cannot|can't)\s+(?:\w+ly\s+)?$"
)
_LACKED = re.compile(
    rf"(?i)(?:{_LACKS}(?!\s+(?:cpu|host))[^.!;()]{{0,30}}{_DEVICE}{_MOVED}"
    rf"|{_DEVICE}[^.!;()]{{0,30}}{_LACKS}(?!\s+(?:cpu|host)))[^.!;()]{{0,60}}{_HOST}"
)
_GAPS = (
    re.compile(r"(?i)\b(?:gpu|cuda|device)\b[^.]{0,60}\bnot (?:yet )?(?:implemented|supported)"),
    re.compile(rf"(?i){_CASES}[^.!;]{{0,20}}{_GOES}{_NOTICED}[^.!;]{{0,30}}{_HOST}"),
    re.compile(rf"(?i){_DEVICE}[^.!;]{{0,30}}{_HOST}[^.!;]{{0,20}}\b(?:runs|executes|evaluates)\b"),
)
# What is no GPU falls back to nothing: the host is its device.
_NO_GPU = re.compile(r"(?i)\b(?:non-|no |not )(?:gpu|cuda|metal|accelerat)")
_SUBJECTS = (b"cpu", b"host", b"interpreter", b"implemented", b"supported")
_SUBJECT = re.compile(rb"(?i)cpu|host|interpreter|not (?:yet )?(?:implemented|supported)")
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
    What a module's documentation says is not held against its functions. A comment whose code refuses device
    tensors is stale, and no result.
    """

    id = "FT014"
    name = "comment-only-gap"
    level = Level.NOTE
    message = "states a capability gap in a comment only"
    follows_device_data = True
    invalid = (
        Example(
            "what is lacking, at the line that says it",
            """
            /// Running sum of each row.
            ///
            /// There is no GPU kernel for this yet, CUDA inputs go through the host.  //~ FT014
            pub fn cumsum(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                let data = x.data_vec()?;
                Tensor::from_storage(TensorStorage::cpu(running_sum(&data)), x.shape().to_vec(), false)
            }

            // Higher ranks are materialised in host memory.  //~ FT014
            pub fn dense(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() && x.ndim() <= 8 {
                    return launch_copy(x);
                }
                let data = x.data_vec()?;
                Tensor::from_storage(TensorStorage::on_device(data, x.device())?, x.shape().to_vec(), false)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
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
            "case that is routed to the host",
            """
            pub fn irfft(x: &Tensor<f32>, n: usize) -> FerrotorchResult<Tensor<f32>> {
                // Other lengths wait: that case still routes through the host below.  //~ FT014
                if x.is_cuda() && n == x.numel() {
                    return launch_irfft(x);
                }
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
            "case that the host notices",
            """
            /// The empty case is detected on the host.
            pub fn mean(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                let data = x.data_vec()?;
                Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "falling back to another way in a text that names the host for something else",
            """
            pub fn rearrange(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                // General way: permute, then copy. Its memory comes from the CPU allocator.
                // If an operator declines the shape, we fall back to the index walk below.
                let data = x.data_vec()?;
                Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "falling back that is denied",
            """
            /// For other dtypes it gives `NotImplementedOnCuda` instead of falling through to a host fold.
            pub fn fold(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() && is_f32(x) {
                    return launch_fold(x);
                }
                let data = x.data_vec()?;
                Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "branch of who opted in",
            """
            pub fn split(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() && is_f32(x) {
                    return launch_split(x);
                }
                if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok() {
                    // Other dtypes fall through to the CPU path if they get here.
                    tracing::warn!("split on the host");
                }
                // If FERROTORCH_ENABLE_GPU_FALLBACK was set, other dtypes fall through to the CPU path.
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
        gate = any_pattern(judgement.profile.gate.environment_patterns)
        by_path: dict[str, list[Fn]] = {}
        for function in judgement.product_functions:
            by_path.setdefault(function.unit.path, []).append(function)
        for path, functions in by_path.items():
            if not any(_reads_openly(judgement, function) for function in functions):
                continue
            seen: set[int] = set()
            for block in blocks_of(judgement.workspace.units[path], _SUBJECTS):
                if not _SUBJECT.search(block.unit.data, block.start, block.end):
                    continue
                if block.is_module_doc or _REFUSES.search(block.text):
                    continue
                holder = function_at(functions, block)
                if holder is None or holder.index in seen:
                    continue
                gap = _gap(block.text, in_gpu_code=judgement.is_gpu_located(holder))
                if gap is None or not _has_gap(judgement, holder) or _is_asked_for(holder, block, gate):
                    continue
                seen.add(holder.index)
                form = "doc-gap" if block.is_doc else "gap-comment"
                start, end = span_of(block, gap)
                yield Candidate(block.unit, start, end, holder, form, guard=block.text)
        yield from _gaps_of_types(judgement)


def _gaps_of_types(judgement: Judgement) -> Iterator[Candidate]:
    """Yield the documentation of types that says what their functions do: hand a target to the host."""
    stand_ins = judgement.paths.stand_ins
    handing = {
        (function.unit.path, function.self_type)
        for function in judgement.product_functions
        if any(True for _ in stand_ins.for_targets(function))
    }
    for path in sorted({path for path, _ in handing}):
        unit = judgement.workspace.units[path]
        items = {item.start: item.name for item in unit.facts.items if (path, item.name) in handing}
        for block in blocks_of(unit):
            name = next((items[start] for start in items if _documents(unit, block, start)), "")
            gap = _gap(block.text, in_gpu_code=False) if name and block.is_doc else None
            if gap is not None:
                start, end = span_of(block, gap)
                symbol = "::".join(part for part in (unit.crate_name, *unit.module, name) if part)
                yield Candidate(unit, start, end, None, "doc-gap", guard=block.text, item=symbol)


def _documents(unit: Unit, block: CommentBlock, start: int) -> bool:
    """Say whether nothing but attributes stands between a comment and an item."""
    between = unit.text(block.end, start) if block.end <= start else "none"
    return not re.sub(r"#\[[^\]]*\]", "", between).strip()


def _gap(text: str, *, in_gpu_code: bool) -> int | None:
    """Return where a text says that some case is left to the host; None when it does not.

    In GPU code a comment on its fallback tells what the code beside it does: only what is lacking counts.
    """
    lacked = _LACKED.search(text)
    if lacked is not None or in_gpu_code:
        return lacked.end() - 1 if lacked is not None else None
    if _CASE_AND_HOST.match(text):
        falls = next((one for one in _FALLS.finditer(text) if not _DENIED.search(text, 0, one.start())), None)
        if falls is not None and _says_where(text, falls.start()) and not _NO_GPU.search(text):
            return falls.start()
    found = (gap.search(text) for gap in _GAPS)
    return next((one.end() - 1 for one in found if one is not None), None)


def _says_where(text: str, offset: int) -> bool:
    """Say whether the sentence at an offset, or the heading of its text, names the host."""
    ends = [0, *(end.end() for end in _SENTENCE_END.finditer(text)), len(text)]
    start = max(end for end in ends if end <= offset)
    stop = min(end for end in ends if end > offset)
    return bool(_NAMES_HOST.search(text, start, stop) or _NAMES_HOST.search(text, 0, ends[1]))


def _has_gap(judgement: Judgement, function: Fn) -> bool:
    if judgement.is_gpu_located(function) and function.index in judgement.summaries.launching:
        return False
    return _leaves_the_device(judgement, function)


def _leaves_the_device(judgement: Judgement, function: Fn) -> bool:
    """Say whether a function, or one that it hands its data to, reads device data on the host unpardoned."""
    reads = judgement.summaries.reads
    if any(not (read.pardon or read.is_copy) for read in reads.get(function.index, ())):
        return True
    for call in function.facts.calls:
        for callee in judgement.summaries.resolver.resolve(function, call):
            if callee is not function and callee.unit is function.unit and _reads_openly(judgement, callee):
                return True
    return False


def _is_asked_for(function: Fn, block: CommentBlock, gate: re.Pattern[str]) -> bool:
    """Say whether a comment names the opt-in, or stands in the branch of who opted in."""
    return gate.search(block.text) is not None or any(
        region.kind == RegionKind.THEN
        and region.start <= block.start < region.end
        and gate.search(function.text(region.condition_start, region.condition_end)) is not None
        for region in function.facts.regions
    )


def _reads_openly(judgement: Judgement, callee: Fn) -> bool:
    return any(not read.pardon for read in judgement.summaries.reads.get(callee.index, ()))
