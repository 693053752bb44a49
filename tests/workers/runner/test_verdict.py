"""Each verdict of the table, from evidence written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.runner.evidence import (
    CANARY,
    FAILED_RUN,
    IGNORED,
    NONE,
    RUN,
    download,
    event,
    launch,
    trace,
    traced,
    untraced,
    upload,
)
from workers.protocol.evidence import (
    CanaryReading,
    DeviceSample,
    Direction,
    Ending,
    EventKind,
    TestEvidence,
    TracedRun,
    TraceEvent,
)
from workers.protocol.job import Expect, Expectation, KernelFamily, SourceFacts, TestSpec
from workers.protocol.outcome import PROVED, Judgement, Verdict
from workers.runner.verdict import judge

KIB16 = 16384
CUBLAS = KernelFamily("cublas", libraries=("libcublas",), kernels=("gemm",))


def on_device(*kernels: str, **rest: object) -> Expectation:
    return replace(Expectation(Expect.ON_DEVICE, kernels=kernels or ("add_one",)), **rest)  # type: ignore[arg-type]


OPT_IN = Expectation(
    Expect.OPT_IN, opt_in_variable="ENABLE_FALLBACK", opt_in_kernel="softplus", error="PtxCompileFailed"
)
REFUSED = Expectation(Expect.REFUSED, error="Unsupported")
COMPOSITE = Expectation(Expect.COMPOSITE)


def judged(
    expectation: Expectation,
    plain: TracedRun | None,
    *,
    canary: CanaryReading | None = CANARY,
    facts: SourceFacts | None = None,
    **evidence: object,
) -> Judgement:
    test = TestSpec("proof", "t", expectation, facts or SourceFacts())
    return judge(test, TestEvidence(plain=plain, **evidence), canary, (CUBLAS,))  # type: ignore[arg-type]


def verdict(expectation: Expectation, plain: TracedRun | None, **rest: object) -> Verdict:
    return judged(expectation, plain, **rest).verdict  # type: ignore[arg-type]


# on-device


def test_expected_kernels_with_operands_that_stayed_ran_on_the_device() -> None:
    found = judged(on_device(), traced(upload(KIB16), launch("add_one"), download(KIB16)))
    assert found.verdict is Verdict.ON_DEVICE
    assert found.kernels == ("add_one",) and "add_one" in found.reason


def test_every_named_kernel_has_to_be_seen() -> None:
    found = judged(on_device("add_one", "add_two"), traced(upload(KIB16), launch("add_one")))
    assert found.verdict is Verdict.INCONCLUSIVE and "kernel add_two" in found.reason


def test_one_of_several_alternatives_is_enough() -> None:
    either = Expectation(Expect.ON_DEVICE, any_kernel=("add_f32", "add_f64"))
    assert verdict(either, traced(launch("add_f64"))) is Verdict.ON_DEVICE
    assert verdict(either, traced(launch("mul"))) is Verdict.INCONCLUSIVE


def test_a_library_is_known_by_the_caller_on_the_stack() -> None:
    product = Expectation(Expect.ON_DEVICE, families=("cublas",))
    assert verdict(product, traced(launch("xmma_k5", caller="libcublasLt.so.13"))) is Verdict.ON_DEVICE
    assert verdict(product, traced(launch("xmma_k5", caller="proof"))) is Verdict.INCONCLUSIVE


def test_a_mangled_name_is_the_kernels_name() -> None:
    assert verdict(on_device(), traced(launch("_Z7add_onePfj"))) is Verdict.ON_DEVICE
    assert verdict(on_device(), traced(launch("_Z10add_one_v2Pfj"))) is Verdict.INCONCLUSIVE


def test_a_launch_that_the_driver_refused_is_none() -> None:
    assert verdict(on_device(), traced(launch("add_one", result=1))) is Verdict.NO_KERNEL


def test_a_captured_launch_counts_when_its_graph_ran() -> None:
    captured = TraceEvent(EventKind.CAPTURED_LAUNCH, 0, 0, name="add_one", caller="proof")
    graph, kernel = event(EventKind.GRAPH_LAUNCH), event(EventKind.GRAPH_KERNEL, "add_one")
    assert verdict(on_device(), traced(captured)) is Verdict.NO_KERNEL
    assert verdict(on_device(), traced(captured, graph, kernel)) is Verdict.ON_DEVICE
    assert verdict(on_device(), traced(captured, graph)) is Verdict.INCONCLUSIVE


def test_the_work_of_a_child_process_counts() -> None:
    run = TracedRun(RUN, (trace(pid=7), trace(upload(KIB16), launch("add_one"), pid=8)))
    assert verdict(on_device(), run) is Verdict.ON_DEVICE


# refused


def test_an_asserted_error_without_a_copy_is_a_refusal() -> None:
    facts = SourceFacts(asserts_structured_error=True)
    assert verdict(REFUSED, traced(upload(KIB16)), facts=facts) is Verdict.REFUSED


@pytest.mark.parametrize("asserts", [None, False])
def test_a_refusal_that_nothing_asserts_proves_nothing(asserts: bool | None) -> None:
    facts = SourceFacts(asserts_structured_error=asserts)
    assert verdict(REFUSED, traced(upload(KIB16)), facts=facts) is Verdict.INCONCLUSIVE


def test_a_refusal_after_reading_the_operand_back_is_a_round_trip() -> None:
    facts = SourceFacts(asserts_structured_error=True)
    run = traced(upload(KIB16), download(KIB16))
    assert verdict(REFUSED, run, facts=facts) is Verdict.HOST_ROUND_TRIP


# opt-in-proved

REFUSING = replace(FAILED_RUN, stderr="called `Result::unwrap()` on PtxCompileFailed { kernel: softplus }")
WARNING = replace(RUN, stderr="WARN softplus on the host; unset ENABLE_FALLBACK\n")


def test_an_opt_in_is_refused_without_and_warns_with_the_variable() -> None:
    found = judged(OPT_IN, traced(upload(KIB16), run=REFUSING), opted_in=traced(run=WARNING))
    assert found.verdict is Verdict.OPT_IN_PROVED


def test_an_opt_in_that_passes_without_its_error_is_none() -> None:
    assert verdict(OPT_IN, traced(), opted_in=traced(run=WARNING)) is Verdict.FAILED


def test_an_opt_in_without_its_warning_is_none() -> None:
    quiet = replace(RUN, stderr="WARN softplus\nENABLE_FALLBACK\n")
    found = judged(OPT_IN, traced(run=REFUSING), opted_in=traced(run=quiet))
    assert found.verdict is Verdict.FAILED and "no line" in found.reason


def test_an_opt_in_that_reads_back_before_it_refuses_is_a_round_trip() -> None:
    run = traced(upload(KIB16), download(KIB16), run=REFUSING)
    assert verdict(OPT_IN, run, opted_in=traced(run=WARNING)) is Verdict.HOST_ROUND_TRIP


def test_an_opt_in_whose_host_body_fails_failed() -> None:
    found = judged(OPT_IN, traced(run=REFUSING), opted_in=traced(run=FAILED_RUN))
    assert found.verdict is Verdict.FAILED and "with ENABLE_FALLBACK" in found.reason


# composite


def test_kernels_of_other_operators_make_a_composite() -> None:
    assert verdict(COMPOSITE, traced(upload(KIB16), launch("sum"), launch("square"))) is Verdict.COMPOSITE


def test_a_composite_that_goes_through_the_host_is_none() -> None:
    run = traced(upload(KIB16), launch("sum"), download(KIB16), upload(KIB16), launch("square"))
    assert verdict(COMPOSITE, run) is Verdict.HOST_ROUND_TRIP


# host-round-trip


def test_an_operand_that_goes_to_the_host_before_the_kernel_is_a_round_trip() -> None:
    run = traced(upload(KIB16), download(KIB16), upload(KIB16), launch("add_one"), download(KIB16))
    assert verdict(on_device(), run) is Verdict.HOST_ROUND_TRIP


def test_copies_without_any_kernel_are_a_round_trip() -> None:
    assert verdict(on_device(), traced(upload(KIB16), download(KIB16))) is Verdict.HOST_ROUND_TRIP


def test_a_decoy_kernel_does_not_hide_a_round_trip() -> None:
    run = traced(launch("decoy"), upload(KIB16), download(KIB16), upload(KIB16))
    assert verdict(on_device(), run) is Verdict.HOST_ROUND_TRIP


@pytest.mark.parametrize(
    ("uploaded", "downloaded", "is_round_trip"),
    [
        (KIB16, KIB16 // 2, True),
        (KIB16, KIB16 // 2 - 1, False),
        (4096, 4096, True),
        (4096, 4095, False),
        (0, 4096, True),
        (8, 8, False),
    ],
)
def test_the_bound_is_half_of_the_largest_upload_and_4_kib(
    uploaded: int, downloaded: int, is_round_trip: bool
) -> None:
    run = traced(upload(uploaded), download(downloaded), launch("add_one"))
    assert verdict(on_device(), run) is (Verdict.HOST_ROUND_TRIP if is_round_trip else Verdict.ON_DEVICE)


def test_an_operand_read_in_pieces_is_read() -> None:
    run = traced(upload(KIB16), download(4, count=4096), launch("add_one"))
    assert verdict(on_device(), run) is Verdict.HOST_ROUND_TRIP


def test_a_copy_that_failed_took_nothing_to_the_host() -> None:
    run = traced(upload(KIB16), download(KIB16, result=1), launch("add_one"))
    assert verdict(on_device(), run) is Verdict.ON_DEVICE


def test_the_copies_of_one_process_do_not_accuse_another() -> None:
    traces = (trace(upload(KIB16), launch("add_one"), pid=8), trace(upload(KIB16), download(KIB16), pid=9))
    assert verdict(on_device(), TracedRun(RUN, traces)) is Verdict.ON_DEVICE


# no-kernel


def test_a_test_that_opens_no_device_ran_no_kernel() -> None:
    found = judged(on_device(), untraced())
    assert found.verdict is Verdict.NO_KERNEL and "no process initialised the driver" in found.reason


def test_a_test_that_opens_a_device_and_leaves_it_ran_no_kernel() -> None:
    assert verdict(on_device(), traced()) is Verdict.NO_KERNEL
    assert verdict(COMPOSITE, traced(upload(KIB16), download(4))) is Verdict.NO_KERNEL


# skipped, failed, crashed, timed-out, not-built, no-device


def test_an_ignored_test_is_skipped_with_its_reason() -> None:
    found = judged(on_device(), untraced(replace(RUN, stdout=IGNORED)))
    assert (found.verdict, found.reason) == (Verdict.SKIPPED, "ignored: not yet")


def test_a_name_that_no_test_has_is_skipped() -> None:
    assert verdict(on_device(), untraced(replace(RUN, stdout=NONE))) is Verdict.SKIPPED


def test_a_failed_test_failed_whatever_it_launched() -> None:
    assert verdict(on_device(), traced(launch("add_one"), run=FAILED_RUN)) is Verdict.FAILED


def test_success_without_the_harness_report_is_a_failure() -> None:
    assert verdict(on_device(), traced(launch("add_one"), run=replace(RUN, stdout="bye\n"))) is Verdict.FAILED


def test_a_report_that_the_test_printed_itself_is_none() -> None:
    forged = RUN.stdout + "more output\n" * 10
    assert verdict(on_device(), traced(launch("add_one"), run=replace(RUN, stdout=forged))) is Verdict.FAILED


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (Ending.SIGNALLED, Verdict.CRASHED),
        (Ending.MEMORY_LIMIT, Verdict.CRASHED),
        (Ending.DISK_LIMIT, Verdict.CRASHED),
        (Ending.PROCESS_LIMIT, Verdict.CRASHED),
        (Ending.NOT_STARTED, Verdict.CRASHED),
        (Ending.WALL_LIMIT, Verdict.TIMED_OUT),
        (Ending.CPU_LIMIT, Verdict.TIMED_OUT),
    ],
)
def test_an_end_that_was_not_the_tests_own_has_its_verdict(ending: Ending, expected: Verdict) -> None:
    run = replace(RUN, ending=ending, exit_code=None, detail="why")
    found = judged(on_device(), traced(launch("add_one"), run=run))
    assert (found.verdict, found.reason) == (expected, "why")


def test_what_was_not_built_or_has_no_device_says_why() -> None:
    assert judged(on_device(), None, not_built="error[E0425]").verdict is Verdict.NOT_BUILT
    assert judged(on_device(), None, no_device="NVML lists 0").reason == "NVML lists 0"
    assert verdict(on_device(), None) is Verdict.INCONCLUSIVE


# inconclusive

GOOD = traced(upload(KIB16), launch("add_one"))


@pytest.mark.parametrize("canary", [None, CanaryReading(seen=False, reason="no CUPTI")])
def test_without_the_canary_nothing_is_claimed_and_nobody_accused(canary: CanaryReading | None) -> None:
    assert verdict(on_device(), GOOD, canary=canary) is Verdict.INCONCLUSIVE
    assert verdict(on_device(), untraced(), canary=canary) is Verdict.INCONCLUSIVE
    facts = SourceFacts(asserts_structured_error=True)
    assert verdict(REFUSED, traced(), canary=canary, facts=facts) is Verdict.INCONCLUSIVE


def test_a_blind_or_cut_or_lossy_trace_is_inconclusive() -> None:
    for change in ({"blind": "another tool"}, {"is_complete": False}, {"lost": 3}):
        run = TracedRun(RUN, (replace(GOOD.traces[0], **change),))
        assert verdict(on_device(), run) is Verdict.INCONCLUSIVE
        assert verdict(on_device("other"), run) is Verdict.INCONCLUSIVE


def test_lost_activity_is_lost_times_only() -> None:
    run = TracedRun(RUN, (replace(GOOD.traces[0], dropped=3),))
    assert verdict(on_device(), run) is Verdict.ON_DEVICE


def test_another_interface_than_cuda_is_no_accusation() -> None:
    vulkan = replace(RUN, libraries=("libc.so.6", "libvulkan.so.1"))
    found = judged(on_device(), untraced(vulkan))
    assert found.verdict is Verdict.INCONCLUSIVE and "Vulkan" in found.reason
    assert verdict(on_device(), replace(GOOD, run=vulkan)) is Verdict.ON_DEVICE


def test_without_the_linkers_record_no_kernel_is_not_claimed() -> None:
    assert verdict(on_device(), untraced(replace(RUN, libraries=None))) is Verdict.INCONCLUSIVE


def test_a_process_that_nvml_saw_and_no_trace_did_is_inconclusive() -> None:
    seen = replace(RUN, samples=(DeviceSample("GPU-0", polls=9, pids=(99,)),))
    found = judged(on_device(), untraced(seen))
    assert found.verdict is Verdict.INCONCLUSIVE and "99" in found.reason


@pytest.mark.parametrize(
    "hiding",
    [
        event(EventKind.MANAGED_MEMORY),
        event(EventKind.MAPPED_MEMORY),
        TraceEvent(EventKind.COPY, 0, 0, direction=Direction.UNKNOWN, bytes=1),
    ],
)
def test_memory_that_moves_unseen_leaves_open_where_operands_were(hiding: TraceEvent) -> None:
    assert verdict(on_device(), traced(hiding, launch("add_one"))) is Verdict.INCONCLUSIVE
    facts = SourceFacts(asserts_structured_error=True)
    assert verdict(REFUSED, traced(hiding), facts=facts) is Verdict.INCONCLUSIVE


# the facts beside the verdict


def test_whether_it_passes_without_a_gpu_stands_beside_the_verdict() -> None:
    assert judged(on_device(), GOOD, hidden=RUN).passes_without_gpu is True
    assert judged(on_device(), GOOD, hidden=FAILED_RUN).passes_without_gpu is False
    assert judged(on_device(), GOOD, hidden=replace(RUN, stdout=IGNORED)).passes_without_gpu is None
    assert judged(on_device(), GOOD).passes_without_gpu is None


def test_values_were_compared_only_if_something_was_read_back() -> None:
    facts = SourceFacts(compares_values=True)
    assert judged(on_device(), GOOD, facts=facts).compared_values is False
    read = traced(upload(KIB16), launch("add_one"), download(KIB16))
    assert judged(on_device(), read, facts=facts).compared_values is True
    assert judged(on_device(), read).compared_values is None


# rules that hold for all evidence

EVENTS = st.lists(
    st.one_of(
        st.sampled_from(["add_one", "other"]).map(launch),
        st.integers(0, 3 * KIB16).map(upload),
        st.integers(0, 3 * KIB16).map(download),
        st.sampled_from([event(EventKind.MANAGED_MEMORY), event(EventKind.MODULE_LOAD)]),
    ),
    max_size=8,
)
EXPECTATIONS = st.sampled_from([on_device(), REFUSED, COMPOSITE])


@given(EVENTS, EXPECTATIONS)
def test_an_unseen_canary_never_gives_a_proof(events: list[TraceEvent], expectation: Expectation) -> None:
    facts = SourceFacts(asserts_structured_error=True)
    unseen = CanaryReading(seen=False, reason="none")
    found = verdict(expectation, traced(*events), canary=unseen, facts=facts)
    assert found not in (*PROVED, Verdict.NO_KERNEL)


@given(EVENTS, EXPECTATIONS)
def test_no_proof_without_a_kernel_but_a_refusal(events: list[TraceEvent], expectation: Expectation) -> None:
    silent = [e for e in events if e.kind is not EventKind.LAUNCH]
    facts = SourceFacts(asserts_structured_error=True)
    found = verdict(expectation, traced(*silent), facts=facts)
    assert found not in PROVED or (found is Verdict.REFUSED and expectation is REFUSED)


@given(EVENTS)
def test_on_device_holds_only_if_no_operand_left_before_the_kernel(events: list[TraceEvent]) -> None:
    if verdict(on_device(), traced(*events)) is not Verdict.ON_DEVICE:
        return
    last = max(i for i, e in enumerate(events) if e.name == "add_one")
    before = [e for e in events[:last] if e.direction is Direction.TO_HOST]
    largest = max((e.bytes for e in events[:last] if e.direction is Direction.TO_DEVICE), default=0)
    assert all(e.bytes < 4096 or 2 * e.bytes < largest for e in before)
