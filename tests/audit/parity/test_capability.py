"""Which state follows from which implementations."""

from __future__ import annotations

from itertools import chain, combinations

import pytest

from audit.parity.capability import Case, Cell, Effect, Implementation, Layer, Place, State, derive, state_of
from audit.parity.catalogue import Direction
from audit.parity.counterparts import Support, SupportState

CASE = Case("aten::abs", "float64", "cuda", Direction.BACKWARD)
CAN = Support(SupportState.KERNEL, "abs lists float64")
REFUSES = Support(SupportState.REFUSED, "abs does not")


def implementation(
    *effects: Effect, layer: Layer = Layer.BACKEND, line: int = 1, is_called: bool = True, broken: str = ""
) -> Implementation:
    place = Place("a.rs", line, f"f{line}")
    return Implementation(place, layer, frozenset(effects), is_called=is_called, broken_ptx=broken)


def cell(*rows: Implementation, support: Support = CAN) -> Cell:
    return derive(CASE, rows, support)


@pytest.mark.parametrize(
    ("effects", "state"),
    [
        ((Effect.LAUNCH,), State.KERNEL),
        ((Effect.LAUNCH, Effect.HOST_READ), State.KERNEL_OR_FALLBACK),
        ((Effect.LAUNCH, Effect.GATED_HOST_READ), State.OPT_IN_FALLBACK),
        ((Effect.HOST_READ,), State.FALLBACK),
        ((Effect.GATED_HOST_READ,), State.OPT_IN_FALLBACK),
        ((Effect.STRUCTURED_ERROR,), State.STRUCTURED_ERROR),
        ((Effect.TEXT_ERROR,), State.TEXT_ERROR),
        ((Effect.DEVICE_OPERATORS,), State.COMPOSITE),
        ((Effect.HOST,), State.HOST_ONLY),
    ],
)
def test_effects_decide_the_state(effects: tuple[Effect, ...], state: State) -> None:
    assert state_of(implementation(*effects)) is state


def test_every_set_of_effects_has_a_state_and_a_host_read_is_never_clean() -> None:
    sets = chain.from_iterable(combinations(Effect, n) for n in range(len(Effect) + 1))
    for effects in sets:
        state = state_of(implementation(*effects))
        if Effect.HOST_READ in effects:
            assert not state.can


def test_a_kernel_whose_ptx_is_rejected_is_broken() -> None:
    assert state_of(implementation(Effect.LAUNCH, broken="ABS_F64_PTX")) is State.BROKEN_KERNEL


def test_the_worst_of_what_a_call_needs_decides_and_is_the_proof() -> None:
    good, bad = implementation(Effect.LAUNCH, line=1), implementation(Effect.TEXT_ERROR, line=2)
    found = cell(good, bad)
    assert found.state is State.TEXT_ERROR
    assert found.proof == bad


def test_the_host_half_of_an_operator_with_a_device_path_is_on_no_way() -> None:
    device = implementation(Effect.LAUNCH)
    host = implementation(Effect.STRUCTURED_ERROR, layer=Layer.OPERATION, line=2)
    assert cell(device, host).state is State.KERNEL
    assert cell(host).state is State.STRUCTURED_ERROR


def test_a_kernel_that_nothing_calls_does_not_serve() -> None:
    kernel = implementation(Effect.LAUNCH, layer=Layer.KERNEL, is_called=False)
    found = cell(kernel)
    assert found.state is State.UNCALLED_KERNEL
    assert found.proof == kernel
    assert found.is_gap


def test_kernels_count_only_where_no_layer_above_does() -> None:
    kernel = implementation(Effect.LAUNCH, layer=Layer.KERNEL)
    above = implementation(Effect.HOST_READ, layer=Layer.OPERATION, line=2)
    assert cell(kernel).state is State.KERNEL
    assert cell(kernel, above).state is State.FALLBACK


def test_of_two_called_kernels_the_better_one_counts() -> None:
    fallback = implementation(Effect.LAUNCH, Effect.HOST_READ, layer=Layer.KERNEL, line=1)
    clean = implementation(Effect.LAUNCH, layer=Layer.KERNEL, line=2)
    assert cell(fallback, clean).state is State.KERNEL


def test_device_code_counts_only_without_a_function_that_launches_it() -> None:
    code = implementation(Effect.LAUNCH, layer=Layer.DEVICE_CODE, line=1)
    reads_back = implementation(Effect.LAUNCH, Effect.HOST_READ, layer=Layer.KERNEL, line=2)
    assert cell(code).state is State.KERNEL
    assert cell(code, reads_back).state is State.KERNEL_OR_FALLBACK


def test_without_any_code_the_case_is_absent() -> None:
    assert cell().state is State.ABSENT
    assert cell().proof is None


def test_a_gap_is_what_pytorch_can_and_the_code_can_not() -> None:
    assert cell(implementation(Effect.TEXT_ERROR)).is_gap
    assert not cell(implementation(Effect.TEXT_ERROR), support=REFUSES).is_gap
    assert not cell(implementation(Effect.LAUNCH)).is_gap


def test_on_the_cpu_any_operation_serves() -> None:
    case = Case("aten::abs", "float64", "cpu", Direction.FORWARD)
    assert derive(case, [implementation(Effect.HOST, layer=Layer.OPERATION)], CAN).state is State.KERNEL
