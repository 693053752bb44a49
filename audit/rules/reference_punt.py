"""FT005: reference-punt."""

from __future__ import annotations

from collections.abc import Iterator

from audit.rules.base import Rule
from audit.rules.forms.gated_punt_examples import GATED_INVALID, GATED_VALID
from audit.rules.forms.pipeline_ends import ends_pipeline
from audit.rules.forms.punt_examples import INVALID, VALID
from audit.rules.forms.unknown_reads import (
    LOADED_INVALID,
    LOADED_VALID,
    PUNT_INVALID,
    PUNT_VALID,
)
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.paths import HostPath
from audit.scanner.link.unit import Fn
from audit.scanner.report import Level


class ReferencePunt(Rule):
    """
    ## What it does
    Checks for operators that accept device tensors and have a host body only: they read the data with an
    accessor that downloads, compute in a loop, and return a host tensor or upload the result again.

    ## Why is this bad?
    In PyTorch an operator without a CUDA kernel raises `NotImplementedError`. Here the caller's model
    leaves the device in the middle, and nothing says so.

    ## Use instead
    Write the operator with operators that dispatch by device, or a kernel; until then refuse device
    tensors with a structured error (`FerrotorchError::NotImplementedOnCuda { op }`), before the first
    read.

    ## Known problems
    An operator that reads through a trait object is not seen.
    """

    id = "FT005"
    name = "reference-punt"
    level = Level.ERROR
    message = "accepts device tensors and has a host body only"
    follows_device_data = True
    invalid = (*INVALID, *GATED_INVALID, *PUNT_INVALID, *LOADED_INVALID)
    valid = (*VALID, *GATED_VALID, *PUNT_VALID, *LOADED_VALID)

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the host paths of functions that never reach the device."""
        for path in judgement.paths.all:
            if not path.is_host_body or path.goes_on or _is_kernel_driver(judgement, path.function):
                continue
            if not judgement.summaries.operands.holds_tensor(path.function) and ends_pipeline(
                judgement, path
            ):
                continue
            if not _answers_request(judgement, path):
                form = "host-body" if path.upload is None else "host-body-and-upload"
                yield judgement.host_path_candidate(path, form)


def _is_kernel_driver(judgement: Judgement, function: Fn) -> bool:
    """Say whether a function launches itself, or is named as GPU code and does: it has no host body."""
    reason = judgement.summaries.launching.get(function.index)
    return reason is not None and (reason.callee is None or judgement.is_gpu_named(function))


def _answers_request(judgement: Judgement, path: HostPath) -> bool:
    """Say whether an asynchronous function without tensors of its own is handed what others have read.

    It is the end of the pipeline: what it reads is for the user.
    """
    function, operands = path.function, judgement.summaries.operands
    facts = function.facts
    if "async" not in function.text(facts.start, facts.name_start).split() or operands.holds_tensor(function):
        return False
    types = [function.self_type if one.name == "self" else one.type for one in facts.parameters]
    return all(read.helper is not None for read in path.reads) and not any(
        map(operands.names_device_type, (*types, facts.return_type))
    )
