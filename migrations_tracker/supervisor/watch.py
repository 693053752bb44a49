"""Processes under watch: started together, shown, started again when they die, and ended together."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from migrations_tracker.supervisor.child import kill_session, spawn
from migrations_tracker.supervisor.console import Console
from migrations_tracker.supervisor.errors import SupervisorError

RESTARTS = 5
RESTART_WINDOW_SECONDS = 60.0
LONGEST_LINE = 16_384


@dataclass(frozen=True, slots=True)
class Program:
    """One long-running program of the product."""

    name: str
    command: tuple[str, ...]
    patience_seconds: float = 10
    # What the kernel sends when the supervisor is killed; nobody is left then to wait for a slow end.
    death_signal: signal.Signals = signal.SIGTERM


class Service(Protocol):
    """An embedded service, as the watch sees it."""

    process: subprocess.Popen[bytes] | None

    def start(self) -> None:
        """Start it and wait until it answers."""

    def stop(self) -> None:
        """End it cleanly."""


@dataclass(slots=True)
class Child:
    """A running program and what it wrote since its last line end."""

    program: Program
    process: subprocess.Popen[bytes]
    rest: bytes = b""
    deaths: deque[float] = field(default_factory=deque)


class Watch:
    """Keeps programs running until it is told to stop."""

    def __init__(
        self,
        console: Console,
        *,
        folder: Path,
        environment: Mapping[str, str],
        hurries: Callable[[], bool] = lambda: False,
    ) -> None:
        self._console = console
        self._folder = folder
        self._environment = environment
        self._hurries = hurries
        self._children: dict[str, Child] = {}
        self._services: dict[str, Service] = {}
        self._selector = selectors.DefaultSelector()

    @property
    def pids(self) -> dict[str, int]:
        """The process number of each program."""
        return {name: child.process.pid for name, child in self._children.items()}

    def guard(self, name: str, service: Service) -> None:
        """Start an embedded service again whenever it dies."""
        self._services[name] = service

    def start(self, program: Program) -> None:
        """Start a program and watch over it."""
        self._children[program.name] = self._launch(program, deque())

    def is_running(self, name: str) -> bool:
        """Tell whether the program's process exists."""
        return self._children[name].process.poll() is None

    def pump(self, timeout_seconds: float) -> None:
        """Show what the programs wrote, and start again what has died."""
        for key, _ in self._selector.select(timeout_seconds):
            self._read(key.data)
        for name, service in self._services.items():
            if service.process is not None and service.process.poll() is not None:
                self._console.warn(f"{name} ended with {_how(service.process.returncode)}; starting it again")
                service.start()
        for child in list(self._children.values()):
            if child.process.poll() is not None:
                self._start_again(child)

    def stop(self) -> None:
        """Ask every program to end, wait as long as each may take, then kill what is left."""
        for child in self._children.values():
            if child.process.poll() is None:
                child.process.send_signal(signal.SIGTERM)
        started = time.monotonic()
        while running := [child for child in self._children.values() if child.process.poll() is None]:
            for child in running:
                if self._hurries() or time.monotonic() - started > child.program.patience_seconds:
                    self._console.warn(f"{child.program.name} did not end in time: killed")
                    kill_session(child.process)
                    child.process.wait()
            for key, _ in self._selector.select(0.05):
                self._read(key.data)
        self.kill()

    def kill(self) -> None:
        """Kill every program and all that it started, at once."""
        for child in self._children.values():
            kill_session(child.process)
            child.process.wait()
            # What it wrote between the last look and its end.
            self._read(child)
            self._forget_output(child)
        self._children.clear()

    def _launch(self, program: Program, deaths: deque[float]) -> Child:
        process = spawn(
            program.command,
            environment=self._environment,
            folder=self._folder,
            output=subprocess.PIPE,
            death_signal=program.death_signal,
        )
        child = Child(program, process, deaths=deaths)
        if process.stdout is not None:
            os.set_blocking(process.stdout.fileno(), False)
            self._selector.register(process.stdout, selectors.EVENT_READ, child)
        return child

    def _start_again(self, child: Child) -> None:
        name = child.program.name
        self._read(child)
        self._forget_output(child)
        # Its pool or its workers may have outlived it.
        kill_session(child.process)
        now = time.monotonic()
        child.deaths.append(now)
        while now - child.deaths[0] > RESTART_WINDOW_SECONDS:
            child.deaths.popleft()
        how = _how(child.process.returncode)
        if len(child.deaths) > RESTARTS:
            raise SupervisorError(
                f"{name} ended with {how}, for the {len(child.deaths)}th time in a minute. "
                "Its last lines, above, say why."
            )
        self._console.warn(f"{name} ended with {how}; starting it again ({len(child.deaths)} of {RESTARTS})")
        self._children[name] = self._launch(child.program, child.deaths)

    def _read(self, child: Child) -> None:
        output = child.process.stdout
        if output is None or output.closed:
            return
        try:
            data = os.read(output.fileno(), 65_536)
        except BlockingIOError:
            return
        if not data:
            self._forget_output(child)
            return
        *lines, child.rest = (child.rest + data).split(b"\n")
        if len(child.rest) > LONGEST_LINE:
            lines.append(child.rest)
            child.rest = b""
        for line in lines:
            self._console.line_of(child.program.name, line.decode(errors="replace"))

    def _forget_output(self, child: Child) -> None:
        output = child.process.stdout
        if output is None or output.closed:
            return
        self._selector.unregister(output)
        output.close()
        if child.rest:
            self._console.line_of(child.program.name, child.rest.decode(errors="replace"))
            child.rest = b""


def _how(code: int) -> str:
    if code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"
