"""`manage.py up` from end to end, in a copy of the project."""

from __future__ import annotations

import http.cookiejar
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from migrations_tracker.supervisor.ports import LOOPBACK

ROOT = Path(__file__).resolve().parents[3]
PARTS = ("manage.py", "audit", "workers", "migrations_tracker", "templates", "static", "tests/samples")
UNDECIDED = ("DATABASE_URL", "BROKER_URL", "SECRET_KEY", "DEBUG", "ALLOWED_HOSTS", "DATABASE_POOL_SIZE")


class Up:
    """A running `manage.py up` and what it has written so far."""

    def __init__(self, clone: Path, *arguments: str, environment: dict[str, str] | None = None) -> None:
        inherited = {name: value for name, value in os.environ.items() if name not in UNDECIDED}
        inherited.pop("DJANGO_SETTINGS_MODULE", None)
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up", *arguments],
            cwd=clone,
            env={**inherited, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.text = ""

    def read_until(self, words: str) -> str:
        """Read what is written up to the line that holds the words."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.text += line
            if words in line:
                return self.text
        pytest.fail(f"`{words}` never came:\n{self.text}")

    def family(self) -> list[psutil.Process]:
        """Return every process that it started, and what those started."""
        return list(psutil.Process(self.process.pid).children(recursive=True))

    def end(self, number: signal.Signals) -> int:
        """Send a signal and wait for the end."""
        self.process.send_signal(number)
        self.text += self.process.communicate(timeout=40)[0] or ""
        return self.process.returncode


@pytest.fixture
def clone(open_dir: Path) -> Path:
    """Give a copy of the project without anything that a run makes."""
    target = open_dir / "clone"
    target.mkdir(mode=0o755)
    for part in PARTS:
        source = ROOT / part
        (target / part).parent.mkdir(exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target / part, ignore=shutil.ignore_patterns("__pycache__", "target"))
        else:
            shutil.copy(source, target / part)
    return target


@pytest.fixture
def up(clone: Path) -> Iterator[Callable[..., Up]]:
    """Give a starter of `manage.py up`; whatever a test leaves running is killed."""
    started: list[Up] = []

    def start(*arguments: str, environment: dict[str, str] | None = None) -> Up:
        started.append(Up(clone, *arguments, environment=environment))
        return started[-1]

    yield start
    for run in started:
        if run.process.poll() is None:
            family = run.family()
            run.process.kill()
            run.process.communicate()
            psutil.wait_procs(family, timeout=15)


def log_in(address: str, name: str, password: str) -> str:
    """Log in as a browser does, and return the page that follows."""
    cookies = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies))
    browser.open(f"{address}login/").read()
    token = next(cookie.value for cookie in cookies if cookie.name == "csrftoken")
    form = {"username": name, "password": password, "csrfmiddlewaretoken": token or "", "next": "/"}
    request = urllib.request.Request(f"{address}login/", urllib.parse.urlencode(form).encode())  # noqa: S310
    request.add_header("Referer", f"{address}login/")
    page: bytes = browser.open(request).read()
    return page.decode()


def all_end(processes: list[psutil.Process], patience_seconds: float = 20) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=patience_seconds)
    return not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


def test_one_command_brings_pages_that_show_the_sample(up: Callable[..., Up], clone: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as other:
        taken = other.getsockname()[1]
        first = up("--port", str(taken))
        text = first.read_until("  Stop ")
    assert f"Port {taken} is taken" in text
    found = re.search(r"Open +(\S+)\n +Log in as +(\w+), password (\S+) ", text)
    assert found is not None, text
    address, name, password = found.groups()
    assert re.search(r"Found +minitorch: [1-9]\d* results", text)

    page = log_in(address, name, password)
    assert "minitorch" in page
    assert "Log out" in page

    second = up()
    assert second.process.wait(30) == 1
    second.text += second.process.communicate()[0]
    assert f"already (process {first.process.pid})" in second.text

    family = first.family()
    assert {"gunicorn", "celery", "postgres", "valkey-server"} <= {
        word for process in family for word in re.split(r"[/ :]", " ".join(process.cmdline()))
    }
    assert first.end(signal.SIGTERM) == 0
    assert "Stopped" in first.text
    assert all_end(family)
    assert not (clone / "var" / "services.env").exists()


def test_after_a_kill_nothing_runs_on_and_the_next_run_keeps_the_data(up: Callable[..., Up]) -> None:
    killed = up()
    password = re.search(r", password (\S+) ", killed.read_until("  Stop "))
    assert password is not None
    family = killed.family()
    killed.process.kill()
    assert all_end(family)

    again = up()
    text = again.read_until("  Stop ")
    assert "Database: as it was" in text
    assert "with the password of the first run" in text
    assert "Scan: done before" in text
    address = re.search(r"Open +(\S+)", text)
    assert address is not None
    assert "minitorch" in log_in(address[1], "admin", password[1])

    family = again.family()
    # A terminal that goes away takes the other end of the output with it, and need not send a signal.
    assert again.process.stdout is not None
    again.process.stdout.close()
    assert again.process.wait(40) == 0
    assert all_end(family)


def test_servers_that_are_given_win_and_a_wrong_repository_is_named(
    up: Callable[..., Up], clone: Path, postgres_url: str, broker_url: str
) -> None:
    run = up(
        "--repo", "/nowhere/at/all", environment={"DATABASE_URL": postgres_url, "BROKER_URL": broker_url}
    )
    text = run.process.communicate(timeout=60)[0]
    assert run.process.returncode == 1
    assert "Database of DATABASE_URL" in text
    assert "Broker of BROKER_URL" in text
    assert "`/nowhere/at/all` cannot be scanned." in text
    assert not (clone / "var" / "postgres").exists()
    assert not (clone / "var" / "valkey").exists()


def test_a_wrong_address_ends_the_run_at_that_step(up: Callable[..., Up], postgres_url: str) -> None:
    head, _, tail = postgres_url.rpartition("@")
    run = up(environment={"DATABASE_URL": f"{head.rpartition(':')[0]}:wrong@{tail}"})
    text = run.process.communicate(timeout=60)[0]
    assert run.process.returncode == 1
    assert "password authentication failed" in text
    assert "DATABASE_URL" in text.splitlines()[-1] or "Stopped" in text
    assert ":wrong@" not in text


def test_ctrl_c_while_it_starts_leaves_nothing(up: Callable[..., Up]) -> None:
    run = up()
    run.read_until("ok  Database")
    family = run.family()
    assert run.end(signal.SIGINT) == 0, run.text
    assert all_end(family)
    time.sleep(0.2)
    assert not [
        process for process in family if process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    ]
