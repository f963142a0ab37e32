"""How far boosted functions of numbers are from the best: duality for sums of functions.

Let P(G) = Σ wᵢℓ(yᵢ − G(xᵢ))/Σ wᵢ with ℓ(r) = ½r² or |r|. For all numbers u (|u| ≤ 1 for |r|) a
tangent lies below the loss, ½r² ≥ ur − ½u² and |r| ≥ ur, so for every function G

    Σ wᵢ · P(G)  ≥  Σ wᵢuᵢyᵢ − ½ Σ wᵢuᵢ² − Σ wᵢuᵢG(xᵢ)          (the second sum for squares only).

Two classes bound the last sum. Where G = b + Σ cₘfₘ with stumps f = ±1 and Σ|cₘ| ≤ ρ it is at most
|b||Σ wᵢuᵢ| + ρ·(the largest edge of a stump at w·u). Where G may be anything that tells cells of
rows apart, it is at most Σ over cells of |Σ wᵢuᵢ|·|G|. An optimal G, or b, is at most max|y| + ρ.
For squares u may be multiplied by any number, and the best one is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from cotas.arrays import Each, FloatArray, IntArray, Matrix
from cotas.certificates.certificate import Certificate, conclude_bounds
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.rounding import (
    TINY,
    U,
    above,
    down,
    gamma,
    total,
    total_down,
    total_up,
    up,
)
from cotas.certificates.passes import EPS, ROUNDED, Sketch, as_sketches
from cotas.certificates.presentation import OPTIMIZATION_ONLY, at_least
from cotas.certificates.presentation import ends as bounds_in_words
from cotas.certificates.theorems.combinations import (
    Combined,
    ExampleWeights,
    LongPass,
    weighted_total,
)
from cotas.certificates.theorems.products import Totals
from cotas.certificates.theorems.weak_learners import PlainTrees, StumpClass
from cotas.words import say

REFERENCE = "docs/theory/boosted-regression.md; Friedman 2001, Algorithms 2 and 3"
OWN_WEIGHT = "The radius is the total weight Σ|c| of the model's own stumps."
EVERY_FUNCTION = "Only rows that no function of the class can tell apart give such a bound."
RISE = "rise of the loss in a round, at most"
TAKEN_OFF = "share of the best constant's loss taken off, at least"
LOSSES = {"squared": "half squared error", "absolute": "absolute error"}
VALUE_OPERATIONS = 8  # roundings of a loss


class DualSums(NamedTuple):
    """Sums of g = wu: their number, Σ|g|, Σ g from both sides, Σ gy, rounded down, and Σ gu.

    `rest` is Σ over cells of |Σ g|, where rows are in more than one cell.
    """

    n: float
    size: float
    least: float
    most: float
    gain: float
    curve: float
    rest: float | None = None

    @classmethod
    def of(cls, w: FloatArray, u: FloatArray, y: FloatArray) -> DualSums:
        """Return those of some rows; each g has been rounded itself."""
        g = w * u
        products = g * y
        value, off = total(products)
        gain = down(value - up(off + above(gamma(4) * total_up(np.abs(products)))))
        return cls(len(g), total_up(np.abs(g)), total_down(g), total_up(g), gain, total_up(g * u))

    @property
    def unbalanced(self) -> float:
        """Bound how much a function of size one in all cells can make of Σ gG, at most."""
        if self.rest is not None:
            return self.rest
        return up(max(-self.least, self.most, 0.0) + above(gamma(4) * self.size))


@dataclass(frozen=True, kw_only=True)
class AdditiveFit(Combined):
    """A sum b + Σ cₘfₘ(x), to be compared with others of the same kind.

    `tests` are the thresholds and categories that the functions may use; with all thresholds
    allowed, the class is that of all functions of x.
    """

    constant: float
    loss: str
    tests: StumpClass

    kind: ClassVar[str] = "duality"

    @property
    def intercept(self) -> float:
        return self.constant

    def about(self, coef: FloatArray, intercept: float) -> AdditiveFit:
        return replace(super().about(coef, intercept), constant=float(intercept))

    def refuse_unsound(self) -> None:
        super().refuse_unsound()
        if len(self.combinations) != 1 or self.loss not in LOSSES:
            raise Objection("There is not one combination with a known loss.")
        if not math.isfinite(self.constant):
            raise Objection("The constant of the model is not a finite number.")
        learners = self.combinations[0].learners
        if isinstance(learners, PlainTrees) and not self.tests.allows_all(learners):
            raise Objection("A test of the trees is not one of those that the fit could use.")

    # ---- what is measured ----------------------------------------------------------------------

    @np.errstate(over="ignore", invalid="ignore", under="ignore")
    def measure(self, data_pass: LongPass, weights: ExampleWeights, each: Each) -> Certificate:
        y, used, radius, lower = data_pass.y, np.flatnonzero(weights.w > 0), self.radius(), 0.0
        r, slack, sums = self.residuals(data_pass, weights, each)
        sums |= self.losses(y, r, slack, weights)
        ends, largest = self.ends(sums, weights), float(sums["max largest"])

        def dual(v: FloatArray, rows: IntArray, cells: IntArray) -> tuple[FloatArray, DualSums]:
            w = weights.w[rows]
            u = self._balanced(v[rows], w, cells)
            return w * u, DualSums.of(w, u, y[rows])

        one = np.zeros(len(used), dtype=np.int64)
        constant = self.least(dual(y, used, one)[1], largest, weights)
        rows, cells = self.tests.cells(data_pass.X, used)
        if len(rows):
            g, found = dual(y, rows, cells)
            apart = total_up(np.abs(np.bincount(cells, g)))
            rest = up(apart + above(gamma(len(rows) + 4) * found.size))
            lower = self.least(found._replace(rest=rest), largest, weights)
        if radius is not None:
            g, found = dual(r, used, one)
            whole = np.zeros(len(y))
            whole[used] = g
            edge = self.tests.largest_edge(data_pass.X, whole, each)
            lower = max(lower, self.least(found, up(largest + radius), weights, radius, edge))
        return self.in_certificate(sums, ends, (lower, constant), weights, data_pass.X.shape)

    def losses(
        self, y: FloatArray, r: FloatArray, slack: FloatArray, weights: ExampleWeights
    ) -> Totals:
        """Sum the losses and the sizes of the targets over rows; not all need be accurate."""
        w, used = weights.w, weights.w > 0
        size = y * y if self.loss == "squared" else np.abs(y)
        return {
            "sum rows": len(y),
            "down value": weighted_total(w, self.value(r))[0],
            "up value": weighted_total(w, self.value(np.abs(r) + slack), VALUE_OPERATIONS)[1],
            "max slack": slack[used].max(initial=0.0),
            "max largest": np.abs(y[used]).max(initial=0.0),
            "max furthest": np.abs(y).max(),
            "sum sizes": float(w @ size),
        }

    def ends(self, sums: Totals, weights: ExampleWeights) -> tuple[float, float]:
        """Return the mean loss from both sides."""
        ends = weights.quotient(float(sums["down value"]), float(sums["up value"]))
        if not math.isfinite(ends[1]):
            raise Objection("The loss of the model overflows.")
        return ends

    def sketch(self, sums: Totals, shape: tuple[int, int]) -> Sketch:
        """Return the sketch of the data."""
        return as_sketches(sums["sum sketch"], shape, [sums["max furthest"]])[0]

    def in_certificate(
        self, sums: Totals, ends: tuple[float, float], least: tuple[float, float],
        weights: ExampleWeights, shape: tuple[int, int], *more: str,
    ) -> Certificate:  # fmt: skip
        """Return what was found in words; other models of the class, or constants, have `least`."""
        (low, high), (lower, constant) = ends, least
        found = Bounds.proved(lower, high, up(high - low))
        lower, upper = found.lower, found.upper
        figures = {"rounds": float(self.rounds)}
        # Functions with no rounding of their own: small differences are told.
        if isinstance(self.combinations[0].learners, PlainTrees):
            figures[RISE] = self._rise(sums, weights)
        if constant > 0:
            figures[TAKEN_OFF] = down(1.0 - up(upper / constant))
        # What makes the rounding of the targets a small relative gap.
        share = ROUNDED if self.loss == "squared" else ROUNDED / EPS
        scale = constant + share * float(sums["sum sizes"]) / weights.mass
        who, remark = self.compared()
        return conclude_bounds(
            found,
            vacuous=lower <= 0.01 * upper and upper > 1e-9 * scale,
            statement=say(
                "{who} a smaller {mean} {loss} than {lower}; this model has {upper}.",
                who=who,
                mean=say("mean" if weights.uniform else "weighted mean"),
                loss=say(LOSSES[self.loss]),
                **bounds_in_words(lower, upper),
            ),
            reference=REFERENCE,
            figures=figures,
            remarks=(remark, *more, OPTIMIZATION_ONLY),
            trusted=self.trusted(),
            scale=scale,
            witness=self,
            sketch=self.sketch(sums, shape),
        )

    def value(self, r: FloatArray) -> FloatArray:
        """Compute ℓ of each residual."""
        return 0.5 * r * r if self.loss == "squared" else np.abs(r)

    def _total(self, w: FloatArray, r: FloatArray, uniform: bool) -> float:
        """Compute Σ wᵢℓ(rᵢ) in few passes, and without the threads of a BLAS, which wait."""
        if self.loss == "absolute":
            return float(np.einsum("i,i->", w, np.abs(r)))
        return float(0.5 * (np.einsum("i,i->", r, r) if uniform else np.einsum("i,i,i->", w, r, r)))

    def residuals(
        self, data_pass: LongPass, weights: ExampleWeights, each: Each
    ) -> tuple[FloatArray, FloatArray, Totals]:
        """Compute y − F of each row, how far it may be off, and the loss after each round."""
        if not np.isfinite(data_pass.y).all():
            raise Objection("y holds what is not a finite number.")
        n = data_pass.X.shape[0]
        r, slack = np.empty(n), np.empty(n)

        def read(span: slice, rows: Matrix, y: FloatArray) -> Totals:
            w, F = weights.w[span], self.constant - y.T
            losses = [self._total(w, F[0], weights.uniform)]
            found = self.added(
                F, rows, lambda _: losses.append(self._total(w, F[0], weights.uniform))
            )
            r[span], slack[span] = -F[0], found.slack
            return {"sum losses": np.array(losses)}

        return r, slack, data_pass.totals(read, each)

    def _rise(self, sums: Totals, weights: ExampleWeights) -> float:
        """Return the largest difference of the losses after a round and before it, rounded up."""
        after, widest, W = sums["sum losses"], float(sums["max slack"]), weights.most
        top = float(after.max())
        off = gamma(int(sums["sum rows"]) + 16) * top + W * widest * (1 + widest)
        if self.loss == "squared":
            off += widest * math.sqrt(2 * top * W)
        rise = up(float(np.diff(after).max(initial=-np.inf)) + 2 * above(off, 16))
        return up(rise / (weights.mass if rise > 0 else W)) if len(after) > 1 else 0.0

    # ---- the lower bound -----------------------------------------------------------------------

    def radius(self) -> float | None:
        """Compute Σ|c|·½|right − left| of stumps, rounded up; None for other functions."""
        combination = self.combinations[0]
        learners, c = combination.learners, np.abs(combination.coefficients)
        if not (isinstance(learners, PlainTrees) and learners.feature.shape[1] == 1):
            return None
        value = np.asarray(learners.value)
        return above(total_up(c * np.abs(value[:, 1] / 2 - value[:, 0] / 2)), 4)

    def compared(self) -> tuple[str, str]:
        """Return the class that the bound is about in words, and what is to be known of it."""
        words, radius = self.tests.in_words(), self.radius()
        if radius is None:
            text = "No functions of the columns of X, of any size and number, have"
            text = "No trees with {tests}, of any size and number, have" if words else text
            return say(text, tests=words), EVERY_FUNCTION
        who = say(
            "No combination of stumps with {tests}, Σ|c| ≤ {radius} and any constant has",
            tests=words,
            radius=at_least(radius),
        )
        return who, OWN_WEIGHT

    def _balanced(self, z: FloatArray, w: FloatArray, cells: IntArray) -> FloatArray:
        """Compute the slope at z less the best constant of each cell: Σ wu is about zero there.

        For |r|, −1 below the weighted median and 1 above it, and in between what is left.
        """
        mass = np.bincount(cells, w)
        if self.loss == "squared":
            return np.asarray(z - (np.bincount(cells, w * z) / mass)[cells])
        u, order = np.empty(len(z)), np.lexsort((z, cells))
        sorted_weight, sorted_cells = w[order], cells[order]
        before = np.cumsum(sorted_weight) - sorted_weight
        before -= (np.cumsum(mass) - mass)[sorted_cells]
        part = (2 * before + sorted_weight - mass[sorted_cells]) / sorted_weight
        u[order] = np.clip(part, -1.0, 1.0)
        return u

    def least(
        self, sums: DualSums, largest: float, weights: ExampleWeights,
        radius: float = 0.0, edge: float = 0.0,
    ) -> float:  # fmt: skip
        """Bound from below every function of the class, where b or G is at most `largest`."""
        bias = up(above(largest * sums.unbalanced, 2))
        reach = up(above(radius * up(edge + above(2 * U * sums.size)), 2))
        lost = above(sums.n * TINY * (4.0 + largest + radius), 4)
        gain = down(sums.gain - up(up(bias + reach) + lost))
        if not 0.0 < gain < math.inf:
            return 0.0
        if self.loss == "absolute":
            return max(0.0, down(gain / weights.most))
        curve = above(0.5 * sums.curve, 4)
        step = gain / (2 * curve)
        spent = up(step * step * curve * (1 + gamma(8)))
        return max(0.0, down(down(down(step * gain) - spent) / weights.most))
