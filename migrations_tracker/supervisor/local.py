"""The servers of a local run: those that the environment names, or embedded ones."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from migrations_tracker.env import Environment
from migrations_tracker.supervisor.binaries import postgres_binaries, valkey_binary
from migrations_tracker.supervisor.console import Console
from migrations_tracker.supervisor.given import hide_password, wait_for_broker, wait_for_database
from migrations_tracker.supervisor.memory import Memory
from migrations_tracker.supervisor.place import Place, choose_place
from migrations_tracker.supervisor.postgres import Postgres, data_version
from migrations_tracker.supervisor.private import write_private
from migrations_tracker.supervisor.valkey import Valkey


@dataclass(slots=True)
class LocalServers:
    """Database and broker of a local run."""

    var: Path
    memory: Memory
    environment: Environment
    console: Console
    postgres: Postgres | None = None
    valkey: Valkey | None = None
    _place: Place | None = None

    def open_database(self) -> str:
        """Return the address of a database that answers."""
        given = self.environment.secret("DATABASE_URL", meaning="")
        if given:
            with self.console.step("Database of DATABASE_URL") as facts:
                facts += [wait_for_database(given), hide_password(given)]
            return given
        with self.console.step("Database") as facts:
            place = self._placed()
            folder = place.state / "postgres"
            self.postgres = Postgres(
                folder=folder,
                binaries=postgres_binaries(place.account, place.state, major=data_version(folder)),
                account=place.account,
                log=self.var / "log" / "postgres.log",
                port=self.memory.port("postgres"),
            )
            facts.append("new" if not self.postgres.is_made() else "as it was")
            self.postgres.make()
            self.postgres.start()
            self.memory.keep_port("postgres", self.postgres.port)
            facts += [wait_for_database(self.postgres.url()), f"`{self.postgres.folder}`"]
        return self.postgres.url()

    def open_broker(self) -> str:
        """Return the address of a broker that answers."""
        given = self.environment.secret("BROKER_URL", meaning="")
        if given:
            with self.console.step("Broker of BROKER_URL") as facts:
                wait_for_broker(given)
                facts.append(hide_password(given))
            return given
        with self.console.step("Broker") as facts:
            place = self._placed()
            self.valkey = Valkey(
                folder=place.state / "valkey",
                binary=valkey_binary(place.account, place.state),
                account=place.account,
                log=self.var / "log" / "valkey.log",
                port=self.memory.port("valkey"),
            )
            self.valkey.make()
            self.valkey.start()
            self.memory.keep_port("valkey", self.valkey.port)
            facts += [self.valkey.binary.name, f"`{self.valkey.folder}`"]
        return self.valkey.url()

    def secret_key(self) -> str:
        """Return the key that signs sessions: the given one, or one that is kept for this clone."""
        given = self.environment.secret("SECRET_KEY", meaning="")
        if given:
            return given
        file = self.var / "secret_key"
        if not file.exists():
            write_private(file, secrets.token_urlsafe(50))
        return file.read_text()

    @property
    def data_folder(self) -> Path:
        """Where what the embedded servers keep lies."""
        return self.var if self._place is None else self._place.state

    def stop(self) -> None:
        """End the embedded servers, the broker first: the database keeps the truth."""
        for server in (self.valkey, self.postgres):
            if server is not None:
                server.stop()

    def _placed(self) -> Place:
        if self._place is None:
            self._place = choose_place(self.var, self.memory)
            if self._place.account is not None:
                self.console.say(f"    The servers run as `{self._place.account.name}`, not as root.")
            if self._place.is_outside(self.var):
                self.console.say(
                    f"    Which cannot enter `{self.var}`: data and programs are in `{self._place.state}`."
                )
        return self._place
