"""Operators are shown in the family that PyTorch's own tables put them in."""

from __future__ import annotations

import pytest

from audit.parity.catalogue import newest
from audit.parity.families import Family, family_of


@pytest.mark.parametrize(
    ("counterpart", "family"),
    [
        ("aten::add", Family.ELEMENTWISE),
        ("aten::exp", Family.ELEMENTWISE),
        ("aten::sum", Family.REDUCTION),
        ("aten::cumsum", Family.REDUCTION),
        ("aten::matmul", Family.LINALG),
        ("aten::linalg_svd", Family.LINALG),
        ("torch.linalg.cond", Family.LINALG),
        ("aten::_fft_c2c", Family.FFT),
        ("aten::conv2d", Family.NN),
        ("torch.nn.Linear", Family.NN),
        ("torch.distributions.Gamma.log_prob", Family.DISTRIBUTIONS),
        ("aten::rand", Family.RANDOM),
        ("aten::view", Family.OTHER),
        ("aten::no_such_operator", Family.OTHER),
    ],
)
def test_an_operator_has_its_family(counterpart: str, family: Family) -> None:
    assert family_of(newest(), counterpart) is family
