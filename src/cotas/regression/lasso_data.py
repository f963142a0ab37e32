"""What a solver of the Lasso sees of the data, and who proves what it finds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import Each, FloatArray
from cotas.certificates import Certificate
from cotas.certificates.blocks import TargetColumns, Watched
from cotas.certificates.lasso import LassoPoint, LassoProblem
from cotas.certificates.lasso_products import lasso_from_products
from cotas.certificates.streamed import Stream
from cotas.design.centred import CentredColumns
from cotas.fitting.data import Observations
from cotas.fitting.from_source import bound_to
from cotas.regression.from_source import triangle_in_blocks
from cotas.running import thread_count
from cotas.solvers.lasso_state import LassoColumns, LassoIterate, ProductColumns
from cotas.solvers.moments import Moments
from cotas.source import Source, shape_of_targets


@dataclass(frozen=True)
class InMemory:
    """The columns of X, one target, and who proves models of it."""

    columns: CentredColumns
    y: FloatArray
    column: int | None
    seen: Observations
    each: Each = map

    @property
    def weights(self) -> FloatArray | None:
        """Return the weights of the rows, as they were given."""
        return self.seen.weights

    def biases(self, coefs: FloatArray) -> FloatArray:
        """Return what the means ask for, one for each row of coefficients."""
        columns = self.columns
        if not columns.centre:
            return np.zeros(len(coefs))
        mean = columns.weights @ self.y
        mean += columns.weights @ (self.y - mean)  # what rounding has left
        return np.asarray(mean - coefs @ columns.mean)

    def prove(self, points: Sequence[LassoPoint]) -> list[Certificate]:
        """Return the certificates of models."""
        return LassoPoint.check_all(points, self.seen.X, self.seen.y, each=self.each)


@dataclass(frozen=True)
class FewRows:
    """A few rows with the same products as all of them, so that the best coefficients are the same.

    With a free bias they are the products of the deviations from the means.
    """

    columns: LassoColumns
    y: Any  # or its number
    column: int | None
    means: tuple[FloatArray, float] | None  # of the columns and of y, where the bias is free

    def biases(self, coefs: FloatArray) -> FloatArray:
        """Return what the means ask for, one for each row of coefficients."""
        if self.means is None:
            return np.zeros(len(coefs))
        return np.asarray(self.means[1] - coefs @ self.means[0])


@dataclass(frozen=True)
class OfAllRows(FewRows):
    """Products of rows in memory; models are proved from them, or else from the rows."""

    seen: Observations
    each: Each
    products: Stream | None
    tol: float

    @property
    def weights(self) -> FloatArray | None:
        """Return the weights of the rows, as they were given."""
        return self.seen.weights

    def prove(self, points: Sequence[LassoPoint]) -> list[Certificate]:
        """Return the certificates of models."""
        if self.products is None:
            return LassoPoint.check_all(points, self.seen.X, self.seen.y, each=self.each)
        found = lasso_from_products(self.products, points)
        blurred = [k for k, one in enumerate(found) if not self._is_near(one)]
        rest = [points[k] for k in blurred]
        if rest:
            proved = LassoPoint.check_all(rest, self.seen.X, self.seen.y, each=self.each)
            for k, certificate in zip(blurred, proved, strict=True):
                found[k] = certificate
        return found

    def _is_near(self, found: Certificate) -> bool:
        """Tell whether the rows themselves would hardly prove more."""
        return found.holds and (found.relative_gap <= self.tol or 100 * found.charge <= found.gap)


@dataclass(frozen=True)
class FewRowsOfSource(FewRows):
    """Products of a source, which proves the models."""

    source: Source
    weights: None = None  # the source has them itself

    def prove(self, points: Sequence[LassoPoint]) -> list[Certificate]:
        """Return the certificates of models."""
        return LassoPoint.check_all(points, self.source)


def in_memory(
    seen: Observations,
    problem: LassoProblem,
    each: Each,
    n_jobs: int | None,
    tol: float,
    products: Stream | None,
    moments: Moments | None,
) -> Sequence[InMemory | OfAllRows]:
    """Return the data as each target sees them: as a few rows, where there are `moments` of
    all."""
    columns = list(enumerate(seen.columns))
    if moments is not None:
        few = ProductColumns(moments, seen.n_rows, problem.free_bias, problem.standardize)
        if np.isfinite(few.products).all() and np.isfinite(few.cross).all():
            means = means_of(moments, problem)
            about = [(t, c, of_one(means, t)) for t, c in columns]
            return [OfAllRows(few, *one, seen, each, products, tol) for one in about]
    threads = 1 if each is map else thread_count(n_jobs)
    targets, shares = seen.targets, seen.shares()
    whole = CentredColumns(seen.X, shares, problem.free_bias, problem.standardize, each, threads)
    return [InMemory(whole, targets[:, t], c, seen, each) for t, c in columns]


def in_blocks(
    source: Source, problem: LassoProblem, each: Each
) -> tuple[list[FewRowsOfSource], bool]:
    """Make for each target a small problem in the place of that of the source."""
    bound = bound_to(source, each, targets=True)
    single = len(source.of_first(shape_of_targets)) == 1
    moments, triangle = triangle_in_blocks(bound, problem.free_bias)
    d = source.n_features
    # A column that does not vary has no part beside a free bias.
    constant = moments.constant() if problem.free_bias else False
    few = as_columns(np.where(constant, 0.0, triangle[:, :d]), problem)
    means, found = means_of(moments, problem), []
    for t in range(triangle.shape[1] - d):
        column = None if single else t
        about = of_target(triangle[:, d:], t, column, means)
        found.append(FewRowsOfSource(few, *about, Watched(bound, TargetColumns((column,)))))
    return found, single


def as_columns(rows: FloatArray, problem: LassoProblem) -> CentredColumns:
    """Return a few rows, whose products are those of all, as rows with equal weights."""
    count = len(rows)
    X = np.ascontiguousarray(rows * math.sqrt(count))
    return CentredColumns(X, np.full(count, 1.0 / count), False, problem.standardize)


def means_of(moments: Moments, problem: LassoProblem) -> tuple[FloatArray, FloatArray] | None:
    """Return the means of the columns and of the targets, if the bias is free."""
    return (moments.mean, moments.target_mean) if problem.free_bias else None


def of_target(
    targets: FloatArray, t: int, column: int | None, means: tuple[FloatArray, FloatArray] | None
) -> tuple[FloatArray, int | None, tuple[FloatArray, float] | None]:
    """Compute y of few rows with equal weights, its column, and the means."""
    y = np.ascontiguousarray(targets[:, t]) * math.sqrt(len(targets))
    return y, column, of_one(means, t)


def of_one(means: tuple[FloatArray, FloatArray] | None, t: int) -> tuple[FloatArray, float] | None:
    """Return the means of the columns and of one target."""
    return None if means is None else (means[0], float(means[1][t]))


LassoData = InMemory | OfAllRows | FewRowsOfSource


def penalty_scale(columns: LassoColumns, weights: FloatArray | None = None) -> FloatArray | None:
    """Return what the penalty multiplies each coefficient by: wσ. None stands for ones."""
    if not columns.standardize:
        return weights
    return columns.scale if weights is None else columns.scale * weights


def in_units_of_the_data(
    columns: LassoColumns,
    found: Sequence[LassoIterate],
    scale: FloatArray | None = None,
    delta: float | None = None,
) -> FloatArray:
    """Return coefficients, one row for each solution.

    With `delta` they lie inside the ball of that radius, whatever rounding has done, `scale` being
    what the penalty multiplies each coefficient by.
    """
    coefs = np.zeros((len(found), columns.p))
    for coef, iterate in zip(coefs, found, strict=True):
        coef[iterate.support] = iterate.beta / columns.scale[iterate.support]
        if delta is not None:
            sizes = np.nextafter(np.abs(coef * (1.0 if scale is None else scale)), np.inf)
            # The sign of a sum by `fsum` is that of the exact sum.
            if math.fsum([*sizes, -delta]) > 0:
                coef *= delta / math.fsum(sizes) * (1 - 2.0**-50)
    return coefs
