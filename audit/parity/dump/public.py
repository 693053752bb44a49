"""PyTorch's public names, its modules and its optimizers, and the operators they reach."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.testing._internal.common_modules import module_db

from audit.parity.dump.environment import device
from audit.parity.dump.op_infos import dtype_names
from audit.parity.dump.recording import recorded, refusal

NAMESPACES = (
    "torch",
    "torch.Tensor",
    "torch.amp",
    "torch.autograd",
    "torch.autograd.forward_ad",
    "torch.autograd.functional",
    "torch.autograd.graph",
    "torch.autograd.profiler",
    "torch.compiler",
    "torch.cuda",
    "torch.cuda.amp",
    "torch.cuda.comm",
    "torch.distributed",
    "torch.distributed.algorithms.join",
    "torch.distributed.checkpoint",
    "torch.distributed.device_mesh",
    "torch.distributed.fsdp",
    "torch.distributed.nn.functional",
    "torch.distributed.pipelining",
    "torch.distributed.rpc",
    "torch.distributed.tensor",
    "torch.distributed.tensor.parallel",
    "torch.distributions",
    "torch.distributions.constraints",
    "torch.distributions.transforms",
    "torch.export",
    "torch.fft",
    "torch.func",
    "torch.fx",
    "torch.hub",
    "torch.jit",
    "torch.linalg",
    "torch.masked",
    "torch.nested",
    "torch.nn",
    "torch.nn.attention",
    "torch.nn.attention.flex_attention",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.parallel",
    "torch.nn.parameter",
    "torch.nn.utils",
    "torch.nn.utils.fusion",
    "torch.nn.utils.parametrizations",
    "torch.nn.utils.prune",
    "torch.nn.utils.rnn",
    "torch.nn.utils.stateless",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.optim.swa_utils",
    "torch.overrides",
    "torch.profiler",
    "torch.ao.nn.qat",
    "torch.ao.nn.quantized",
    "torch.ao.quantization",
    "torch.random",
    "torch.signal.windows",
    "torch.sparse",
    "torch.special",
    "torch.testing",
    "torch.utils.checkpoint",
    "torch.utils.data",
    "torch.utils.dlpack",
    "torch.utils.tensorboard",
    "torchvision.datasets",
    "torchvision.io",
    "torchvision.models",
    "torchvision.models.detection",
    "torchvision.models.segmentation",
    "torchvision.ops",
    "torchvision.transforms",
    "torchvision.transforms.v2",
    "torchvision.transforms.v2.functional",
)


def _resolve(path: str) -> Any:
    if path == "torch.Tensor":
        return torch.Tensor
    return importlib.import_module(path)


def _kind(value: Any, owner: Any) -> str:
    if inspect.isclass(value):
        return "class"
    if inspect.isclass(owner):
        return "method" if callable(value) else "property"
    return "function" if callable(value) else ""


def namespaces() -> dict[str, Any]:
    """Return the public names of each namespace with their kind; a namespace that fails says why."""
    found: dict[str, Any] = {}
    for path in NAMESPACES:
        try:
            owner = _resolve(path)
        except Exception as error:
            found[path] = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
            continue
        names = {}
        for name in sorted(dir(owner)):
            if name.startswith("_"):
                continue
            try:
                kind = _kind(getattr(owner, name), owner)
            except Exception:
                kind = "property"
            if kind:
                names[name] = kind
        found[path] = {"names": names}
    return found


def modules() -> list[dict[str, Any]]:
    """Return PyTorch's table of modules under test: dtypes, gradients, and what each reaches."""
    where = device()
    rows = []
    for info in sorted(module_db, key=lambda i: str(i.name)):
        reached: dict[str, Any] = {}
        try:
            inputs = info.module_inputs_func(
                info, device=where, dtype=torch.float32, requires_grad=True, training=True
            )
            first = next(iter(inputs))
            made = info.module_cls(*first.constructor_input.args, **first.constructor_input.kwargs).to(where)
            call = partial(made, *first.forward_input.args, **first.forward_input.kwargs)
            reached = recorded(call, with_backward=True)
        except Exception as error:
            reached = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
        cls = info.module_cls
        rows.append(
            {
                "name": f"torch.{info.name}",
                "class": f"{cls.__module__}.{cls.__name__}",
                "dtypes": dtype_names(info.dtypes),
                "supports_gradgrad": bool(info.supports_gradgrad),
                "reached": reached,
            }
        )
    return rows


def _step(cls: Any) -> Callable[[], Any]:
    where = device()
    parameter = torch.nn.Parameter(torch.randn(4, 4, device=where))
    if cls is torch.optim.SparseAdam:
        parameter.grad = torch.randn(4, 4, device=where).to_sparse()
    else:
        parameter.grad = torch.randn(4, 4, device=where)
    optimizer = cls([parameter], lr=0.1)
    if cls is torch.optim.LBFGS:
        return lambda: optimizer.step(lambda: (parameter * parameter).sum())
    return lambda: optimizer.step()


def optimizers() -> list[dict[str, Any]]:
    """Return the optimizers of `torch.optim` with the operators one step on the device reaches."""
    rows = []
    for name, cls in sorted(vars(torch.optim).items()):
        if not inspect.isclass(cls) or cls is torch.optim.Optimizer:
            continue
        if not issubclass(cls, torch.optim.Optimizer):
            continue
        try:
            reached = recorded(_step(cls), with_backward=False)
        except Exception as error:
            reached = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
        parameters = inspect.signature(cls).parameters
        options = [option for option in ("foreach", "fused", "capturable") if option in parameters]
        rows.append({"name": f"torch.optim.{name}", "options": options, "reached": reached})
    return rows


def behaviours() -> list[dict[str, Any]]:
    """Return what torch answers to calls that cross devices, for which the policy wants its words.

    Without CUDA nothing is crossed: only devices that are not there are asked for.
    """
    probes: dict[str, Callable[[], Any]] = {
        f"torch.ones(2, device='{absent}')": partial(torch.ones, 2, device=absent)
        for absent in ("mps", "xpu", "cuda:99")
    }
    if device() == "cuda":
        probes |= _crossing()
    rows = []
    for code, probe in probes.items():
        try:
            value = probe()
        except Exception as error:
            rows.append({"code": code, "state": "refused", **refusal(error)})
        else:
            rows.append({"code": code, "state": "ran", "device": value.device.type})
    return rows


def _crossing() -> dict[str, Callable[[], Any]]:
    on_device, on_host = torch.ones(2, device="cuda"), torch.ones(2)
    return {
        "torch.ones(2, device='cuda') + torch.ones(2)": lambda: on_device + on_host,
        "torch.ones(2, device='cuda').numpy()": on_device.numpy,
        "torch.mm(cuda, cpu)": lambda: torch.mm(on_device.reshape(1, 2), on_host.reshape(2, 1)),
        "torch.nn.functional.linear(cuda, cpu)": lambda: torch.nn.functional.linear(on_device, on_host),
        "torch.ones(2, device='cuda').index_select(0, cpu)": lambda: on_device.index_select(
            0, torch.tensor([0])
        ),
    }
