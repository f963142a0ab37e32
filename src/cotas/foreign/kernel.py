"""Fitted kernel machines and regressions of scikit-learn: the problem of each, and its gap."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels, polynomial_kernel, sigmoid_kernel

from cotas.arrays import FloatArray, IntArray, Matrix
from cotas.certificates import Certificate, KernelDualPoint
from cotas.certificates.kernel_regression import KernelRegression, KernelRegressionPoint
from cotas.certificates.presentation import against
from cotas.foreign.fit import ForeignFit, dense, unproved
from cotas.foreign.linear import svc as linear_svc_pair
from cotas.kernel.functions import Cosine, Linear, Polynomial, Precomputed
from cotas.kernel.gaussian import RBF
from cotas.kernel.interface import Kernel
from cotas.kernel.own import Custom
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk
from cotas.refusals import ParameterError
from cotas.running import blocks_in_threads


def svc(fit: ForeignFit) -> list[Certificate]:
    """Read ½‖θ‖² + C Σ wᵢHᵢ with a free bias, for each pair of classes, and its own dual
    variables."""
    model, X, y, weights = fit.model, fit.X, fit.y, fit.weights
    if model.kernel == "linear" and len(model.classes_) == 2:
        return linear_svc_pair(fit)
    support = support_of(model, X, weights)
    if support is None:
        return unproved(UNKNOWN_ROWS)
    kernel, codes = svc_kernel(model), np.searchsorted(model.classes_, y)
    return [
        _pair(fit, kernel, support, pair, number, codes)
        for number, pair in enumerate(combinations(range(len(model.classes_)), 2))
    ]


def svc_kernel(model: Any) -> Kernel:
    """Return the kernel of a fitted SVC, with γ as scikit-learn resolved it.

    What is no kernel for all rows, such as tanh, becomes a `Custom` one, to be examined.
    """
    if callable(model.kernel):
        return Custom(model.kernel, of="blocks")
    gamma, coef0, degree = float(model._gamma), float(model.coef0), model.degree
    if model.kernel == "poly":
        if degree >= 1 and coef0 >= 0 and gamma > 0:
            return Polynomial(int(degree), coef0, gamma)
        function = partial(polynomial_kernel, degree=degree, gamma=gamma, coef0=coef0)
        return Custom(function, of="blocks")
    if model.kernel == "sigmoid":
        return Custom(partial(sigmoid_kernel, gamma=gamma, coef0=coef0), of="blocks")
    if model.kernel == "rbf":
        return RBF(gamma=gamma)
    return Precomputed() if model.kernel == "precomputed" else Linear()


def refuse_other_rows(n: int, X: Matrix) -> None:
    """Raise unless X has as many rows as the model was fitted on."""
    if X.shape[0] != n:
        raise ParameterError("X", f"The model was fitted on {n} rows, not {X.shape[0]}.")


def support_of(model: Any, X: Matrix, weights: FloatArray) -> IntArray | None:
    """Find the rows that are support vectors; None if that cannot be told, an error of other rows.

    Rows of weight zero are left out before LIBSVM sees them, and `support_` then counts the rows
    that are left. The support vectors themselves show whether it was understood rightly.
    """
    refuse_other_rows(model.shape_fit_[0], X)
    kept = np.flatnonzero(weights > 0)
    rows = model.support_ if len(kept) == len(weights) else kept[model.support_]
    vectors = model.support_vectors_
    if vectors.shape[0] == 0:  # a callable or precomputed kernel keeps none
        return rows if len(kept) == len(weights) else None
    off = abs(X[rows] - vectors)
    return rows if off.max() <= 1e-6 * abs(vectors).max() else None


UNKNOWN_ROWS = (
    "Which rows are the support vectors cannot be told: these are not the rows of the fit, or some "
    "of them had weight zero. Fit without those, and certify with the rows of the fit."
)


def _pair(
    fit: ForeignFit,
    kernel: Kernel,
    support: IntArray,
    pair: tuple[int, int],
    number: int,
    codes: IntArray,
) -> Certificate:
    """Return two classes against each other; all other rows have no part in it."""
    model, (first, second) = fit.model, pair
    several = len(model.classes_) > 2
    beta = _coefficients(model, support, pair, codes)
    weights = np.where((codes == first) | (codes == second), fit.weights, 0.0)
    total = weights.sum()
    share = np.zeros(len(codes))
    np.divide(np.abs(beta), model.C * weights, out=share, where=weights > 0)
    names = model.classes_[[first, second]].tolist()
    point = KernelDualPoint(
        problem=RegularizedRisk(Hinge(), float(1.0 / (model.C * total)), free_bias=True),
        kernel=kernel,
        coef=beta,
        intercept=float(model.intercept_[number]),
        # LIBSVM counts the first of the two as +1; scikit-learn turns that round if they are all.
        positive=model.classes_[first if several else second],
        multipliers=share,
        weights=weights / total,
        subject=against(*names) if several else "",
    )
    with blocks_in_threads(None) as each:
        return KernelDualPoint.check_all([point], fit.X, fit.y, each=each)[0]


def _coefficients(
    model: Any, support: IntArray, pair: tuple[int, int], codes: IntArray
) -> FloatArray:
    """Read β of the pair, over all rows: an SVC keeps k − 1 coefficients for each support vector.

    Row j of `dual_coef_` holds those against the j-th of the other classes.
    """
    dual, (first, second) = dense(model.dual_coef_), pair
    beta = np.zeros(len(codes))
    for own, other in ((first, second), (second, first)):
        members = codes[support] == own
        row = other - 1 if other > own else other
        beta[support[members]] = dual[row, members]
    return beta


def svr(fit: ForeignFit) -> list[Certificate]:
    """Compute ½‖θ‖² + C Σ wᵢ max(0, |yᵢ − f(xᵢ)| − ε) with a free bias."""
    model, X, weights = fit.model, fit.X, fit.weights
    support = support_of(model, X, weights)
    if support is None:
        return unproved(UNKNOWN_ROWS)
    beta = np.zeros(len(fit.y))
    beta[support] = np.ravel(dense(model.dual_coef_))
    problem = KernelRegression(1.0 / (model.C * float(weights.sum())), True, float(model.epsilon))
    return [_checked(fit, problem, svc_kernel(model), beta, float(model.intercept_[0]))]


def kernel_ridge(fit: ForeignFit) -> list[Certificate]:
    """Compute Σ wᵢ(yᵢ − f(xᵢ))² + α‖θ‖² without a bias."""
    model, X = fit.model, fit.X
    beta = np.asarray(model.dual_coef_, dtype=np.float64)
    if beta.ndim != 1 or np.ndim(model.alpha) != 0:
        return unproved("Of several targets at once, each has to be fitted on its own.")
    if not model.alpha > 0:
        return unproved("KernelRidge(alpha=0) has no penalty: it interpolates.")
    refuse_other_rows(len(beta), X)
    problem = KernelRegression(float(model.alpha) / float(fit.weights.sum()), False)
    return [_checked(fit, problem, ridge_kernel(model, X.shape[1]), beta, 0.0)]


def ridge_kernel(model: Any, d: int) -> Kernel:
    """Return the kernel of a fitted KernelRidge; what is none of ours becomes a `Custom` one."""
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
    fit: ForeignFit, problem: KernelRegression, kernel: Kernel, beta: FloatArray, bias: float
) -> Certificate:
    point = KernelRegressionPoint(problem, kernel, beta, bias, fit.weights)
    with blocks_in_threads(None) as each:
        return point.full_check(fit.X, fit.y, each=each)[0]
