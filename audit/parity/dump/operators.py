"""The operators of the dispatcher, joined with native_functions.yaml and derivatives.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torchgen
import yaml
from torch._decomp import core_aten_decompositions, decomposition_table

KEYS = (
    "CPU",
    "CUDA",
    "MPS",
    "XPU",
    "Meta",
    "SparseCPU",
    "SparseCUDA",
    "SparseCsrCPU",
    "SparseCsrCUDA",
    "QuantizedCPU",
    "QuantizedCUDA",
    "MkldnnCPU",
    "NestedTensorCPU",
    "NestedTensorCUDA",
    "CompositeImplicitAutograd",
    "CompositeImplicitAutogradNestedTensor",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "Autograd",
    "AutogradCPU",
    "AutogradCUDA",
    "AutocastCPU",
    "AutocastCUDA",
)
RUNTIME_KEYS = ("CPU", "CUDA", "Meta")


def _packaged(relative: str) -> Any:
    path = Path(torchgen.__file__).parent / "packaged" / relative
    return yaml.load(path.read_text("utf-8"), Loader=yaml.SafeLoader)


def _words(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, list):
        return [str(item) for item in value]
    return [word.strip() for word in str(value).split(",") if word.strip()]


def _declared(entry: dict[str, Any]) -> dict[str, str]:
    dispatch = entry.get("dispatch") or {}
    return {key: str(function) for keys, function in dispatch.items() for key in _words(keys)}


def _native_functions() -> dict[str, dict[str, Any]]:
    """Return the entries of native_functions.yaml by operator name with overload.

    A structured operator's keys stand at the operator it delegates to, so they are taken from there. An
    entry without any dispatch is CompositeImplicitAutograd, as torchgen reads it.
    """
    entries = {str(e["func"]).split("(")[0]: e for e in _packaged("ATen/native/native_functions.yaml")}
    found = {}
    for name, entry in entries.items():
        delegate = entry.get("structured_delegate")
        declared = _declared(entries[delegate] if delegate else entry)
        if not declared and not delegate:
            declared = {"CompositeImplicitAutograd": name.split(".")[0]}
        found[name] = {
            "schema": str(entry["func"]),
            "variants": _words(entry.get("variants")) or ["function"],
            "declared": declared,
            "structured": bool(delegate or entry.get("structured")),
            "python_module": str(entry.get("python_module") or ""),
            "autogen": _words(entry.get("autogen")),
            "tags": _words(entry.get("tags")),
        }
    return found


def _derivatives() -> dict[str, dict[str, str]]:
    """Return the formulas of derivatives.yaml: operator name -> argument -> formula."""
    found: dict[str, dict[str, str]] = {}
    for entry in _packaged("autograd/derivatives.yaml"):
        schema = str(entry["name"])
        name, _, arguments = schema.partition("(")
        inputs = {
            part.split("=")[0].split()[-1] for part in arguments.split(") ->")[0].split(",") if part.strip()
        }
        source = entry.get("dispatch", {}).get("Default", {}) if "dispatch" in entry else entry
        formulas = found.setdefault(name, {})
        for key, formula in source.items():
            for argument in _words(key):
                if argument in inputs and key != "name":
                    formulas[argument] = " ".join(str(formula).split())
    return found


def _kernels(name: str, keys: tuple[str, ...]) -> list[str]:
    return [key for key in keys if torch._C._dispatch_has_kernel_for_dispatch_key(name, key)]


def _runs_on(name: str) -> list[str]:
    """Return the backends with a kernel of their own or through a composite."""
    has = torch._C._dispatch_has_computed_kernel_for_dispatch_key
    return [key for key in RUNTIME_KEYS if has(name, key)]


def _decompositions() -> dict[str, str]:
    core = set(core_aten_decompositions())
    found = {}
    for overload, function in decomposition_table.items():
        if isinstance(overload, torch._ops.OpOverload):
            kind = "core" if overload in core else "registered"
            found[overload.name()] = f"{kind}:{function.__module__}.{function.__qualname__}"
    return found


def operators() -> list[dict[str, Any]]:
    """Return every `aten` operator, sorted by name with overload."""
    native = _native_functions()
    autogen = {made: name for name, entry in native.items() for made in entry["autogen"]}
    derivatives = _derivatives()
    decompositions = _decompositions()
    schemas = {
        f"{s.name}.{s.overload_name}" if s.overload_name else s.name: str(s)
        for s in torch._C._jit_get_all_schemas()
    }
    rows = []
    for full in sorted(set(torch._C._dispatch_get_all_op_names())):
        if not full.startswith("aten::"):
            continue
        name = full.removeprefix("aten::")
        entry = native.get(name, {})
        rows.append(
            {
                "name": name,
                "schema": entry.get("schema") or schemas.get(full, "").removeprefix("aten::"),
                "variants": entry.get("variants", []),
                "declared": entry.get("declared", {}),
                "is_native": bool(entry),
                "generated_from": autogen.get(name, ""),
                "structured": entry.get("structured", False),
                "python_module": entry.get("python_module", ""),
                "tags": entry.get("tags", []),
                "kernels": _kernels(full, KEYS),
                "runs_on": _runs_on(full),
                "derivative": derivatives.get(name, {}),
                "decomposition": decompositions.get(full, ""),
            }
        )
    return rows
