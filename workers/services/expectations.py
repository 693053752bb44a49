"""From what the scanner knows of a test to what a runner is asked to see."""

from __future__ import annotations

from audit.scanner.proof.reaching import Launched, ReachingTest
from workers.protocol.job import Expect, Expectation, KernelFamily, SourceFacts, TestSpec

#: A library's kernels are known by the library that launches them, whatever they are called.
FAMILIES = tuple(
    KernelFamily(name, libraries=(f"lib{name}",))
    for name in ("cublas", "cusolver", "cufft", "curand", "cusparse", "cudnn", "nccl")
)
_FAMILY_NAMES = frozenset(family.name for family in FAMILIES)
#: More names than this say nothing: then every kernel counts, as one of a composite.
_MAX_KERNELS = 200


def spec_of(test: ReachingTest, launched: Launched) -> TestSpec:
    """Say what a test has to show: the kernels that the code under test launches, or a refusal."""
    return TestSpec(
        binary=test.binary,
        name=test.name,
        expectation=_expectation(test, launched),
        facts=SourceFacts(
            asserts_structured_error=test.asserts_structured_error, compares_values=test.compares_values
        ),
    )


def _expectation(test: ReachingTest, launched: Launched) -> Expectation:
    if test.asserts_structured_error and not test.compares_values:
        return Expectation(Expect.REFUSED, error=test.error or None)
    families = tuple(family for family in launched.families if family in _FAMILY_NAMES)
    if 0 < len(launched.kernels) <= _MAX_KERNELS and not families:
        return Expectation(Expect.ON_DEVICE, any_kernel=launched.kernels)
    if not launched.kernels and len(families) == 1:
        return Expectation(Expect.ON_DEVICE, families=families)
    # Kernels of its own or a library's, and the code decides at run time: any kernel counts.
    return Expectation(Expect.COMPOSITE)
