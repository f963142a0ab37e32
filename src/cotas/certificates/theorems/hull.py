"""How far a combination of stumps is from the best one: the Frank–Wolfe gap.

Let H(G) = Σ sᵢ C(yᵢG(xᵢ)) with a convex cost C, over all G in radius·conv(stumps). A tangent of C
at any numbers z lies below it, so for every such G, with aᵢ = sᵢC'(zᵢ),

    H(G)  ≥  Σ (sᵢC(zᵢ) − aᵢzᵢ) + Σ aᵢyᵢG(xᵢ)  ≥  Σ (sᵢC(zᵢ) − aᵢzᵢ) − radius · largest edge of a·y.

z are the margins of the model as computed, which need not be its exact ones: they only say where
the tangents touch. A computed slope that is off by a share ε costs ε|aᵢ|(radius + |zᵢ|).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cotas.arrays import Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude_bounds
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.rounding import TINY, above, down, gamma, up
from cotas.certificates.passes import as_sketches, signs_of
from cotas.certificates.presentation import at_least, ends
from cotas.certificates.theorems.combinations import (
    ExampleWeights,
    Labelled,
    LongPass,
    weighted_total,
)
from cotas.certificates.theorems.products import Totals
from cotas.certificates.theorems.surrogates import ABOUT_TRAINING, OPERATIONS
from cotas.certificates.theorems.weak_learners import StumpClass
from cotas.losses import Exponential, Logistic, Loss, SquaredHinge
from cotas.words import say

REFERENCE = "docs/theory/boosting.md, the Frank–Wolfe gap (Jaggi 2013; Rugeles Ospina, Algorithm 6)"
OWN_WEIGHT = "The radius is the total weight Σ|w| of the model itself."
Curve = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


# Value and slope, each within OPERATIONS units; convex and never below zero.
KNOWN: dict[type, Curve] = {
    Exponential: lambda z: (value := np.exp(-z), -value),
    Logistic: lambda z: (
        np.maximum(-z, 0.0) + np.log1p(np.exp(-np.abs(z))),
        -1.0 / (1.0 + np.exp(z)),
    ),
    SquaredHinge: lambda z: (np.maximum(1.0 - z, 0.0) ** 2, -2.0 * np.maximum(1.0 - z, 0.0)),
}


@dataclass(frozen=True, kw_only=True)
class HullPoint(Labelled):
    """A combination in radius·conv(stumps), to be compared with all the others there.

    `radius=None` takes Σ|w| of the model.
    """

    cost: Loss
    stumps: StumpClass
    radius: float | None = None

    kind: ClassVar[str] = "duality"

    def trusted(self) -> list[str]:
        if type(self.cost) in KNOWN:
            return super().trusted()
        own = "that the cost {cost} is convex, with the value and slope that it computes"
        return [*super().trusted(), say(own, cost=self.cost.name)]

    def refuse_unsound(self) -> None:
        super().refuse_unsound()
        if len(self.combinations) != 1 or not self.stumps.contains(self.combinations[0].learners):
            raise Objection("A function of the combination is not one of the stumps.")

    def _reach(self) -> float:
        """Return the radius, no less than Σ|w|, which rounding may leave a little beyond it."""
        size = self.size()[1]
        radius = size if self.radius is None else float(self.radius)
        if not 0 <= radius < math.inf:
            raise Objection("The radius is not a finite number above zero.")
        if size > above(radius, 4 * self.rounds + 4):
            raise Objection("The combination lies outside the hull.")
        return max(radius, size)

    def _curve(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        known = KNOWN.get(type(self.cost))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if known is not None:
                return known(z)
            value, slope = self.cost.value(z), self.cost.slope(z)
        return np.asarray(value, dtype=np.float64), np.asarray(slope, dtype=np.float64)

    def measure(self, data_pass: LongPass, weights: ExampleWeights, each: Each) -> Certificate:
        radius, n = self._reach(), data_pass.X.shape[0]
        z, slack = np.empty(n), np.empty(n)

        def read(span: slice, rows: Matrix, signs: FloatArray) -> Totals:
            with np.errstate(over="ignore", invalid="ignore"):
                lead = self.lead(rows, signs)
            z[span], slack[span] = lead.ahead[0], lead.slack
            return {}

        totals = data_pass.totals(read, each)
        value, slope = self._curve(z)
        # A convex function is largest at one of the ends of an interval.
        largest = np.maximum(self._curve(z - slack)[0], self._curve(z + slack)[0])
        upper = weights.mean(largest, OPERATIONS)[1]
        a = weights.w * np.where(weights.w > 0, slope, 0.0)
        if not (math.isfinite(upper) and np.isfinite(a).all()):
            raise Objection("The cost of the model overflows.")
        signs = signs_of(data_pass.y, self.classes[0])
        edge = above(self.stumps.largest_edge(data_pass.X, signs * a, each) / weights.mass)
        touching = weights.mean(value - slope * z)[0]
        sizes = np.abs(value) + np.abs(slope) * (np.abs(z) + radius)
        off = above(gamma(OPERATIONS + 8) * weights.mean(sizes)[1])
        lost = above(TINY * (1.0 + radius + float(np.abs(z).max())), 4)  # slopes that underflow
        lower = down(down(touching - up(off + lost)) - up(radius * edge))
        if type(self.cost) in KNOWN:
            lower = max(lower, 0.0)
        found = Bounds.proved(lower, upper, up(off + upper - weights.mean(value)[0]))
        wrong = (z <= slack) & (weights.w > 0)
        mistakes = weighted_total(weights.w, wrong.astype(np.float64))[1]
        figures = {
            "training error": weights.share(int(np.count_nonzero(wrong)), mistakes, n),
            "Σ|w|": self.size()[1],
            "largest −⟨∇H, f⟩ of a stump": edge,
        }
        return conclude_bounds(
            found,
            vacuous=type(self.cost) in KNOWN and found.lower <= 0.0 < found.upper,
            statement=say(
                "No combination of {stumps} with Σ|w| ≤ {radius} has a {mean} {cost} cost (F > 0 "
                "means class {label}) below {lower}; this model has at most {upper}.",
                stumps=self.stumps.described(),
                radius=at_least(radius),
                mean=say("mean" if weights.uniform else "weighted mean"),
                cost=say(self.cost.name),
                label=str(self.classes[0]),
                **ends(found.lower, found.upper),
            ),
            reference=REFERENCE,
            figures=figures,
            remarks=[ABOUT_TRAINING] if self.radius is not None else [OWN_WEIGHT, ABOUT_TRAINING],
            trusted=self.trusted(),
            witness=self,
            sketch=as_sketches(totals["sum sketch"], data_pass.X.shape)[0],
        )
