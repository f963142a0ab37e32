"""The Lasso: how far a coefficient vector is from the best, from its residual alone.

With weights sᵢ that sum to one, x̃ and ỹ centred when there is a bias, ⟨u, v⟩ = Σ sᵢuᵢvᵢ and
r = ỹ − X̃β:

    penalised     P(β) = ½⟨r, r⟩ + λ₁‖β‖₁ + ½λ₂‖β‖₂²
    on the ball   P(β) = ½⟨r, r⟩                          s.t. ‖β‖₁ ≤ δ

Every multiple u = κr of the residual is a dual point. The minimum of P is at least
⟨u, y⟩ − ½⟨u, u⟩ less what the penalty can earn on the correlations X̃ᵀu.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray, IntArray, Matrix
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.duality import OPTIMISATION_ONLY, mean_of
from cotas.certificates.ledger import plain_fields
from cotas.certificates.moments import Moments, column_lengths, gather_moments
from cotas.certificates.sweep import EPS, Block, Sweep, Tally


@dataclass(frozen=True)
class LassoProblem:
    """What is minimised: half the mean square, with a penalty λ or inside a ball of radius δ.

    `l1_ratio` splits the penalty into λ·l1_ratio·‖β‖₁ + ½λ(1 − l1_ratio)‖β‖₂². With `standardize`
    the penalty is on βⱼσⱼ, σⱼ being the standard deviation of column j. With `positive`, β ≥ 0.
    """

    lam: float | None = None
    delta: float | None = None
    l1_ratio: float = 1.0
    positive: bool = False
    standardize: bool = False
    free_bias: bool = True

    def in_words(self, mean: str = "mean") -> str:
        """The objective as a reader would say it."""
        penalty = " + λ‖β‖₁" if self.l1_ratio == 1.0 else " + λ(ρ‖β‖₁ + ½(1 − ρ)‖β‖²)"
        size = f"‖β‖₁ ≤ {self.delta:g}" if self.delta is not None else ""
        sign = "β ≥ 0" if self.positive else ""
        units = "β in units of the standard deviations" if self.standardize else ""
        bias = "the bias is free" if self.free_bias else "without bias"
        where = ", ".join(part for part in (size, sign, units, bias) if part)
        return f"½ {mean} square{'' if self.delta is not None else penalty} ({where})"


@dataclass(frozen=True)
class LassoPoint:
    """A linear model, and the Lasso problem it is meant to solve. Its residual is the dual point.

    Attributes
    ----------
    problem : what is minimised
    coef, intercept : the model, in the units of X and y
    weights : sᵢ, which sum to one; None stands for 1/n each
    column : of y, where y has several; None where it is a vector
    """

    problem: LassoProblem
    coef: FloatArray
    intercept: float
    weights: FloatArray | None = field(default=None, repr=False)
    column: int | None = None

    @classmethod
    def check_all(
        cls,
        points: Sequence[Self],
        X: Matrix,
        y: AnyArray,
        moments: Moments | None = None,
        each: Each = map,
    ) -> list[Certificate]:
        """The certificates of several points of one data set, such as a path, in one pass.

        The problems may differ in λ and δ only.
        """
        survey = LassoSurvey(points, X, y, moments, each)
        return [survey.conclude(k) for k in range(len(points))]

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        """The certificate of this point, recomputed from the data."""
        return self.check_all([self], X, y)[0]

    def about(self, coef: FloatArray, intercept: float) -> Self:
        """The same problem, another model."""
        return replace(self, coef=np.array(coef), intercept=float(intercept))

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types."""
        return {**plain_fields(self), "problem": asdict(self.problem)}


class LassoSurvey:
    """Residuals and correlations of all the points."""

    def __init__(
        self,
        points: Sequence[LassoPoint],
        X: Matrix,
        y: AnyArray,
        moments: Moments | None,
        each: Each,
    ) -> None:
        self.points, first = points, points[0]
        self.n = X.shape[0]
        bias = first.problem.free_bias
        self.moments = moments or gather_moments(X, y, first.weights, bias, first.column, each)
        self.scale = np.ones(X.shape[1])
        if first.problem.standardize:
            lengths = column_lengths(X, self.moments, each)
            self.scale = np.where(lengths > 0, lengths, 1.0)
        coefs = np.stack([point.coef for point in points], axis=1)
        offsets = np.array([point.intercept for point in points]) - self.moments.y_mean
        used = np.flatnonzero(coefs.any(axis=1))
        self.betas = coefs * self.scale[:, None]
        # For all points together: Σ sᵢrᵢ, ⟨r, r⟩, ⟨r, y⟩ and X̃ᵀr, by whichever reads X less.
        if len(used) < len(points) and (bias or not offsets.any()):
            found = self._by_gram(X, coefs, offsets, used, each)
        else:
            found = self._by_residuals(X, coefs, offsets, bias, each)
        self.means, self.squares, self.agreements, correlations = found
        self.q = correlations / self.scale[:, None]
        self._summarise()

    def _by_residuals(
        self, X: Matrix, coefs: FloatArray, offsets: FloatArray, bias: bool, each: Each
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        moments = self.moments

        def read(block: Block) -> Tally:
            weights, targets = moments.weights[block.span], moments.targets[block.span]
            residuals = targets[:, None] - (block.products + offsets)
            weighted = weights[:, None] * residuals
            return {
                "sum mean": weighted.sum(axis=0),
                "sum square": np.einsum("ij,ij->j", weighted, residuals),
                "sum target": targets @ weighted,
                "sum correlation": block.combine(weighted),
            }

        found = Sweep(X, moments.targets, [0.0], coefs).tally(read, each)
        # Σ sᵢrᵢ is zero when the bias is the best one; the dual asks for it, so it is taken out.
        means = found["sum mean"] * float(bias)
        correlations = found["sum correlation"] - np.multiply.outer(moments.x_mean, means)
        return means, found["sum square"], found["sum target"], correlations

    def _by_gram(
        self, X: Matrix, coefs: FloatArray, offsets: FloatArray, used: IntArray, each: Each
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Many points on few columns: X̃ᵀr = c − Gβ, with the columns of G that are used."""
        moments, mean = self.moments, self.moments.x_mean

        def read(block: Block) -> Tally:
            weights, targets = moments.weights[block.span], moments.targets[block.span]
            rows = block.rows
            if sparse.issparse(rows):
                right = rows[:, used].multiply(weights[:, None]).tocsr()
                gram = (rows.T @ right).toarray() - weights.sum() * np.outer(mean, mean[used])
            else:
                rows = rows - mean if mean.any() else rows
                gram = rows.T @ (weights[:, None] * rows[:, used])
            return {"sum c": np.asarray(rows.T @ (weights * targets)), "sum gram": gram}

        nothing = np.zeros((X.shape[1], 0))
        found = Sweep(X, moments.targets, [0.0], nothing).tally(read, each)
        c, inside = found["sum c"], coefs[used]
        correlations = c[:, None] - found["sum gram"] @ inside
        means = -(offsets + mean @ coefs)
        agreements = moments.y_square - c[used] @ inside
        squares = agreements - np.einsum("ij,ij->j", inside, correlations[used]) + means**2
        return means, np.maximum(squares, 0.0), agreements, correlations

    def _summarise(self) -> None:
        """What the conclusions need of β and of its correlations, for all points at once."""
        self.lengths = np.abs(self.betas).sum(axis=0)
        self.beta_squares = np.einsum("ij,ij->j", self.betas, self.betas)
        self.nonzeros = np.count_nonzero(self.betas, axis=0)
        lam2 = np.array([self._penalties(point.problem)[1] for point in self.points])
        followed = self.q - self.betas * lam2 if lam2.any() else self.q
        reach = followed if self.points[0].problem.positive else np.abs(followed)
        # The largest correlation that a coefficient could follow.
        self.steepest = np.maximum(reach.max(axis=0, initial=0.0), 0.0)

    def conclude(self, k: int) -> Certificate:
        """Both values and what follows from them."""
        point, problem = self.points[k], self.points[k].problem
        square, beta = float(self.squares[k]), self.betas[:, k]
        length = float(self.lengths[k])
        lam1, lam2 = self._penalties(problem)
        primal = 0.5 * square + lam1 * length + 0.5 * lam2 * float(self.beta_squares[k])
        dual, figures = self._lower(k)
        rounding = self._rounding(point, primal)
        objection, lower = self._objection(point, beta, length), min(dual, primal)
        return conclude(
            kind="duality",
            lower=dual,
            upper=primal,
            objection=objection,
            # It does not exclude a model with an objective a hundred times smaller.
            vacuous=lower < 0.01 * primal,
            statement=(
                f"No linear model has a smaller {problem.in_words(mean_of(point))} "
                f"than {lower:.6g}; this one has {primal:.6g}."
            ),
            reference="Proposition 2.2.2 of document 001"
            if problem.delta is not None
            else "weak duality of the penalised Lasso",
            figures={
                **figures,
                "‖β‖₁": length,
                "coefficients that are not zero": float(self.nonzeros[k]),
                "objective of the constant model": 0.5 * self.moments.y_square,
            },
            remarks=(OPTIMISATION_ONLY,),
            charge=rounding,
            scale=0.5 * self.moments.y_square,
            witness=point,
            sketch=self.moments.sketch,
        )

    def _rounding(self, point: LassoPoint, primal: float) -> float:
        """What rounding can do to both values: to the sums, and to the residuals before."""
        y_square, y_mean = self.moments.y_square, self.moments.y_mean
        size = abs(y_mean) + abs(point.intercept - y_mean) + math.sqrt(y_square)
        each = 8 * EPS * size
        sums = 64 * EPS * math.sqrt(self.n) * (primal + y_square)
        return sums + each * math.sqrt(2 * primal) + each**2

    def _penalties(self, problem: LassoProblem) -> tuple[float, float]:
        if problem.lam is None:
            return 0.0, 0.0
        return problem.lam * problem.l1_ratio, problem.lam * (1.0 - problem.l1_ratio)

    def _objection(self, point: LassoPoint, beta: FloatArray, length: float) -> str:
        problem = point.problem
        if point.intercept and not problem.free_bias:
            return "The problem has no bias, and the model has one."
        if problem.positive and (beta < 0).any():
            return "A coefficient is negative, and the problem asks for β ≥ 0."
        if problem.delta is not None and length > problem.delta * (1 + 1e-12):
            return f"‖β‖₁ = {length:.9g} is more than δ = {problem.delta:.9g}."
        return ""

    def _products(self, k: int) -> tuple[float, float]:
        """⟨r, y⟩ and ⟨r, r⟩, the mean of r taken out."""
        a = float(self.agreements[k])
        b = max(float(self.squares[k] - self.means[k] ** 2), 0.0)
        # ⟨r, y⟩² ≤ ⟨r, r⟩⟨y, y⟩, whatever rounding does.
        return a, max(b, a * a / self.moments.y_square) if a > 0 else b

    def best_multiple(self, k: int) -> float:
        """The κ ≥ 0 for which κr is the best dual point; with λ₂, of the residuals (r, −√λ₂β)."""
        problem, steepest = self.points[k].problem, float(self.steepest[k])
        a, b = self._products(k)
        if problem.delta is not None:
            return max(0.0, a - problem.delta * steepest) / b if b > 0 else 0.0
        lam1, lam2 = self._penalties(problem)
        b += lam2 * float(self.beta_squares[k])  # √λ₂β as more residuals
        if a <= 0 or b <= 0:
            return 0.0
        return min(a / b, lam1 / steepest) if steepest > 0 else a / b

    def _lower(self, k: int) -> tuple[float, dict[str, float]]:
        """The best lower bound that a multiple of the residual gives, and its figures."""
        problem, steepest = self.points[k].problem, float(self.steepest[k])
        (a, b), kappa = self._products(k), self.best_multiple(k)
        if problem.delta is not None:
            omega = steepest - float(self.q[:, k] @ self.betas[:, k]) / problem.delta
            # κ = 1 is Proposition 2.2.2; the best multiple is at least as good.
            gain = a - problem.delta * steepest
            return kappa * gain - 0.5 * kappa**2 * b, {"δ": problem.delta, "ω_δ": self.n * omega}
        lam1, lam2 = self._penalties(problem)
        curvature = b + lam2 * float(self.beta_squares[k])
        best = kappa * a - 0.5 * kappa**2 * curvature
        if lam2 > 0:
            # The conjugate of the whole penalty, which excludes no multiple.
            reach = self.q[:, k] if problem.positive else np.abs(self.q[:, k])
            earned = np.maximum(reach, lam1) - lam1
            best = max(best, a - 0.5 * b - float(earned @ earned) / (2 * lam2))
        return best, {"λ": float(problem.lam or 0.0), "largest correlation": steepest}
