"""Asks the real driver whether PTX texts load, and keeps its log."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workers.protocol.evidence import Ending, PtxReading, RunRecord
from workers.protocol.job import Limits, PtxText
from workers.runner.execute import run, scratch_folder

_LOADER = Path(__file__).with_name("ptx_loader.py")
_OUTPUT_BYTES = 64 * 1024**2


def load_on_driver(
    texts: Sequence[PtxText], *, work: Path, limits: Limits, loader: Path = _LOADER
) -> tuple[PtxReading, ...]:
    """Load each text on the first device. A text that ends the process is told, and the rest go on."""
    limits = replace(limits, output_bytes=_OUTPUT_BYTES)
    readings: list[PtxReading] = []
    with scratch_folder(work, None) as scratch:
        file = scratch.work / "texts.json"
        file.write_text(json.dumps([text.text for text in texts]), "utf-8")
        while len(readings) < len(texts):
            command = [sys.executable, "-I", "-S", str(loader), str(file), str(len(readings))]
            environment = {"CUDA_CACHE_DISABLE": "1"}
            done = run(command, scratch=scratch, limits=limits, environment=environment, watch_linker=False)
            lines = _lines(done)
            refused = next((str(line["driver"]) for line in lines if "driver" in line), None)
            if refused is not None:
                readings += [_unread(text, refused) for text in texts[len(readings) :]]
                break
            readings += [_reading(texts[line["index"]], line) for line in lines if "index" in line]
            if len(readings) < len(texts):
                readings.append(_unread(texts[len(readings)], _why_ended(done)))
    return tuple(readings)


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
        sha256=_digest(text),
        loaded=line["result"] == 0,
        result=line["result"],
        error=line["error"],
        log=line["log"].replace("\x00", "\ufffd"),
        device=line["device"],
        driver_version=line["version"],
    )


def _unread(text: PtxText, error: str) -> PtxReading:
    """A text on which the driver gave no answer: `result` is null, and it is not said to be refused."""
    return PtxReading(name=text.name, sha256=_digest(text), loaded=False, result=None, error=error, log="")


def _digest(text: PtxText) -> str:
    return hashlib.sha256(text.text.encode()).hexdigest()
