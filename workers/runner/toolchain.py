"""The Rust toolchain for code of strangers: build scripts and macros run while a crate is only built.

Where this process may change users, they run as the user of tests, who reaches nothing of the runner's own:
neither its home, where toolchains and registry credentials often lie, nor its environment.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workers.runner.execute import User

_CHANNEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
_PASSED_ON = ("PATH", "LIBCLANG_PATH", "BINDGEN_EXTRA_CLANG_ARGS")
_OF_THE_RUNNER = ("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN")
_FOR_FETCHING = ("HTTPS_PROXY", "SSL_CERT_FILE")
_SECRETS = frozenset({"token", "secret-key", "password"})


class ToolchainError(RuntimeError):
    """There is no toolchain that the user of tests could run, with the reason."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Where cargo is, whom it runs as, and what it sees; `fetching` is added where it may use the network."""

    cargo: str
    rustc: str
    user: User | None
    environment: Mapping[str, str]
    fetching: Mapping[str, str]


def prepare_toolchain(*, workspace: Path, own: Path, toolchains: Path, user: User | None) -> Toolchain:
    """Find the toolchain that a workspace wants.

    `own` is where cargo keeps what it fetched, for this user to write; `toolchains` takes what other users
    must reach and don't reach where it is.
    """
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    fetching = {name: os.environ[name] for name in _FOR_FETCHING if name in os.environ}
    if user is None:
        settings = {name: os.environ[name] for name in _OF_THE_RUNNER if name in os.environ}
        homes = {"CARGO_HOME": str(_cargo_home()), "RUSTUP_HOME": str(Path.home() / ".rustup")}
        cargo, rustc = shutil.which("cargo") or "cargo", shutil.which("rustc") or "rustc"
        return Toolchain(cargo, rustc, None, {**homes, **settings, **passed_on}, fetching)
    for folder in (own, toolchains):
        folder.mkdir(parents=True, exist_ok=True)
        if not is_open(folder):
            raise ToolchainError(f"`{folder}` can't be entered by the user `{user.name}`, whom tests run as")
    place = _opened(_sysroot(pinned_channel(workspace)), toolchains)
    home = own / f"cargo-home-{user.uid}"
    home.mkdir(exist_ok=True)
    give_to(home, user)
    _copy_configuration(home)
    environment = {
        **passed_on,
        "CARGO_HOME": str(home),
        "PATH": f"{place / 'bin'}:{passed_on.get('PATH', '/usr/bin:/bin')}",
    }
    return Toolchain(str(place / "bin/cargo"), str(place / "bin/rustc"), user, environment, fetching)


def pinned_channel(workspace: Path) -> str | None:
    """Read which toolchain a workspace pins; one that it names by a path is its own program and refused."""
    for name in ("rust-toolchain", "rust-toolchain.toml"):
        file = workspace / name
        if not file.is_file():
            continue
        text = file.read_text("utf-8", "replace").strip()
        try:
            table = tomllib.loads(text).get("toolchain", {})
        except tomllib.TOMLDecodeError:
            table = {"channel": text}
        if not isinstance(table, dict) or "path" in table:
            raise ToolchainError(f"`{name}` names a toolchain by its path, which is not run")
        channel = table.get("channel")
        if channel is not None and not (isinstance(channel, str) and _CHANNEL.fullmatch(channel)):
            raise ToolchainError(f"`{name}` names the toolchain `{str(channel)[:80]}`, which is no channel")
        return channel
    return None


def is_open(path: Path) -> bool:
    """Tell whether every user may enter a folder."""
    folders = (path.resolve(), *path.resolve().parents)
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in folders)


def give_to(folder: Path, user: User | None) -> None:
    """Make a folder and all in it another user's, unless it is already."""
    if user is None or folder.stat().st_uid == user.uid:
        return
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(os.path.join(parent, name), user.uid, user.gid, follow_symlinks=False)  # noqa: PTH118
    os.chown(folder, user.uid, user.gid)


def _sysroot(channel: str | None) -> Path:
    """Ask where the toolchain lies: away from the workspace, whose files would have a say in it."""
    environment = {**os.environ, **({"RUSTUP_TOOLCHAIN": channel} if channel else {})}
    command = ["rustc", "--print", "sysroot"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=600, check=False, cwd="/", env=environment
        )
    except OSError as error:
        raise ToolchainError(f"`{' '.join(command)}`: {error}") from error
    if done.returncode != 0:
        raise ToolchainError(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr[-2000:]}")
    sysroot = Path(done.stdout.strip())
    if not (sysroot / "bin/cargo").is_file():
        raise ToolchainError(f"the toolchain `{sysroot}` has no cargo")
    return sysroot


def _opened(sysroot: Path, folder: Path) -> Path:
    """Give the toolchain where every user reaches it: itself, or the same files under second names."""
    if is_open(sysroot):
        return sysroot
    compiler = (sysroot / "bin/rustc").stat()
    known_by = f"{sysroot} {compiler.st_mtime_ns} {compiler.st_size}"
    target = folder / hashlib.sha256(known_by.encode()).hexdigest()[:16]
    if not target.is_dir():
        fresh = folder / f"new-{os.getpid()}"
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(
            sysroot, fresh, symlinks=True, copy_function=_link, ignore=shutil.ignore_patterns("doc")
        )
        fresh.rename(target)
    return target


def _link(source: str, target: str) -> None:
    """Give a file a second name, or a copy where that lies on another disk."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _cargo_home() -> Path:
    return Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")


def _copy_configuration(home: Path) -> None:
    """Carry the runner's cargo configuration over, such as a registry's mirror, unless it has secrets."""
    target = home / "config.toml"
    # The folder is the tests' user's: what may stand there instead is neither followed nor kept.
    for name in ("config", "config.toml"):
        left = home / name
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        left.unlink(missing_ok=True)
    source = _cargo_home() / "config.toml"
    try:
        text = source.read_text("utf-8")
        holds_secrets = _has_secrets(tomllib.loads(text))
    except (OSError, ValueError):
        return
    if not holds_secrets:
        with target.open("x") as file:
            file.write(text)


def _has_secrets(value: object) -> bool:
    if isinstance(value, dict):
        return any(key in _SECRETS or _has_secrets(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(_has_secrets, value))
