"""Every method of every distribution, on each device and dtype: what it reaches and where its result is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import distributions
from torch.distributions.kl import _KL_REGISTRY

from audit.parity.dump.environment import device
from audit.parity.dump.recording import recorded

METHODS = (
    "sample",
    "rsample",
    "log_prob",
    "cdf",
    "icdf",
    "entropy",
    "mean",
    "mode",
    "variance",
    "stddev",
    "perplexity",
)
Make = Callable[[Callable[..., Any]], Any]

# One way to build each class; `t` makes a tensor that requires grad.
MAKERS: dict[str, Make] = {
    "Bernoulli": lambda t: distributions.Bernoulli(t(0.3, 0.6)),
    "Beta": lambda t: distributions.Beta(t(1.5, 2.5), t(2.0, 3.0)),
    "Binomial": lambda t: distributions.Binomial(5, t(0.3, 0.6)),
    "Categorical": lambda t: distributions.Categorical(t(0.2, 0.3, 0.5)),
    "Cauchy": lambda t: distributions.Cauchy(t(0.0, 1.0), t(1.0, 2.0)),
    "Chi2": lambda t: distributions.Chi2(t(2.0, 3.0)),
    "ContinuousBernoulli": lambda t: distributions.ContinuousBernoulli(t(0.3, 0.6)),
    "Dirichlet": lambda t: distributions.Dirichlet(t(1.5, 2.5, 3.5)),
    "Exponential": lambda t: distributions.Exponential(t(1.0, 2.0)),
    "FisherSnedecor": lambda t: distributions.FisherSnedecor(t(5.0, 6.0), t(7.0, 8.0)),
    "Gamma": lambda t: distributions.Gamma(t(1.5, 2.5), t(1.0, 2.0)),
    "GeneralizedPareto": lambda t: distributions.GeneralizedPareto(t(0.0, 0.0), t(1.0, 2.0), t(0.1, 0.2)),
    "Geometric": lambda t: distributions.Geometric(t(0.3, 0.6)),
    "Gumbel": lambda t: distributions.Gumbel(t(0.0, 1.0), t(1.0, 2.0)),
    "HalfCauchy": lambda t: distributions.HalfCauchy(t(1.0, 2.0)),
    "HalfNormal": lambda t: distributions.HalfNormal(t(1.0, 2.0)),
    "Independent": lambda t: distributions.Independent(distributions.Normal(t(0.0, 1.0), t(1.0, 2.0)), 1),
    "InverseGamma": lambda t: distributions.InverseGamma(t(3.5, 4.5), t(1.0, 2.0)),
    "Kumaraswamy": lambda t: distributions.Kumaraswamy(t(1.5, 2.5), t(2.0, 3.0)),
    "LKJCholesky": lambda t: distributions.LKJCholesky(3, t(1.5)[0]),
    "Laplace": lambda t: distributions.Laplace(t(0.0, 1.0), t(1.0, 2.0)),
    "LogNormal": lambda t: distributions.LogNormal(t(0.0, 1.0), t(0.5, 0.6)),
    "LogisticNormal": lambda t: distributions.LogisticNormal(t(0.0, 1.0), t(1.0, 2.0)),
    "LowRankMultivariateNormal": lambda t: distributions.LowRankMultivariateNormal(
        t(0.0, 1.0), t(1.0, 0.5).reshape(2, 1), t(1.0, 2.0)
    ),
    "MixtureSameFamily": lambda t: distributions.MixtureSameFamily(
        distributions.Categorical(t(0.4, 0.6)), distributions.Normal(t(0.0, 1.0), t(1.0, 2.0))
    ),
    "Multinomial": lambda t: distributions.Multinomial(4, t(0.2, 0.3, 0.5)),
    "MultivariateNormal": lambda t: distributions.MultivariateNormal(t(0.0, 1.0), torch.diag(t(1.0, 2.0))),
    "NegativeBinomial": lambda t: distributions.NegativeBinomial(5, t(0.3, 0.6)),
    "Normal": lambda t: distributions.Normal(t(0.0, 1.0), t(1.0, 2.0)),
    "OneHotCategorical": lambda t: distributions.OneHotCategorical(t(0.2, 0.3, 0.5)),
    "OneHotCategoricalStraightThrough": lambda t: distributions.OneHotCategoricalStraightThrough(
        t(0.2, 0.3, 0.5)
    ),
    "Pareto": lambda t: distributions.Pareto(t(1.0, 2.0), t(3.0, 4.0)),
    "Poisson": lambda t: distributions.Poisson(t(1.0, 2.0)),
    "RelaxedBernoulli": lambda t: distributions.RelaxedBernoulli(t(0.5)[0], t(0.3, 0.6)),
    "RelaxedOneHotCategorical": lambda t: distributions.RelaxedOneHotCategorical(t(0.5)[0], t(0.2, 0.3, 0.5)),
    "StudentT": lambda t: distributions.StudentT(t(3.0, 4.0), t(0.0, 1.0), t(1.0, 2.0)),
    "TransformedDistribution": lambda t: distributions.TransformedDistribution(
        distributions.Normal(t(0.0, 1.0), t(1.0, 2.0)), [distributions.ExpTransform()]
    ),
    "Uniform": lambda t: distributions.Uniform(t(0.0, 1.0), t(2.0, 3.0)),
    "VonMises": lambda t: distributions.VonMises(t(0.0, 1.0), t(1.0, 2.0)),
    "Weibull": lambda t: distributions.Weibull(t(1.0, 2.0), t(1.5, 2.5)),
    "Wishart": lambda t: distributions.Wishart(t(3.0)[0], torch.diag(t(1.0, 2.0))),
}


def _call(made: Any, method: str) -> Callable[[], Any]:
    if method in ("mean", "mode", "variance", "stddev"):
        return lambda: getattr(made, method)
    if method == "icdf":
        some = made.sample()
        return lambda: made.icdf(torch.full_like(some, 0.4))
    if method in ("log_prob", "cdf"):
        value = made.sample()
        return lambda: getattr(made, method)(value)
    return lambda: getattr(made, method)()


def _methods(make: Make, where: str, dtype: Any) -> dict[str, Any]:
    def t(*values: float) -> Any:
        return torch.tensor(values, device=where, dtype=dtype, requires_grad=True)

    found: dict[str, Any] = {}
    for method in METHODS:
        try:
            found[method] = recorded(_call(make(t), method), with_backward=True)
        except Exception as error:
            found[method] = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
    return found


def kl_divergences() -> list[dict[str, Any]]:
    """Return what `kl_divergence` reaches for every registered pair of classes that can be built here."""
    where = device()

    def t(*values: float) -> Any:
        return torch.tensor(values, device=where, requires_grad=True)

    rows = []
    for left, right in sorted(_KL_REGISTRY, key=lambda pair: (pair[0].__name__, pair[1].__name__)):
        row: dict[str, Any] = {"left": left.__name__, "right": right.__name__}
        if row["left"] in MAKERS and row["right"] in MAKERS:
            p, q = MAKERS[row["left"]](t), MAKERS[row["right"]](t)
            row["reached"] = recorded(partial(distributions.kl_divergence, p, q), with_backward=True)
        rows.append(row)
    return rows


def distribution_classes() -> list[dict[str, Any]]:
    """Return one row per distribution class."""
    where = device()
    pairs: dict[str, list[str]] = {}
    for left, right in _KL_REGISTRY:
        pairs.setdefault(left.__name__, []).append(right.__name__)
    rows = []
    for name in sorted(distributions.__all__):
        cls = getattr(distributions, name)
        if not (inspect.isclass(cls) and issubclass(cls, distributions.Distribution)):
            continue
        row: dict[str, Any] = {
            "name": f"torch.distributions.{name}",
            "has_rsample": bool(getattr(cls, "has_rsample", False) is True),
            "own_methods": sorted(m for m in METHODS if m in vars(cls)),
            "kl_with": sorted(pairs.get(name, [])),
        }
        if name in MAKERS:
            row["methods"] = {
                f"{place}:{dtype}": _methods(MAKERS[name], place, getattr(torch, dtype))
                for place in sorted({where, "cpu"})
                for dtype in ("float32", "float64")
            }
        rows.append(row)
    return rows
