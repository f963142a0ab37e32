"""The Lasso, the elastic net and the ℓ1 ball: how far a model is from the best, by its residual.

    penalized     P(β) = ½ Σ sᵢrᵢ²/S + λ₁ Σ wⱼ|βⱼ| + ½λ₂ Σ (wⱼβⱼ)²      λ₁ = λρ, λ₂ = λ(1 − ρ)
    on the ball   P(β) = ½ Σ sᵢrᵢ²/S                          s.t. Σ wⱼ|βⱼ| ≤ δ

Every multiple of the residual r is a dual point; the core finds a good one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from cotas.arrays import AnyArray, BoolArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude_bounds
from cotas.certificates.core import unpenalized  # noqa: F401  (which bounds those coefficients)
from cotas.certificates.core.bounds import Objection, Pull
from cotas.certificates.core.gap import Claim, Found, Risk, Weights, all_bounds
from cotas.certificates.core.residuals import Squared
from cotas.certificates.core.rounding import U, above, below, down, up
from cotas.certificates.core.rows import Rows
from cotas.certificates.core.sparsity import Ball, ElasticNetRegularizer, column_lengths
from cotas.certificates.passes import (
    ROUNDED,
    Sketch,
    constant_model,
    refuse_other_rows,
    rows_of,
    sketches_in_passing,
    targets_of,
)
from cotas.certificates.presentation import OPTIMIZATION_ONLY, bias_in_words, ends, mean_of
from cotas.certificates.witnesses import Together
from cotas.source import Source
from cotas.words import in_one, say


@dataclass(frozen=True)
class LassoProblem:
    """The problem: half the mean square, with a penalty λ or inside a ball of radius δ.

    `l1_ratio` splits the penalty into λ·l1_ratio·‖β‖₁ + ½λ(1 − l1_ratio)‖β‖₂². With `standardize`
    the penalty is on βⱼwⱼ, wⱼ being the standard deviation of column j. With `positive`, β ≥ 0.
    """

    lam: float | None = None
    delta: float | None = None
    l1_ratio: float = 1.0
    positive: bool = False
    standardize: bool = False
    free_bias: bool = True

    def in_words(self, mean: str, weighted: bool = False) -> str:
        """Say the objective as a reader would; coefficients may have weights of their own."""
        penalty = " + λ‖β‖₁" if self.l1_ratio == 1.0 else " + λ(ρ‖β‖₁ + ½(1 − ρ)‖β‖²)"
        where = [] if self.delta is None else [f"‖β‖₁ ≤ {self.delta:g}"]
        if self.positive:
            where.append("β ≥ 0")
        if self.standardize:
            where.append(say("β in units of the standard deviations"))
        elif weighted:
            where.append(say("each coefficient times its weight"))
        where.append(bias_in_words(self.free_bias))
        return say(
            "½ {mean} square{penalty} ({where})",
            mean=mean,
            penalty="" if self.delta is not None else penalty,
            where=in_one(where, ", "),
        )

    def risk(self, scale: FloatArray | None) -> Risk:
        if scale is not None:
            scale = np.asarray(scale, np.float64)
            if not (np.isfinite(scale).all() and (scale >= 0).all() and scale.any()):
                raise Objection("parameters")
        if self.delta is not None:
            if not 0 < self.delta < math.inf:
                raise Objection("penalty")
            return Risk(Squared(), Ball(self.delta, self.positive, scale), self.free_bias)
        lam = self.lam or 0.0
        if not (0 < lam < math.inf and 0 < self.l1_ratio <= 1):
            raise Objection("penalty")
        first, second = lam * self.l1_ratio, lam * (1.0 - self.l1_ratio)
        return Risk(
            Squared(), ElasticNetRegularizer(first, second, self.positive, scale), self.free_bias
        )


@dataclass(frozen=True)
class LassoPoint(Together):
    """A linear model, and the Lasso problem it is meant to solve. Its residual is the dual point.

    Attributes
    ----------
    problem : what is minimized
    coef, intercept : the model, in the units of X and y
    weights : sᵢ ≥ 0, of any sum; None stands for ones
    column : of y, where y has several; None where it is a vector
    penalty_scale : wⱼ; None stands for ones
    """

    takes_blocks: ClassVar[bool] = True  # X of `check` may be a source

    problem: LassoProblem
    coef: FloatArray
    intercept: float
    weights: FloatArray | None = field(default=None, repr=False)
    column: int | None = None
    penalty_scale: FloatArray | None = field(default=None, repr=False)

    @classmethod
    def check_all(
        cls, points: Sequence[Self], X: Matrix | Source, y: Any = None, each: Each = map
    ) -> list[Certificate]:
        """Return the certificates of several points of one data set, such as a path.

        The problems may differ in λ and δ only. X may be a source of row blocks, which has y.
        """
        if isinstance(X, Source):
            from cotas.certificates.block_points import lasso_certificate

            return [lasso_certificate(point, X, each) for point in points]
        checker = _LassoChecker(points, X, y, each)
        return [checker.conclude(k) for k in range(len(points))]

    def check_from_products(self, X: Matrix, y: Any) -> Certificate | None:
        """Prove the same in another way, where there are no more columns than rows."""
        from cotas.certificates.lasso_products import lasso_from_products
        from cotas.certificates.streamed import Stream

        stream = Stream.of_few_columns(X, y, self.weights, self.column)
        return None if stream is None else lasso_from_products(stream, [self])[0]

    def proved_zeros(self, X: Matrix, y: AnyArray) -> BoolArray:
        """Tell for each feature whether its coefficient is zero at every exact optimum."""
        return _LassoChecker([self], X, y, map).zeros()


class _LassoChecker:
    """The bounds of several points of one data set, and what follows from them."""

    def __init__(self, points: Sequence[LassoPoint], X: Matrix, y: AnyArray, each: Each) -> None:
        self.points, one, free = points, points[0], points[0].problem.free_bias
        self.rows: Rows = rows_of(X, free, each=each)
        refuse_other_rows(self.rows.n, weights=one.weights)
        targets = targets_of(self.rows.n, y, [one.column])
        y = np.ascontiguousarray(targets[:, 0])
        self.constant = constant_model(y, one.weights, free)  # the same for every point of a path
        sketches, self.high = sketches_in_passing(self.rows, targets), 0.0
        try:
            w = Weights.of(one.weights, self.rows.n)
            risks = [p.problem.risk(p.penalty_scale) for p in points]
            models = [(np.asarray(p.coef, np.float64), float(p.intercept)) for p in points]
            claims = [Claim(risk, y, *model) for risk, model in zip(risks, models, strict=True)]
            self.found, self.high = all_bounds(self.rows, claims, w), w.high
        except Objection as objection:
            self.found = [Found(objection)] * len(points)
        self.sketch: Sketch = sketches()[0]

    def conclude(self, k: int) -> Certificate:
        weights = self.high, self.points[0].weights
        return in_certificate(self.points[k], self.found[k], weights, self.constant, self.sketch)

    def zeros(self) -> BoolArray:
        """Screen by the gap (Ndiaye et al. 2017), rounded the safe way.

        The dual objective is strongly concave: the best dual point v* is no farther than
        √(2·gap) from tv, in the norm Σ sᵢuᵢ²/S. So Xⱼᵀ(s·v*)/S is known up to √(2·gap) times the
        length of the centred column. Where it stays below λwⱼ, or on the ball below that of another
        column, the coefficient is zero. λ is the share λ₁ of an elastic net. Nothing is said
        without a proof.
        """
        point, (bounds, c, pull, t) = self.points[0], self.found[0]
        problem, no_zeros = point.problem, np.zeros(self.rows.d, dtype=np.bool_)
        if isinstance(bounds, Objection) or pull is None or c is None:
            return no_zeros
        w = Weights.of(point.weights, self.rows.n)
        radius = above(math.sqrt(above(2.0 * bounds.gap, 2)))
        lengths, centre = column_lengths(self.rows, w.s, w.low)
        rest = above(up(abs(math.fsum(c))) * t / w.low, 2)
        spread = (radius * lengths + rest * centre) * (1 + 8 * U)
        scale = np.ones(self.rows.d) if point.penalty_scale is None else point.penalty_scale
        value = (-pull.u if problem.positive else np.abs(pull.u)) * t
        off = pull.unit * (above(pull.off * t / w.low, 2)) + 8 * U * np.abs(value) / w.low
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            high = (np.maximum(value, 0.0) / w.low + off + spread) / scale * (1 + 8 * U)
            low = np.where(scale > 0, (value / w.high - off - spread) / scale, 0.0)
        if problem.lam is not None:
            return np.asarray(high < below(problem.lam * problem.l1_ratio))
        return np.asarray(high < below(max(0.0, down(float(low.max(initial=0.0)))), 4))


def in_certificate(
    point: LassoPoint,
    proved: Found,
    weights: tuple[float, FloatArray | None],
    constant: tuple[float, float],
    sketch: Sketch,
) -> Certificate:
    """Put both values and what follows from them into words.

    `weights` are their sum and some of them; `constant` is the objective of the constant model,
    and the mean square of the targets, of which rounding may hide a little.
    """
    problem, found = point.problem, proved.bounds
    lower, upper = found.lower, found.upper
    on_the_ball = "Proposition 2.2.2 of Rugeles Ospina"
    return conclude_bounds(
        found,
        statement=lambda: say(
            "No linear model has a smaller {objective} than {lower}; this one has {upper}.",
            objective=problem.in_words(mean_of(weights[1]), point.penalty_scale is not None),
            **ends(lower, upper),
        ),
        reference="weak duality of the penalized Lasso" if problem.delta is None else on_the_ball,
        figures={
            **_about_the_dual(point, proved.pull, weights[0], sketch.n_rows),
            "‖β‖₁": float(np.abs(_in_units_of_the_penalty(point)).sum()),
            "coefficients that are not zero": float(np.count_nonzero(point.coef)),
            "objective of the constant model": constant[0],
        },
        remarks=(OPTIMIZATION_ONLY,),
        scale=constant[0] + ROUNDED * constant[1],
        witness=point,
        sketch=sketch,
    )


def _in_units_of_the_penalty(point: LassoPoint) -> FloatArray:
    """Compute β times what the penalty multiplies it by."""
    return point.coef if point.penalty_scale is None else point.coef * point.penalty_scale


def _about_the_dual(
    point: LassoPoint, pull: Pull | None, total: float, n_rows: int
) -> dict[str, float]:
    """Return the correlations of the residual, as the documents name them."""
    problem = point.problem
    if pull is None:
        return {}
    q, scale = -pull.u / total, point.penalty_scale
    if scale is not None:
        q = np.divide(q, scale, where=np.not_equal(scale, 0.0), out=np.zeros_like(q))
    top = float((q if problem.positive else np.abs(q)).max(initial=0.0))
    if problem.delta is None:
        return {"λ": float(problem.lam or 0.0), "largest correlation": max(top, 0.0)}
    omega = max(top, 0.0) - float(q @ _in_units_of_the_penalty(point)) / problem.delta
    return {"δ": problem.delta, "ω_δ": n_rows * omega}
