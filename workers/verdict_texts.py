"""Verdicts in words for people; what each rests on is the policy's."""

from __future__ import annotations

from dataclasses import dataclass

from workers.protocol.outcome import Verdict


@dataclass(frozen=True, slots=True)
class VerdictText:
    """A verdict's label, what it says, and how it is coloured."""

    label: str
    meaning: str
    tone: str


VERDICT_TEXTS: dict[Verdict, VerdictText] = {
    Verdict.ON_DEVICE: VerdictText(
        "on the device", "The test passed, the kernels of the code were seen, and operands stayed.", "good"
    ),
    Verdict.REFUSED: VerdictText(
        "refused", "The structured error is asserted, and no operand went to the host.", "good"
    ),
    Verdict.OPT_IN_PROVED: VerdictText(
        "opt-in proved",
        "Refused without the variable; with it the test passed, and the log warns of kernel and variable.",
        "good",
    ),
    Verdict.COMPOSITE: VerdictText(
        "composite",
        "Kernels of other operators were seen, none of its own was expected; operands stayed.",
        "good",
    ),
    Verdict.HOST_ROUND_TRIP: VerdictText(
        "host round trip", "An operand-sized copy went to the host before the last expected kernel.", "error"
    ),
    Verdict.NO_KERNEL: VerdictText(
        "no kernel", "The test passed, the tracer saw everything, and nothing ran on the device.", "error"
    ),
    Verdict.SKIPPED: VerdictText("skipped", "The harness did not run it.", "warning"),
    Verdict.FAILED: VerdictText("failed", "The test failed.", "error"),
    Verdict.CRASHED: VerdictText("crashed", "The process was ended by a signal or a limit.", "error"),
    Verdict.TIMED_OUT: VerdictText("timed out", "The test ran longer than it may.", "warning"),
    Verdict.NOT_BUILT: VerdictText("not built", "The compiler refused it.", "warning"),
    Verdict.NO_DEVICE: VerdictText(
        "no device", "A reading says that the machine has no such device.", "neutral"
    ),
    Verdict.INCONCLUSIVE: VerdictText(
        "inconclusive",
        "The tracer may not have seen everything, or saw other kernels than expected.",
        "warning",
    ),
}
