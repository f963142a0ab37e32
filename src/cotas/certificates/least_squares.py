"""How far a squared-loss model is from the best: bounded by its gradient and the curvature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.linalg import eigvalsh

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude, no_certificate
from cotas.certificates.duality import OPTIMISATION_ONLY, mean_of
from cotas.certificates.least_squares_pass import SquaredLossPass
from cotas.certificates.ledger import plain_fields
from cotas.certificates.scatter import Decrease, decrease
from cotas.certificates.sweep import EPS, Sketch

# A bound this small in comparison with the objective is not worth another pass over the data.
ENOUGH = 1e-10
# The spectrum of the Hessian is shown up to this many features.
LARGEST_SPECTRUM = 500


@dataclass(frozen=True)
class Descent:
    """Gradient descent with a constant step from zero: Pₖ − P* ≤ ρ²ᵏ (P₀ − P*).

    ρ is the largest |1 − step·e| over the positive eigenvalues e of the Hessian. The run worked
    on the rows (1, x), or with `centre` and `scale` on (1, (x − centre)/scale).
    """

    step: float
    iterations: int
    centre: FloatArray | None = field(default=None, repr=False)
    scale: FloatArray | None = field(default=None, repr=False)

    def factor(self, eigenvalues: FloatArray) -> float:
        """ρ²ᵏ"""
        rho = float(np.abs(1.0 - self.step * eigenvalues).max(initial=0.0))
        with np.errstate(over="ignore"):
            return float(np.float64(rho) ** (2 * self.iterations))


@dataclass(frozen=True)
class SquaredLossPoint:
    """A linear model of one target, and the problem it is measured by.

        P(θ, θ₀) = ½ Σ sᵢ(yᵢ − θ·xᵢ − θ₀)² + (λ/2) Σ (σⱼθⱼ)²,        Σ sᵢ = 1

    Attributes
    ----------
    coef, intercept : the model
    lam : λ, zero for least squares
    free_bias : whether θ₀ is free, or fixed at `intercept` = 0
    column : the column of y that the model predicts; None where y is a vector
    weights : sᵢ, which sum to one; None stands for 1/n each
    penalty_scale : σⱼ; None stands for ones
    descent : the run that found the model, where it was gradient descent with a constant step
    """

    coef: FloatArray
    intercept: float
    lam: float
    free_bias: bool
    column: int | None = None
    weights: FloatArray | None = field(default=None, repr=False)
    penalty_scale: FloatArray | None = field(default=None, repr=False)
    descent: Descent | None = None

    @classmethod
    def check_all(
        cls, points: Sequence[Self], X: Matrix, y: AnyArray, each: Each = map
    ) -> list[Certificate]:
        """The certificates of several targets of one fit, in one pass over the data."""
        return Survey(X, y, points, each).certificates()

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        """The certificate of this model, computed from the data."""
        return self.check_all([self], X, y)[0]

    def about(self, coef: FloatArray, intercept: float) -> Self:
        """The same problem, and other parameters."""
        return replace(self, coef=np.array(coef), intercept=float(intercept))

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types."""
        plain = plain_fields(self)
        if self.descent is not None:
            plain["descent"] = plain_fields(self.descent)
        return plain


class Survey(SquaredLossPass):
    """What follows from one pass over the data, for each of the models."""

    def certificates(self) -> list[Certificate]:
        """One for each target."""
        problem = self._out_of_range()
        if problem:
            return [no_certificate(problem, witness=p) for p in self.points]
        falls, how = self._fall(np.hstack([self.gradient, self._noise()]))
        k, sketches = len(self.points), self.sweep.sketches(self.found)
        fall, noise = falls[:k], falls[k:]
        # Rounding moves the gradient, and with it the fall, which is quadratic in it.
        bounded = np.isfinite(fall) & np.isfinite(noise)  # no bound, nothing to round
        self.fall_rounding = np.zeros(k)
        a, b = fall[bounded], noise[bounded]
        self.fall_rounding[bounded] = 2 * np.sqrt(a * b) + b
        return [self._certificate(c, fall, how, sketches[c]) for c in range(k)]

    def _fall(self, g: FloatArray) -> tuple[FloatArray, str]:
        """How far Q can fall at most with each slope g, and from which curvature that follows.

        Cheapest first: the curvature of the penalty alone, of a few rows, of all the rows. What
        is enough is decided by the first slopes, those of the targets.
        """
        k, enough = len(self.points), ENOUGH * self.reduced
        added = self.curvature
        fall = np.full(g.shape[1], np.inf)
        how = "No curvature is known with so many features, only that P ≥ 0."
        if (added > 0).all():
            fall = 0.5 * np.sum(g**2 / added[:, None], axis=0)
            how = "The bound rests on the curvature of the penalty alone."
        if (fall[:k] <= enough).all() or not self.scatter.affordable:
            return fall, how
        if 2 * self.scatter.n_few < self.n:
            # A column that is constant in these rows may vary in others: none is left out.
            few = decrease(self.scatter.of_few_rows(), added, g, np.zeros(self.d))
            if few is not None and (few[:k] <= enough).all():
                how = f"The curvature of about {self.scatter.n_few} of the rows proves it."
                return np.minimum(fall, few), how
        whole = decrease(self.scatter.of_all_rows(self.each), added, g, self.floor)
        if whole is not None:
            return np.minimum(fall, whole), "The bound rests on the curvature of all the rows."
        found = self._explained()
        return np.minimum(fall, found.amounts), _about_the_columns(found)

    @cached_property
    def eigenvalues(self) -> FloatArray:
        """The positive ones of H = C + λ·diag(σ²); none is below what the penalty makes it."""
        added = self.curvature
        values = eigvalsh(self.scatter.of_all_rows(self.each) + np.diag(added))
        return np.maximum(values, added.min()) if (added > 0).all() else _positive(values)

    @cached_property
    def run_eigenvalues(self) -> FloatArray:
        """The positive ones of the Hessian in the coordinates of the run, the same for all."""
        assert self.one.descent is not None
        return _positive(eigvalsh(self._run_hessian(self.one.descent)))

    def _certificate(self, c: int, fall: FloatArray, how: str, sketch: Sketch) -> Certificate:
        point, upper = self.points[c], float(self.primal[c])
        known = float(self.reduced[c] - fall[c])
        lower = max(0.0, known)
        rounding = self._rounding(c)
        slope = np.append(self.gradient[:, c], self.found["sum residuals"][c] * point.free_bias)
        figures = {"λ": point.lam} if point.lam else {}
        figures["‖∇P‖"] = float(np.linalg.norm(slope))
        figures |= self._spectrum(c)
        objection = self._measure_descent(c, lower, rounding, figures)
        penalty = penalty_in_words(point)
        return conclude(
            kind="gradient",
            lower=min(lower, upper),
            upper=upper,
            objection=objection,
            # P ≥ 0 was known before, and this objective is not near zero.
            vacuous=known <= 0.01 * upper and upper > rounding,
            statement=(
                f"No linear model has a smaller ½ {mean_of(point)} squared error{penalty} than "
                f"{min(lower, upper):.6g}; this one has {upper:.6g}."
            ),
            reference="P(θ) − P* ≤ ½ ∇PᵀH⁻¹∇P, docs/theory/least-squares.md",
            figures=figures,
            remarks=(how, OPTIMISATION_ONLY),
            charge=float(rounding),
            scale=self._zero_objective(c),
            witness=point,
            sketch=sketch,
        )

    def _zero_objective(self, c: int) -> float:
        """P of the model θ = 0, with the best bias where it is free."""
        y, weights = self.sweep.targets[:, c], self.one.weights
        s = np.full(self.n, 1.0 / self.n) if weights is None else weights
        centre = float(s @ y) if self.one.free_bias else 0.0
        return 0.5 * float(s @ (y - centre) ** 2)

    def _rounding(self, c: int) -> float:
        """What the residuals are off by, what their sum is, and what the fall is."""
        upper, off, fall = float(self.primal[c]), self._residual_error(c), self.fall_rounding[c]
        of_sums = 64 * EPS * np.sqrt(self.n) * upper + 2 * off * np.sqrt(upper) + off**2
        return float(of_sums + fall)

    def _spectrum(self, c: int) -> dict[str, float]:
        """The condition number, and the bound of the smallest curvature, if H is at hand."""
        if not self.scatter.formed or self.d > LARGEST_SPECTRUM:
            return {}
        values = self.eigenvalues
        if not len(values):
            return {}
        bound = float(self.gradient[:, c] @ self.gradient[:, c]) / (2 * values[0])
        return {
            "condition number": float(values[-1] / values[0]),
            "P − P* by the smallest curvature alone, at most": float(
                self.primal[c] - self.reduced[c] + bound
            ),
        }

    def _measure_descent(
        self, c: int, lower: float, rounding: float, figures: dict[str, float]
    ) -> str:
        """Compare the gap with what the rate promises; in words, how the run falls short of it."""
        descent = self.points[c].descent
        if descent is None or self.d > LARGEST_SPECTRUM:
            return ""
        values = self.run_eigenvalues
        promised = descent.factor(values) * max(0.0, float(self.flat_start[c]) - lower)
        nearer = self.primal[c] - lower <= (1 + 1e-6) * promised + 4 * rounding
        if not nearer and len(values) < self.d + self.one.free_bias:
            return ""  # what is left may lie along directions that rounding takes for flat
        figures["step · largest curvature"] = descent.step * float(values.max(initial=0.0))
        figures["gap that the rate of gradient descent allows"] = promised
        if nearer:
            return ""
        return "So many steps of gradient descent must come nearer to the best than this."

    def _run_hessian(self, descent: Descent) -> FloatArray:
        """The Hessian in the coordinates of the run, the bias first where there is one."""
        C, mean = self.scatter.of_all_rows(self.each), self.mean
        if descent.scale is not None and descent.centre is not None:
            stretch = np.divide(1.0, descent.scale, where=descent.scale > 0, out=np.zeros(self.d))
            return _with_bias(
                (C + np.diag(self.curvature)) * np.outer(stretch, stretch),
                (mean - descent.centre) * stretch,
                self.one.free_bias,
            )
        return _with_bias(C + np.diag(self.curvature), mean, self.one.free_bias)


def _with_bias(hessian: FloatArray, mean: FloatArray, free_bias: bool) -> FloatArray:
    """The Hessian of P in (θ₀, θ), from the one of Q in θ."""
    if not free_bias:
        return hessian
    return np.block(
        [[np.ones((1, 1)), mean[None, :]], [mean[:, None], hessian + np.outer(mean, mean)]]
    )


def _positive(eigenvalues: FloatArray) -> FloatArray:
    """Those above rounding."""
    least = 8 * len(eigenvalues) * EPS * float(eigenvalues[-1])
    return eigenvalues[eigenvalues > max(least, 0.0)]


def _about_the_columns(found: Decrease) -> str:
    how = "The bound rests on the residuals projected on the columns, which are nearly collinear."
    if not found.flat:
        return how
    return (
        f"{how} Along {found.flat} of the directions of θ they are collinear up to rounding: there "
        "the data say nothing, and Ridge would decide."
    )


def penalty_in_words(point: SquaredLossPoint) -> str:
    """What the objective has besides the mean square."""
    if not point.lam:
        return "" if point.free_bias else " (without bias)"
    weight = "(λ/2)‖θ‖²" if point.penalty_scale is None else "(λ/2)Σ(σⱼθⱼ)²"
    return f" + {weight}" + ("" if point.free_bias else " (without bias)")
