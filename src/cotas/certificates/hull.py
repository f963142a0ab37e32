"""How far a combination of stumps is from the best one: the Frank–Wolfe gap."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.boosting import CombinationWitness, read_sketch, sketch_block
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.sweep import EPS, Block, Sweep, Tally
from cotas.certificates.weak_learners import StumpClass
from cotas.losses import Exponential, Logistic, Loss, SquaredHinge

REFERENCE = "docs/theory/boosting.md, the Frank–Wolfe gap (Jaggi 2013; document 001, Algorithm 6)"
OWN_WEIGHT = "The radius is the total weight Σ|w| of the model itself."


@dataclass(frozen=True, kw_only=True)
class HullPoint(CombinationWitness):
    """A combination in radius·conv(stumps), to be compared with all the others there.

    For every G in the hull, H convex gives H(G) ≥ H(F) − ⟨−∇H(F), G − F⟩, and the largest
    ⟨−∇H(F), G⟩ is radius times the largest edge of a stump. `radius=None` takes Σ|w| of the model.
    """

    cost: Loss
    stumps: StumpClass
    radius: float | None = None

    def about(self, coef: FloatArray, intercept: float) -> HullPoint:
        return replace(self, combination=super().about(coef, intercept).combination)

    def check(self, X: Matrix, y: AnyArray, each: Each = map) -> Certificate:
        n, d = np.shape(X)
        s = self.normalised(n)
        size = float(np.abs(self.coef).sum())
        radius = size if self.radius is None else self.radius
        gradient = np.empty(n)
        sweep = Sweep(X, y, [self.positive], np.zeros((d, 1)))
        coefficients = self.coef

        def read(block: Block) -> Tally:
            rows, signs = block.rows, block.signs[:, 0]
            F, odd = np.zeros(len(signs)), 0.0
            for c, f in zip(coefficients, self.combination.learners.values(rows), strict=True):
                odd = max(odd, float(np.abs(np.abs(f) - 1.0).max(initial=0.0)))
                F += c * f
            weights = s[block.span]
            with np.errstate(over="ignore"):
                down = -weights * signs * self.cost.slope(signs * F)
                value = weights @ self.cost.value(signs * F)
            gradient[block.span] = down
            return {
                **sketch_block(rows, signs, block.span),
                "sum value": value,
                "sum along": down @ F,
                "sum error": weights @ (signs * F <= 0),
                "max odd": odd,
            }

        tally = sweep.tally(read, each)
        edge = self.stumps.largest_edge(X, gradient, each)
        return self._conclude(tally, edge, radius, size, float(np.abs(gradient).sum()), (n, d))

    def _remarks(self) -> tuple[str, ...]:
        said = [] if self.radius is not None else [OWN_WEIGHT]
        if self.stumps.thresholds is not None:
            said.append("The stumps are those with a threshold between two bins of the fit.")
        if not isinstance(self.cost, Exponential | Logistic | SquaredHinge):
            said.append("It is true if the cost is convex, which is not checked.")
        return tuple(said)

    def _conclude(
        self,
        tally: Tally,
        edge: float,
        radius: float,
        size: float,
        mass: float,
        shape: tuple[int, int],
    ) -> Certificate:
        upper, along = float(tally["sum value"]), float(tally["sum along"])
        gap = radius * edge - along
        rounding = 64 * EPS * (abs(upper) + radius * mass) * max(1, len(self.coef))
        objection = ""
        if tally["max odd"] > 0:
            objection = "A function of the combination is not ±1."
        elif size > radius * (1 + 1e-9):
            objection = "The combination lies outside the hull."
        elif not math.isfinite(upper):
            objection = "The cost of the model overflows."
        lower = upper - max(gap, 0.0)
        return conclude(
            kind="duality",
            lower=upper - gap,
            upper=upper,
            objection=objection,
            vacuous=bool(lower <= 0 and upper > 0 and gap >= upper),
            statement=(
                f"No combination of stumps with Σ|w| ≤ {radius:.6g} has a mean {self.cost.name} "
                f"cost more than {max(gap, 0.0):.3g} below this model's."
            ),
            reference=REFERENCE,
            figures={
                "training error": float(tally["sum error"]),
                "Σ|w|": size,
                "largest −⟨∇H, f⟩ of a stump": edge,
                "−⟨∇H, F⟩": along,
            },
            remarks=self._remarks(),
            charge=rounding,
            witness=self,
            sketch=read_sketch(tally, *shape),
        )
