"""Follows the processes that a command started, also those that left its process group."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Process:
    """One line of the process table."""

    pid: int
    parent: int
    session: int
    started: int
    memory_bytes: int
    state: str


def adopt_orphans() -> None:
    """Make this process the parent of what its children leave behind, so that it can be found and ended."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def process_table() -> Iterator[Process]:
    """List the processes of this machine."""
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            text = Path(entry.path, "stat").read_text("utf-8", "replace")
        except OSError:
            continue  # it ended in between
        # The command's name stands in brackets and may hold anything, brackets too.
        fields = text[text.rindex(")") + 2 :].split()
        yield Process(
            pid=int(entry.name),
            parent=int(fields[1]),
            session=int(fields[3]),
            started=int(fields[19]),
            memory_bytes=int(fields[21]) * _PAGE,
            state=fields[0],
        )


@dataclass(slots=True)
class Family:
    """A command's process and everything that descends from it."""

    root: int
    own_children: frozenset[int]
    members: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, root: int) -> Family:
        """Start following a process that this one has just started."""
        here = os.getpid()
        children = frozenset(p.pid for p in process_table() if p.parent == here and p.pid != root)
        return cls(root, children)

    def alive(self) -> list[Process]:
        """Give the members that live, after taking in those that are new."""
        table = {process.pid: process for process in process_table()}
        found: dict[int, Process] = {}
        # A child may stand before its parent in the table, so look until nothing new turns up.
        while True:
            fresh = [p for p in table.values() if p.pid not in found and self._belongs(p, found)]
            if not fresh:
                break
            found.update((process.pid, process) for process in fresh)
        self.members.update((process.pid, process.started) for process in found.values())
        return [process for process in found.values() if process.state != "Z"]

    def _belongs(self, process: Process, found: dict[int, Process]) -> bool:
        if process.pid == self.root or process.session == self.root or process.parent in found:
            return True
        if self.members.get(process.pid) == process.started:
            return True
        return process.parent == os.getpid() and process.pid not in self.own_children

    def kill(self, patience_s: float = 5.0) -> int:
        """End every member; give how many there were beside the root."""
        ended: set[int] = set()
        deadline = time.monotonic() + patience_s
        while alive := self.alive():
            for process in alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
                ended.add(process.pid)
            self._reap()
            if time.monotonic() > deadline:
                break
            time.sleep(0.005)
        self._reap()
        return len(ended - {self.root})

    def _reap(self) -> None:
        """Take the exit status of what was adopted; the root's is its waiter's."""
        for pid in self.members.keys() - {self.root}:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
