"""What PyTorch raises where it supports something not: every unsupported dtype of every OpInfo, tried.

A bad launch can poison the CUDA context, and then every later call raises. So the tries run in a child
process that ends at the first poisoned context; the parent starts the next one behind that operator.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_map

from audit.parity.dump.environment import device
from audit.parity.dump.op_infos import infos
from audit.parity.dump.recording import backward, refusal

DTYPES = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
)
POISONED = 3


def _sample(info: Any, where: str) -> tuple[Any, Any]:
    supported = info.supported_dtypes(where)
    order = (torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool)
    dtype = next((d for d in order if d in supported), None) or sorted(supported, key=str)[0]
    sample = next(iter(info.sample_inputs(where, dtype, requires_grad=False)))
    return dtype, (sample.input, tuple(sample.args), dict(sample.kwargs))


def _cast(value: Any, sample_dtype: Any, dtype: Any, requires_grad: bool) -> Any:
    def cast(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.dtype == sample_dtype:
            return leaf.detach().clone().to(dtype).requires_grad_(requires_grad)
        return leaf

    return tree_map(cast, value)


def _try(info: Any, sample: tuple[Any, Any], dtype: Any, direction: str) -> dict[str, str]:
    sample_dtype, parts = sample
    with_grad = direction == "backward"
    value, args, kwargs = _cast(parts, sample_dtype, dtype, with_grad)
    try:
        result = info(value, *args, **kwargs)
        if with_grad and not backward(result):
            return {"state": "not-differentiable"}
        if device() == "cuda":
            torch.cuda.synchronize()
    except Exception as error:
        return {"state": "refused", **refusal(error)}
    return {"state": "ran"}


def _rows(info: Any, where: str) -> list[dict[str, str]]:
    tries = list(_tries(info, where))
    if not tries:
        return []
    try:
        sample = _sample(info, where)
    except Exception as error:
        return [
            {"dtype": d, "direction": w, "state": "no-sample", "text": str(error)[:200]} for d, w in tries
        ]
    return [{"dtype": d, "direction": w, **_try(info, sample, getattr(torch, d), w)} for d, w in tries]


def _is_poisoned(where: str) -> bool:
    if where != "cuda":
        return False
    try:
        torch.cuda.synchronize()
        torch.ones(2, device=where).sum().item()
    except Exception:
        return True
    return False


def _tries(info: Any, where: str) -> Iterator[tuple[str, str]]:
    supported = {str(d).removeprefix("torch.") for d in info.supported_dtypes(where)}
    with_backward = (
        {str(d).removeprefix("torch.") for d in info.supported_backward_dtypes(where)}
        if info.supports_autograd
        else set()
    )
    for dtype in DTYPES:
        if dtype not in supported:
            yield dtype, "forward"
        elif info.supports_autograd and dtype not in with_backward and "int" not in dtype and dtype != "bool":
            yield dtype, "backward"


def child(output: Path, start: int, seconds: float) -> int:
    """Try the OpInfos from `start` on; append one JSON line per OpInfo."""
    where = device()
    deadline = time.monotonic() + seconds
    with output.open("a", encoding="utf-8") as lines:
        for position, info in itertools.islice(enumerate(infos()), start, None):
            if time.monotonic() > deadline:
                return 0
            rows = _rows(info, where)
            poisoned = _is_poisoned(where)
            row = {"position": position, "name": info.name, "variant": info.variant_test_name}
            lines.write(json.dumps({**row, "poisoned": poisoned, "tries": [] if poisoned else rows}) + "\n")
            lines.flush()
            if poisoned:
                return POISONED
    return 0


def refusals(seconds: float) -> list[dict[str, Any]]:
    """Return the tries of every OpInfo reached in `seconds`, sorted; what was not reached has no row."""
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "tries.jsonl"
        output.touch()
        rows: list[dict[str, Any]] = []
        start = 0
        while (left := deadline - time.monotonic()) > 0:
            command = [sys.executable, "-m", "audit.parity.dump", "--tries", str(output)]
            command += ["--start", str(start), "--seconds", f"{left:.0f}"]
            try:
                done = subprocess.run(command, check=False, timeout=left + 30).returncode
            except subprocess.TimeoutExpired:
                done = 0
            rows = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
            reached = rows[-1]["position"] + 1 if rows else start
            if done == 0:
                break
            # A crash wrote no row for the operator that crashed: it is stepped over.
            start = reached if done == POISONED else reached + 1
    for row in rows:
        del row["position"]
    return sorted(rows, key=lambda row: (row["name"], row["variant"]))
