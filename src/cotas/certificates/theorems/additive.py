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

from cotas.arrays import AnyArray, Each, FloatArray, IntArray, Matrix
from cotas.certificates.certificate import Certificate, conclude_bounds
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.rounding import TINY, U, above, down, gamma, total, total_up, up
from cotas.certificates.presentation import OPTIMIZATION_ONLY, at_least, ends
from cotas.certificates.sweep import EPS, Sketch
from cotas.certificates.targets import ROUNDED
from cotas.certificates.theorems.combinations import (
    Combined,
    ExampleWeights,
    LongSweep,
    read_sketch,
)
from cotas.certificates.theorems.products import Block, Tally
from cotas.certificates.theorems.weak_learners import PlainTrees, StumpClass
from cotas.words import say

REFERENCE = "docs/theory/boosted-regression.md; Friedman 2001, Algorithms 2 and 3"
OWN_WEIGHT = "The radius is the total weight Σ|c| of the model's own stumps."
EVERY_FUNCTION = "Only rows that no function of the class can tell apart give such a bound."
RISE = "rise of the loss in a round, at most"
TAKEN_OFF = "share of the best constant's loss taken off, at least"
OVERFLOWS = "The loss of the model overflows."
LOSSES = {"squared": "half squared error", "absolute": "absolute error"}
VALUE_OPERATIONS = 8  # roundings of a loss


class Dual(NamedTuple):
    """u for each row, the cells of the rows with one, and how large b or G can be in them."""

    u: FloatArray
    rows: IntArray
    cells: IntArray
    largest: float


class DualSums(NamedTuple):
    """Of g = wu: how many there are, Σ|g|, Σ over the cells of |Σ g|, Σ gy and Σ gu.

    All are rounded up but Σ gy.
    """

    n: int
    size: float
    rest: float
    low: float
    curve: float


class MeanLosses(NamedTuple):
    """The mean loss from both sides, the sums after each round, and what they are compared with."""

    low: float
    high: float
    after: FloatArray
    slack: float  # how far a residual may be off
    constant: float  # what the best constant has at least
    rounded: float  # what makes the rounding of the targets a small relative gap
    n: int


class Compared(NamedTuple):
    """The class that a bound is about, and what is to be known of it."""

    who: str
    remarks: list[str]


def products_down(g: FloatArray, y: FloatArray) -> float:
    """Σ gᵢyᵢ, rounded down, each g being rounded itself."""
    products = g * y
    value, off = total(products)
    return down(value - up(off + above(gamma(4) * total_up(np.abs(products)))))


@dataclass(frozen=True, kw_only=True)
class AdditiveFit(Combined):
    """b + Σ cₘfₘ(x), to be compared with others of the same kind.

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

    def sweep(self, X: Matrix, y: AnyArray) -> LongSweep:
        return NumberSweep(X, y)

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

    def measure(self, sweep: LongSweep, weights: ExampleWeights, each: Each) -> Certificate:
        y, used = sweep.y, np.flatnonzero(weights.w > 0)
        if not np.isfinite(y).all():
            raise Objection("y holds what is not a finite number.")
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            r, slack, found = self.residuals(sweep, weights, each)
            upper = weights.mean(self.value(np.abs(r) + slack), VALUE_OPERATIONS)[1]
            if not math.isfinite(upper):
                raise Objection(OVERFLOWS)
            low = weights.mean(self.value(r))[0]
            constant = self._least(self._whole(y, used, weights, y), y, weights)
            lower = self._lower(sweep, used, weights, r, each)
        size, share = (y * y, ROUNDED) if self.loss == "squared" else (np.abs(y), ROUNDED / EPS)
        rounded = share * float(weights.w @ size) / weights.mass
        ends, after = (low, upper), found["sum losses"]
        losses = MeanLosses(*ends, after, float(slack.max()), constant, rounded, len(y))
        sketch = read_sketch(found, sweep.X.shape, float(np.abs(y).max()))
        return self.in_certificate(losses, lower, self.said(), weights, sketch)

    def in_certificate(
        self, losses: MeanLosses, lower: float, said: Compared, weights: ExampleWeights,
        sketch: Sketch,
    ) -> Certificate:  # fmt: skip
        """What was found in words; no other model of the class has a loss below `lower`."""
        found = Bounds.proved(lower, losses.high, up(losses.high - losses.low))
        lower, upper, constant = found.lower, found.upper, losses.constant
        figures = {"rounds": float(self.rounds)}
        # Functions with no rounding of their own: small differences are told.
        if isinstance(self.combinations[0].learners, PlainTrees):
            figures[RISE] = self._rise(losses, weights)
        if constant > 0:
            figures[TAKEN_OFF] = down(1.0 - up(upper / constant))
        scale = constant + losses.rounded
        return conclude_bounds(
            found,
            vacuous=lower <= 0.01 * upper and upper > 1e-9 * scale,
            statement=say(
                "{who} a smaller {mean} {loss} than {lower}; this model has {upper}.",
                who=said.who,
                mean=say("mean" if weights.uniform else "weighted mean"),
                loss=say(LOSSES[self.loss]),
                **ends(lower, upper),
            ),
            reference=REFERENCE,
            figures=figures,
            remarks=(*said.remarks, OPTIMIZATION_ONLY),
            trusted=self.trusted(),
            scale=scale,
            witness=self,
            sketch=sketch,
        )

    def value(self, r: FloatArray) -> FloatArray:
        """ℓ of each residual."""
        return 0.5 * r * r if self.loss == "squared" else np.abs(r)

    def _total(self, w: FloatArray, r: FloatArray, uniform: bool) -> float:
        """Σ wᵢℓ(rᵢ) in few passes, and without the threads of a BLAS, which wait for each other."""
        if self.loss == "absolute":
            return float(np.einsum("i,i->", w, np.abs(r)))
        return float(0.5 * (np.einsum("i,i->", r, r) if uniform else np.einsum("i,i,i->", w, r, r)))

    def residuals(
        self, sweep: LongSweep, weights: ExampleWeights, each: Each
    ) -> tuple[FloatArray, FloatArray, Tally]:
        """y − F of each row as computed, how far it may be off, and the loss after each round."""
        n, rounds = sweep.X.shape[0], self.rounds
        r, slack = np.empty(n), np.empty(n)

        def read(block: Block) -> Tally:
            left, w = block.signs[:, 0] - self.constant, weights.w[block.span]
            off, size = np.zeros(len(left)), abs(self.constant)
            losses = np.zeros(rounds + 1)
            losses[0] = self._total(w, left, weights.uniform)
            for m, terms in enumerate(self.terms(block.rows), start=1):
                left -= terms.cf[0]
                size += terms.size
                if isinstance(terms.off, np.ndarray):
                    off += terms.off
                losses[m] = self._total(w, left, weights.uniform)
            # y less a constant and k products.
            size += float(np.abs(block.signs).max())
            delta = up(above(2 * gamma(rounds + 8) * size, rounds + 4) + TINY)
            r[block.span], slack[block.span] = left, off * (1 + 4 * gamma(rounds + 8)) + delta
            return {"sum losses": losses}

        return r, slack, sweep.tally(read, each)

    def _rise(self, losses: MeanLosses, weights: ExampleWeights) -> float:
        """The largest difference of the losses after a round and before it, rounded up."""
        after, widest, W = losses.after, losses.slack, weights.most
        top = float(after.max())
        off = gamma(losses.n + 16) * top + W * widest * (1 + widest)
        if self.loss == "squared":
            off += widest * math.sqrt(2 * top * W)
        rise = up(float(np.diff(after).max(initial=-np.inf)) + 2 * above(off, 16))
        return up(rise / (weights.mass if rise > 0 else W)) if len(after) > 1 else 0.0

    # ---- the lower bound -----------------------------------------------------------------------

    def _lower(
        self, sweep: LongSweep, used: IntArray, weights: ExampleWeights, r: FloatArray, each: Each
    ) -> float:
        """What the other functions of the class have at least."""
        y, radius, lower = sweep.y, self.radius(), 0.0
        rows, cells = self.tests.cells(sweep.X, used)
        largest = float(np.abs(y[used]).max())
        if len(rows):
            u = self._balanced(y, weights.w, rows, cells)
            lower = self._least(Dual(u, rows, cells, largest), y, weights)
        if radius is None:
            return lower
        dual = self._whole(y, used, weights, r)._replace(largest=up(largest + radius))
        edge = self.tests.largest_edge(sweep.X, weights.w * dual.u, each)
        return max(lower, self._least(dual, y, weights, radius, edge))

    def radius(self) -> float | None:
        """Σ|c|·½|right − left| of stumps, rounded up; None for functions of another kind."""
        combination = self.combinations[0]
        learners, c = combination.learners, np.abs(combination.coefficients)
        if not (isinstance(learners, PlainTrees) and learners.feature.shape[1] == 1):
            return None
        value = np.asarray(learners.value)
        return above(total_up(c * np.abs(value[:, 1] / 2 - value[:, 0] / 2)), 4)

    def said(self) -> Compared:
        """The class that the bound is about in words, and what is to be known of it."""
        words, radius = self.tests.in_words(), self.radius()
        if radius is None:
            text = "No functions of the columns of X, of any size and number, have"
            text = "No trees with {tests}, of any size and number, have" if words else text
            return Compared(say(text, tests=words), [EVERY_FUNCTION])
        who = say(
            "No combination of stumps with {tests}, Σ|c| ≤ {radius} and any constant has",
            tests=words,
            radius=at_least(radius),
        )
        return Compared(who, [OWN_WEIGHT])

    def _whole(self, y: FloatArray, used: IntArray, weights: ExampleWeights, v: FloatArray) -> Dual:
        """u made of v for functions that may add any constant."""
        cells = np.zeros(len(used), dtype=np.int64)
        u = self._balanced(v, weights.w, used, cells)
        return Dual(u, used, cells, float(np.abs(y[used]).max()))

    def _balanced(
        self, v: FloatArray, w: FloatArray, rows: IntArray, cells: IntArray
    ) -> FloatArray:
        """The slope of the loss at v less the best constant of each cell: Σ wu is about zero there.

        For |r|, −1 below the weighted median and 1 above it, and in between what is left.
        """
        u, z, weight = np.zeros(len(v)), v[rows], w[rows]
        mass = np.bincount(cells, weight)
        if self.loss == "squared":
            u[rows] = z - (np.bincount(cells, weight * z) / mass)[cells]
            return u
        order = np.lexsort((z, cells))
        sorted_weight, sorted_cells = weight[order], cells[order]
        before = np.cumsum(sorted_weight) - sorted_weight
        before -= (np.cumsum(mass) - mass)[sorted_cells]
        part = (2 * before + sorted_weight - mass[sorted_cells]) / sorted_weight
        u[rows[order]] = np.clip(part, -1.0, 1.0)
        return u

    def _least(
        self, dual: Dual, y: FloatArray, weights: ExampleWeights, radius: float = 0.0,
        edge: float = 0.0,
    ) -> float:  # fmt: skip
        """What every function of the class has at least, by the u given."""
        w, u, n = weights.w[dual.rows], dual.u[dual.rows], len(dual.rows)
        g = w * u
        size = total_up(np.abs(g))
        # The sums of the cells, and what the products g may be off by.
        sums = up(total_up(np.abs(np.bincount(dual.cells, g))) + above(gamma(n + 4) * size))
        found = DualSums(n, size, sums, products_down(g, y[dual.rows]), total_up(g * u))
        return self.least(found, dual.largest, weights, radius, edge)

    def least(
        self, sums: DualSums, largest: float, weights: ExampleWeights, radius: float, edge: float
    ) -> float:
        """What every function of the class has at least, where b or G is at most `largest`."""
        bias = up(above(largest * sums.rest, 2))
        reach = up(above(radius * up(edge + above(2 * U * sums.size)), 2))
        lost = above(sums.n * TINY * (4.0 + largest + radius), 4)
        gain = down(sums.low - up(up(bias + reach) + lost))
        if not 0.0 < gain < math.inf:
            return 0.0
        if self.loss == "absolute":
            return max(0.0, down(gain / weights.most))
        curve = above(0.5 * sums.curve, 4)
        step = gain / (2 * curve)
        spent = up(step * step * curve * (1 + gamma(8)))
        return max(0.0, down(down(down(step * gain) - spent) / weights.most))


class NumberSweep(LongSweep):
    """Blocks whose `signs` hold the targets themselves."""

    def __init__(self, X: Matrix, y: AnyArray) -> None:
        super().__init__(X, np.asarray(y, dtype=np.float64), [])

    def _signs(self, span: slice) -> FloatArray:
        return np.asarray(self.y[span, None])
