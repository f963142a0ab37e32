"""Least squares on batches whose rows are gone: the checker keeps moments of its own.

Of each batch the checker adds up, while the rows are there,

    x̄ = Σ sᵢxᵢ,   ȳ = Σ sᵢyᵢ,   C = Σ sᵢx̃ᵢx̃ᵢᵀ,   c = Σ sᵢx̃ᵢỹᵢ,   v = Σ sᵢỹᵢ²,

with x̃ = x − x̄ and ỹ = y − ȳ, and the moments of several batches are a merge of theirs. They
determine P for every θ, its gradient and its Hessian, so that P − P* ≤ ½ ∇PᵀH⁻¹∇P needs no row
(docs/theory/least-squares.md). The moments of the solver are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude, no_certificate
from cotas.certificates.duality import OPTIMISATION_ONLY, mean_of
from cotas.certificates.least_squares import SquaredLossPoint, penalty_in_words
from cotas.certificates.scatter import Scatter, decrease
from cotas.certificates.sweep import EPS, SQUARE_ROOT_OF_TWO, Block, Sketch, Tally, sketch_weights
from cotas.certificates.targets import TargetSweep

GONE = (
    "The rows of earlier batches are gone; the numbers are from moments that the checker added up "
    "itself, batch by batch. verify(X, y) with all the rows, in the order in which they came, "
    "computes them again."
)
NEARLY_COLLINEAR = (
    "The columns are nearly collinear, and from the moments of the batches alone nothing can be "
    "proved: cotas.certify(model, X, y) with all the rows can, and so can Ridge without them."
)


class _Measured(NamedTuple):
    """Of one model: the Hessian, what λ adds to it, Σ sᵢỹᵢ², r̄, ∇Q, and Q."""

    H: FloatArray
    added: FloatArray
    square: float
    residual: float
    gradient: FloatArray
    reduced: float


@dataclass(frozen=True)
class StreamedPoint(SquaredLossPoint):
    """A linear model of rows that came in batches; `sizes` says how many rows each of them had."""

    sizes: tuple[int, ...] = ()

    @classmethod
    def check_all(
        cls, points: Sequence[Self], X: Matrix, y: AnyArray, each: Each = map
    ) -> list[Certificate]:
        """From the moments of the batches, added up again; X and y are all their rows."""
        sizes, weights = points[0].sizes, points[0].weights
        if X.shape[0] != sum(sizes):
            raise ValueError(f"X has {X.shape[0]} rows; the certificate is about {sum(sizes)}.")
        ends = np.cumsum([0, *sizes]).tolist()
        spans = [slice(*pair) for pair in pairwise(ends)]
        parts = [(X[s], y[s], None if weights is None else weights[s]) for s in spans]
        columns = [point.column for point in points]
        stream = Stream.of_rows(*parts[0], columns, each)
        for part in parts[1:]:
            stream = stream.and_rows(*part, columns, each)
        return stream.certificates(points)


def _named(point: SquaredLossPoint) -> dict[str, Any]:
    return {f.name: getattr(point, f.name) for f in fields(SquaredLossPoint)}


def _of_rows(point: SquaredLossPoint) -> SquaredLossPoint:
    """The same model, to be measured by the rows themselves."""
    return SquaredLossPoint(**_named(point))


@dataclass(frozen=True)
class Stream:
    """The moments of the batches so far; those of y have an entry for each target."""

    sizes: tuple[int, ...]
    n_rows: int
    weight: float  # Σ of the weights as they were given
    mean: FloatArray
    target_mean: FloatArray
    scatter: FloatArray
    cross: FloatArray
    target_scatter: FloatArray
    is_sparse: bool
    sketches: list[Sketch]
    weights: FloatArray | None  # of all the rows, where one of them had a weight

    @classmethod
    def of_rows(
        cls,
        X: Matrix,
        y: AnyArray,
        weights: FloatArray | None,
        columns: Sequence[int | None],
        each: Each = map,
        rows_before: int = 0,
    ) -> Self:
        """The moments of one batch; its rows are counted from `rows_before` in the sketch."""
        n, d = X.shape
        total = float(n if weights is None else weights.sum())
        shares = np.full(n, 1.0 / n) if weights is None else weights / total
        sweep = TargetSweep(X, y, columns, np.zeros((d, 0)))
        found = sweep.tally(lambda block: _first(block, shares, rows_before, sweep), each)
        mean, target_mean = found["sum mean"], shares @ sweep.targets
        deviation = sweep.targets - target_mean
        deviation -= shares @ deviation  # what the rounding of the mean has left

        def read(block: Block) -> Tally:
            weighted = shares[block.span, None] * deviation[block.span]
            rows = block.rows if sparse.issparse(block.rows) else block.rows - mean
            return {"sum cross": np.asarray(rows.T @ weighted)}

        return cls(
            sizes=(n,),
            n_rows=n,
            weight=total,
            mean=mean,
            target_mean=target_mean,
            scatter=Scatter(sweep, shares, mean).of_all_rows(each),
            cross=sweep.tally(read, each)["sum cross"],
            target_scatter=shares @ deviation**2,
            is_sparse=bool(sparse.issparse(X)),
            sketches=_sketches(sweep, found, rows_before),
            weights=weights,
        )

    def and_rows(
        self,
        X: Matrix,
        y: AnyArray,
        weights: FloatArray | None,
        columns: Sequence[int | None],
        each: Each = map,
    ) -> Self:
        """These batches and one more."""
        other = self.of_rows(X, y, weights, columns, each, self.n_rows)
        total = self.weight + other.weight
        a, b = self.weight / total, other.weight / total
        dx, dy = other.mean - self.mean, other.target_mean - self.target_mean
        return replace(
            self,
            sizes=(*self.sizes, *other.sizes),
            n_rows=self.n_rows + other.n_rows,
            weight=total,
            mean=self.mean + b * dx,
            target_mean=self.target_mean + b * dy,
            scatter=a * self.scatter + b * other.scatter + a * b * np.outer(dx, dx),
            cross=a * self.cross + b * other.cross + a * b * np.outer(dx, dy),
            target_scatter=a * self.target_scatter + b * other.target_scatter + a * b * dy**2,
            is_sparse=self.is_sparse or other.is_sparse,
            sketches=[_both(*pair) for pair in zip(self.sketches, other.sketches, strict=True)],
            weights=self._all_weights(other),
        )

    def _all_weights(self, other: Self) -> FloatArray | None:
        if self.weights is None and other.weights is None:
            return None
        parts = [np.ones(s.n_rows) if s.weights is None else s.weights for s in (self, other)]
        return np.concatenate(parts)

    @property
    def shares(self) -> FloatArray | None:
        """The weights sᵢ of all the rows, which sum to one; None stands for 1/n each."""
        return None if self.weights is None else self.weights / self.weights.sum()

    def certificates(self, points: Sequence[SquaredLossPoint]) -> list[Certificate]:
        """One for each target: about all the batches, whatever the weights of the points say."""
        shares = self.shares
        return [self._certificate(c, replace(p, weights=shares)) for c, p in enumerate(points)]

    def _measure(self, c: int, point: SquaredLossPoint) -> _Measured:
        theta, scale = point.coef, point.penalty_scale
        added = point.lam * (np.ones(len(theta)) if scale is None else scale**2)
        residual = float(self.target_mean[c] - theta @ self.mean - point.intercept)
        H, slope, square = self.scatter, self.cross[:, c], float(self.target_scatter[c])
        if not point.free_bias:
            H = H + np.outer(self.mean, self.mean)
            slope = slope + self.mean * self.target_mean[c]
            square, residual = square + float(self.target_mean[c] ** 2), 0.0
        gradient = H @ theta - slope + added * theta
        squares = square - float(theta @ (2 * slope - H @ theta))
        reduced = 0.5 * squares + 0.5 * float(added @ theta**2)
        return _Measured(H, added, square, residual, gradient, reduced)

    def _certificate(self, c: int, point: SquaredLossPoint) -> Certificate:
        H, added, square, residual, gradient, reduced = self._measure(c, point)
        noise, error = self._rounding(point.coef, H, square, point)
        both = np.stack([gradient, noise + 8 * EPS * added * np.abs(point.coef)], axis=1)
        fall, how = _fall(H, added, both, self._floor(point.free_bias))
        if not np.isfinite(fall).all():
            return no_certificate(NEARLY_COLLINEAR, (GONE,), _of_rows(point))
        upper = max(reduced, 0.0) + 0.5 * residual**2
        known = reduced - fall[0]
        rounding = error + 2 * float(np.sqrt(fall[0] * fall[1])) + float(fall[1])
        lower = min(max(known, 0.0), upper)
        return conclude(
            kind="gradient",
            lower=lower,
            upper=upper,
            vacuous=bool(known <= 0.01 * upper and upper > rounding),
            statement=(
                f"On the {self.n_rows:,} rows of {len(self.sizes)} batches no linear model has a "
                f"smaller ½ {mean_of(point)} squared error{penalty_in_words(point)} than "
                f"{lower:.6g}; this one has {upper:.6g}."
            ),
            reference="P(θ) − P* ≤ ½ ∇PᵀH⁻¹∇P, docs/theory/least-squares.md",
            figures={
                "batches": float(len(self.sizes)),
                "rows": float(self.n_rows),
                "‖∇P‖": float(np.linalg.norm(np.append(gradient, residual))),
                **({"λ": point.lam} if point.lam else {}),
            },
            remarks=(how, GONE, OPTIMISATION_ONLY),
            charge=float(rounding),
            scale=0.5 * square,
            witness=StreamedPoint(**_named(point), sizes=self.sizes),
            sketch=self.sketches[c],
        )

    def _rounding(
        self, theta: FloatArray, H: FloatArray, square: float, point: SquaredLossPoint
    ) -> tuple[FloatArray, float]:
        """What rounding can do to each entry of the gradient, and to the objective.

        The sums are of products of columns of length ℓ, so each is off by some eps of ℓⱼℓₖ; and
        the means by some eps of themselves, which shows in the mean residual only.
        """
        lengths = np.sqrt(np.maximum(np.diag(H), 0.0))
        if self.is_sparse:  # centred by a difference of squares
            lengths = np.hypot(lengths, self.mean)
        some = 16 * (1 + np.sqrt(self.n_rows)) * EPS
        size = np.sqrt(square) + float(np.abs(theta) @ lengths)
        means = abs(point.intercept) + float(np.abs(theta) @ np.abs(self.mean))
        off = 32 * EPS * (means + float(np.abs(self.target_mean).max(initial=0.0)))
        return some * lengths * size, float(some * size**2 + off * np.sqrt(square) + off**2)

    def _floor(self, free_bias: bool) -> FloatArray:
        """The variance that rounding alone can give a column of this mean."""
        if not free_bias:
            return np.zeros(len(self.mean))
        least = ((16 + np.sqrt(self.n_rows)) * EPS * np.abs(self.mean)) ** 2
        return np.asarray(least + 64 * EPS * self.mean**2 if self.is_sparse else least)


def _first(block: Block, shares: FloatArray, before: int, sweep: TargetSweep) -> Tally:
    """Σ sᵢxᵢ, and the sums of a sketch whose rows are counted from `before`."""
    span = block.span
    fixed = sketch_weights(before + span.start, before + span.stop, SQUARE_ROOT_OF_TWO)
    projected = np.asarray(block.rows @ sweep.directions[:, -1])
    return {
        "sum mean": np.asarray(block.rows.T @ shares[span]),
        "sum moved entries": fixed @ projected,
        "sum moved scale": fixed @ np.abs(projected),
        "sum moved labels": fixed @ block.signs,
    }


def _sketches(sweep: TargetSweep, found: Tally, before: int) -> list[Sketch]:
    """Those of this batch, as the rows after the first `before` ones."""
    entries, scale = float(found["sum moved entries"]), float(found["sum moved scale"])
    return [
        replace(s, n_rows=before + s.n_rows, entries=entries, labels=float(labels), scale=scale)
        for s, labels in zip(sweep.sketches(found), found["sum moved labels"], strict=True)
    ]


def _both(one: Sketch, other: Sketch) -> Sketch:
    """The sketch of two batches; the second has counted the rows of the first already."""
    return Sketch(
        other.n_rows,
        one.n_features,
        one.entries + other.entries,
        one.labels + other.labels,
        one.scale + other.scale,
        max(one.label_scale, other.label_scale),
    )


def _fall(
    H: FloatArray, added: FloatArray, g: FloatArray, floor: FloatArray
) -> tuple[FloatArray, str]:
    """How far Q can fall at most with each slope, and from which curvature that follows."""
    fall, how = np.full(g.shape[1], np.inf), NEARLY_COLLINEAR
    if (added > 0).all():
        fall = 0.5 * np.sum(g**2 / added[:, None], axis=0)
        how = "The bound rests on the curvature of the penalty alone."
    whole = decrease(H, added, g, floor)
    if whole is None:
        return fall, how
    return np.minimum(fall, whole), "The bound rests on the curvature of all the rows."
