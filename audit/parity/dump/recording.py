"""Which operators a call reaches below autograd, and on which device its result is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

TEXT_LIMIT = 400


class Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Collect the names of the operators that are dispatched while it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(func.name())
        return func(*args, **(kwargs or {}))


def tensors(value: Any) -> Iterator[Any]:
    """Yield the tensors in nested results."""
    for leaf in tree_flatten(value)[0]:
        if isinstance(leaf, torch.Tensor):
            yield leaf


def refusal(error: BaseException) -> dict[str, str]:
    """Return an exception's type and the first of its text."""
    kind = type(error)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    text = " ".join(str(error).split())
    return {"exception": name, "text": text[:TEXT_LIMIT]}


def backward(value: Any) -> bool:
    """Run the backward pass of all that can be differentiated in `value`; return whether there was any."""
    roots = [t for t in tensors(value) if t.requires_grad and t.grad_fn is not None]
    if roots:
        torch.autograd.backward(roots, [torch.ones_like(t) for t in roots])
    return bool(roots)


def recorded(call: Callable[[], Any], *, with_backward: bool) -> dict[str, Any]:
    """Run `call` and say what it reached, where its results are, and what it or its backward raised."""
    seen: dict[str, Any] = {}
    with Recorder() as forward:
        try:
            value = call()
        except Exception as error:
            return {"forward": {"refusal": refusal(error)}}
    seen["forward"] = {
        "operators": sorted(forward.names),
        "devices": sorted({t.device.type for t in tensors(value)}),
    }
    if not with_backward:
        return seen
    with Recorder() as behind:
        try:
            differentiable = backward(value)
        except Exception as error:
            seen["backward"] = {"refusal": refusal(error)}
            return seen
    if differentiable:
        seen["backward"] = {"operators": sorted(behind.names)}
    return seen
