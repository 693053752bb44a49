"""What a runner tells the server on its own: that it lives, and how its job ended."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from workers.protocol.codec import MalformedError
from workers.protocol.job import PROTOCOL_VERSION
from workers.protocol.readings import Probe

MAX_LOG_BYTES = 1024**2

#: A runner's name is part of its queue, its keys at the broker and its user there.
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,49}")


class Standing(StrEnum):
    """What the server wants of a runner."""

    ENABLED = "enabled"
    DRAINING = "draining"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """That a runner lives, and which lease it works under. `probe` comes with the first one."""

    runner_version: str
    job_id: str = ""
    lease_id: str = ""
    done: int = 0
    total: int = 0
    probe: Probe | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    """What the server says to a heartbeat: its wish, and whether the lease still holds."""

    standing: Standing
    is_lease_held: bool


@dataclass(frozen=True, slots=True)
class Registration:
    """What a runner gets once, against its registration token."""

    name: str
    token: str
    key: str
    key_id: str
    broker_url: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a runner leaves under its reply key where no server is reached: heartbeat or signed outcome."""

    heartbeat: Heartbeat | None = None
    outcome: str | None = None
    log: str = ""
    version: int = PROTOCOL_VERSION

    def __post_init__(self) -> None:
        """Refuse a report that says nothing, or two things."""
        if (self.heartbeat is None) == (self.outcome is None):
            raise MalformedError("a report holds either a heartbeat or an outcome")
        if self.version != PROTOCOL_VERSION:
            raise MalformedError(f"version {self.version}: this server speaks {PROTOCOL_VERSION}")


def queue_of(runner: str) -> str:
    """Name the queue that only this runner reads."""
    return f"gpu.{runner}"


def key_prefix_of(runner: str) -> str:
    """Name what all keys of this runner at the broker begin with: its user there sees no others."""
    return f"runner:{runner}:"


def reply_key_of(runner: str) -> str:
    """Name the list that the runner's reports go to."""
    return f"{key_prefix_of(runner)}reports"
