"""FT003: deferred-kernel."""

from __future__ import annotations

from collections.abc import Iterator

from audit.rules.base import Rule
from audit.rules.forms.deferred import (
    assumed_devices,
    branches_that_may_lie,
    dropped_launches,
    empty_placeholders,
    empty_starts,
    invented_figures,
    lying_arm,
    may_put_off,
    skipped_device,
    unchecked_launches,
    unmeasured_memory,
    unmeasured_times,
    waits_instead,
)
from audit.rules.forms.deferred_examples import INVALID, VALID
from audit.rules.forms.figures_examples import FIGURES_INVALID, FIGURES_VALID
from audit.rules.forms.stubs import Stubs
from audit.rules.forms.unknown_examples import STUB_INVALID, STUB_VALID
from audit.scanner.extract.facts import RegionKind
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.emitters import dropped_statements
from audit.scanner.profile import any_pattern
from audit.scanner.report import Level


class DeferredKernel(Rule):
    """
    ## What it does
    Checks for GPU paths that put the work off: `todo!()`, `unimplemented!()`, `panic!("not yet ..")`; and
    for success without the work: a device error that becomes `Ok`, a launch whose result is dropped, an
    initialisation that does nothing, an empty body that is to be written later, a branch for the device
    that returns at once, a device match that hands the input back, an empty buffer in place of a failed
    launch, a launch whose status only a debug build looks at, literals as measured figures or as a time or
    memory that could not be measured, a number of devices that nobody has asked for, a sleep in place of
    work, a code generator that drops what it does not know.

    ## Why is this bad?
    The operator is there and is exported; it aborts the process, or it returns a value that nobody
    computed. PyTorch raises an error that the caller can catch.

    ## Use instead
    Write the kernel, or return a structured error.

    ## Known problems
    `unreachable!()` is taken at its word, and so is a predicate that lists the variants of a kind. Figures
    that are computed from nothing look like any others.
    """

    id = "FT003"
    name = "deferred-kernel"
    level = Level.ERROR
    message = "puts off the work of a reachable GPU path"
    invalid = (*INVALID, *FIGURES_INVALID, *STUB_INVALID)
    valid = (*VALID, *FIGURES_VALID, *STUB_VALID)

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield stubs, and success without the work."""
        emitter = any_pattern(judgement.profile.gpu.emitter_patterns)
        stubs = Stubs(judgement)
        for function in judgement.product_functions_where(may_put_off, may_put_off):
            yield from stubs.of(function)
            yield from dropped_launches(judgement, function)
            yield from empty_starts(judgement, function)
            yield from empty_placeholders(judgement, function)
            yield from unchecked_launches(judgement, function)
            yield from invented_figures(judgement, function)
            yield from assumed_devices(judgement, function)
            yield from unmeasured_times(judgement, function)
            yield from unmeasured_memory(judgement, function)
            yield from waits_instead(judgement, function)
            if emitter.search(function.name):
                for start, end in dropped_statements(function):
                    yield Candidate(function.unit, start, end, function, "statement-dropped")
            for index in branches_that_may_lie(function):
                region = function.facts.regions[index]
                if region.kind == RegionKind.ARM:
                    yield from lying_arm(judgement, function, index, region)
                elif region.kind == RegionKind.THEN:
                    yield from skipped_device(judgement, function, index, region)
