"""Is there a hyperplane between two classes? The answer comes with its proof."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_X_y
from sklearn.utils.multiclass import check_classification_targets

from cotas.arrays import BoolArray, FloatArray, Matrix
from cotas.certificates import PerceptronLedger, Separability, SeparationWitness
from cotas.fitting.data import refuse_source
from cotas.refusals import ParameterError
from cotas.solvers.hard_margin import hard_margin
from cotas.solvers.separating_plane import (
    ConvexCombination,
    Separator,
    WidestMargin,
    separate,
    widest_margin,
)
from cotas.source import MatrixLike


def separability(
    X: MatrixLike,
    y: Any,
    *,
    fit_intercept: bool = True,
    widest: bool | Literal["distance"] = False,
) -> Separability:
    """Find a hyperplane that separates two classes, or prove that there is none.

    By linear programming. Separable data come with a separator and its margin; data that are
    not separable with a convex combination of the rows yᵢ(xᵢ, 1) that vanishes, on which no
    separator could be positive.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Labels of one or two classes.
    fit_intercept : bool, default=True
        Whether the hyperplane may have a bias (Definition 3.2 of Fuentes Cabrera) or has to go
        through the origin (Definition 3.1).
    widest : bool or "distance", default=False
        With "distance" the hyperplane is the one that is farthest from its nearest row: `margin`
        is the largest γ of Definition 3.3, y(θ·x + θ₀)/‖θ‖, and the certificate has the proof that
        no hyperplane has a larger one. With True the margin of (θ, θ₀) over the rows (x, 1) is the
        largest, which is what the bound of the perceptron with a bias wants. Both take longer, and
        without a bias they are the same.

    Returns
    -------
    Separability
        True or false, with the separator or the combination and a certificate.

    Examples
    --------
    >>> import cotas
    >>> cotas.separability([[0.0], [1.0], [3.0]], [-1, -1, 1]).separable
    True
    >>> answer = cotas.separability([[0.0], [1.0], [2.0]], [-1, 1, -1])
    >>> bool(answer), answer.combination
    (False, array([0.25, 0.5 , 0.25]))
    >>> round(cotas.separability([[0.0], [1.0], [3.0]], [-1, -1, 1], widest="distance").margin, 9)
    1.0
    """
    if not (isinstance(widest, bool | np.bool_) or widest == "distance"):
        raise ParameterError("widest", f"widest must be True, False or 'distance', not {widest!r}.")
    refuse_source("separability", X)
    rows, y = check_X_y(X, y, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32])
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) > 2:
        raise ParameterError(
            "y",
            f"separability is a question about two classes, and y holds {len(classes)}: "
            "ask about one class against the rest, with y == c.",
        )
    if widest == "distance" and len(classes) == 1 and fit_intercept:
        raise ParameterError("y", "A hyperplane may be as far from one class alone as one likes.")
    # One class alone counts as +1: any hyperplane beside it separates it from nothing.
    witness = _prove(rows, y == classes[-1], classes[-1], float(fit_intercept), widest)
    return Separability.from_witness(witness, rows, y)


def tightest_separator(X: Matrix, positive: BoolArray, ledger: PerceptronLedger) -> Separability:
    """Return the answer with the widest margin for the rows that a perceptron was trained on."""
    if ledger.weights is not None and not (ledger.weights > 0).all():
        used = np.flatnonzero(ledger.weights > 0)
        X, positive = X[used], positive[used]
    witness = _prove(X, positive, True, ledger.bias, widest=True)
    return Separability.from_witness(witness, X, positive)


def _prove(
    X: Matrix, positive: BoolArray, label: object, bias: float, widest: bool | Literal["distance"]
) -> SeparationWitness:
    signs: FloatArray = np.where(positive, 1.0, -1.0)
    answer = separate(X, signs, bias)
    if widest == "distance" and bias and isinstance(answer, Separator):
        theta, theta0, alpha = hard_margin(X, signs, bias, answer)
        return SeparationWitness(theta, theta0, label, bias, alpha / alpha.sum())
    if widest and isinstance(answer, Separator):
        return as_witness(widest_margin(X, signs, bias, answer), X, label, bias)
    return as_witness(answer, X, label, bias)


def as_witness(
    answer: Separator | WidestMargin | ConvexCombination, X: Matrix, label: object, bias: float
) -> SeparationWitness:
    """Return what a solver found out about separability, as the checker takes it."""
    if isinstance(answer, ConvexCombination):
        return SeparationWitness(np.zeros(X.shape[1]), 0.0, label, bias, answer.alpha)
    alpha = answer.alpha if isinstance(answer, WidestMargin) else None
    return SeparationWitness(answer.u, answer.u0, label, bias, alpha)
