"""Asks NVML: which devices there are, and which processes are on them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pynvml as _pynvml  # type: ignore[import-untyped]

from workers.protocol.evidence import DeviceSample

#: NVML's Python binding carries no types.
nvml: Any = _pynvml

_SAMPLE_S = 0.005


def text(value: Any) -> str:
    """Give what NVML returns as text: older versions return bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


@contextmanager
def nvml_session() -> Iterator[None]:
    """Open NVML and close it again."""
    nvml.nvmlInit()
    try:
        yield
    finally:
        nvml.nvmlShutdown()


class NvmlSampler:
    """Polls the devices' processes in a thread, so that presence on a device is a measurement."""

    def __init__(self) -> None:
        """Prepare; nothing is asked yet."""
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._polls = 0
        self._memory: list[dict[int, int]] = []
        self._energy: list[int | None] = []
        self._uuids: list[str] = []
        self._error: str | None = None

    def start(self) -> None:
        """Begin to poll."""
        self.__init__()  # type: ignore[misc]  # every run starts from nothing
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def stop(self, pids: frozenset[int]) -> tuple[DeviceSample, ...]:
        """End polling and keep what belongs to these processes."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(5)
        if self._error is not None and not self._uuids:
            return (DeviceSample(device="", polls=0, error=self._error),)
        return tuple(
            DeviceSample(
                device=uuid,
                polls=self._polls,
                peak_process_memory_bytes=max((memory.get(pid, 0) for pid in pids), default=0),
                pids=tuple(sorted(pids & memory.keys())),
                energy_mj=energy,
                error=self._error,
            )
            for uuid, memory, energy in zip(self._uuids, self._memory, self._energy, strict=True)
        )

    def _poll(self) -> None:
        try:
            with nvml_session():
                handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
                self._memory = [{} for _ in handles]
                self._energy = [None for _ in handles]
                self._uuids = [text(nvml.nvmlDeviceGetUUID(handle)) for handle in handles]
                before = [_energy(handle) for handle in handles]
                while True:
                    self._look(handles)
                    if self._over.wait(_SAMPLE_S):
                        break
                after = [_energy(handle) for handle in handles]
                self._energy = [
                    b - a if a is not None and b is not None else None
                    for a, b in zip(before, after, strict=True)
                ]
        except nvml.NVMLError as error:
            self._error = str(error)

    def _look(self, handles: list[Any]) -> None:
        for memory, handle in zip(self._memory, handles, strict=True):
            for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle):
                used = process.usedGpuMemory or 0
                memory[process.pid] = max(memory.get(process.pid, 0), used)
        self._polls += 1


def _energy(handle: Any) -> int | None:
    try:
        return int(nvml.nvmlDeviceGetTotalEnergyConsumption(handle))
    except nvml.NVMLError:
        return None
