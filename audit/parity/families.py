"""The families that operators are shown in, told from PyTorch's own tables."""

from __future__ import annotations

from enum import StrEnum

from audit.parity.catalogue import Catalogue
from audit.parity.counterparts import operators


class Family(StrEnum):
    """A group of operators, in the order of the matrix."""

    ELEMENTWISE = "elementwise"
    REDUCTION = "reduction"
    LINALG = "linalg"
    FFT = "fft"
    NN = "nn"
    OPTIM = "optim"
    DISTRIBUTIONS = "distributions"
    RANDOM = "random"
    OTHER = "other"


_BY_PREFIX = (
    ("torch.distributions.", Family.DISTRIBUTIONS),
    ("torch.nn.", Family.NN),
    ("torch.optim.", Family.OPTIM),
    ("torch.linalg.", Family.LINALG),
    ("torch.fft.", Family.FFT),
    ("aten::linalg_", Family.LINALG),
    ("aten::fft_", Family.FFT),
    ("aten::_fft_", Family.FFT),
)
_BY_MODULE = {"linalg": Family.LINALG, "fft": Family.FFT, "nn": Family.NN}
# Products of matrices and vectors, which PyTorch keeps outside torch.linalg, and running reductions.
_PRODUCTS = frozenset(
    (
        *("addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "chain_matmul", "cholesky", "dot", "einsum"),
        *("ger", "inner", "kron", "matmul", "mm", "mv", "outer", "tensordot", "vdot"),
    )
)
_RUNNING = frozenset({"cummax", "cummin", "cumprod", "cumsum", "logcumsumexp"})
_ELEMENTWISE_TESTS = frozenset({"UnaryUfuncInfo", "BinaryUfuncInfo"})


def family_of(catalogue: Catalogue, counterpart: str) -> Family:
    """Return the family of a counterpart: `aten::abs`, `torch.nn.Linear`."""
    for prefix, family in _BY_PREFIX:
        if counterpart.startswith(prefix):
            return family
    base = counterpart.rpartition("::")[2].rpartition(".")[2]
    if base in _PRODUCTS:
        return Family.LINALG
    if base in _RUNNING:
        return Family.REDUCTION
    rows = operators(catalogue, counterpart)
    tests = catalogue.infos(base)
    modules = {row.python_module for row in rows}
    for module, family in _BY_MODULE.items():
        if module in modules:
            return family
    if any(test.name.startswith("nn.functional.") for test in tests):
        return Family.NN
    tags = {tag for row in rows for tag in row.tags}
    if "reduction" in tags or any(test.family == "ReductionOpInfo" for test in tests):
        return Family.REDUCTION
    if "pointwise" in tags or any(test.family in _ELEMENTWISE_TESTS for test in tests):
        return Family.ELEMENTWISE
    return Family.RANDOM if "nondeterministic_seeded" in tags else Family.OTHER
