"""Fitted Lasso and elastic-net models of scikit-learn: the problem each one states, and its gap."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates import Certificate, no_certificate
from cotas.certificates.lasso import LassoPoint, LassoProblem
from cotas.words import say


def lasso(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, max_time: float
) -> list[Certificate]:
    """½ Σ sᵢ(yᵢ − β·xᵢ − β₀)² + α‖β‖₁; the residual of the model is the dual point."""
    return _penalized(model, X, y, weights, 1.0)


def elastic_net(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, max_time: float
) -> list[Certificate]:
    """As the Lasso, with α(ρ‖β‖₁ + ½(1 − ρ)‖β‖²), ρ being `l1_ratio`."""
    return _penalized(model, X, y, weights, float(model.l1_ratio))


def _penalized(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, l1_ratio: float
) -> list[Certificate]:
    if model.alpha <= 0:
        return [no_certificate(say("{name}(alpha=0) is least squares.", name=type(model).__name__))]
    if y.ndim != np.ndim(model.intercept_) + 1 and model.fit_intercept:
        return [no_certificate("The model has another number of targets than y.")]
    problem = LassoProblem(
        lam=float(model.alpha),
        l1_ratio=l1_ratio,
        positive=bool(model.positive),
        free_bias=bool(model.fit_intercept),
    )
    coefs = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    biases = np.broadcast_to(np.atleast_1d(model.intercept_), len(coefs))
    columns = [None] if y.ndim == 1 else range(len(coefs))
    return [
        LassoPoint(problem, coef, float(bias), weights, column).check(X, y)
        for coef, bias, column in zip(coefs, biases, columns, strict=True)
    ]
