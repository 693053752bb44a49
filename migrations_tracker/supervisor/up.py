"""`manage.py up`: everything on this machine, from nothing to pages in a browser, and back to nothing."""

from __future__ import annotations

import os
import sys
import time
import traceback
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import django
from django.core.exceptions import ImproperlyConfigured

from migrations_tracker.env import Environment
from migrations_tracker.supervisor import programs
from migrations_tracker.supervisor.console import Console
from migrations_tracker.supervisor.errors import SupervisorError
from migrations_tracker.supervisor.local import LocalServers
from migrations_tracker.supervisor.lock import only_one
from migrations_tracker.supervisor.memory import Memory
from migrations_tracker.supervisor.options import Options, parse
from migrations_tracker.supervisor.place import make_var
from migrations_tracker.supervisor.ports import LOOPBACK, free_port, is_free
from migrations_tracker.supervisor.private import write_private
from migrations_tracker.supervisor.stopping import StopRequestedError, StopSignals
from migrations_tracker.supervisor.watch import Watch

if TYPE_CHECKING:
    from migrations_tracker.supervisor.first_scan import FirstScan
    from migrations_tracker.supervisor.prepare import LogIn

ROOT = Path(__file__).resolve().parents[2]
FIRST_PORT = 8000
WEB_PATIENCE_SECONDS = 40.0
# A scan that takes longer goes on, and its page shows how far it is.
SCAN_PATIENCE_SECONDS = 180.0
SAMPLE = Path("tests") / "samples" / "minitorch"
# The sample depends on nothing that would say so: it speaks as ferrotorch does.
SAMPLE_PROFILE = "ferrotorch"


def main(arguments: Sequence[str], *, root: Path = ROOT) -> int:
    """Run until somebody stops it; return the exit status."""
    options = parse(arguments)
    signals = StopSignals()
    console = Console(sys.stdout, before_step=signals.check)
    signals.install()
    var = root / "var"
    try:
        make_var(var)
        with only_one(var / "lock"):
            LocalRun(root, options, console, signals).run()
            return 0
    except StopRequestedError:
        return 0
    except SupervisorError as error:
        console.warn(str(error))
    except ImproperlyConfigured as error:
        console.warn(f"The configuration is wrong: {error}")
    except Exception as error:
        console.warn(f"This step failed: {type(error).__name__}: {error}\n    {keep_details(var)}")
    return 1


def keep_details(var: Path) -> str:
    """Write down where the present exception came from, and return what to tell of that."""
    report = var / "log" / "up.log"
    try:
        report.parent.mkdir(exist_ok=True)
        report.write_text(traceback.format_exc())
    except OSError:
        # A full disk is a likely reason for both.
        return traceback.format_exc()
    return f"The details are in `{report}`."


class LocalRun:
    """One run of everything, whose parts are ended in the reverse order of their start."""

    def __init__(self, root: Path, options: Options, console: Console, signals: StopSignals) -> None:
        self.root = root
        self.var = root / "var"
        self.options = options
        self.console = console
        self.signals = signals
        self.memory = Memory(self.var / "memory.json")
        self.offer = self.var / "services.env"
        self.environment = Environment(dict(os.environ))
        self.environment.load_file(root / ".env")
        self.servers = LocalServers(self.var, self.memory, self.environment, console)
        self.watch = Watch(console, folder=root, environment=os.environ, hurries=lambda: signals.is_hurried)

    def run(self) -> None:
        """Start everything, tell where it is, and keep it running."""
        # Addresses of a run that was killed lead nowhere.
        self.offer.unlink(missing_ok=True)
        try:
            self._run_until_stopped()
        except Exception as error:
            # What an interrupted step says of its interruption (a connection that is left half used, say).
            if not self.signals.is_stopping:
                raise
            self.console.say(f"    The step that was interrupted says {type(error).__name__}: {error}")
        finally:
            self.signals.begin_stop()
            self._stop()

    def _run_until_stopped(self) -> None:
        self._open_servers()
        log_in = self._prepare()
        scan = self._ask_for_scan(log_in)
        port = self._start_programs()
        self._follow(scan)
        self._tell(port, log_in, scan)
        # Only the shell is told that a terminal closed; it need not pass that on.
        while not self.console.is_gone():
            self._pump(0.5)

    def _pump(self, timeout_seconds: float) -> None:
        self.signals.check()
        self.watch.pump(timeout_seconds)

    def _open_servers(self) -> None:
        addresses = {
            "DATABASE_URL": self.servers.open_database(),
            "BROKER_URL": self.servers.open_broker(),
            "SECRET_KEY": self.servers.secret_key(),
        }
        for name, server in (("database", self.servers.postgres), ("broker", self.servers.valkey)):
            if server is not None:
                self.watch.guard(name, server)
        os.environ.update(addresses)
        # Lets `manage.py` work in another terminal while this runs.
        write_private(self.offer, "".join(f"{name}={value}\n" for name, value in addresses.items()))

    def _prepare(self) -> LogIn:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "migrations_tracker.settings")
        with self.console.step("Schema migrations") as facts:
            # Only now can the settings be read: they name the servers that were started above.
            django.setup()
            from migrations_tracker.supervisor import prepare

            prepare.check_configuration()
            applied = prepare.apply_schema_migrations(tell=lambda text: self.console.say(f"    {text}"))
            facts.append(f"{applied} applied" if applied else "none was missing")
        with self.console.step("PyTorch's operators") as facts:
            facts.append(prepare.import_parity_dumps())
        with self.console.step("Style sheets and scripts"):
            prepare.collect_static_files()
        with self.console.step("Administrator") as facts:
            log_in = prepare.ensure_administrator(resets=self.options.resets_administrator)
            facts.append(f"`{log_in.name}` has a new password" if log_in.password else f"`{log_in.name}`")
        return log_in

    def _ask_for_scan(self, log_in: LogIn) -> FirstScan:
        from migrations_tracker.supervisor import first_scan

        named = self.options.repository
        with self.console.step("Repository" if named else "Sample workspace") as facts:
            location = named or str(self.root / SAMPLE)
            scan = first_scan.ask(
                location=location,
                revision=self.options.revision,
                actor_name=log_in.name,
                profile="" if named else SAMPLE_PROFILE,
            )
            facts.append(scan.row.repository.name)
        return scan

    def _follow(self, scan: FirstScan) -> None:
        with self.console.step("Scan") as facts:
            shown, deadline = "", time.monotonic() + SCAN_PATIENCE_SECONDS
            while not scan.is_over and time.monotonic() < deadline and not self.console.is_gone():
                self._pump(0.3)
                if (progress := scan.look()) != shown:
                    shown = progress
                    self.console.say(f"    {shown}")
            facts.append("done before, at this commit" if scan.was_done else scan.row.state)
        if scan.has_failed:
            self.console.warn(scan.result())

    def _start_programs(self) -> int:
        with self.console.step("Pages, worker and clock") as facts:
            port = self._choose_port()
            for program in (programs.web(port), programs.worker(), programs.beat()):
                self.watch.start(program)
            self._wait_for_pages(port)
            self.memory.keep_port("web", port)
            facts.append(f"port {port}")
        return port

    def _choose_port(self) -> int:
        wanted = self.options.port or self.memory.port("web", FIRST_PORT)
        if is_free(wanted):
            return wanted
        candidates = range(wanted + 1, min(wanted + 50, 65_536))
        chosen = next(filter(is_free, candidates), None) or free_port()
        self.console.warn(f"Port {wanted} is taken by another program; the pages get port {chosen}.")
        return chosen

    def _wait_for_pages(self, port: int) -> None:
        deadline = time.monotonic() + WEB_PATIENCE_SECONDS
        while time.monotonic() < deadline:
            self._pump(0.1)
            with suppress(OSError), urllib.request.urlopen(f"http://{LOOPBACK}:{port}/healthz", timeout=5):
                return
        raise SupervisorError(
            f"The pages do not answer on port {port}. What `web` wrote above says why; "
            "`manage.py check --deploy` looks at the configuration."
        )

    def _tell(self, port: int, log_in: LogIn, scan: FirstScan) -> None:
        if log_in.password is None:
            who = f"{log_in.name}, with the password of the first run (lost it? `make run RESET_ADMIN=1`)"
        else:
            who = f"{log_in.name}, password {log_in.password}   (shown this once)"
        self.console.block(
            [
                ("Open", f"http://{LOOPBACK}:{port}/"),
                ("Log in as", who),
                ("Found", scan.result()),
                ("", f"http://{LOOPBACK}:{port}{scan.path()}"),
                ("Stop", f"Ctrl-C; the data stay in `{self.servers.data_folder}`"),
            ]
        )

    def _stop(self) -> None:
        self.console.say("... Stopping (Ctrl-C again: at once)")
        self.watch.stop()
        self.servers.stop()
        self.offer.unlink(missing_ok=True)
        self.console.say("ok  Stopped")
