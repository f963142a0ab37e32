"""Between which the validation loss of the exact optimum lies, from the gap of the fit.

A gap g of a problem that is λ-strongly convex in θ proves ‖θ − θ*‖ ≤ √(2g/λ), so each score of
the optimum is known up to √(2g/λ)·‖x‖ and the interval of its bias, and with the scores the loss
and the error of the optimum on any rows. For the support vector machine, linear or with a kernel,
`certificates/consequences/prediction.py` and `certificates/kernel.py` have the enclosure. For ridge
regression

    Σ λσⱼ²(θⱼ − θⱼ*)² ≤ 2g   and   f*(x) = ȳ + θ*·(x − x̄),

the bias being the best one for θ*. The Lasso, boosting and the perceptron have no such modulus:
however small their gap is, their predictions for new rows are not proved to be near those of an
optimum, which need not even be unique.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates import Certificate, DualPoint, KernelDualPoint, optimum_region
from cotas.certificates.consequences.kernel_scores import scores_from_witnesses
from cotas.certificates.least_squares import SquaredLossPoint
from cotas.certificates.passes import as_double, row_lengths
from cotas.design.blocks import times
from cotas.kernel.base import KernelClassifier
from cotas.losses import Hinge
from cotas.selection.yardstick import Yardstick, best_other, own, shares_of

UNKNOWN = (-math.inf, math.inf)


class Scores(NamedTuple):
    """The least and the greatest score that an optimum can give, a column a class or target."""

    low: FloatArray
    high: FloatArray


class Enclosure(NamedTuple):
    """An enclosure of an optimum's mean loss, and of the mean that its error is made of."""

    loss: tuple[float, float]
    error: tuple[float, float]


def enclose(
    measure: Yardstick,
    model: Any,
    certificates: Sequence[Certificate],
    train: tuple[Matrix, AnyArray],
    rows: tuple[Matrix, AnyArray, FloatArray | None],
) -> Enclosure | None:
    """Compute what the certificates of a fit prove of the optimum on the validation rows; None if
    nothing.

    `model` is the estimator itself, without the steps before it, and the rows are what it sees.
    """
    X, y, weights = rows
    scores, shares = optimal_scores(model, certificates, train, X), shares_of(len(y), weights)
    if scores is None:
        return _of_votes(measure, model, certificates, rows[:2], shares)
    if measure.classifies:
        return _of_classes(measure, scores, np.searchsorted(model.classes_, y), shares)
    return _of_numbers(measure, scores, y.reshape(len(y), -1), shares)


def optimal_scores(
    model: Any, certificates: Sequence[Certificate], train: tuple[Matrix, AnyArray], X: Matrix
) -> Scores | None:
    """Return the scores of the exact optimum on new rows, as far as the certificates know them."""
    if not certificates or not all(c.holds for c in certificates):
        return None
    if hasattr(model, "best_estimator_"):  # it has chosen too, and its choice could change
        return None
    witnesses = [c.witness for c in certificates]
    if all(isinstance(w, DualPoint) for w in witnesses):
        return _enclose_linear(certificates, train, X)
    if all(isinstance(w, KernelDualPoint) for w in witnesses):
        return _enclose_kernel(model, witnesses, train, X)
    if all(isinstance(w, SquaredLossPoint) and w.lam > 0 for w in witnesses):
        return _ridge(certificates, train, X)
    return None


def _enclose_linear(
    certificates: Sequence[Certificate], train: tuple[Matrix, AnyArray], X: Matrix
) -> Scores | None:
    # Where the bias of an optimum lies is known for the hinge loss only.
    problems = [c.witness.problem for c in certificates]  # type: ignore[union-attr]
    if not all(isinstance(p.loss, Hinge) for p in problems):
        return None
    regions = [optimum_region(certificate, *train) for certificate in certificates]
    found = [region.scores(X) for region in regions if region is not None]
    if len(found) < len(regions):
        return None
    return Scores(*(np.stack(side, axis=1) for side in zip(*found, strict=True)))


def _enclose_kernel(
    model: Any, points: list[Any], train: tuple[Matrix, AnyArray], X: Matrix
) -> Scores | None:
    # Where pairs of classes vote there are no scores.
    if len(model.classes_) > 2 and getattr(model, "multiclass", "ovo") == "ovo":
        return None
    if isinstance(model, KernelClassifier):
        found = model._optimal_scores(X)
    else:
        found = scores_from_witnesses(points, train, X)
    return None if found is None else Scores(*found)


def _ridge(
    certificates: Sequence[Certificate], train: tuple[Matrix, AnyArray], X: Matrix
) -> Scores | None:
    points: list[Any] = [certificate.witness for certificate in certificates]
    theta = np.stack([point.coef for point in points], axis=1)
    one, n = points[0], train[1].shape[0]
    weights = np.ones(n) if one.weights is None else one.weights
    shares = weights / weights.sum()
    centre, mean = np.zeros(len(theta)), np.zeros(theta.shape[1])
    if one.free_bias:
        centre = np.asarray(train[0].T @ shares, dtype=np.float64).ravel()
        mean = shares @ np.asarray(train[1], dtype=np.float64).reshape(n, -1)
    values = times(X, theta) - centre @ theta + mean
    scale = np.ones(len(theta)) if one.penalty_scale is None else one.penalty_scale
    if not (scale > 0).all():
        return None
    lengths = _lengths_from(X, centre, scale)
    gaps = np.array([c.gap for c in certificates])
    radii = np.sqrt(2 * gaps / one.lam)
    size = row_lengths(as_double(X))[:, None] * np.linalg.norm(theta, axis=0) + np.abs(mean)
    room = lengths[:, None] * radii + 1e-12 * (np.abs(values) + size)
    return Scores(values - room, values + room)


def _lengths_from(X: Matrix, centre: FloatArray, scale: FloatArray) -> FloatArray:
    """Compute ‖(x − centre)/scale‖ of each row; no sparse row is filled for it."""
    if not sparse.issparse(X):
        return np.asarray(np.linalg.norm((np.asarray(X, np.float64) - centre) / scale, axis=1))
    scaled = X.multiply(1.0 / scale).tocsr()
    middle = centre / scale
    squares = row_lengths(scaled) ** 2 - 2 * (scaled @ middle) + float(middle @ middle)
    # A difference of squares: what it may have lost is given back.
    return np.asarray(np.sqrt(np.maximum(squares, 0.0) + 1e-14 * float(middle @ middle)))


def _of_classes(
    measure: Yardstick, scores: Scores, codes: AnyArray, shares: FloatArray
) -> Enclosure | None:
    low, high = scores
    mine = codes[:, None] == np.arange(low.shape[1])
    if low.shape[1] == 1:
        mine = codes[:, None] == 1
        # A score of zero belongs to the first class.
        surely = np.where(mine, high <= 0, low > 0)[:, 0]
        possibly = np.where(mine, low <= 0, high > 0)[:, 0]
    else:
        surely = own(high, codes) < best_other(low, codes)
        possibly = own(low, codes) <= best_other(high, codes)
    error = (float(shares @ surely), float(shares @ possibly))
    if measure.scorer is not None or measure.row_loss is not None or measure.loss == "log":
        return Enclosure(UNKNOWN, error)
    if measure.loss == "zero-one":
        return Enclosure(error, error)
    worst, best = np.where(mine, low, -high), np.where(mine, high, -low)
    means = [float(shares @ Hinge().value(part).mean(axis=1)) for part in (best, worst)]
    return Enclosure((means[0], means[1]), error)


def _of_votes(
    measure: Yardstick,
    model: Any,
    certificates: Sequence[Certificate],
    rows: tuple[Matrix, AnyArray],
    shares: FloatArray,
) -> Enclosure | None:
    """Return what follows from the classes that the optimum provably shares, where pairs vote."""
    if not isinstance(model, KernelClassifier) or model._optimal_scores(rows[0][:1]) is None:
        return None
    labels, certified = model.certified_predict(rows[0])
    wrong = labels != rows[1]
    error = (float(shares @ (wrong & certified)), float(shares @ (wrong | ~certified)))
    return Enclosure(error if measure.loss == "zero-one" else UNKNOWN, error)


def _of_numbers(
    measure: Yardstick, scores: Scores, y: FloatArray, shares: FloatArray
) -> Enclosure | None:
    below, above = y - scores.high, y - scores.low
    far = np.maximum(np.abs(below), np.abs(above))
    near = np.where((below <= 0) & (above >= 0), 0.0, np.minimum(np.abs(below), np.abs(above)))
    means = [float(shares @ np.square(part).mean(axis=1)) for part in (near, far)]
    error = (means[0], means[1])
    if measure.scorer is not None or measure.row_loss is not None:
        return Enclosure(UNKNOWN, error)
    if measure.loss == "squared":
        return Enclosure((0.5 * error[0], 0.5 * error[1]), error)
    loss = (float(shares @ near.mean(axis=1)), float(shares @ far.mean(axis=1)))
    return Enclosure(loss, error)
