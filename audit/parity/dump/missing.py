"""What the dispatcher raises for operators that have a CPU kernel and none for the device."""

from __future__ import annotations

from typing import Any

import torch

from audit.parity.dump.environment import device
from audit.parity.dump.recording import refusal

UNTRIED = object()


def _argument(argument: Any, where: str) -> Any:
    kind = str(argument.type)
    if argument.has_default_value():
        return argument.default_value
    made: dict[str, Any] = {
        "Tensor": torch.ones(2, 2, device=where),
        "List[Tensor]": [torch.ones(2, 2, device=where)],
        "int": 1,
        "SymInt": 1,
        "float": 1.0,
        "bool": False,
        "number": 1,
        "List[int]": [1],
        "List[SymInt]": [1],
        "List[float]": [1.0],
        "List[bool]": [False],
        "str": "",
    }
    if kind.startswith("Optional["):
        return None
    return made.get(kind, UNTRIED)


def missing_kernels(operators: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Call every operator that runs on CPU and not on CUDA with CUDA tensors; say what that raises.

    The dispatcher refuses before it looks at values, so any arguments of the right types will do.
    """
    where = device()
    rows = []
    for row in operators:
        if "CPU" not in row["runs_on"] or "CUDA" in row["runs_on"] or where != "cuda":
            continue
        base, _, overload = row["name"].partition(".")
        operator = getattr(getattr(torch.ops.aten, base), overload or "default")
        arguments = operator._schema.arguments
        made = {a.name: _argument(a, where) for a in arguments}
        if any(value is UNTRIED for value in made.values()) or not any(
            str(a.type) in ("Tensor", "List[Tensor]") for a in arguments
        ):
            rows.append({"name": row["name"], "state": "not-tried"})
            continue
        positional = [made[a.name] for a in arguments if not a.kwarg_only]
        named = {a.name: made[a.name] for a in arguments if a.kwarg_only}
        try:
            operator(*positional, **named)
        except Exception as error:
            rows.append({"name": row["name"], "state": "refused", **refusal(error)})
        else:
            rows.append({"name": row["name"], "state": "ran"})
    return rows
