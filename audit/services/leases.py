"""Taking a row for a limited time, keeping it, and finding what was lost.

Times are the database's own: the clocks of two workers need not agree.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.db.models import F, Q
from django.db.models.functions import Now

from audit.errors import LeaseLostError
from audit.models.lease import MAX_ATTEMPTS, LeasedRow, RowState

LEASE = timedelta(seconds=60)
HEARTBEAT_SECONDS = 10.0
PROGRESS_SECONDS = 0.5
WAKE_AGAIN_AFTER = timedelta(seconds=60)
WAKE_AT_MOST = 100
LOST_REASON = f"Its worker was lost {MAX_ATTEMPTS} times. Look into the worker's log, then ask again."


def lease_claim(*, model: type[LeasedRow], pk: int, lease: timedelta = LEASE) -> uuid.UUID | None:
    """Take a waiting row, or one whose worker was lost.

    Returns None when somebody else holds the row, or when there is nothing left to do.
    """
    lease_id = uuid.uuid4()
    claimed = (
        model._default_manager.filter(pk=pk, attempts__lt=MAX_ATTEMPTS)
        .filter(Q(state=RowState.PENDING) | Q(state=RowState.RUNNING, lease_expires_at__lt=Now()))
        .update(
            state=RowState.RUNNING,
            lease_id=lease_id,
            lease_expires_at=Now() + lease,
            heartbeat_at=Now(),
            started_at=Now(),
            attempts=F("attempts") + 1,
        )
    )
    return lease_id if claimed else None


def lease_extend(*, row: LeasedRow, lease_id: uuid.UUID, lease: timedelta = LEASE, **columns: object) -> bool:
    """Say that the worker is alive, and store its progress. False when the lease is lost."""
    return bool(
        type(row)
        ._default_manager.filter(pk=row.pk, state=RowState.RUNNING, lease_id=lease_id)
        .update(lease_expires_at=Now() + lease, heartbeat_at=Now(), **columns)
    )


def lease_finish(
    *, row: LeasedRow, lease_id: uuid.UUID, state: RowState, reason: str = "", **columns: object
) -> None:
    """Close the row, or raise `LeaseLostError` where it is no longer this worker's."""
    closed = (
        type(row)
        ._default_manager.filter(pk=row.pk, state=RowState.RUNNING, lease_id=lease_id)
        .update(
            state=state,
            failure_reason=reason,
            finished_at=Now(),
            lease_id=None,
            lease_expires_at=None,
            **columns,
        )
    )
    if not closed:
        raise LeaseLostError(f"{row} was taken over or cancelled.")


def lease_cancel(*, row: LeasedRow, actor: User) -> bool:
    """End a row that waits or runs, and note who did; its worker loses the lease. False when it was over."""
    return bool(
        type(row)
        ._default_manager.filter(pk=row.pk, state__in=[RowState.PENDING, RowState.RUNNING])
        .update(
            state=RowState.CANCELLED,
            cancelled_by=actor,
            finished_at=Now(),
            lease_id=None,
            lease_expires_at=None,
        )
    )


def lease_return(*, row: LeasedRow, lease_id: uuid.UUID, reason: str, wait: timedelta) -> None:
    """Give a row back, to be taken again after a while; `reason` says why it was not done."""
    returned = (
        type(row)
        ._default_manager.filter(pk=row.pk, state=RowState.RUNNING, lease_id=lease_id)
        .update(
            state=RowState.PENDING,
            failure_reason=reason,
            lease_id=None,
            lease_expires_at=None,
            woken_at=Now() + wait - WAKE_AGAIN_AFTER,
        )
    )
    if not returned:
        raise LeaseLostError(f"{row} was taken over or cancelled.")


def lease_again(*, row: LeasedRow) -> bool:
    """Let a row that failed or was cancelled wait anew. False where it did neither."""
    return bool(
        type(row)
        ._default_manager.filter(pk=row.pk, state__in=[RowState.FAILED, RowState.CANCELLED])
        .update(
            state=RowState.PENDING,
            failure_reason="",
            attempts=0,
            woken_at=None,
            finished_at=None,
            cancelled_by=None,
        )
    )


def lease_fail(*, row: LeasedRow, lease_id: uuid.UUID, reason: str) -> None:
    """Close the row as failed. Where somebody else has it by now, what happens to it is theirs to say."""
    with suppress(LeaseLostError):
        lease_finish(row=row, lease_id=lease_id, state=RowState.FAILED, reason=reason)


def lease_give_up_lost(*, model: type[LeasedRow]) -> int:
    """Fail the rows whose workers were lost too often; return how many."""
    return model._default_manager.filter(
        state=RowState.RUNNING, lease_expires_at__lt=Now(), attempts__gte=MAX_ATTEMPTS
    ).update(
        state=RowState.FAILED,
        failure_reason=LOST_REASON,
        finished_at=Now(),
        lease_id=None,
        lease_expires_at=None,
    )


def lease_wake(*, model: type[LeasedRow]) -> list[int]:
    """List the rows a worker has to be told of again, and note that it was."""
    due = (
        model._default_manager.filter(attempts__lt=MAX_ATTEMPTS)
        .filter(Q(state=RowState.PENDING) | Q(state=RowState.RUNNING, lease_expires_at__lt=Now()))
        .filter(Q(woken_at=None) | Q(woken_at__lt=Now() - WAKE_AGAIN_AFTER))
        .order_by("pk")
        .values_list("pk", flat=True)[:WAKE_AT_MOST]
    )
    pks = list(due)
    model._default_manager.filter(pk__in=pks).update(woken_at=Now())
    return pks


class Heartbeat:
    """Keeps a lease from a thread of its own, so that a long silent phase does not lose it."""

    def __init__(self, row: LeasedRow, lease_id: uuid.UUID, lease: timedelta) -> None:
        self._row = row
        self._lease_id = lease_id
        self._lease = lease
        self._columns: Mapping[str, object] = {}
        self._stop = threading.Event()
        self._changed = threading.Event()
        self._is_lost = False

    def note(self, **columns: object) -> None:
        """Remember the newest progress for the next beat; raise `LeaseLostError` when the lease is lost."""
        if self._is_lost:
            raise LeaseLostError(f"{self._row} was taken over or cancelled.")
        self._columns = columns
        self._changed.set()

    def run(self) -> None:
        """Beat until told to stop."""
        interval = min(HEARTBEAT_SECONDS, self._lease.total_seconds() / 3)
        try:
            while not self._stop.is_set():
                self._changed.wait(interval)
                if self._stop.is_set():
                    return
                self._changed.clear()
                if not self._beat():
                    self._is_lost = True
                    return
                self._stop.wait(PROGRESS_SECONDS)
        finally:
            connection.close()

    def _beat(self) -> bool:
        columns, self._columns = self._columns, {}
        try:
            return lease_extend(row=self._row, lease_id=self._lease_id, lease=self._lease, **columns)
        except OperationalError:
            # The database restarts: the next beat tries again, and the lease decides whether it was in time.
            connection.close()
            return True

    def stop(self) -> None:
        """End the thread's loop."""
        self._stop.set()
        self._changed.set()


@contextmanager
def lease_kept(*, row: LeasedRow, lease_id: uuid.UUID, lease: timedelta = LEASE) -> Iterator[Heartbeat]:
    """Keep the lease while the block runs."""
    heartbeat = Heartbeat(row, lease_id, lease)
    thread = threading.Thread(target=heartbeat.run, name=f"lease-{row.pk}", daemon=True)
    thread.start()
    try:
        yield heartbeat
    finally:
        heartbeat.stop()
        thread.join()
