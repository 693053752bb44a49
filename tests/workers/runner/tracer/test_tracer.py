"""The C tracer, fed with made-up driver calls by a stand-in for CUPTI."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.workers.runner.tracer.conftest import Stage
from workers.protocol.evidence import Direction, EventKind


def test_calls_are_written_in_order_with_what_activity_adds(stage: Stage, tmp_path: Path) -> None:
    code, (trace,) = stage.play("usual", tmp_path / "traces")
    assert code == 0
    assert trace.is_complete and trace.blind is None and trace.lost == 0
    assert trace.cupti_version == 130500
    assert trace.executable.endswith("/scenario")
    seen = [(event.kind, event.name, event.count, event.result, event.device_ns) for event in trace.events]
    assert seen == [
        (EventKind.MODULE_LOAD, "cuModuleLoadDataEx", 1, 0, None),
        (EventKind.COPY, "", 1, 0, 900),
        (EventKind.LAUNCH, "add_one", 2, 0, 3100),
        (EventKind.LAUNCH, "refused_one", 1, 1, None),
        (EventKind.GRAPH_LAUNCH, "", 1, 0, None),
        (EventKind.GRAPH_KERNEL, "in_graph", 1, 0, 700),
        (EventKind.COPY, "", 1, 0, None),
        (EventKind.COPY, "", 1, 0, 100),
    ]
    copies = [(event.direction, event.bytes) for event in trace.events if event.kind is EventKind.COPY]
    assert copies == [(Direction.TO_DEVICE, 4096), (Direction.TO_HOST, 4096), (Direction.TO_HOST, 64)]
    launch = trace.events[2]
    assert (launch.grid, launch.block, launch.caller) == ("4096x1x1", "256x1x1", "fake_cupti.so")


def test_a_launch_that_the_driver_refused_is_not_counted(stage: Stage, tmp_path: Path) -> None:
    _, (trace,) = stage.play("usual", tmp_path / "traces")
    assert trace.launches == 2


def test_a_killed_process_leaves_all_its_launches(stage: Stage, tmp_path: Path) -> None:
    code, (trace,) = stage.play("killed", tmp_path / "traces")
    assert code == -signal.SIGKILL
    assert not trace.is_complete
    assert trace.launches == 100
    assert [(event.name, event.count) for event in trace.events] == [("add_one", 100)]


def test_a_process_that_skips_its_exit_handlers_has_no_end(stage: Stage, tmp_path: Path) -> None:
    _, (trace,) = stage.play("left", tmp_path / "traces")
    assert not trace.is_complete
    assert trace.launches == 1


def test_a_forked_child_writes_nothing_into_its_parents_trace(stage: Stage, tmp_path: Path) -> None:
    _, (trace,) = stage.play("forked", tmp_path / "traces")
    assert trace.is_complete
    assert [event.name for event in trace.events] == ["parent"]


def test_launches_of_several_threads_are_all_there(stage: Stage, tmp_path: Path) -> None:
    _, (trace,) = stage.play("threads", tmp_path / "traces")
    assert trace.launches == 2000 and trace.lost == 0
    counts = dict.fromkeys(("one", "two", "three", "four"), 0)
    for event in trace.events:
        counts[event.name] += event.count
    assert set(counts.values()) == {500}
    assert len({event.thread for event in trace.events}) == 4


def test_managed_and_mapped_memory_are_told_and_host_functions_are_no_launches(
    stage: Stage, tmp_path: Path
) -> None:
    code, (trace,) = stage.play("managed", tmp_path / "traces")
    assert code == 0
    assert [event.kind for event in trace.events] == [EventKind.MANAGED_MEMORY, EventKind.MAPPED_MEMORY]


def test_a_second_tool_makes_the_tracer_blind(stage: Stage, tmp_path: Path) -> None:
    _, (trace,) = stage.play("usual", tmp_path / "traces", {"FAKE_SUBSCRIBED": "1"})
    assert trace.blind == "another tool is subscribed to CUPTI in this process"
    assert trace.events == ()


def test_a_missing_cupti_makes_the_tracer_blind(stage: Stage, tmp_path: Path) -> None:
    _, (trace,) = stage.play("managed", tmp_path / "traces", {"FERROAUDIT_CUPTI": "/nowhere/libcupti.so"})
    assert trace.blind is not None and "CUPTI was not loaded" in trace.blind


def test_records_that_cupti_dropped_are_counted(stage: Stage, tmp_path: Path) -> None:
    _, (trace,) = stage.play("usual", tmp_path / "traces", {"FAKE_DROPPED": "1"})
    assert trace.lost == 0 and trace.dropped == 7


def test_a_full_trace_counts_what_it_lost_and_still_ends(stage: Stage, tmp_path: Path) -> None:
    _, (trace,) = stage.play("threads", tmp_path / "traces", {"FERROAUDIT_TRACE_BYTES": "20000"})
    assert trace.is_complete
    assert trace.launches == 2000
    assert 1500 < trace.lost < 2000
    assert sum(path.stat().st_size for path in (tmp_path / "traces").iterdir()) <= 20000


def test_a_line_break_in_a_kernels_name_forges_no_line(stage: Stage, tmp_path: Path) -> None:
    _, (trace,) = stage.play("newline", tmp_path / "traces")
    assert [event.name for event in trace.events] == ["evil E 0 0"]
