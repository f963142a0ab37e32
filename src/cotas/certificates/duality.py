"""Linear classifiers: the duality gap of their regularized risk, and of the hard margin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude_bounds
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.gap import L2, Claim, Risk, all_bounds
from cotas.certificates.core.margins import LOSSES, HardMargin
from cotas.certificates.core.rounding import above, below
from cotas.certificates.core.sparsity import ElasticNetRegularizer
from cotas.certificates.passes import (
    Facts,
    Sketch,
    class_sketches,
    gather_facts,
    refuse_other_rows,
    rows_of,
    signs_of,
)
from cotas.certificates.presentation import (
    OPTIMIZATION_ONLY,
    bias_in_words,
    ends,
    mean_of,
)
from cotas.certificates.witnesses import Parametric, Together
from cotas.problem import RegularizedRisk, SoftmaxRisk
from cotas.words import say

ON_AVERAGE = "The theory bounds the mean over all random draws, not this run."
DRAWS = "The number of draws is what the run says of itself."
SECTION = "weak duality, section 3.7 of Fuentes Cabrera"


def risk_of(problem: RegularizedRisk) -> Risk:
    loss = LOSSES.get(problem.loss.name)
    if loss is None or not math.isfinite(problem.bias_scale):
        raise ValueError("The loss must be one of the core's, and bias_scale a finite number.")
    if problem.l1_ratio and problem.bias_scale:
        raise ValueError("A penalized bias goes with the squares alone.")
    return Risk(loss, regularizer_of(problem), problem.free_bias, problem.bias_scale)


def regularizer_of(problem: RegularizedRisk | SoftmaxRisk) -> L2 | ElasticNetRegularizer:
    """Compute λ(ρ‖θ‖₁ + ½(1 − ρ)‖θ‖²) as the core knows it."""
    lam, ratio = problem.lam, problem.l1_ratio
    if not (0 < lam < math.inf and 0 <= ratio <= 1):
        raise ValueError("λ must be a finite number above zero, and l1_ratio between 0 and 1.")
    return ElasticNetRegularizer(lam * ratio, lam * (1.0 - ratio)) if ratio else L2(lam)


def penalty_in_words(problem: RegularizedRisk | SoftmaxRisk, theta: str = "θ") -> str:
    if not problem.l1_ratio:
        return f"(λ/2)‖{theta}‖²"
    if problem.l1_ratio == 1.0:
        return f"λ‖{theta}‖₁"
    return f"λ(ρ‖{theta}‖₁ + ½(1 − ρ)‖{theta}‖²), ρ = {problem.l1_ratio:.6g}"


def penalty_figures(problem: RegularizedRisk | SoftmaxRisk, coef: FloatArray) -> dict[str, float]:
    """Compute λ, and with an ℓ1 part its share and what it leaves."""
    if not problem.l1_ratio:
        return {"λ": problem.lam}
    used = float(np.count_nonzero(coef))
    return {"λ": problem.lam, "ρ": problem.l1_ratio, "coefficients that are not zero": used}


@dataclass(frozen=True)
class Expectation:
    """PEGASOS by independent draws: E[P(θ̄)] − P* ≤ c(1 + ln T)/(2λT) for the averaged vector.

    c = (√λ + R)² if θ was projected on the ball of radius 1/√λ, and 4R² if not (Shalev-Shwartz
    et al. 2011). It is a statement about the mean over all random draws.
    """

    draws: int
    projected: bool

    def gap(self, lam: float, radius: float) -> float:
        """Return the bound for rows no longer than `radius`, rounded up."""
        c = (math.sqrt(lam) + radius) ** 2 if self.projected else 4 * radius**2
        return above(c * (1 + math.log(self.draws)) / (2 * lam * self.draws), 24)


@dataclass(frozen=True)
class DualPoint(Together):
    """A linear classifier and the dual point αᵢ = sᵢ · multipliersᵢ / per that measures it.

    For PEGASOS the multipliers count how often each example violated its margin, and `per` is
    the number of epochs. Any multipliers give a valid bound: the core moves α into the feasible
    set before it uses it.

    Attributes
    ----------
    problem : what is minimized
    coef, intercept, positive : the model, and the label that counts as +1
    weights : sᵢ ≥ 0, of any sum; None stands for ones
    expectation : the theory that bounds the gap on average, where it applies
    """

    problem: RegularizedRisk
    coef: FloatArray
    intercept: float
    positive: Any
    multipliers: AnyArray = field(repr=False)
    per: float = 1.0
    weights: FloatArray | None = field(default=None, repr=False)
    expectation: Expectation | None = None

    @classmethod
    def check_all(
        cls,
        points: Sequence[Self],
        X: Matrix,
        y: AnyArray,
        facts: Facts | None = None,
        each: Each = map,
    ) -> list[Certificate]:
        """Return the certificates of several classes of one fit, from common passes over the data.

        `facts` are those of the same data, if they have been gathered already.
        """
        first, positives = points[0], [point.positive for point in points]
        claims = [point._claim(np.asarray(y)) for point in points]
        rows = rows_of(X, first.problem.free_bias, facts, each)
        if facts is None and not any(point.expectation for point in points):
            facts = Facts(class_sketches(X, y, positives, each))
        facts = facts or gather_facts(X, y, positives, each)
        parts = zip(points, all_bounds(rows, claims, first.weights), facts.sketches, strict=True)
        return [
            in_certificate(one, found.bounds, sketch, one.weights, one._in_theory(facts))
            for one, found, sketch in parts
        ]

    def _claim(self, y: AnyArray) -> Claim:
        risk, theta = risk_of(self.problem), np.asarray(self.coef, np.float64)
        refuse_other_rows(len(y), self.multipliers, weights=self.weights)
        signs, shares = signs_of(y, self.positive), np.asarray(self.multipliers, np.float64)
        with np.errstate(all="ignore"):
            c = -signs * (shares / self.per)
            c = c if self.weights is None else c * self.weights
        return Claim(risk, signs, theta, float(self.intercept), c)

    def _in_theory(self, facts: Facts) -> dict[str, float]:
        """Return what the theory says of the mean over all runs, as figures."""
        if self.expectation is None:
            return {}
        longest = facts.longest(self.weights)
        gap = self.expectation.gap(self.problem.lam, longest)
        return {"R (longest row)": longest, "mean gap in theory, at most": gap}


def in_certificate(
    point: Any,
    found: Bounds | Objection,
    sketch: Sketch,
    weights: FloatArray | None,
    theory: Mapping[str, float] | None = None,
) -> Certificate:
    """Say both values in words, of a point with a problem and θ; these are some of the weights."""
    problem, lower, upper = point.problem, found.lower, found.upper
    length = {"‖θ‖": float(np.linalg.norm(point.coef))}
    return conclude_bounds(
        found,
        statement=lambda: say(
            "No classifier has a smaller {mean} {loss} loss + {penalty} ({bias}) than {lower}; "
            "this one has {upper}.",
            mean=mean_of(weights),
            loss=say(problem.loss.name),
            penalty=penalty_in_words(problem),
            bias=bias_in_words(problem.free_bias, problem.bias_scale),
            **ends(lower, upper),
        ),
        reference=SECTION if problem.loss.name == "hinge" else "weak duality, theory/logistic.md",
        figures={**penalty_figures(problem, point.coef), **length, **(theory or {})},
        remarks=(ON_AVERAGE, OPTIMIZATION_ONLY) if theory else (OPTIMIZATION_ONLY,),
        trusted=(DRAWS,) if theory else (),
        witness=point,
        sketch=sketch,
    )


@dataclass(frozen=True)
class HardMarginPoint(Parametric):
    """A separator and the multipliers α ≥ 0 that show how much smaller ‖θ‖ could be.

        min ½‖θ‖²  s.t.  yᵢ(θ·xᵢ + θ₀) ≥ 1;      max Σ αᵢ − ½‖Σ αᵢyᵢxᵢ‖²,  Σ αᵢyᵢ = 0 with a bias

    A separator is measured after it has been scaled to a smallest margin of one.
    """

    coef: FloatArray
    intercept: float
    positive: Any
    free_bias: bool
    alpha: FloatArray = field(repr=False)

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        rows, signs = rows_of(X, self.free_bias), signs_of(np.asarray(y), self.positive)
        refuse_other_rows(rows.n, self.alpha)
        c = -signs * np.asarray(self.alpha, np.float64)
        risk = Risk(HardMargin(), L2(1.0), self.free_bias)
        theta, bias = np.asarray(self.coef, np.float64), float(self.intercept)
        found = all_bounds(rows, [Claim(risk, signs, theta, bias, c)])[0].bounds
        sketch = class_sketches(X, y, [self.positive])[0]
        lower, upper = found.lower, found.upper
        figures = {}
        if isinstance(found, Bounds):
            distance = below(1.0 / math.sqrt(2 * upper), 4)
            figures["distance of the nearest row to the boundary"] = distance
        if lower > 0:
            figures["no separator keeps a distance above"] = above(1.0 / math.sqrt(2 * lower), 4)
        return conclude_bounds(
            found,
            statement=say(
                "No separator with all margins at least 1 has ½‖θ‖² below {lower}; this one, "
                "scaled to that, has {upper}.",
                **ends(lower, upper),
            ),
            reference=SECTION,
            figures=figures,
            remarks=(OPTIMIZATION_ONLY,),
            witness=self,
            sketch=sketch,
        )
