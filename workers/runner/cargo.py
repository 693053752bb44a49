"""Builds the tests of one crate at one commit, and packs them."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workers.protocol.evidence import Ending, RunRecord
from workers.protocol.job import Limits
from workers.runner.archives import ArchiveError, check_headers
from workers.runner.bundle import describe_file, write_bundle
from workers.runner.execute import User, other_user, run, scratch_folder
from workers.runner.manifest import BundleManifest, NotBuilt, TestBinary
from workers.runner.probe.rust import config_rustflags
from workers.runner.toolchain import Toolchain, ToolchainError, give_to, prepare_toolchain

#: A build of a large workspace with nothing cached takes its time; its messages are long.
BUILD_LIMITS = Limits(
    wall_s=3600,
    cpu_s=4 * 3600,
    memory_bytes=64 * 1024**3,
    disk_bytes=64 * 1024**3,
    output_bytes=128 * 1024**2,
    processes=4096,
)
MAX_SOURCE_BYTES = 4 * 1024**3
MAX_SOURCE_FILES = 500_000
_LIST_LIMITS = Limits(wall_s=60, output_bytes=8 * 1024**2)

#: Symbols and debug information are a hundred times the code's size and prove nothing.
_PROFILE = {
    "CARGO_PROFILE_DEV_DEBUG": "0",
    "CARGO_PROFILE_DEV_STRIP": "symbols",
    "CARGO_PROFILE_TEST_DEBUG": "0",
    "CARGO_PROFILE_TEST_STRIP": "symbols",
}


class BuildError(RuntimeError):
    """Nothing could be built, with the command and what it said."""


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What to build. `target_cpu` null is the target's own baseline, which runs on every such machine."""

    crate: str
    features: tuple[str, ...] = ()
    target_cpu: str | None = None
    offline: bool = False


@dataclass(frozen=True, slots=True)
class Built:
    """A finished build: the manifest, and where each of its files lies."""

    manifest: BundleManifest
    sources: tuple[tuple[str, Path], ...]


def check_out(repository: Path, commit: str, folder: Path) -> None:
    """Write a commit's files into `folder`; the repository may be bare and is only read."""
    archive = folder.with_suffix(".tar")
    command = ["git", "-c", "safe.directory=*", "-C", str(repository), "archive", "-o", str(archive), commit]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise BuildError(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr[-2000:]}")
    unpack_source(archive, folder)
    archive.unlink()


def unpack_source(archive: Path, folder: Path) -> None:
    """Unpack a commit's files; what would leave the folder, or fill the disk, is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        check_headers(archive, max_members=MAX_SOURCE_FILES)
        with tarfile.open(archive, mode="r:") as members:
            size = sum(member.size for member in members.getmembers())
            if size > MAX_SOURCE_BYTES:
                raise BuildError(f"the source has {size} bytes unpacked, the limit is {MAX_SOURCE_BYTES}")
            for member in members:
                _unpack_member(members, member, folder.resolve())
    except (OSError, ArchiveError, tarfile.TarError) as error:
        raise BuildError(f"the source `{archive.name}` can't be unpacked: {error}") from error


def _unpack_member(archive: tarfile.TarFile, member: tarfile.TarInfo, root: Path) -> None:
    """Write one member below `root`; what is neither file, folder nor link, or would lie outside, is refused.

    `tarfile`'s own filters came with Python 3.11.4, and Debian's 3.11 is older.
    """
    place = root / member.name
    if place == root:
        return
    # Links that were unpacked before are followed here: none leads out of the root.
    if not place.parent.resolve().is_relative_to(root) or ".." in Path(member.name).parts:
        raise BuildError(f"the source holds `{member.name}`, which lies outside its folder")
    if member.isdir():
        place.mkdir(parents=True, exist_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        if not (place.parent / member.linkname).resolve().is_relative_to(root):
            raise BuildError(f"the source holds `{member.name}`, a link that leads outside its folder")
        place.symlink_to(member.linkname)
        return
    stream = archive.extractfile(member) if member.isreg() else None
    if stream is None or place.is_symlink():
        raise BuildError(f"the source holds `{member.name}`, which is no plain file of its own")
    with stream, place.open("wb") as file:
        shutil.copyfileobj(stream, file)
    place.chmod(0o755 if member.mode & 0o100 else 0o644)


def build_tests(
    workspace: Path,
    request: BuildRequest,
    *,
    repository: str,
    commit: str,
    target_folder: Path,
    work: Path,
    toolchains: Path | None = None,
) -> Built:
    """Build the crate's tests in a checkout, and describe them.

    The crates that it needs are fetched first; then its build scripts and macros, code of strangers too, run
    as tests do: as another user, with nothing of the runner's environment, and without a network. They may
    change what lies beside `target_folder`; `toolchains` they only read.
    """
    user = other_user()
    own = target_folder.parent
    try:
        toolchain = prepare_toolchain(
            workspace=workspace, own=own, toolchains=toolchains or own / "toolchains", user=user
        )
    except (ToolchainError, OSError) as error:
        raise BuildError(str(error)) from error
    target_folder.mkdir(parents=True, exist_ok=True)
    give_to(workspace, user)
    give_to(target_folder, user)
    build = _Build(toolchain, workspace, work)
    flags, dropped = chosen_rustflags(workspace, request.target_cpu)
    environment = {
        **_PROFILE,
        "CARGO_TARGET_DIR": str(target_folder),
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
    }
    version = build.said(["-vV"])
    unfetched = "" if request.offline else build.fetch(_host_triple(version))
    command = _cargo(toolchain, request, "test", "--no-run")
    done = build.run(command, environment)
    messages = list(_messages(done.stdout))
    if done.exit_code != 0:
        # One target that does not compile takes the others with it, unless cargo is told to go on.
        again = build.run(_cargo(toolchain, request, "build", "--tests", "--keep-going"), environment)
        messages += list(_messages(again.stdout))
    executables = dict(_executables(messages, request.crate))
    if not executables:
        said = f"`{' '.join(command)}` ended with {done.exit_code}: {done.stderr[-4000:]}"
        raise BuildError(f"{unfetched}\n{said}" if unfetched else said)
    for _, path in executables.values():
        _check_own(path, target_folder, user)
    manifest = BundleManifest(
        repository=repository,
        commit=commit,
        crate=request.crate,
        features=request.features,
        target=_host_triple(version),
        target_cpu=request.target_cpu or _flag_value(flags, "target-cpu") or "generic",
        cpu_features=_cpu_features(build.said(["--print", "cfg", *flags])),
        rustflags=tuple(flags),
        dropped_rustflags=tuple(dropped),
        environment=_PROFILE,
        rustc=version.splitlines()[0],
        command=" ".join(command),
        built_at=datetime.now(UTC).isoformat(),
        binaries=(),
        files=(),
        not_built=tuple(_not_built(messages, executables)),
    )
    return _described(manifest, executables)


@dataclass(frozen=True, slots=True)
class _Build:
    """What the commands of one build share."""

    toolchain: Toolchain
    workspace: Path
    work: Path

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        limits: Limits = BUILD_LIMITS,
        has_network: bool = False,
    ) -> RunRecord:
        """Run a tool in the workspace, as whoever tests run as."""
        with scratch_folder(self.work, self.toolchain.user) as scratch:
            record = run(
                command,
                scratch=scratch,
                limits=limits,
                environment={**self.toolchain.environment, **environment},
                user=self.toolchain.user,
                folder=self.workspace,
                cut_network=not has_network,
                watch_linker=False,
            )
        if record.ending is not Ending.EXITED:
            raise BuildError(f"`{' '.join(command)}`: {record.ending}: {record.detail}")
        return record

    def fetch(self, target: str) -> str:
        """Fetch the crates that the workspace needs, and run none of them; say what went wrong.

        Nothing ends here: what is missing may not be needed, and the build tells it then.
        """
        command = [self.toolchain.cargo, "fetch", "--target", target]
        done = self.run(command, self.toolchain.fetching, has_network=True)
        return f"`{' '.join(command)}`: {done.stderr[-2000:]}" if done.exit_code else ""

    def said(self, arguments: Sequence[str]) -> str:
        """Ask the compiler something."""
        command = [self.toolchain.rustc, *arguments]
        done = self.run(command, {}, limits=_LIST_LIMITS)
        if done.exit_code != 0:
            raise BuildError(f"`{' '.join(command)}` ended with {done.exit_code}: {done.stderr[-2000:]}")
        return done.stdout


def _check_own(executable: Path, target_folder: Path, user: User | None) -> None:
    """Refuse an executable that the build did not make: strangers' code can speak for cargo."""
    place = executable.resolve()
    is_inside = place.is_relative_to(target_folder.resolve()) and place.is_file()
    if not is_inside or (user is not None and place.stat().st_uid != user.uid):
        raise BuildError(f"the build names the executable `{executable}`, which it did not make")


def write_built(built: Built, target: Path) -> str:
    """Write a build's bundle and give its checksum."""
    return write_bundle(built.manifest, built.sources, target)


def chosen_rustflags(workspace: Path, target_cpu: str | None) -> tuple[list[str], list[str]]:
    """Give the repository's own flags without `target-cpu=native`, and what was left out.

    A binary for the builder's own processor dies with SIGILL on another; what the flag would have changed is
    recorded with the bundle.
    """
    config: dict[str, object] = {}
    for name in ("config.toml", "config"):
        path = workspace / ".cargo" / name
        if path.is_file():
            config = tomllib.loads(path.read_text("utf-8"))
            break
    wanted = config_rustflags(config, f"{platform.machine()}-unknown-linux-gnu")
    kept: list[str] = []
    dropped: list[str] = []
    joined = iter(wanted)
    for flag in joined:
        whole = f"-C {next(joined, '')}" if flag == "-C" else flag
        is_cpu = whole.removeprefix("-C").strip().startswith("target-cpu=")
        is_native = whole.endswith("=native")
        if is_cpu and (is_native or target_cpu is not None):
            dropped.append(whole)
        else:
            kept += whole.split(" ", 1)
    if target_cpu is not None:
        kept += ["-C", f"target-cpu={target_cpu}"]
    return kept, dropped


def _flag_value(flags: Sequence[str], name: str) -> str | None:
    found = (flag.removeprefix("-C").strip() for flag in flags)
    return next((flag.split("=", 1)[1] for flag in found if flag.startswith(f"{name}=")), None)


def _cargo(toolchain: Toolchain, request: BuildRequest, *words: str) -> list[str]:
    command = [toolchain.cargo, words[0], "-p", request.crate]
    if request.features:
        command += ["--features", ",".join(request.features)]
    return [*command, "--offline", *words[1:], "--message-format=json"]


def _messages(output: str) -> Iterator[dict[str, Any]]:
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        try:
            message = json.loads(line)
        except ValueError:
            continue  # a test's build script may print what it likes
        if isinstance(message, dict):
            yield message


def _executables(messages: Sequence[dict[str, Any]], crate: str) -> Iterator[tuple[str, tuple[str, Path]]]:
    for message in messages:
        if message.get("reason") != "compiler-artifact" or not message.get("executable"):
            continue
        if not message["profile"]["test"] or not is_package_of(message["package_id"], crate):
            continue
        target = message["target"]
        kind = "unit" if {"lib", "rlib", "proc-macro"} & set(target["kind"]) else target["kind"][0]
        # A library and a binary may share the crate's name: each has its own unit tests.
        name = f"{target['name']}.bin" if kind == "bin" else target["name"]
        yield name, (kind, Path(message["executable"]))


def is_package_of(package_id: str, crate: str) -> bool:
    """Tell whether a package id, old form or new, names the crate."""
    specification = package_id.split(" ")[0]
    fragment = specification.rpartition("#")[2]
    name = (
        fragment.partition("@")[0] if "@" in fragment else specification.partition("#")[0].rpartition("/")[2]
    )
    return crate in (name, specification)


def _not_built(
    messages: Sequence[dict[str, Any]], executables: dict[str, tuple[str, Path]]
) -> Iterator[NotBuilt]:
    said: dict[str, str] = {}
    for message in messages:
        if message.get("reason") == "compiler-message" and message["message"].get("level") == "error":
            name = message["target"]["name"]
            said.setdefault(name, message["message"].get("rendered") or message["message"]["message"])
    for name, reason in said.items():
        if name not in executables:
            yield NotBuilt(name, reason[:4000])


def _described(manifest: BundleManifest, executables: dict[str, tuple[str, Path]]) -> Built:
    binaries, files, sources = [], [], []
    for name, (kind, path) in sorted(executables.items()):
        place = f"bin/{name}"
        binaries.append(TestBinary(name, place, kind, _tests_in(path)))
        files.append(describe_file(path, place))
        sources.append((place, path))
    return Built(replace(manifest, binaries=tuple(binaries), files=tuple(files)), tuple(sources))


def _tests_in(binary: Path) -> tuple[str, ...]:
    """List the tests of a binary, which is asked as its tests are run: it is the code of strangers."""
    user = other_user()
    with tempfile.TemporaryDirectory(prefix="ferroaudit-list-", ignore_cleanup_errors=True) as folder:
        # The target folder may lie where the other user can't read it.
        Path(folder).chmod(0o711)
        with scratch_folder(Path(folder), user) as scratch:
            own = scratch.root / "tests"
            shutil.copy(binary, own)
            own.chmod(0o755)
            command = [str(own), "--list", "--format", "terse"]
            record = run(command, scratch=scratch, limits=_LIST_LIMITS, environment={}, user=user)
    if record.exit_code != 0:
        said = record.detail or record.stderr[-2000:]
        raise BuildError(f"`{binary.name} --list` ended with {record.exit_code}: {said}")
    lines = record.stdout.splitlines()
    return tuple(line.removesuffix(": test") for line in lines if line.endswith(": test"))


def _cpu_features(cfg: str) -> tuple[str, ...]:
    prefix = 'target_feature="'
    return tuple(
        line.removeprefix(prefix).rstrip('"') for line in cfg.splitlines() if line.startswith(prefix)
    )


def _host_triple(version: str) -> str:
    return next(line.removeprefix("host: ") for line in version.splitlines() if line.startswith("host: "))
