"""FT010: disabled-gpu-test."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.report import Level


class DisabledGpuTest(Rule):
    """
    ## What it does
    Checks for GPU tests that pass without a GPU: ignored, left early when no device is found, or compiled
    out.

    ## Why is this bad?
    A test that returns early is green on a machine where the GPU path is broken, or where there is none.
    It then tests nothing, and says that all is well.

    ## Use instead
    Let device creation fail the test (`expect("CUDA device")`), and gate the test on the crate's GPU
    feature.

    ## Known problems
    A skip that is decided in a macro of another crate is not seen.
    """

    id = "FT010"
    name = "disabled-gpu-test"
    level = Level.WARNING
    message = "passes without a GPU"
    invalid = (
        Example(
            "returns when no device is found",
            """
            #[test]
            fn adds_on_the_device() {
                let Ok(device) = GpuDevice::new(0) else {
                    return;  //~ FT010
                };
                assert!(device.ordinal() == 0);
            }
            """,
        ),
    )
    valid = (
        Example(
            "fails when no device is found",
            """
            #[test]
            fn adds_on_the_device() {
                let device = GpuDevice::new(0).expect("CUDA device");
                assert!(device.ordinal() == 0);
            }
            """,
        ),
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the early returns of GPU tests."""
        probe = re.compile("|".join(judgement.profile.tests.probe_patterns))
        for function in judgement.test_functions:
            flow = judgement.summaries.flow(function)
            for exit_ in function.facts.exits:
                if exit_.region == 0:
                    continue
                tests = flow.tests_at(exit_.start, exit_.region)
                if tests and probe.search(tests[0].subject):
                    yield Candidate(
                        function.unit,
                        exit_.start,
                        exit_.end,
                        function,
                        "early-return",
                        guard=tests[0].subject,
                    )
