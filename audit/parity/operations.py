"""The operations of a workspace: what of its code has, or should have, a counterpart in PyTorch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class OperationKind(StrEnum):
    """Where in the layers of a workspace an operation stands."""

    BACKEND_METHOD = "backend-method"
    KERNEL = "kernel"
    TENSOR_METHOD = "tensor-method"
    FUNCTION = "function"
    SCALAR_FUNCTION = "scalar-function"
    AUTOGRAD_NODE = "autograd-node"
    MODULE = "module"
    DISTRIBUTION_METHOD = "distribution-method"
    OPTIMIZER = "optimizer"
    SCHEDULER = "scheduler"
    TRANSFORM = "transform"


# A crate's own spelling of an operator for one number (`fn lgamma_t<T: Float>(x: T) -> T`) is written for the
# host: nothing brings it to a device.
_NUMBER = r"(?:[A-Z]|f16|bf16|f32|f64)"
_SCALAR_SIGNATURE = re.compile(rf"fn \w+\(\w+: {_NUMBER}(?:, \w+: {_NUMBER})*\) -> {_NUMBER}")

GPU_KINDS = frozenset({OperationKind.BACKEND_METHOD, OperationKind.KERNEL})


@dataclass(frozen=True, slots=True, order=True)
class Declaration:
    """A function, or the implementation of a trait for a type, as it stands in a file.

    `trait` is the implemented or declaring trait, `owner` the type (or, in a trait, the trait itself);
    `name` is empty for the implementation as such. `module_path` is `crate::module` without the item.
    """

    path: str
    line: int
    crate: str
    module_path: str
    name: str
    owner: str = ""
    trait: str = ""
    signature: str = ""
    is_public: bool = False
    is_test: bool = False
    in_trait: bool = False


@dataclass(frozen=True, slots=True, order=True)
class Operation:
    """Something that computes on tensors or device buffers, or trains with them."""

    name: str
    kind: OperationKind
    module_path: str
    crate: str
    path: str
    line: int
    owner: str = ""
    signature: str = ""

    @property
    def symbol(self) -> str:
        """The fully qualified name."""
        inner = f"{self.owner}::{self.name}" if self.owner and self.owner != self.name else self.name
        return f"{self.module_path}::{inner}"


@dataclass(frozen=True, slots=True)
class Layout:
    """Which crates and types of a project family hold operations.

    `devices` maps crates that implement the backend trait to the device each stands for, `kernel_devices`
    all GPU crates to the device of their kernels. `preparations` lay data out and compute nothing.
    """

    gpu_crates: frozenset[str]
    crates: frozenset[str]
    tensor_types: frozenset[str]
    gpu_prefixes: tuple[str, ...]
    backend_trait: str
    distribution_trait: str
    preparations: frozenset[str]
    devices: Mapping[str, str]
    kernel_devices: Mapping[str, str]
    traits: tuple[tuple[str, OperationKind], ...]


_FAMILY = "ferrotorch"
FERROTORCH = Layout(
    gpu_crates=frozenset({"ferrotorch-gpu", "ferrotorch-cubecl", "ferrotorch-xpu", "ferrotorch-mps"}),
    crates=frozenset(
        f"ferrotorch-{name}"
        for name in (
            "core",
            "gpu",
            "cubecl",
            "xpu",
            "mps",
            "nn",
            "optim",
            "distributions",
            "distributed",
            "train",
            "vision",
        )
    ),
    tensor_types=frozenset(
        {"Tensor", "ComplexTensor", "SparseTensor", "BoolTensor", "IntTensor", "GpuTensor"}
    ),
    gpu_prefixes=("gpu_", "portable_", "xpu_"),
    backend_trait="GpuBackend",
    distribution_trait="Distribution",
    preparations=frozenset(
        {"contiguous", "contiguous_t", "contiguous_in", "data", "data_ref", "detach", "clone"}
    ),
    devices={"ferrotorch-gpu": "cuda", "ferrotorch-mps": "mps", "ferrotorch-xpu": "xpu"},
    kernel_devices={
        "ferrotorch-gpu": "cuda",
        "ferrotorch-cubecl": "cubecl",
        "ferrotorch-mps": "mps",
        "ferrotorch-xpu": "xpu",
    },
    traits=(
        ("GradFn", OperationKind.AUTOGRAD_NODE),
        ("Module", OperationKind.MODULE),
        ("Optimizer", OperationKind.OPTIMIZER),
        ("LrScheduler", OperationKind.SCHEDULER),
        ("Transform", OperationKind.TRANSFORM),
    ),
)

# Host-side tensors and the device buffers of cudarc, CubeCL and the backend trait.
_TENSOR_LIKE = re.compile(
    r"\b(\w*Tensor|CudaBuffer|CudaSlice|CudaView|CudaViewMut|GpuBufferHandle|Handle|Array|Parameter|PackedSequence)\b"
)


def _inherent_kind(declaration: Declaration, layout: Layout) -> OperationKind | None:
    """Return the kind of a free function or of a method outside any trait."""
    takes_tensors = bool(_TENSOR_LIKE.search(declaration.signature))
    if declaration.owner in layout.tensor_types:
        return OperationKind.TENSOR_METHOD
    if declaration.owner:
        # Losses are plain types whose `forward` takes two tensors.
        return OperationKind.MODULE if declaration.name == "forward" and takes_tensors else None
    if declaration.crate in layout.gpu_crates:
        is_named_so = declaration.name.startswith(layout.gpu_prefixes)
        return OperationKind.KERNEL if takes_tensors or is_named_so else None
    return OperationKind.FUNCTION if takes_tensors else None


def _kind(declaration: Declaration, layout: Layout) -> OperationKind | None:
    if declaration.in_trait:
        is_backend = declaration.trait == layout.backend_trait
        return OperationKind.BACKEND_METHOD if is_backend else None
    if declaration.trait == layout.distribution_trait:
        return OperationKind.DISTRIBUTION_METHOD if declaration.name else None
    if declaration.trait:
        return None if declaration.name else dict(layout.traits).get(declaration.trait)
    if declaration.is_public:
        return _inherent_kind(declaration, layout)
    is_upper = not declaration.owner and declaration.crate not in layout.gpu_crates
    is_scalar = is_upper and _SCALAR_SIGNATURE.fullmatch(declaration.signature)
    return OperationKind.SCALAR_FUNCTION if is_scalar else None


def operations(declarations: Iterable[Declaration], layout: Layout = FERROTORCH) -> tuple[Operation, ...]:
    """Return the operations among the declarations, sorted; twins under opposite cfgs count once."""
    found: dict[tuple[str, str, str, OperationKind], Operation] = {}
    for declaration in sorted(declarations):
        if declaration.is_test or declaration.crate not in layout.crates:
            continue
        kind = _kind(declaration, layout)
        if kind is None:
            continue
        is_type = not declaration.name or kind is OperationKind.MODULE
        name = declaration.owner if is_type else declaration.name
        key = (declaration.module_path, declaration.owner, name, kind)
        found.setdefault(
            key,
            Operation(
                name=name,
                kind=kind,
                module_path=declaration.module_path,
                crate=declaration.crate,
                path=declaration.path,
                line=declaration.line,
                owner=declaration.owner,
                signature=declaration.signature,
            ),
        )
    return tuple(sorted(found.values()))


def gpu_operations(rows: Iterable[Operation]) -> Iterator[Operation]:
    """Yield the public operations that are named or located as GPU code."""
    return (row for row in rows if row.kind in GPU_KINDS)


def layout_of(crates: Iterable[str]) -> Layout | None:
    """Return the layout of a workspace: ferrotorch's, under the name that the workspace's crates begin with.

    A workspace has it whose `NAME-core` and `NAME-gpu` are crates; any other has none that is known.
    """
    names = frozenset(crates)
    families = sorted(
        name.removesuffix("-core") for name in names if name.endswith("-core") and _gpu_twin(name) in names
    )
    if not families:
        return None

    def renamed(name: str) -> str:
        return name.replace(_FAMILY, families[0], 1)

    return replace(
        FERROTORCH,
        gpu_crates=frozenset(map(renamed, FERROTORCH.gpu_crates)),
        crates=frozenset(map(renamed, FERROTORCH.crates)),
        devices={renamed(name): device for name, device in FERROTORCH.devices.items()},
        kernel_devices={renamed(name): device for name, device in FERROTORCH.kernel_devices.items()},
    )


def _gpu_twin(core: str) -> str:
    return f"{core.removesuffix('-core')}-gpu"
