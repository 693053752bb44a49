"""Runs one test as often as its proof needs: as it is, with every GPU hidden, with the opt-in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from workers.protocol.evidence import CanaryReading, RunRecord, TestEvidence, TracedRun
from workers.protocol.job import Expect, Limits, TestSpec
from workers.runner.execute import Sampler, User, run, scratch_folder
from workers.runner.libtest import harness_command
from workers.runner.tracer.build import Tracer
from workers.runner.tracer.trace import read_traces

CANARY_KERNEL = "ferroaudit_canary"

#: Every interface that is known to reach a GPU is told that there is none.
HIDDEN = {
    "CUDA_VISIBLE_DEVICES": "-1",
    "HIP_VISIBLE_DEVICES": "-1",
    "ROCR_VISIBLE_DEVICES": "-1",
    "VK_LOADER_DRIVERS_DISABLE": "*",
}


@dataclass(frozen=True, slots=True)
class Trial:
    """What all runs of a job share."""

    work: Path
    limits: Limits
    tracer: Tracer | None
    user: User | None = None
    sampler: Sampler | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    max_events: int = 20_000

    def canary(self) -> CanaryReading:
        """Launch one kernel in the tests' environment, and look for it in the trace."""
        if self.tracer is None:
            return CanaryReading(seen=False, reason="there is no tracer on this machine")
        traced = self._traced([str(self.tracer.canary)], {}, self.limits)
        names = [event.name for trace in traced.traces for event in trace.events]
        blind = next((trace.blind for trace in traced.traces if trace.blind), None)
        if CANARY_KERNEL in names and traced.run.exit_code == 0:
            return CanaryReading(seen=True, reason="", traced=traced)
        said = (traced.run.stdout + traced.run.stderr).strip()[-500:]
        reason = blind or f"{traced.run.detail or said}; kernels in the trace: {names}"
        return CanaryReading(seen=False, reason=reason, traced=traced)

    def evidence(self, test: TestSpec, binary: Path) -> TestEvidence:
        """Run a test on the device and without it."""
        command = harness_command(str(binary), test.name, include_ignored=test.include_ignored)
        limits = self._limits(test)
        plain = self._traced(command, {}, limits)
        hidden = self.hidden(test, binary)
        opted_in = None
        if test.expectation.kind is Expect.OPT_IN and test.expectation.opt_in_variable:
            opted_in = self._traced(command, {test.expectation.opt_in_variable: "1"}, limits)
        return TestEvidence(plain=plain, hidden=hidden, opted_in=opted_in)

    def hidden(self, test: TestSpec, binary: Path) -> RunRecord:
        """Run a test with every GPU hidden."""
        command = harness_command(str(binary), test.name, include_ignored=test.include_ignored)
        environment = {**self.environment, **HIDDEN}
        with scratch_folder(self.work, self.user) as scratch:
            return run(
                command,
                scratch=scratch,
                limits=self._limits(test),
                environment=environment,
                user=self.user,
                watch_linker=False,
            )

    def _limits(self, test: TestSpec) -> Limits:
        return self.limits if test.wall_s is None else replace(self.limits, wall_s=test.wall_s)

    def _traced(self, command: list[str], extra: Mapping[str, str], limits: Limits) -> TracedRun:
        with scratch_folder(self.work, self.user) as scratch:
            environment = {**self.environment, **extra}
            if self.tracer is not None:
                environment |= self.tracer.environment(scratch.traces, limits.trace_bytes)
            record = run(
                command,
                scratch=scratch,
                limits=limits,
                environment=environment,
                user=self.user,
                sampler=self.sampler,
            )
            return TracedRun(record, read_traces(scratch.traces, self.max_events))
