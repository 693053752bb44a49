"""The programs that make up the product: the pages, the worker and the clock."""

from __future__ import annotations

import os
import signal
import sys

from migrations_tracker.supervisor.ports import LOOPBACK
from migrations_tracker.supervisor.watch import Program
from workers.celery import DEFAULT_QUEUE, SCAN_QUEUE

ACCESS_LINE = "%(m)s %(U)s %(s)s %(M)s ms"
# `up` is for one person's machine, where the worker may be root like everything else; it accepts JSON only.
ROOT_WARNING = "ignore:You're running the worker with superuser privileges"
CELERY = (sys.executable, "-W", ROOT_WARNING, "-m", "celery", "--quiet", "-A", "workers.celery")


def web(port: int) -> Program:
    """Return the program that serves the pages."""
    return Program(
        "web",
        (
            *(sys.executable, "-m", "gunicorn", "migrations_tracker.wsgi:application"),
            *(
                "--bind",
                f"{LOOPBACK}:{port}",
                "--workers",
                "1",
                "--worker-class",
                "gthread",
                "--threads",
                "8",
            ),
            *(
                "--log-level",
                "warning",
                "--access-logfile",
                "-",
                "--access-logformat",
                ACCESS_LINE,
            ),
            *("--no-control-socket", "--worker-tmp-dir", _memory_folder()),
        ),
        patience_seconds=5,
    )


def worker() -> Program:
    """Return the program that does the tasks, with as many processes as the machine has cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Program(
        "worker",
        (
            *CELERY,
            *("worker", "--concurrency", str(max(1, cores)), "--loglevel", "INFO", "--hostname", "local@%h"),
            # The queue for GPUs is for runners.
            *("--queues", f"{SCAN_QUEUE},{DEFAULT_QUEUE}", "--without-gossip", "--without-mingle"),
        ),
        # A scan under way may end in this time; a longer one is taken up again at the next start.
        patience_seconds=8,
        # Asked politely, a worker whose broker ends too would wait for it for ever.
        death_signal=signal.SIGKILL,
    )


def beat() -> Program:
    """Return the program that sends tasks by the clock."""
    return Program("beat", (*CELERY, "beat", "--loglevel", "WARNING", "--pidfile="), patience_seconds=5)


def _memory_folder() -> str:
    # gunicorn's heartbeat file on a slow disk can block a worker; it recommends a folder in memory.
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"  # noqa: S108
