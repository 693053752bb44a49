"""What a runner is told by its environment, or by the file that its registration wrote."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from workers.protocol.report import NAME, Registration
from workers.protocol.signing import MIN_KEY_BYTES

_SECRETS = ("RUNNER_TOKEN", "RUNNER_KEY", "RUNNER_BROKER_URL")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class ConfigurationError(ValueError):
    """The environment does not say what a runner needs; the message names the variable."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Who this runner is, where its orders come from, and where its answers go.

    Without `server` everything goes by the broker: heartbeats and outcomes to the reply key, and bundles lie
    in `bundles`, each under its checksum.
    """

    name: str
    key: bytes
    key_id: str
    broker_url: str
    work: Path
    cache: Path
    server: str = ""
    token: str = ""
    bundles: Path | None = None
    prebuilt_tracer: Path | None = None


def read_configuration(environment: Mapping[str, str] | None = None) -> Configuration:
    """Read the configuration, from `RUNNER_CONFIG`'s file what the environment does not say itself."""
    given = dict(os.environ if environment is None else environment)
    if file := given.get("RUNNER_CONFIG"):
        given = {**_lines(Path(file)), **given}
    for name in _SECRETS:
        if path := given.get(f"{name}_FILE"):
            given[name] = Path(path).read_text().strip()
    name = _required(given, "RUNNER_NAME")
    if not NAME.fullmatch(name):
        raise ConfigurationError(f"RUNNER_NAME `{name}` does not match `{NAME.pattern}`")
    server = given.get("RUNNER_SERVER", "").rstrip("/")
    if server:
        check_server(server)
    return Configuration(
        name=name,
        key=_key(_required(given, "RUNNER_KEY")),
        key_id=_required(given, "RUNNER_KEY_ID"),
        broker_url=_required(given, "RUNNER_BROKER_URL"),
        work=Path(given.get("RUNNER_WORK") or Path(tempfile.gettempdir()) / f"ferroaudit-runner-{name}"),
        cache=Path(given.get("RUNNER_CACHE") or Path(tempfile.gettempdir()) / f"ferroaudit-cache-{name}"),
        server=server,
        token=_required(given, "RUNNER_TOKEN") if server else "",
        bundles=Path(given["RUNNER_BUNDLES"]) if given.get("RUNNER_BUNDLES") else None,
        prebuilt_tracer=Path(given["RUNNER_TRACER"]) if given.get("RUNNER_TRACER") else None,
    )


def check_server(server: str) -> None:
    """Refuse an address over which the token would travel in the open."""
    parts = urlsplit(server)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        return
    raise ConfigurationError(f"RUNNER_SERVER `{server}`: the token goes over https, or to this machine only")


def write_configuration(file: Path, registration: Registration, server: str) -> None:
    """Keep what a registration gave, for nobody else to read."""
    values = {
        "RUNNER_NAME": registration.name,
        "RUNNER_SERVER": server,
        "RUNNER_TOKEN": registration.token,
        "RUNNER_KEY": registration.key,
        "RUNNER_KEY_ID": registration.key_id,
        "RUNNER_BROKER_URL": registration.broker_url,
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        os.fchmod(descriptor, 0o600)
        stream.writelines(f"{name}={value}\n" for name, value in values.items())


def _lines(file: Path) -> dict[str, str]:
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise ConfigurationError(f"`{file}` holds secrets and is open to others: chmod 600 it")
    pairs = (line.partition("=") for line in file.read_text().splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _required(given: Mapping[str, str], name: str) -> str:
    value = given.get(name, "")
    if not value:
        raise ConfigurationError(f"{name} is not set")
    return value


def _key(text: str) -> bytes:
    key = text.encode()
    if len(key) < MIN_KEY_BYTES:
        raise ConfigurationError(f"RUNNER_KEY has {len(key)} bytes: at least {MIN_KEY_BYTES} are needed")
    return key
