"""What of the workers' log is worth a line."""

from __future__ import annotations

import logging

# Sent by the clock every few seconds; a line each would bury everything else.
ROUTINE_TASKS = (
    "migrations_tracker.tasks.rows_wake_lost",
    "migrations_tracker.tasks.claims_read",
    "migrations_tracker.tasks.notices_collect",
    "migrations_tracker.tasks.driver_answers_hear",
    "migrations_tracker.tasks.verification_nightly",
    "migrations_tracker.tasks.verification_runners_serve",
)
ROUTINE_LOGGERS = frozenset({"celery.worker.strategy", "celery.app.trace"})


class NotRoutine(logging.Filter):
    """Lets everything through but the receipt and the success of routine tasks."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether the record is worth a line."""
        if record.levelno > logging.INFO or record.name not in ROUTINE_LOGGERS:
            return True
        message = record.getMessage()
        return not any(task in message for task in ROUTINE_TASKS)
