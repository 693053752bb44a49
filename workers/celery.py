"""The server's Celery app: its queues, what goes where, and what happens by the clock."""

from __future__ import annotations

import os
import signal

from celery import Celery
from celery.signals import worker_process_init
from kombu import Queue

from workers.parent_death import end_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "migrations_tracker.settings")

SCAN_QUEUE = "scan"
DEFAULT_QUEUE = "default"
# Longer than any task that acknowledges late, or the broker would hand a running one out again.
VISIBILITY_TIMEOUT_SECONDS = 2 * 3600

app = Celery("ferroaudit")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    # A row in PostgreSQL is the truth and a message only a wake-up: nothing is kept of a task's return value.
    result_backend=None,
    task_ignore_result=True,
    accept_content=["json"],
    task_serializer="json",
    event_serializer="json",
    timezone="UTC",
    task_queues=[Queue(SCAN_QUEUE), Queue(DEFAULT_QUEUE)],
    task_default_queue=DEFAULT_QUEUE,
    task_create_missing_queues=True,
    task_routes={
        "migrations_tracker.tasks.scan_*": {"queue": SCAN_QUEUE},
    },
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_cancel_long_running_tasks_on_connection_loss=True,
    broker_connection_retry_on_startup=True,
    broker_transport_options={
        "visibility_timeout": VISIBILITY_TIMEOUT_SECONDS,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
        # A web request that cannot reach the broker fails in seconds; the row is sent again by the clock.
        "socket_connect_timeout": 3,
        "socket_timeout": 30,
    },
    task_publish_retry_policy={"max_retries": 1, "interval_start": 0.1},
    beat_scheduler="django_celery_beat.schedulers:DatabaseScheduler",
    # New rows of the schedule count within seconds, not after the scheduler's five minutes.
    beat_max_loop_interval=5,
    beat_schedule={
        "send lost and waiting rows again": {
            "task": "migrations_tracker.tasks.rows_wake_lost",
            "schedule": 20.0,
        },
        "read what commits claim": {
            "task": "migrations_tracker.tasks.claims_read",
            "schedule": 30.0,
        },
        "index what changed": {
            "task": "migrations_tracker.tasks.search_refresh",
            "schedule": 30.0,
        },
        "tell of what happened": {
            "task": "migrations_tracker.tasks.notices_collect",
            "schedule": 30.0,
        },
        "mail reports that are written": {
            "task": "migrations_tracker.tasks.report_mails_make",
            "schedule": 60.0,
        },
        "open what was suppressed until yesterday": {
            "task": "migrations_tracker.tasks.suppressions_expire",
            "schedule": 600.0,
        },
        "verify by night": {
            "task": "migrations_tracker.tasks.verification_nightly",
            "schedule": 600.0,
        },
        "scan again what drivers were asked about": {
            "task": "migrations_tracker.tasks.driver_answers_hear",
            "schedule": 300.0,
        },
        "hear runners and give them jobs": {
            "task": "migrations_tracker.tasks.verification_runners_serve",
            "schedule": 10.0,
        },
    },
)
app.autodiscover_tasks()


@worker_process_init.connect
def end_with_the_worker(**kwargs: object) -> None:
    """End a process of the pool with its worker: orphans would hold tasks that nobody is waiting for."""
    end_with_parent(signal.SIGKILL, parent=os.getppid())()
