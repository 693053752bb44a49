"""Says why the tracer may not have seen everything: what is not seen accuses nobody."""

from __future__ import annotations

from workers.protocol.evidence import CanaryReading, EventKind, ProcessTrace, TracedRun
from workers.runner.libraries import unseen_interfaces


def why_incomplete(traced: TracedRun, canary: CanaryReading | None) -> str | None:
    """Say why records of CUDA may be missing; none where they can't be."""
    if canary is None:
        return "no canary was run before the batch"
    if not canary.seen:
        return f"the canary was not seen: {canary.reason}"
    for trace in traced.traces:
        reason = _why_trace_incomplete(trace)
        if reason is not None:
            return f"process {trace.pid}: {reason}"
    return _why_untraced(traced)


def why_elsewhere(traced: TracedRun) -> str | None:
    """Say why work may have been done that is no CUDA; none where it can't have been."""
    libraries = traced.run.libraries
    if libraries is None:
        return "the dynamic linker left no record of what was loaded"
    interfaces = unseen_interfaces(libraries)
    if interfaces:
        return f"the process loaded {', '.join(interfaces)}, which the tracer can't see"
    return None


def _why_trace_incomplete(trace: ProcessTrace) -> str | None:
    if trace.blind is not None:
        return trace.blind
    if not trace.is_complete:
        return "the trace has no end"
    if trace.lost:
        return f"{trace.lost} records were lost"
    kinds = [event.kind for event in trace.events if event.result == 0]
    if EventKind.GRAPH_LAUNCH in kinds and (trace.dropped or EventKind.GRAPH_KERNEL not in kinds):
        return "a graph was launched whose kernels were not all told"
    return None


def _why_untraced(traced: TracedRun) -> str | None:
    """Hold the tracer against NVML: a process that NVML saw on the device has to have a trace."""
    known = {trace.pid for trace in traced.traces}
    strangers = sorted({pid for sample in traced.run.samples for pid in sample.pids} - known)
    if strangers:
        return f"NVML saw process {strangers[0]} on the device, and it left no trace"
    return None
