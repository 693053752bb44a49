"""A trace is text from a tested process: it is read, and not believed."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from workers.protocol.evidence import EventKind
from workers.runner.tracer.trace import TraceError, read_trace, read_traces

START = "S 1 7 1 130000 1 /proof\n"
NAME = "F 3 proof\tadd_one\n"


def launch(sequence: int) -> str:
    return f"L {sequence} {sequence} 7 {sequence} 0 3 1x1x1 1x1x1\n"


def test_lines_of_several_threads_are_put_in_order() -> None:
    trace = read_trace(START + NAME + launch(2) + "C 1 1 8 9 0 to-device 64\n" + launch(0) + "E 2 0 0\n")
    assert [event.kind for event in trace.events] == [EventKind.LAUNCH, EventKind.COPY, EventKind.LAUNCH]
    assert trace.is_complete and trace.lost == 0


def test_a_last_line_that_was_cut_is_left_out() -> None:
    trace = read_trace(START + NAME + launch(0) + "L 1 1 7")
    assert (trace.launches, trace.is_complete, trace.lost) == (1, False, 0)


def test_a_line_that_the_tracer_cannot_have_written_is_counted_as_lost() -> None:
    trace = read_trace(START + "L one two\nQ\nC 1 1 7 9 0 sideways 64\nk 99 3 5\n" + "E 0 0 0\n")
    assert (trace.events, trace.lost) == ((), 4)


def test_events_beyond_the_cap_are_counted_as_lost() -> None:
    lines = "".join(f"C {n} {n} 7 {n} 0 to-device {n}\n" for n in range(10))
    trace = read_trace(START + lines + "E 0 0 0\n", max_events=4)
    assert (len(trace.events), trace.lost) == (4, 6)


def test_what_is_no_trace_file_makes_the_run_blind_and_stops_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "trace-1-1.txt")
    (tmp_path / "trace-2-2.txt").symlink_to("/etc/passwd")
    (tmp_path / "trace-3-3.txt").write_text("nonsense\nnonsense\n")
    traces = read_traces(tmp_path)
    assert len(traces) == 3 and all(trace.blind for trace in traces)


LINES = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(
            [START.strip(), NAME.strip(), launch(1).strip(), "E 1 0 0", "G 5 5 7 5 0 ", "k 5 3 9"]
        ),
        st.tuples(st.sampled_from("SBFLXGCMUPkmE"), st.lists(st.integers(-9, 2**70), max_size=9)).map(
            lambda pair: " ".join([pair[0], *map(str, pair[1])])
        ),
    ),
    max_size=12,
)


@given(LINES)
def test_no_text_makes_the_reader_raise_anything_else(lines: list[str]) -> None:
    try:
        trace = read_trace("\n".join(lines) + "\n")
    except TraceError:
        return
    assert all(event.count >= 1 for event in trace.events)
