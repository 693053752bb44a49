"""An embedded Valkey (or Redis) server as Celery's broker, with its messages kept over a restart."""

from __future__ import annotations

import secrets
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import redis

from migrations_tracker.supervisor.account import Account, service_environment
from migrations_tracker.supervisor.child import spawn, stop
from migrations_tracker.supervisor.errors import SupervisorError
from migrations_tracker.supervisor.logs import tail
from migrations_tracker.supervisor.ports import LOOPBACK, free_port, is_free
from migrations_tracker.supervisor.private import make_private_folder, write_private

START_ATTEMPTS = 4
APPEND_ONLY_FOLDER = "appendonlydir"


@dataclass(slots=True)
class Valkey:
    """One server in one folder, on the loopback address only, with a generated password."""

    folder: Path
    binary: Path
    account: Account | None
    log: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def password(self) -> str:
        """The generated password."""
        return (self.folder / "password").read_text()

    def url(self) -> str:
        """Return the address that Celery connects to."""
        return f"redis://:{self.password}@{LOOPBACK}:{self.port}/0"

    def make(self) -> None:
        """Create the folder and the password, unless they exist."""
        make_private_folder(self.folder, self.account)
        if not (self.folder / "password").exists():
            write_private(self.folder / "password", secrets.token_urlsafe(24), self.account)

    def start(self) -> None:
        """Start the server and wait until it answers; put broken messages aside rather than fail."""
        for attempt in range(START_ATTEMPTS):
            if not self.port or not is_free(self.port):
                self.port = free_port()
            self._spawn()
            if self._answers():
                return
            self.stop()
            if attempt == START_ATTEMPTS - 2:
                self._put_messages_aside()
            time.sleep(0.25)
        raise SupervisorError(
            f"The broker does not start in `{self.folder}`. Its log, `{self.log}`, ends:\n{tail(self.log)}"
        )

    def stop(self) -> None:
        """Write everything down and end the server."""
        if self.process is not None:
            stop(self.process, ask=signal.SIGTERM, patience_seconds=10)
            self.process = None

    def _put_messages_aside(self) -> None:
        # Messages are wake-ups and the rows in PostgreSQL are the truth: what is lost here is sent again.
        messages = self.folder / APPEND_ONLY_FOLDER
        if messages.exists():
            messages.rename(self.folder / f"{APPEND_ONLY_FOLDER}.broken-{time.time_ns()}")

    def _spawn(self) -> None:
        # A file, because arguments are visible to every account of the machine.
        configuration = self.folder / "server.conf"
        write_private(configuration, self._configuration(), self.account)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as output:
            self.process = spawn(
                [str(self.binary), str(configuration)],
                account=self.account,
                environment=service_environment(),
                folder=self.folder,
                output=output,
            )

    def _configuration(self) -> str:
        settings = {
            "bind": LOOPBACK,
            "port": str(self.port),
            "requirepass": self.password,
            "dir": f'"{self.folder}"',
            "appendonly": "yes",
            "appenddirname": APPEND_ONLY_FOLDER,
            "appendfsync": "everysec",
            "save": '""',
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
        }
        return "".join(f"{name} {value}\n" for name, value in settings.items())

    def _answers(self, patience_seconds: float = 15) -> bool:
        deadline = time.monotonic() + patience_seconds
        while self.process is not None and self.process.poll() is None and time.monotonic() < deadline:
            try:
                with redis.Redis.from_url(self.url(), socket_timeout=2) as client:
                    client.ping()
            except redis.exceptions.AuthenticationError:
                # Another program took the port in between and is a broker too.
                return False
            except redis.exceptions.RedisError:
                time.sleep(0.02)
            else:
                return self.process.poll() is None
        return False
