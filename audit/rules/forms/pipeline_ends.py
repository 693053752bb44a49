"""Where a pipeline ends: what is read there is the user's."""

from __future__ import annotations

from audit.scanner.extract.facts import CallKind
from audit.scanner.judge import Judgement
from audit.scanner.link.paths import HostPath


def ends_pipeline(judgement: Judgement, path: HostPath) -> bool:
    """Say whether what is read leaves with the result: host data, of which no tensor is made on the way.

    GPU code is held to more: what it returns was to be computed on the device.
    """
    function = path.function
    if judgement.is_gpu_located(function) or judgement.is_gpu_named(function) or path.upload is not None:
        return False
    if not judgement.summaries.operands.returns_host_data(function):
        return False
    read = path.reads[0].call
    constructors = judgement.profile.transfer.host_constructors
    return not any(
        call.start > read.start and call.name in constructors and call.kind == CallKind.PATH
        for call in function.facts.calls
    )
