"""PyTorch's own table of operators under test: dtypes, backward, aliases, and the operators each reaches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import partial
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

from audit.parity.dump.environment import device
from audit.parity.dump.recording import recorded

SAMPLES = 3


def dtype_names(dtypes: Iterable[Any]) -> list[str]:
    """Return sorted names without `torch.`."""
    return sorted(str(dtype).removeprefix("torch.") for dtype in dtypes)


def infos() -> list[Any]:
    """Return the OpInfos in a fixed order."""
    return sorted(op_db, key=lambda info: (info.name, info.variant_test_name))


def _reached(info: Any) -> dict[str, Any]:
    """Run the first samples in float32 (or the first dtype there is) and join what they reach.

    An operator that has no dtype on the device is run on the CPU.
    """
    where = device() if info.supported_dtypes(device()) else "cpu"
    supported = info.supported_dtypes(where)
    dtype = torch.float32 if torch.float32 in supported else sorted(supported, key=str)[0]
    differentiable = info.supports_autograd and dtype in info.supported_backward_dtypes(where)
    name = str(dtype).removeprefix("torch.")
    reached: dict[str, Any] = {"device": where, "dtype": name, "forward": [], "backward": []}
    samples = info.sample_inputs(where, dtype, requires_grad=differentiable)
    for sample in itertools.islice(samples, SAMPLES):
        call = partial(info, sample.input, *sample.args, **sample.kwargs)
        seen = recorded(call, with_backward=differentiable)
        for direction in ("forward", "backward"):
            names = seen.get(direction, {}).get("operators", [])
            reached[direction] = sorted({*reached[direction], *names})
    return reached


def _row(info: Any) -> dict[str, Any]:
    autograd = bool(info.supports_autograd)
    try:
        reached: dict[str, Any] = _reached(info)
    except Exception as error:
        reached = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
    return {
        "name": info.name,
        "variant": info.variant_test_name,
        "family": type(info).__name__,
        "aten_name": info.aten_name or "",
        "aliases": sorted(alias.name for alias in info.aliases or ()),
        "method": getattr(info.method_variant, "__name__", "") if info.method_variant else "",
        "inplace": getattr(info.inplace_variant, "__name__", "") if info.inplace_variant else "",
        "supports_autograd": autograd,
        "supports_gradgrad": bool(info.supports_gradgrad),
        "supports_forward_ad": bool(info.supports_forward_ad),
        "dtypes": {where: dtype_names(info.supported_dtypes(where)) for where in ("cpu", "cuda")},
        "backward_dtypes": {
            where: dtype_names(info.supported_backward_dtypes(where)) if autograd else []
            for where in ("cpu", "cuda")
        },
        "reached": reached,
    }


def op_infos() -> list[dict[str, Any]]:
    """Return one row per OpInfo."""
    return [_row(info) for info in infos()]
