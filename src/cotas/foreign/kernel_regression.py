"""Fitted kernel regressions of scikit-learn: the problem each one states, and its gap."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.blas import one_thread_in_blas
from cotas.certificates import Certificate, no_certificate
from cotas.certificates.kernel_regression import KernelRegression, KernelRegressionPoint
from cotas.fitting.threads import pooled
from cotas.foreign.kernel import UNKNOWN_ROWS, support_of, svc_kernel
from cotas.kernel.functions import Cosine, Linear, Polynomial, Precomputed
from cotas.kernel.gaussian import RBF
from cotas.kernel.interface import Kernel
from cotas.kernel.own import Custom


def svr(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, max_time: float
) -> list[Certificate]:
    """½‖θ‖² + C Σ wᵢ max(0, |yᵢ − f(xᵢ)| − ε) with a free bias."""
    if X.shape[0] != model.shape_fit_[0]:
        raise ValueError(f"The model was fitted on {model.shape_fit_[0]} rows, not {X.shape[0]}.")
    support = support_of(model, X, weights)
    if support is None:
        return [no_certificate(UNKNOWN_ROWS)]
    dual, beta = model.dual_coef_, np.zeros(len(y))
    beta[support] = np.ravel(dual.toarray() if hasattr(dual, "toarray") else dual)
    problem = KernelRegression(1.0 / (model.C * float(weights.sum())), True, float(model.epsilon))
    return [_checked(problem, svc_kernel(model), beta, float(model.intercept_[0]), weights, X, y)]


def kernel_ridge(
    model: Any, X: Matrix, y: AnyArray, weights: FloatArray, max_time: float
) -> list[Certificate]:
    """Σ wᵢ(yᵢ − f(xᵢ))² + α‖θ‖² without a bias."""
    beta = np.asarray(model.dual_coef_, dtype=np.float64)
    if beta.ndim != 1 or np.ndim(model.alpha) != 0:
        return [no_certificate("Of several targets at once, each has to be fitted on its own.")]
    if not model.alpha > 0:
        return [no_certificate("KernelRidge(alpha=0) has no penalty: it interpolates.")]
    if X.shape[0] != len(beta):
        raise ValueError(f"The model was fitted on {len(beta)} rows, not {X.shape[0]}.")
    problem = KernelRegression(float(model.alpha) / float(weights.sum()), False)
    return [_checked(problem, ridge_kernel(model, X.shape[1]), beta, 0.0, weights, X, y)]


def ridge_kernel(model: Any, d: int) -> Kernel:
    """The kernel of a fitted KernelRidge; what is none of ours becomes a `Custom` one."""
    gamma = 1.0 / d if model.gamma is None else float(model.gamma)
    name, degree, coef0 = model.kernel, model.degree, float(model.coef0)
    if name in ("poly", "polynomial") and degree == int(degree) >= 1 and coef0 >= 0 and gamma > 0:
        return Polynomial(int(degree), coef0, gamma)
    known = {"linear": Linear(), "cosine": Cosine(), "precomputed": Precomputed()}
    if name in known:
        return known[name]
    if name == "rbf" and gamma > 0:
        return RBF(gamma=gamma)
    given = {"gamma": model.gamma, "degree": degree, "coef0": coef0}
    given = (model.kernel_params or {}) if callable(name) else given
    function = partial(pairwise_kernels, metric=name, filter_params=not callable(name), **given)
    return Custom(function, of="blocks")


def _checked(
    problem: KernelRegression, kernel: Kernel, beta: FloatArray, bias: float,
    weights: FloatArray, X: Matrix, y: AnyArray,
) -> Certificate:  # fmt: skip
    point = KernelRegressionPoint(problem, kernel, beta, bias, weights)
    with one_thread_in_blas(), pooled(None) as each:
        return point.survey(X, y, each=each)[0]
