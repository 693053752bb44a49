"""NVIDIA's `ptxas`, asked whether it accepts a text."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from audit.scanner.ptx.assembly import Assembled, Assembly
from audit.scanner.whole_file import file_replace

_RELEASE = re.compile(r"\bV(\d+(?:\.\d+)+)")
_UNKNOWN_TARGET = re.compile(
    r"is not defined for option 'gpu-name'|Unsupported gpu architecture", re.IGNORECASE
)
_TIMEOUT_SECONDS = 60
_LOG_CHARACTERS = 4000
_WHEEL_PACKAGES = ("nvidia.cuda_nvcc", "nvidia.cu13")


class Assembler:
    """One `ptxas`, with a cache by text, version and target.

    `cache` is a folder, or None to keep nothing. `jobs` is the number of assemblies at the same time.
    """

    def __init__(self, program: Path, *, cache: Path | None = None, jobs: int = 1) -> None:
        self.program = program
        self.version = _version(program)
        self._cache = cache / "ptx" / self.version if cache is not None else None
        self._jobs = max(jobs, 1)

    def assemble_all(
        self, texts: Iterable[str], targets: Sequence[str]
    ) -> Mapping[tuple[str, str], Assembly]:
        """Assemble each text for each target; the answer is by (text, target)."""
        wanted = [(text, target) for text in dict.fromkeys(texts) for target in targets]
        # The assembler is a process of its own: threads wait for it side by side.
        # A scan without an assembler has no use for what this loads.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self._jobs) as pool:
            answers = pool.map(lambda pair: self.assemble(*pair), wanted)
            return dict(zip(wanted, answers, strict=True))

    def assemble(self, text: str, target: str) -> Assembly:
        """Assemble a text for a target such as `sm_80`."""
        kept = self._kept(text, target)
        known = _load(kept)
        if known is not None:
            return known
        command = [str(self.program), "-arch", target, "-o", os.devnull, "-"]
        try:
            done = subprocess.run(
                command, input=text.encode(), capture_output=True, timeout=_TIMEOUT_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return Assembly(Assembled.FAILED, str(error))
        log = (done.stderr + done.stdout).decode("utf-8", "replace")[:_LOG_CHARACTERS]
        answer = Assembly(_status(done.returncode, log), log)
        if answer.status is not Assembled.FAILED:
            _save(kept, answer)
        return answer

    def _kept(self, text: str, target: str) -> Path | None:
        if self._cache is None:
            return None
        digest = hashlib.sha256(text.encode()).hexdigest()
        return self._cache / target / digest[:2] / digest[2:]


def find_ptxas() -> Path | None:
    """Find the assembler: the one of the installed compiler wheel, or the one on PATH."""
    for package in _WHEEL_PACKAGES:
        with contextlib.suppress(ModuleNotFoundError):
            spec = importlib.util.find_spec(package)
            for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
                program = Path(folder) / "bin" / "ptxas"
                if os.access(program, os.X_OK):
                    return program
    on_path = shutil.which("ptxas")
    return Path(on_path) if on_path else None


def find_assembler(*, cache: Path | None = None, jobs: int = 1) -> Assembler | None:
    """Return an assembler that answers, or None."""
    program = find_ptxas()
    if program is None:
        return None
    assembler = Assembler(program, cache=cache, jobs=jobs)
    return assembler if assembler.version else None


def _version(program: Path) -> str:
    try:
        done = subprocess.run([str(program), "--version"], capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _RELEASE.search(done.stdout.decode("utf-8", "replace"))
    return found[1] if found is not None else ""


def _status(returncode: int, log: str) -> Assembled:
    if returncode == 0:
        return Assembled.ACCEPTED
    if _UNKNOWN_TARGET.search(log):
        return Assembled.UNKNOWN_TARGET
    # A text that is refused is refused with a log; a signal or an empty log is the assembler's own failure.
    return Assembled.REJECTED if returncode > 0 and "ptxas" in log else Assembled.FAILED


def _load(path: Path | None) -> Assembly | None:
    if path is None:
        return None
    try:
        status, _, log = path.read_text("utf-8").partition("\n")
        return Assembly(Assembled(status), log)
    except (OSError, ValueError):
        return None


def _save(path: Path | None, answer: Assembly) -> None:
    if path is None:
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        file_replace(path, (f"{answer.status}\n{answer.log}".encode(),), prefix="tmp")
