"""The duality gap: how far an objective is from its minimum, proved by a dual point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize_scalar

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.ledger import plain_fields
from cotas.certificates.sweep import EPS, Block, Facts, Sketch, Sweep, Tally, gather_facts
from cotas.problem import RegularisedRisk

SECTION = "weak duality, section 3.7 of document 000"
OPTIMISATION_ONLY = "It certifies the optimisation, not the error on new data."


def mean_of(point: Any) -> str:
    """The mean that is minimised, in words: whether some rows count more than others.

    Of a pair of classes it is that over their rows, and the others have no weight.
    """
    weights = point.weights
    if weights is not None and getattr(point, "subject", None):
        weights = weights[weights > 0]
    equal = weights is None or (weights == weights[:1]).all()
    return "mean" if equal else "weighted mean"


def _bias_in_words(problem: RegularisedRisk) -> str:
    if problem.bias_scale:
        return "the bias penalised as one more weight"
    return "the bias is free" if problem.free_bias else "without bias"


@dataclass(frozen=True)
class Expectation:
    """PEGASOS by independent draws: E[P(θ̄)] − P* ≤ c(1 + ln T)/(2λT) for the averaged vector.

    c = (√λ + R)² if θ was projected on the ball of radius 1/√λ, and 4R² if not (Shalev-Shwartz
    et al. 2011). It is a statement about the mean over all random draws.
    """

    draws: int
    projected: bool

    def gap(self, lam: float, radius: float) -> float:
        """The bound for rows no longer than `radius`."""
        c = (math.sqrt(lam) + radius) ** 2 if self.projected else 4 * radius**2
        return c * (1 + math.log(self.draws)) / (2 * lam * self.draws)


@dataclass(frozen=True)
class DualPoint:
    """A linear classifier and the dual point αᵢ = sᵢ · multipliersᵢ / per that measures it.

    For PEGASOS the multipliers count how often each example violated its margin, and `per` is
    the number of epochs. Any multipliers give a valid bound: the checker moves α into the
    feasible set before it uses it.

    Attributes
    ----------
    problem : what is minimised
    coef, intercept, positive : the model, and the label that counts as +1
    weights : sᵢ, which sum to one; None stands for 1/n each
    exact : whether θ = θ(α) is claimed, and so has to be checked
    expectation : the theory that bounds the gap on average, where it applies
    """

    problem: RegularisedRisk
    coef: FloatArray
    intercept: float
    positive: Any
    multipliers: AnyArray = field(repr=False)
    per: float = 1.0
    weights: FloatArray | None = field(default=None, repr=False)
    exact: bool = False
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
        """The certificates of several classes of one fit, in one pass over the data.

        `facts` are those of the same data, if they have been gathered already.
        """
        survey = DualSurvey(points, X, y, facts, each)
        return [survey.conclude(c, sketch) for c, sketch in enumerate(survey.sketches)]

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        """The certificate of this point, recomputed from the data."""
        return self.check_all([self], X, y)[0]

    def about(self, coef: FloatArray, intercept: float) -> Self:
        """The same dual point, said to measure other parameters."""
        return replace(self, coef=np.array(coef), intercept=float(intercept))

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types."""
        plain = plain_fields(self)
        if self.expectation is not None:
            plain["expectation"] = plain_fields(self.expectation)
        plain["problem"] = {
            "loss": self.problem.loss.name,
            "lam": self.problem.lam,
            "free_bias": self.problem.free_bias,
            "bias_scale": self.problem.bias_scale,
        }
        return plain


class DualSurvey:
    """P(θ, θ₀) and the two halves of α and of Σ αᵢyᵢxᵢ, one for each sign of y."""

    def __init__(
        self,
        points: Sequence[DualPoint],
        X: Matrix,
        y: AnyArray,
        facts: Facts | None,
        each: Each,
    ) -> None:
        self.points = points
        self.problem = points[0].problem
        self.intercepts = np.array([point.intercept for point in points])
        coefs = np.stack([point.coef for point in points], axis=1)
        positives = [point.positive for point in points]
        self.sweep = Sweep(X, y, positives, coefs)
        self.n = self.sweep.X.shape[0]
        if self.n != len(points[0].multipliers):
            raise ValueError(
                f"X has {self.n} rows; the certificate is about {len(points[0].multipliers)}."
            )
        self.found = self.sweep.tally(self._read, each)
        self.facts = facts or gather_facts(X, y, positives, each=each)
        self.sketches = self.facts.sketches

    def _read(self, block: Block) -> Tally:
        weights = self._weights(block.span)
        agreements = block.signs * (block.products + self.intercepts)
        counted = np.stack([p.multipliers[block.span] / p.per for p in self.points], axis=1)
        alpha = weights[:, None] * np.clip(counted, 0.0, self.problem.loss.steepest)
        sides = [np.where(block.signs > 0, alpha, 0.0), np.where(block.signs < 0, alpha, 0.0)]
        return {
            "sum risk": self.problem.risk(agreements, weights),
            "sum mass": np.stack([side.sum(axis=0) for side in sides]),
            "sum combination": np.stack([block.combine(side) for side in sides]),
        }

    def _weights(self, span: slice) -> FloatArray:
        weights = self.points[0].weights
        return np.full(span.stop - span.start, 1.0 / self.n) if weights is None else weights[span]

    def conclude(self, c: int, sketch: Sketch) -> Certificate:
        """Both values and what follows from them."""
        point, problem = self.points[c], self.problem
        primal = float(self.found["sum risk"][c]) + problem.penalty(point.coef, point.intercept)
        dual, terms = self._best_dual(c)
        rounding = 64 * EPS * np.sqrt(self.n) * (abs(primal) + terms)
        objection = ""
        if point.exact and not self._rebuilds(c):
            objection = "The dual point does not give back the model from these data."
        figures = {"λ": problem.lam, "‖θ‖": float(np.linalg.norm(point.coef))}
        remarks = []
        if point.expectation is not None:
            longest = self.facts.longest
            figures["R (longest row)"] = longest
            figures["mean gap in theory, at most"] = point.expectation.gap(problem.lam, longest)
            remarks.append("The theory bounds the mean over all random draws, not this run.")
        return conclude(
            kind="duality",
            lower=dual,
            upper=primal,
            objection=objection,
            # It does not exclude a model with an objective a hundred times smaller.
            vacuous=dual <= 0.01 * primal,
            statement=(
                f"No classifier has a smaller {mean_of(point)} {problem.loss.name} loss + "
                f"(λ/2)‖θ‖² ({_bias_in_words(problem)}) "
                f"than {min(dual, primal):.6g}; this one has {primal:.6g}."
            ),
            reference=SECTION if problem.gain_is_linear else "weak duality, theory/logistic.md",
            figures=figures,
            remarks=(*remarks, OPTIMISATION_ONLY),
            charge=float(rounding),
            witness=point,
            sketch=sketch,
        )

    def feasible(self, c: int) -> tuple[float, FloatArray, float]:
        """Σ αᵢ, Σ αᵢyᵢxᵢ and Σ αᵢyᵢ of a feasible α.

        With a free bias the heavier side has been scaled down, so that Σ αᵢyᵢ = 0.
        """
        mass, combinations = self.found["sum mass"][:, c], self.found["sum combination"][:, :, c]
        share = self._share(c)
        combination = share[0] * combinations[0] - share[1] * combinations[1]
        return float(share @ mass), combination, float(share[0] * mass[0] - share[1] * mass[1])

    def _share(self, c: int) -> FloatArray:
        """How much of the α of each side is kept."""
        mass = self.found["sum mass"][:, c]
        if not self.problem.free_bias:
            return np.ones(2)
        return np.array([mass.min() / side if side > 0 else 0.0 for side in mass])

    def _best_dual(self, c: int) -> tuple[float, float]:
        """D at the best feasible multiple of α, and the size of the terms it is made of.

        tα with 0 ≤ t ≤ 1 is feasible too. For the hinge loss D(tα) = tA − t²B is largest at
        t = A/2B.
        """
        a, combination, balance = self.feasible(c)
        b = self.problem.dual_cost(combination, balance)
        if not self.problem.gain_is_linear:
            return self._best_multiple(c, b), a + b
        multiple = 1.0 if 2 * b <= a else a / (2 * b)
        return multiple * a - multiple**2 * b, a + b

    def _best_multiple(self, c: int, cost: float) -> float:
        """The largest D(tα) found for 0 ≤ t ≤ 1, a concave function of t. Every t is valid."""
        point, share = self.points[c], self._share(c)
        weights = self._weights(slice(0, self.n))
        used = np.flatnonzero(weights > 0)
        weights = weights[used]
        side = np.where(self.sweep.y[used] == point.positive, share[0], share[1])
        counted = np.clip(point.multipliers[used] / point.per, 0.0, self.problem.loss.steepest)
        alpha = weights * counted * side

        def dual(multiple: float) -> float:
            return float(self.problem.dual_gain(multiple * alpha, weights)) - multiple**2 * cost

        if not cost < np.inf:
            return 0.0  # D(0)
        found = minimize_scalar(lambda t: -dual(t), bounds=(0.0, 1.0), method="bounded")
        return max(0.0, dual(1.0), dual(float(np.clip(found.x, 0.0, 1.0))))

    def _rebuilds(self, c: int) -> bool:
        """Whether θ = θ(α), as is claimed."""
        point = self.points[c]
        positive, negative = self.found["sum combination"][:, :, c]
        theta = self.problem.primal_from_dual(positive - negative)
        size = (np.linalg.norm(positive) + np.linalg.norm(negative)) / self.problem.lam
        slack = (1e-9 + 8 * float(np.finfo(point.multipliers.dtype).eps)) * size
        return bool(np.linalg.norm(theta - point.coef) <= slack)
