"""The duality gap of a regression in feature space, from kernel values that the core computes.

    f(x) = Σ βᵢ k(xᵢ, x) + θ₀,    P(θ, θ₀) = Σ sᵢ ℓ(yᵢ − f(xᵢ)) + (λ/2) βᵀKβ

with ℓ(r) = ½r² or max(0, |r| − ε). The coefficients are the dual point, c = −λβ, as those of a best
model are; the core moves it into the feasible set. Where the formula does not show that K is
positive semi-definite, K is examined as in `kernel.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude_bounds
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.gap import Claim, Risk, Weights, feasible
from cotas.certificates.core.gram import SquaredLength
from cotas.certificates.core.residuals import EpsilonInsensitive, Squared
from cotas.certificates.core.rounding import U
from cotas.certificates.kernel import KernelChecker, KernelFunction
from cotas.certificates.passes import ROUNDED, Sketch, constant_model, sketches_of
from cotas.certificates.positivity import Definiteness
from cotas.certificates.presentation import OPTIMIZATION_ONLY, bias_in_words, ends, mean_of
from cotas.certificates.witnesses import Parametric
from cotas.words import say


@dataclass(frozen=True)
class KernelRegression:
    """The problem: half the mean square, or the mean of what exceeds ε, and (λ/2)‖θ‖²."""

    lam: float
    free_bias: bool
    epsilon: float | None = None

    def risk(self) -> Risk:
        if not 0 < self.lam < math.inf:
            raise Objection("penalty")
        loss = Squared() if self.epsilon is None else EpsilonInsensitive(self.epsilon)
        return Risk(loss, SquaredLength(self.lam), self.free_bias)

    def in_words(self, mean: str) -> str:
        """Return the objective as a reader would say it."""
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
        return self.full_check(X, y)[0]

    def full_check(
        self, X: Matrix, y: AnyArray, sketch: Sketch | None = None, each: Each = map
    ) -> tuple[Certificate, FloatArray]:
        """Return the certificate, and the Kβ computed for it; `sketch` is of the same data."""
        y, sketches = np.asarray(y, dtype=np.float64), None if sketch is None else [sketch]
        found = _RegressionChecker([self], X, y, sketches, each)
        return found.conclude(0), found.scores[:, 0]


class _RegressionChecker(KernelChecker):
    """The same for one target, from which a number near all of it may have been taken off."""

    constant = 0.0  # the objective of the constant model, and what the rounding of y leaves

    def _sketches(self, X: Matrix, y: FloatArray, each: Each) -> list[Sketch]:
        return sketches_of(X, y[:, None], each)

    @np.errstate(all="ignore")
    def _read(self, y: FloatArray) -> None:
        point, n = self.points[0], self.n
        risk, w = point.problem.risk(), Weights.of(point.weights, n)
        loss, lam, self.risks, self.weights = risk.loss, risk.regularizer.lam, [risk], [w]
        given = Claim(risk, y, np.array(point.coef, np.float64), float(point.intercept))
        given.refuse(n, n)
        claim, middle = given.moved(w)
        c = feasible(loss, claim.y, -lam * w.high * given.theta, w.s, risk.free_bias)
        self.targets, self.betas, self.duals = (a[:, None] for a in (claim.y, given.theta, c))
        self.given, self.biases = self.duals, np.array([given.bias - middle])
        # Targets and a bias that were moved have been rounded.
        room = 2 * U * (np.abs(y) + abs(given.bias) + abs(middle)) if middle else np.zeros(n)
        self.room = room[:, None]
        value, square = constant_model(y, point.weights, risk.free_bias, loss)
        self.constant = value + ROUNDED * square

    def _stationary(self, c: int, evidence: Definiteness) -> Certificate:
        return self._certificate(c, Objection("indefinite"), 0.0)

    def _certificate(self, c: int, found: Bounds | Objection, length: float) -> Certificate:
        point, remarks = self.points[c], (OPTIMIZATION_ONLY,)
        if isinstance(found, Bounds):
            sure = self.examined or self.gram.positive
            condition = () if sure else ("The bounds hold if K is positive semi-definite.",)
            remarks = (*condition, *self._about_the_kernel(), *remarks)
        said = self._said(c, {"‖θ‖": length}, remarks)
        constant = self.constant if isinstance(found, Bounds) else 0.0
        said["figures"]["objective of the constant model"] = constant
        return conclude_bounds(
            found,
            statement=say(
                "No θ in the feature space of k has a smaller {objective} than {lower}; this one "
                "has {upper}.",
                objective=point.problem.in_words(mean_of(point.weights)),
                **ends(found.lower, found.upper),
            ),
            reference="weak duality in feature space, Fuentes-Pineda",
            scale=constant,
            **said,
        )
