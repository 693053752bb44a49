"""What PyTorch says about a name: the operators behind it and what it supports.

A counterpart is `aten::NAME` or a public name: `torch.linalg.svd`, `torch.nn.LayerNorm`,
`torch.optim.Adam`, `torch.distributions.Gamma.log_prob`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from audit.parity.catalogue import Catalogue, Composite, Direction, Operator, OpInfo, Reached, Refusal

# Public namespaces whose functions carry their namespace in the operator's name.
_SPELLED = {"torch.linalg": "linalg_", "torch.fft": "fft_", "torch.special": "special_"}
# Where modules and optimizers were run for the dump.
RECORDED = "cuda:float32"
_BY_MODULE = (*_SPELLED, "torch.nn.functional", "torch.masked", "torch.signal.windows")


# dtype, device, direction
Case = tuple[str, str, Direction]


class SupportState(StrEnum):
    """What PyTorch does for a case."""

    KERNEL = "kernel"
    COMPOSITE = "composite"
    REFUSED = "refused"
    NOT_DIFFERENTIABLE = "not-differentiable"
    UNKNOWN = "unknown"
    ABSENT = "absent"

    @property
    def can(self) -> bool:
        """Whether PyTorch computes the case on the device."""
        return self in (SupportState.KERNEL, SupportState.COMPOSITE)


@dataclass(frozen=True, slots=True)
class Support:
    """A state and the fact it rests on."""

    state: SupportState
    proof: str


def _split(counterpart: str) -> tuple[str, str]:
    namespace, _, name = counterpart.rpartition(".")
    return namespace, name


def is_known(catalogue: Catalogue, counterpart: str) -> bool:
    """Say whether PyTorch has something of this name."""
    if counterpart.startswith("aten::"):
        return counterpart.removeprefix("aten::") in catalogue.by_base
    namespace, name = _split(counterpart)
    distribution = catalogue.distribution(namespace) if namespace else None
    return name in catalogue.namespaces.get(namespace, {}) or (
        distribution is not None and any(name in methods for methods in distribution.methods.values())
    )


def infos(catalogue: Catalogue, counterpart: str) -> tuple[OpInfo, ...]:
    """Return the OpInfos of a counterpart, its unnamed variant first.

    An operator without one is known through the public function that reaches it: `_fft_c2c` through
    `fft.fft`, `silu_backward` through `silu`.
    """
    if counterpart.startswith("aten::"):
        base = counterpart.removeprefix("aten::")
        found = catalogue.infos(base) or catalogue.infos(base.removesuffix("_backward"))
        return found or catalogue.infos_by_reached.get(base, ())[:1]
    namespace, name = _split(counterpart)
    if namespace in _BY_MODULE:
        found = catalogue.infos(f"{namespace.removeprefix('torch.')}.{name}")
        return found or catalogue.infos(name)
    return catalogue.infos(name) if namespace in ("torch", "torch.Tensor") else ()


def reached(catalogue: Catalogue, counterpart: str, place: str = RECORDED) -> Reached | None:
    """Return what calling the counterpart at `device:dtype` reached, where that was recorded.

    Distributions were recorded at several places, all else at one.
    """
    namespace, name = _split(counterpart)
    if namespace.startswith("torch.distributions."):
        distribution = catalogue.distribution(namespace)
        return distribution.methods.get(place, {}).get(name) if distribution else None
    if place != RECORDED:
        return None
    module, optimizer = catalogue.module(counterpart), catalogue.optimizer(counterpart)
    if module is not None:
        return module.reached
    if optimizer is not None:
        return optimizer.reached
    rows = infos(catalogue, counterpart)
    return rows[0].reached if rows else None


def operators(catalogue: Catalogue, counterpart: str) -> tuple[Operator, ...]:
    """Return the overloads of the operator of that name; empty for modules, optimizers and the like."""
    if counterpart.startswith("aten::"):
        return catalogue.overloads(counterpart.removeprefix("aten::"))
    namespace, name = _split(counterpart)
    if namespace in _SPELLED:
        return catalogue.overloads(_SPELLED[namespace] + name) or catalogue.overloads(name)
    if namespace in ("torch", "torch.Tensor", "torch.nn.functional"):
        found = catalogue.overloads(name)
        if found:
            return found
        named = [row.aten_name for row in infos(catalogue, counterpart) if row.aten_name]
        return catalogue.overloads(named[0]) if named else ()
    return ()


def operator_names(catalogue: Catalogue, counterpart: str) -> tuple[str, ...]:
    """Return the base names of the operators behind a counterpart: its own, or those it reached."""
    own = tuple(sorted({row.base for row in operators(catalogue, counterpart)}))
    if own:
        return own
    seen = reached(catalogue, counterpart)
    return tuple(sorted({name.partition(".")[0] for name in seen.forward})) if seen else ()


def _functional(rows: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """Leave out in-place and `out=` overloads."""
    return tuple(row for row in rows if "(a!)" not in row.schema) or rows


def _with_kernel(rows: tuple[Operator, ...], key: str) -> str:
    return next((row.name for row in rows if key in row.kernels or key in row.declared), "")


def _registered(rows: tuple[Operator, ...], device: str) -> Support | None:
    """Say what the dispatcher holds for a device: a kernel, a composite, or a declaration only.

    An operator that is CompositeExplicitAutograd because it only allocates for its `out=` overload (`abs`)
    has the kernel of that overload.
    """
    key = device.upper()
    native = tuple(row for row in rows if row.is_native) or rows
    functional = _functional(native)
    implicit = next((row.name for row in functional if row.composite is Composite.IMPLICIT), "")
    own = _with_kernel(functional, key) or ("" if implicit else _with_kernel(native, key))
    if own:
        return Support(SupportState.KERNEL, f"aten::{own} has a {key} kernel")
    if implicit:
        return Support(SupportState.COMPOSITE, f"aten::{implicit} is {Composite.IMPLICIT}")
    explicit = next((row.name for row in functional if row.composite is Composite.EXPLICIT), "")
    if explicit and not any(row.is_structured for row in functional):
        return Support(SupportState.COMPOSITE, f"aten::{explicit} is {Composite.EXPLICIT}")
    return None


def _missing(catalogue: Catalogue, counterpart: str) -> Refusal | None:
    """Return what the dispatcher raised for an operator without a CUDA kernel."""
    names = [row.name for row in operators(catalogue, counterpart)]
    return next((catalogue.missing_kernels[n] for n in names if n in catalogue.missing_kernels), None)


def _raised(seen: Refusal | None) -> str:
    return f": raises {seen.exception}: {seen.text}" if seen and seen.state == "refused" else ""


def _refusal(catalogue: Catalogue, counterpart: str, info: OpInfo, case: Case) -> Support:
    dtype, device, direction = case
    seen = catalogue.refusals.get((info.name, dtype, direction)) if device == "cuda" else None
    if seen and seen.state == "ran":
        return Support(SupportState.KERNEL, f"{info.name} ran in {dtype} though its own table omits it")
    if device == "cuda" and not info.dtypes.get(device):
        seen = _missing(catalogue, counterpart)
    fact = f"{info.name} does not support {dtype} {direction} on {device}"
    return Support(SupportState.REFUSED, fact + _raised(seen))


def _by_info(catalogue: Catalogue, counterpart: str, rows: tuple[OpInfo, ...], case: Case) -> Support:
    dtype, device, direction = case
    if direction is Direction.BACKWARD and not any(row.supports_autograd for row in rows):
        return Support(SupportState.NOT_DIFFERENTIABLE, f"{rows[0].name} has no autograd support")
    for row in rows:
        if row.supports(dtype, device, direction):
            registered = _registered(operators(catalogue, counterpart), device)
            state = registered.state if registered else SupportState.COMPOSITE
            fact = f"{row.name} lists {dtype} {direction} on {device}"
            return Support(state, f"{fact}; {registered.proof}" if registered else fact)
    return _refusal(catalogue, counterpart, rows[0], case)


def _by_recording(seen: Reached, counterpart: str, case: Case) -> Support:
    dtype, device, direction = case
    refusal = seen.refusals.get(direction)
    if refusal:
        text = f": {refusal.text}" if refusal.text else ""
        return Support(SupportState.REFUSED, f"{counterpart} raises {refusal.exception}{text}")
    if direction is Direction.BACKWARD and not seen.backward:
        return Support(SupportState.NOT_DIFFERENTIABLE, f"{counterpart} gave nothing to differentiate")
    names = seen.forward if direction is Direction.FORWARD else seen.backward
    shown = ", ".join(names[:4]) or "no operator"
    return Support(SupportState.COMPOSITE, f"{counterpart} ran in {dtype} on {device}: {shown}")


def _without_info(catalogue: Catalogue, counterpart: str, case: Case) -> Support | None:
    """Answer for what has no OpInfo: distributions, modules and optimizers, from their recordings."""
    dtype, device, _ = case
    seen = reached(catalogue, counterpart, f"{device}:{dtype}")
    if seen is not None and not seen.error:
        return _by_recording(seen, counterpart, case)
    module = catalogue.module(counterpart)
    if module is not None and dtype in module.dtypes:
        return Support(SupportState.COMPOSITE, f"PyTorch's module tests run {counterpart} in {dtype}")
    functional = _functional_of(catalogue, counterpart)
    rows = infos(catalogue, functional) if functional else ()
    return _by_info(catalogue, functional, rows, case) if rows else None


def _functional_of(catalogue: Catalogue, counterpart: str) -> str:
    """Return the function that a module of the same name calls: `dropout2d` of `torch.nn.Dropout2d`."""
    namespace, name = _split(counterpart)
    if namespace != "torch.nn":
        return ""
    known = catalogue.namespaces.get("torch.nn.functional", {})
    found = next((one for one in known if one.replace("_", "") == name.lower()), "")
    return f"torch.nn.functional.{found}" if found else ""


def support(catalogue: Catalogue, counterpart: str, dtype: str, device: str, direction: Direction) -> Support:
    """Say what PyTorch does for one case, and by which fact.

    CPU and CUDA are known by dtype from PyTorch's own tables; of MPS and XPU only the keys that
    native_functions.yaml declares are known, so a dtype there is `unknown` at best.
    """
    case = (dtype, device, direction)
    if device in ("cpu", "cuda"):
        rows = infos(catalogue, counterpart)
        answer = (
            _by_info(catalogue, counterpart, rows, case)
            if rows
            else _without_info(catalogue, counterpart, case)
        )
        if answer is not None:
            return answer
    own = operators(catalogue, counterpart)
    if not own:
        known = _is_known(catalogue, counterpart)
        state = SupportState.UNKNOWN if known else SupportState.ABSENT
        return Support(state, f"no operator or recording tells {dtype} on {device} for {counterpart}")
    registered = _registered(own, device)
    if registered is None:
        seen = _missing(catalogue, counterpart) if device == "cuda" else None
        fact = f"no overload of {own[0].base} has a {device.upper()} kernel"
        return Support(SupportState.REFUSED, fact + _raised(seen))
    if device in ("cpu", "cuda"):
        return Support(SupportState.UNKNOWN, f"{registered.proof}; its dtypes are not in PyTorch's tables")
    return Support(SupportState.UNKNOWN, f"{registered.proof}, as declared; its dtypes are not known here")


def _is_known(catalogue: Catalogue, counterpart: str) -> bool:
    """Say whether PyTorch has the name at all."""
    namespace, name = _split(counterpart)
    if namespace.startswith("torch.distributions."):
        row = catalogue.distribution(namespace)
        return row is not None and any(name in methods for methods in row.methods.values())
    return catalogue.has_public(counterpart)
