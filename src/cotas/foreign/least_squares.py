"""Fitted linear regressions of scikit-learn: the problem each one states, and its gap."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates import Certificate, SquaredLossPoint, no_certificate
from cotas.certificates.lasso import LassoPoint, LassoProblem
from cotas.words import say


def linear_regression(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, max_time: float
) -> list[Certificate]:
    """Σ wᵢ(yᵢ − θ·xᵢ − θ₀)²: divided by 2Σw it is our problem."""
    return _least_squares(model, np.zeros(1), X, y, weights)


def ridge(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, max_time: float
) -> list[Certificate]:
    """Σ wᵢ(yᵢ − θ·xᵢ − θ₀)² + alpha‖θ‖²: divided by 2Σw it is ours with λ = alpha/Σw."""
    alphas = np.atleast_1d(np.asarray(model.alpha, dtype=np.float64))
    return _least_squares(model, alphas / weights.sum(), X, y, weights)


def sgd_regressor(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, max_time: float
) -> list[Certificate]:
    """Mean of ½wᵢ(yᵢ − θ·xᵢ − θ₀)² + (alpha/2)‖θ‖², the bias free."""
    if model.loss != "squared_error" or model.penalty not in ("l2", None):
        other = f"loss={model.loss!r}, penalty={model.penalty!r}"
        return [no_certificate(say("SGDRegressor({other}) minimizes something else.", other=other))]
    # Its mean divides by the number of examples; ours by the sum of the weights.
    alpha = 0.0 if model.penalty is None else float(model.alpha)
    return _least_squares(model, np.array([alpha / weights.mean()]), X, y, weights)


def _least_squares(
    model: Any, lams: FloatArray, X: Matrix, y: AnyArray, weights: FloatArray
) -> list[Certificate]:
    if getattr(model, "positive", False):
        name = type(model).__name__
        return [
            no_certificate(
                say(
                    "{name}(positive=True) minimizes over θ ≥ 0, where a small gradient is "
                    "not what marks the best.",
                    name=name,
                )
            )
        ]
    thetas = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    biases = np.broadcast_to(np.ravel(np.asarray(model.intercept_, dtype=np.float64)), len(thetas))
    alike = bool((weights == weights[0]).all())
    points = [
        SquaredLossPoint(
            coef=theta.copy(),
            intercept=float(theta0),
            lam=float(lam),
            free_bias=bool(model.fit_intercept),
            column=None if np.ndim(y) == 1 else c,
            weights=None if alike else weights,
        )
        for c, (theta, theta0, lam) in enumerate(
            zip(thetas, biases, np.broadcast_to(lams, len(thetas)), strict=True)
        )
    ]
    if len({point.lam for point in points}) == 1:
        return SquaredLossPoint.check_all(points, X, y)
    return [point.check(X, y) for point in points]


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
