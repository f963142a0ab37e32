"""The duality gap of a regression in feature space, from kernel values that the core computes.

    f(x) = Σ βᵢ k(xᵢ, x) + θ₀,    P(θ, θ₀) = Σ sᵢ ℓ(yᵢ − f(xᵢ)) + (λ/2) βᵀKβ

with ℓ(r) = ½r² or max(0, |r| − ε). The coefficients are the dual point, c = −λβ, as those of a best
model are; the core moves it into the feasible set. Where the formula does not show that K is
positive semi-definite, K is examined as in `kernel.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.gap import Claim, Risk, Weights, feasible
from cotas.certificates.core.gram import Gram, SquaredLength, bounds
from cotas.certificates.core.residuals import EpsilonInsensitive, Squared
from cotas.certificates.core.rounding import U
from cotas.certificates.duality import OPTIMIZATION_ONLY, bias_in_words, conclude_duality, mean_of
from cotas.certificates.kernel import (
    LARGEST_EXAMINED,
    KernelFunction,
    examined,
    not_examined,
    on_trust,
    proof_of,
)
from cotas.certificates.ledger import Parametric
from cotas.certificates.presentation import ends, other_rows
from cotas.certificates.sweep import ROUNDED, Sketch, as_rows, constant_model, sketches_of
from cotas.words import say


@dataclass(frozen=True)
class KernelRegression:
    """What is minimized: half the mean square, or the mean of what exceeds ε, and (λ/2)‖θ‖²."""

    lam: float
    free_bias: bool
    epsilon: float | None = None

    def risk(self) -> Risk:
        """The problem as the core knows it."""
        if not 0 < self.lam < math.inf:
            raise Objection("penalty")
        loss = Squared() if self.epsilon is None else EpsilonInsensitive(self.epsilon)
        return Risk(loss, SquaredLength(self.lam), self.free_bias)

    def in_words(self, mean: str) -> str:
        """The objective as a reader would say it."""
        return say(
            "½ {mean} square + (λ/2)‖θ‖² ({bias})"
            if self.epsilon is None
            else "{mean} of what |y − f(x)| exceeds {epsilon:g} by + (λ/2)‖θ‖² ({bias})",
            mean=mean,
            epsilon=self.epsilon,
            bias=bias_in_words(self.free_bias),
        )


@dataclass(frozen=True)
class KernelRegressionPoint(Parametric):
    """A regression in feature space, and the problem it is meant to solve.

    Attributes
    ----------
    problem : what is minimized
    kernel : k, an object whose `spec()` says it as plain data
    coef, intercept : βᵢ of each row, and θ₀
    weights : sᵢ, which the checker divides by their sum; None stands for 1/n each
    """

    problem: KernelRegression
    kernel: KernelFunction
    coef: FloatArray = field(repr=False)
    intercept: float
    weights: FloatArray | None = field(default=None, repr=False)

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        """The certificate of this point, recomputed from the data."""
        return self.survey(X, y)[0]

    def survey(
        self, X: Matrix, y: AnyArray, sketch: Sketch | None = None, each: Each = map
    ) -> tuple[Certificate, FloatArray]:
        """The certificate, and Kβ as it was computed for it; `sketch` is that of the same data."""
        X, y = as_rows(X), np.asarray(y, dtype=np.float64)
        if y.shape != (X.shape[0],):
            raise ValueError(f"y must have one number for each of the {X.shape[0]} rows of X.")
        if np.shape(self.coef) != y.shape:
            raise other_rows(len(y), len(self.coef))
        found = _RegressionSurvey(self, X, y, each)
        return found.conclude(sketch or sketches_of(X, y[:, None], each)[0]), found.scores

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types; the kernel as its formula."""
        return {**super().to_dict(), "kernel": str(self.kernel)}


class _RegressionSurvey:
    """K times β and times the dual point, and the bounds that follow."""

    def __init__(self, point: KernelRegressionPoint, X: Matrix, y: FloatArray, each: Each) -> None:
        self.point, self.scores, self.length = point, np.zeros(len(y)), 0.0
        self.remarks: tuple[str, ...] = ()
        self.found: Bounds | Objection
        try:
            with np.errstate(all="ignore"):
                self.found = self._bounds(X, y, each)
                self.constant = self._constant(y)
        except Objection as objection:
            self.found, self.constant = objection, 0.0

    def _bounds(self, X: Matrix, y: FloatArray, each: Each) -> Bounds:
        point, n = self.point, len(y)
        risk, w = point.problem.risk(), Weights.of(point.weights, n)
        given = Claim(risk, y, np.array(point.coef, np.float64), float(point.intercept))
        given.refuse(n, n)
        claim, middle = given.moved(w)
        c = feasible(risk.loss, claim.y, -risk.regularizer.lam * w.high * given.theta, w.s,
                     risk.free_bias)  # fmt: skip
        claim = claim._replace(bias=given.bias - middle, c=c)
        gram, rows = Gram(point.kernel.spec(), X, each), np.arange(n)
        if not gram.positive:
            gram, rows = self._examine(gram, np.flatnonzero((w.s > 0) | (given.theta != 0)))
            claim = claim._replace(y=claim.y[rows], theta=given.theta[rows], c=c[rows])
            w = replace(w, s=w.s[rows])
        values, off = gram.times(np.stack([claim.theta, claim.c], axis=1), w.s > 0)
        self.scores[rows] = values[:, 0]
        if middle:  # targets and a bias that were moved have been rounded
            off[:, 0] += 2 * U * (np.abs(y[rows]) + abs(given.bias) + abs(middle))
        lengths = [gram.length(a, values[:, k], off[:, k])
                   for k, a in enumerate((claim.theta, claim.c))]  # fmt: skip
        if any(length.square + length.off < 0 for length in lengths):
            raise Objection("indefinite")
        found, theta = bounds(claim, gram, w, values, off)
        self.length = math.sqrt(max(0.0, theta.square))
        return found

    def _examine(self, gram: Gram, rows: Any) -> tuple[Gram, Any]:
        """K of the rows that have a part in it, with a proof that it is positive semi-definite."""
        if len(rows) > LARGEST_EXAMINED:
            self.remarks = ("The bounds hold if K is positive semi-definite.", not_examined())
            return gram, np.arange(gram.n)
        gram, evidence = examined(gram, rows)
        if evidence is not None:
            raise Objection("indefinite")
        self.remarks = (proof_of(gram.shift),)
        return gram, rows

    def _constant(self, y: FloatArray) -> float:
        """The objective of the constant model, and what the rounding of the targets leaves."""
        point, loss = self.point, self.point.problem.risk().loss
        value, square = constant_model(y, point.weights, point.problem.free_bias, loss)
        return value + ROUNDED * square

    def conclude(self, sketch: Sketch) -> Certificate:
        """Put both values and what follows from them into words."""
        point, found = self.point, self.found
        lower, upper = found.lower, found.upper
        return conclude_duality(
            found,
            vacuous=lower < 0.01 * upper,
            statement=say(
                "No θ in the feature space of k has a smaller {objective} than {lower}; this one "
                "has {upper}.",
                objective=point.problem.in_words(mean_of(point)),
                **ends(lower, upper),
            ),
            reference="weak duality in feature space, Fuentes-Pineda",
            figures={
                "λ": point.problem.lam,
                "‖θ‖": self.length,
                "support vectors": float(np.count_nonzero(point.coef)),
                "objective of the constant model": self.constant,
            },
            remarks=(f"k(x, x′) = {point.kernel}", *self.remarks, OPTIMIZATION_ONLY),
            trusted=on_trust(point.kernel.spec()),
            scale=self.constant,
            witness=point,
            sketch=sketch,
        )
