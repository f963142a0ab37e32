"""Fitted linear regressions of scikit-learn: the problem each one states, and its gap."""

from __future__ import annotations

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates import Certificate, SquaredLossPoint
from cotas.certificates.lasso import LassoPoint, LassoProblem
from cotas.foreign.fit import ForeignFit, unproved


def linear_regression(fit: ForeignFit) -> list[Certificate]:
    """Compute Σ wᵢ(yᵢ − θ·xᵢ − θ₀)²: divided by 2Σw it is our problem."""
    return _least_squares(fit, np.zeros(1))


def ridge(fit: ForeignFit) -> list[Certificate]:
    """Compute Σ wᵢ(yᵢ − θ·xᵢ − θ₀)² + alpha‖θ‖²: divided by 2Σw it is ours with λ = alpha/Σw."""
    alphas = np.atleast_1d(np.asarray(fit.model.alpha, dtype=np.float64))
    return _least_squares(fit, alphas / fit.weights.sum())


def sgd_regressor(fit: ForeignFit) -> list[Certificate]:
    """Read the mean of ½wᵢ(yᵢ − θ·xᵢ − θ₀)² + (alpha/2)‖θ‖², the bias free."""
    model = fit.model
    if model.loss != "squared_error" or model.penalty not in ("l2", None):
        other = f"loss={model.loss!r}, penalty={model.penalty!r}"
        return unproved("SGDRegressor({other}) minimizes something else.", other=other)
    # Its mean divides by the number of examples; ours by the sum of the weights.
    alpha = 0.0 if model.penalty is None else float(model.alpha)
    return _least_squares(fit, np.array([alpha / fit.weights.mean()]))


def _least_squares(fit: ForeignFit, lams: FloatArray) -> list[Certificate]:
    model, X, y, weights = fit.model, fit.X, fit.y, fit.weights
    if getattr(model, "positive", False):
        return unproved(
            "{name}(positive=True) minimizes over θ ≥ 0, where a small gradient is not what marks "
            "the best.",
            name=type(model).__name__,
        )
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


def lasso(fit: ForeignFit) -> list[Certificate]:
    """Compute ½ Σ sᵢ(yᵢ − β·xᵢ − β₀)² + α‖β‖₁; the residual of the model is the dual point."""
    return _penalized(fit, 1.0)


def elastic_net(fit: ForeignFit) -> list[Certificate]:
    """Read a problem like the Lasso's, with α(ρ‖β‖₁ + ½(1 − ρ)‖β‖²), ρ being `l1_ratio`."""
    return _penalized(fit, float(fit.model.l1_ratio))


def _penalized(fit: ForeignFit, l1_ratio: float) -> list[Certificate]:
    model, X, y, weights = fit.model, fit.X, fit.y, fit.weights
    if model.alpha <= 0:
        return unproved("{name}(alpha=0) is least squares.", name=type(model).__name__)
    if y.ndim != np.ndim(model.intercept_) + 1 and model.fit_intercept:
        return unproved("The model has another number of targets than y.")
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
