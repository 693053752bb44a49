"""Makes the tracer and the canary ready on this machine: compiled once and cached, or brought along."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parent
LIBRARY_NAME = "libferroaudit_tracer.so"
CANARY_NAME = "ferroaudit_canary"
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra")
_INPUTS = ("tracer.c", "trace_file.c", "trace_file.h", "cupti_abi.h", "canary.c")


class TracerError(RuntimeError):
    """The tracer can't be had here, with the command and output that say so."""


@dataclass(frozen=True, slots=True)
class Tracer:
    """Where the tracer, the canary and CUPTI lie, readable for every user."""

    library: Path
    canary: Path
    cupti: Path
    origin: str

    def environment(self, trace_folder: Path, trace_bytes: int) -> dict[str, str]:
        """Give the variables that put the tracer into a process."""
        return {
            "CUDA_INJECTION64_PATH": str(self.library),
            "FERROAUDIT_CUPTI": str(self.cupti),
            "FERROAUDIT_TRACE_DIR": str(trace_folder),
            "FERROAUDIT_TRACE_BYTES": str(trace_bytes),
        }


def source_digest() -> str:
    """Give the checksum over the tracer's sources: the name of its cache entry."""
    digest = hashlib.sha256()
    for name in _INPUTS:
        digest.update(name.encode() + b"\0" + (SOURCES / name).read_bytes() + b"\0")
    return digest.hexdigest()


def prepare_tracer(
    *,
    cache: Path,
    cupti: Path,
    compilers: Sequence[str] = ("cc", "gcc", "clang"),
    prebuilt: Path | None = None,
) -> Tracer:
    """Give a tracer for this machine: from the cache, compiled, or from the folder `prebuilt`."""
    folder = cache / f"tracer-{source_digest()[:16]}-{platform.machine()}"
    origin = "cached"
    if not (folder / LIBRARY_NAME).is_file():
        compiler = next((found for name in compilers if (found := shutil.which(name))), None)
        if compiler is not None:
            origin = _compile_into(folder, compiler)
        elif prebuilt is not None:
            origin = _copy_into(folder, prebuilt)
        else:
            raise TracerError(f"no C compiler ({', '.join(compilers)}) on the PATH and no prebuilt tracer")
    # A wheel under a home folder is closed to the user that tests run as, so CUPTI is copied beside.
    own_cupti = folder / cupti.name
    if not own_cupti.is_file() or own_cupti.stat().st_size != cupti.stat().st_size:
        _copy_whole(cupti, own_cupti)
    return Tracer(folder / LIBRARY_NAME, folder / CANARY_NAME, own_cupti, origin)


def compile_tracer(folder: Path, compiler: str) -> None:
    """Compile library and canary into `folder`."""
    library = [str(SOURCES / "tracer.c"), str(SOURCES / "trace_file.c")]
    shared = ("-fPIC", "-fvisibility=hidden", "-shared", "-pthread")
    _run([compiler, *_FLAGS, *shared, *library, "-o", str(folder / LIBRARY_NAME), "-ldl"])
    _run([compiler, *_FLAGS, str(SOURCES / "canary.c"), "-o", str(folder / CANARY_NAME), "-ldl"])


def _compile_into(folder: Path, compiler: str) -> str:
    with _staged(folder) as staged:
        compile_tracer(Path(staged), compiler)
        _publish(Path(staged), folder)
    return f"compiled with {compiler}"


def _copy_into(folder: Path, prebuilt: Path) -> str:
    """Take a tracer that was built elsewhere, if the loader takes it: it names the libraries it needs."""
    for name in (LIBRARY_NAME, CANARY_NAME):
        if not (prebuilt / name).is_file():
            raise TracerError(f"prebuilt tracer: `{prebuilt / name}` is missing")
    try:
        ctypes.CDLL(str(prebuilt / LIBRARY_NAME))
    except OSError as error:
        raise TracerError(f"prebuilt tracer does not load here: {error}") from error
    with _staged(folder) as staged:
        for name in (LIBRARY_NAME, CANARY_NAME):
            shutil.copyfile(prebuilt / name, Path(staged) / name)
        _publish(Path(staged), folder)
    return f"prebuilt from {prebuilt}"


def _copy_whole(source: Path, target: Path) -> None:
    """Copy a file so that another process sees all of it or none."""
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".copy-", delete=False) as copy:
        with source.open("rb") as stream:
            shutil.copyfileobj(stream, copy)
        os.fchmod(copy.fileno(), 0o755)
    os.replace(copy.name, target)  # noqa: PTH105 - the atomic rename is the point


def _staged(folder: Path) -> tempfile.TemporaryDirectory[str]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=".tracer-", dir=folder.parent, ignore_cleanup_errors=True)


def _publish(staged: Path, folder: Path) -> None:
    """Move the finished folder into place; who comes second keeps the first one's."""
    staged.chmod(0o755)
    for path in staged.iterdir():
        path.chmod(0o755)
    try:
        os.rename(staged, folder)  # noqa: PTH104 - the atomic rename is the point
    except OSError:
        if not (folder / LIBRARY_NAME).is_file():
            raise


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise TracerError(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr[-2000:]}")
