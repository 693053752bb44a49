"""Nothing outlives a worker that is killed."""

from __future__ import annotations

import os
import signal

import psutil

from tests.fixtures.worker import WorkerProcess


def test_the_pool_ends_with_a_worker_that_is_killed(worker: WorkerProcess) -> None:
    pool = psutil.Process(worker.process.pid).children()
    assert pool
    # The worker alone, not its group: that is what the kernel does when memory runs out.
    os.kill(worker.process.pid, signal.SIGKILL)
    _, alive = psutil.wait_procs(pool, timeout=15)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []
