"""Child processes that end with the supervisor, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from migrations_tracker.supervisor.account import Account
from workers.parent_death import end_with_parent


def spawn(
    command: Sequence[str],
    *,
    account: Account | None = None,
    environment: Mapping[str, str],
    folder: Path,
    output: IO[Any] | int,
    death_signal: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own that the kernel signals when the supervisor dies.

    A session of its own keeps the terminal's Ctrl-C away from it, so that the supervisor decides the order
    of the stop. The kernel ties the death signal to the *thread* that starts the process: call this from the
    main thread.
    """
    return subprocess.Popen(
        list(command),
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=end_with_parent(death_signal),
        user=None if account is None else account.uid,
        group=None if account is None else account.gid,
        extra_groups=None if account is None else [],
    )


def stop(process: subprocess.Popen[bytes], *, ask: signal.Signals, patience_seconds: float) -> bool:
    """End a process and all of its session: ask, wait, kill what is left; tell whether asking was enough."""
    obeyed = True
    if process.poll() is None:
        process.send_signal(ask)
        try:
            process.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            obeyed = False
    kill_session(process)
    process.wait()
    return obeyed


def kill_session(process: subprocess.Popen[bytes]) -> None:
    """Kill every process of the group that the child leads, also after the child itself has ended."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def is_running(pid: int) -> bool:
    """Tell whether a process exists and is more than a zombie that nobody has collected yet."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    status = Path(f"/proc/{pid}/stat")
    if not status.exists():
        return sys.platform != "linux"
    try:
        # The name, in parentheses, may hold spaces: the state is the first field after the last one.
        return status.read_text(errors="replace").rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (OSError, IndexError):
        return False
