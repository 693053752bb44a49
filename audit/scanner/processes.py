"""Processes that work for the scanner."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import forkserver, get_context, resource_tracker
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def in_processes(function: Callable[[Item], Answer], items: Iterable[Item], jobs: int) -> Iterator[Answer]:
    """Yield the function's answers in the order of the items, from as many processes as there are jobs.

    Ctrl-C reaches every process of a terminal, and only this one answers it. A worker that died of it while
    it starts would leave the pool waiting for ever: so the signal is held back until all are on their way,
    and the server that they are forked from hands that on to them. What is not begun then is dropped.
    """
    # Starting the tracker unblocks the signal, so it comes first.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("forkserver"))
    try:
        try:
            forkserver.ensure_running()
            answers = pool.map(function, items)
        finally:
            # What was held back is raised right here: within the outer block.
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        yield from answers
    finally:
        pool.shutdown(cancel_futures=True)
