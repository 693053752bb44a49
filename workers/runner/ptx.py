"""Asks the real driver whether PTX texts load, and keeps its log."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workers.protocol.evidence import Ending, PtxReading, RunRecord
from workers.protocol.job import Limits, PtxText
from workers.runner.execute import User, run, scratch_folder

_LOADER = Path(__file__).with_name("ptx_loader.py")
_OUTPUT_BYTES = 64 * 1024**2


def load_on_driver(
    texts: Sequence[PtxText],
    *,
    work: Path,
    limits: Limits,
    user: User | None = None,
    loader: Path = _LOADER,
) -> tuple[PtxReading, ...]:
    """Load each text on the first device. A text that ends the process is told, and the rest go on.

    The driver's compiler reads what strangers wrote, so it runs as `user`.
    """
    limits = replace(limits, output_bytes=_OUTPUT_BYTES)
    readings: list[PtxReading] = []
    with scratch_folder(work, user) as scratch:
        # The package may lie where the other user can't read it.
        script = shutil.copyfile(loader, scratch.root / "ptx_loader.py")
        file = scratch.root / "texts.json"
        file.write_text(json.dumps([text.text for text in texts]), "utf-8")
        for path in (script, file):
            path.chmod(0o644)
        python = _interpreter(user)
        while len(readings) < len(texts):
            command = [python, "-I", "-S", str(script), str(file), str(len(readings))]
            environment = {"CUDA_CACHE_DISABLE": "1"}
            done = run(
                command,
                scratch=scratch,
                limits=limits,
                environment=environment,
                user=user,
                watch_linker=False,
            )
            lines = _lines(done)
            refused = next((str(line["driver"]) for line in lines if "driver" in line), None)
            if refused is not None:
                readings += [_unread(text, refused) for text in texts[len(readings) :]]
                break
            readings += [_reading(texts[line["index"]], line) for line in lines if "index" in line]
            if len(readings) < len(texts):
                readings.append(_unread(texts[len(readings)], _why_ended(done)))
    return tuple(readings)


def _interpreter(user: User | None) -> str:
    """Give a Python that the user can start: this one, or the machine's own."""
    candidates = (Path(sys.executable), Path("/usr/bin/python3"), Path("/usr/local/bin/python3"))
    found = (path for path in candidates if user is None or is_open_to_all(path))
    return str(next(found, candidates[0]))


def is_open_to_all(path: Path) -> bool:
    """Whether every user can start a program: it, what it links to, and the folders on the way."""
    if not path.is_file():
        return False
    places = (path, path.resolve())
    on_the_way = {parent for place in places for parent in place.parents}
    return all(parent.stat().st_mode & 0o001 for parent in on_the_way) and bool(path.stat().st_mode & 0o001)


def _lines(done: RunRecord) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in done.stdout.splitlines() if line.startswith("{") and line.endswith("}")
    ]


def _why_ended(done: RunRecord) -> str:
    if done.ending is not Ending.EXITED:
        return f"the loading process ended: {done.detail}"
    return f"the loading process ended with {done.exit_code}: {done.stderr[-500:]}"


def _reading(text: PtxText, line: dict[str, Any]) -> PtxReading:
    return PtxReading(
        name=text.name,
        sha256=text.sha256,
        loaded=line["result"] == 0,
        result=line["result"],
        error=line["error"],
        log=line["log"].replace("\x00", "\ufffd"),
        device=line["device"],
        driver_version=line["version"],
    )


def _unread(text: PtxText, error: str) -> PtxReading:
    """A text on which the driver gave no answer: `result` is null, and it is not said to be refused."""
    return PtxReading(name=text.name, sha256=text.sha256, loaded=False, result=None, error=error, log="")
