"""The squared loss of some models, in one pass: objectives, gradients, and their rounding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.projection import explained
from cotas.certificates.scatter import Decrease, Scatter
from cotas.certificates.sweep import EPS, Block, Tally
from cotas.certificates.targets import TargetSweep, moved

if TYPE_CHECKING:
    from cotas.certificates.least_squares import SquaredLossPoint

# A mean so many deviations from zero is taken out of the rows before they are added up.
FAR_FROM_ZERO = 30.0
# Beyond this the squares of the checker itself may overflow.
LARGEST_SQUARE = 1e300


class SquaredLossPass:
    """One pass over the data: the objective, its gradient, and the means.

    With a free bias everything is about Q(θ) = min over θ₀ of P(θ, θ₀), and P = Q + ½r̄², r̄ being
    the mean residual: the minimum of P is the minimum of Q.
    """

    def __init__(
        self,
        X: Matrix,
        y: AnyArray,
        points: Sequence[SquaredLossPoint],
        each: Each = map,
        scatter: Scatter | None = None,
    ) -> None:
        self.points, self.each = points, each
        self.one = points[0]
        self.intercepts = np.array([p.intercept for p in points])
        self.thetas = np.stack([p.coef for p in points], axis=1)
        self.sweep = TargetSweep(X, y, [p.column for p in points], self.thetas)
        self.n, self.d = self.sweep.X.shape
        weights = self.one.weights
        if weights is not None and len(weights) != self.n:
            raise ValueError(f"X has {self.n} rows; the certificate is about {len(weights)}.")
        self._sample()
        with np.errstate(over="ignore", invalid="ignore"):
            self.found = self.sweep.tally(self._read, each)
            self._conclude()
        mean = self.mean if self.one.free_bias else None
        self.scatter = scatter or Scatter(self.sweep, weights, mean, self.shift)

    def _sample(self) -> None:
        """The size of the columns, and a rough centre of those that lie far from zero.

        These are moved before rows are added up, or rounding would show. Of a sparse X no others
        are moved, since their zeros would have to be stored.
        """
        _, rows = self.sweep.sample(256)
        is_sparse = sparse.issparse(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            centre = np.asarray(rows.mean(axis=0)).ravel()
            squares = rows.power(2) if is_sparse else rows**2
            self.spread = np.sqrt(np.asarray(squares.mean(axis=0)).ravel())
            deviation = np.sqrt(np.maximum(self.spread**2 - centre**2, 0.0))
            deviation = deviation if is_sparse else rows.std(axis=0)
            far = np.abs(centre) > FAR_FROM_ZERO * deviation
        self.shift: FloatArray | None = None
        self.width = self.spread  # of the rows as they are added up
        if self.one.free_bias and far.any() and np.isfinite(centre).all():
            self.shift = np.where(far, centre, 0.0) if is_sparse else centre
            self.width = np.where(far, deviation, self.spread) if is_sparse else deviation

    def _read(self, block: Block) -> Tally:
        shares = self._shares(block.span)
        residuals = block.signs - block.products - self.intercepts
        weighted = shares[:, None] * residuals
        rows = block.rows if self.shift is None else moved(block.rows, self.shift)
        combined = np.asarray(rows.T @ np.column_stack([weighted, shares]))
        return {
            "sum squares": np.einsum("ik,ik->k", weighted, residuals),
            "sum residuals": weighted.sum(axis=0),
            "sum target squares": shares @ block.signs**2,
            "sum combined": combined,
        }

    def _shares(self, span: slice) -> FloatArray:
        weights = self.one.weights
        return np.full(span.stop - span.start, 1.0 / self.n) if weights is None else weights[span]

    def _conclude(self) -> None:
        found, one = self.found, self.one
        mean_residual = found["sum residuals"]
        penalty = 0.5 * np.sum(self.curvature[:, None] * self.thetas**2, axis=0)
        self.primal = 0.5 * found["sum squares"] + penalty
        combined, means = found["sum combined"][:, :-1], found["sum combined"][:, -1]
        self.reduced = self.primal.copy()
        if one.free_bias:
            self.reduced = self.primal - 0.5 * mean_residual**2
            combined = combined - np.outer(means, mean_residual)
        self.gradient = self.curvature[:, None] * self.thetas - combined
        self.mean = means if self.shift is None else means + self.shift
        self.flat_start = 0.5 * found["sum target squares"]  # P at θ = 0, θ₀ = 0

    @property
    def curvature(self) -> FloatArray:
        """λσⱼ², what the penalty adds to the diagonal of the Hessian."""
        scale = self.one.penalty_scale
        return self.one.lam * (np.ones(len(self.one.coef)) if scale is None else scale**2)

    @property
    def floor(self) -> FloatArray:
        """The variance that rounding alone can give a column of this mean."""
        if not self.one.free_bias:
            return np.zeros(self.d)
        least = ((16 + np.sqrt(self.n)) * EPS * np.abs(self.mean)) ** 2
        if sparse.issparse(self.sweep.X):  # centred by a difference of squares
            moved_mean = self.mean if self.shift is None else self.mean - self.shift
            least = least + 64 * EPS * moved_mean**2
        return np.asarray(least)

    def _noise(self) -> FloatArray:
        """How much rounding may have moved each entry of the gradient."""
        columns = []
        for c in range(len(self.points)):
            residual = 8 * EPS * np.sqrt(2 * self.primal[c]) + self._residual_error(c)
            penalty = 8 * EPS * self.curvature * np.abs(self.points[c].coef)
            columns.append(self.width * residual + penalty)
        return np.stack(columns, axis=1)

    def _out_of_range(self) -> str:
        """Why no number here can be trusted, if squares overflow or vanish."""
        seen = (self.primal, self.gradient, self.mean, self.flat_start)
        if not all(
            np.isfinite(part).all() and (np.abs(part) < LARGEST_SQUARE).all() for part in seen
        ):
            return "The objective of this model is not finite in double precision."
        return ""

    def _explained(self) -> Decrease:
        """What the columns can still explain of the residuals, and of their rounding."""
        mean_residual = self.found["sum residuals"] * self.one.free_bias
        centre = self.mean if self.one.free_bias else None
        roots = np.sqrt(self.curvature)

        def blocks() -> Iterator[FloatArray]:
            for block in self.sweep.blocks():
                rows = block.rows.toarray() if sparse.issparse(block.rows) else block.rows
                products = block.products[:, : len(self.points)]
                residuals = block.signs - products - self.intercepts - mean_residual
                both = np.hstack([rows if centre is None else rows - centre, residuals])
                yield both * np.sqrt(self._shares(block.span))[:, None]
            if roots.any():
                yield np.hstack([np.diag(roots), -roots[:, None] * self.thetas])

        found = explained(blocks(), self.d, self.n, centre)
        k = len(self.points)
        off = np.array([self._residual_error(c) for c in range(k)])
        amounts, noise = found.amounts[:k], found.amounts[k:] + 0.5 * self.d * off**2
        return Decrease(np.append(amounts, noise), found.flat)

    def _residual_error(self, c: int) -> float:
        """Some eps of the terms that a residual is made of."""
        point = self.points[c]
        terms = abs(point.intercept) + float(np.abs(point.coef) @ self.spread)
        return float(32 * EPS * (np.sqrt(2 * self.flat_start[c]) + terms))
