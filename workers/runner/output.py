"""Keeps the beginning and the end of what a process writes, and counts the rest."""

from __future__ import annotations

import os
import threading
from collections import deque

_CHUNK = 65536


class CappedOutput:
    """Drains one pipe in a thread of its own; memory stays within twice the cap."""

    def __init__(self, descriptor: int, cap: int) -> None:
        """Start draining."""
        self._descriptor = descriptor
        self._half = max(cap // 2, 1)
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self.total = 0
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        while True:
            try:
                chunk = os.read(self._descriptor, _CHUNK)
            except OSError:
                break
            if not chunk:
                break
            self._keep(chunk)
        os.close(self._descriptor)

    def _keep(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = self._half - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not chunk:
            return
        self._tail.append(chunk)
        self._tail_bytes += len(chunk)
        while self._tail_bytes - len(self._tail[0]) >= self._half:
            self._tail_bytes -= len(self._tail.popleft())

    def text(self, patience_s: float = 5.0) -> str:
        """Wait for the end of the pipe and give what was kept."""
        self._thread.join(patience_s)
        tail = b"".join(self._tail)[-self._half :]
        dropped = self.total - len(self._head) - len(tail)
        gap = f"\n[{dropped} bytes left out]\n".encode() if dropped > 0 else b""
        # A NUL has no place in a database's text column.
        return (bytes(self._head) + gap + tail).decode("utf-8", "replace").replace("\x00", "\ufffd")
