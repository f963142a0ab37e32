"""The duality gap of softmax regression, proved by the probabilities of another model.

Any probabilities pᵢ give a lower bound once they are feasible. With free biases they have to give
each class the mass that it has in the data, Σ sᵢpᵢₖ = πₖ. Probabilities that do not are repaired:
each class with too much is scaled down, and what is then missing in the rows, dᵢ, is given to the
classes that lack something, eₖ, in proportion:

    pᵢₖ ← pᵢₖ min(1, πₖ/qₖ) + dᵢ eₖ / Σ e,        qₖ = Σ sᵢpᵢₖ.

The rows still sum to one, and the classes have their masses (Altschuler, Weed and Rigollet 2017).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy.special import softmax

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.duality import OPTIMISATION_ONLY, mean_of
from cotas.certificates.ledger import plain_fields
from cotas.certificates.sweep import (
    EPS,
    GOLDEN_RATIO,
    Block,
    Facts,
    Sketch,
    Sweep,
    Tally,
    gather_facts,
)
from cotas.problem import SoftmaxRisk

# The bound is the best of those that e + t(p − e) gives, which is feasible for 0 ≤ t ≤ 1.
MULTIPLES = (1.0, 0.999, 0.99, 0.95, 0.8, 0.5, 0.25, 0.1, 0.01)


@dataclass(frozen=True)
class SoftmaxPoint:
    """A softmax regression, and the one whose probabilities are the dual point.

    Attributes
    ----------
    problem : what is minimised
    coef, intercept : the model that is measured, a row and a number for each class
    classes : the labels, in the order of the rows
    reference_coef, reference_intercept : a model near the optimum; any will do
    weights : sᵢ, which sum to one
    """

    problem: SoftmaxRisk
    coef: FloatArray
    intercept: FloatArray
    classes: AnyArray
    reference_coef: FloatArray = field(repr=False)
    reference_intercept: FloatArray = field(repr=False)
    weights: FloatArray = field(repr=False)

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        """Both values, recomputed from the data."""
        return SoftmaxSurvey(self, X, y).conclude()

    def about(self, coef: FloatArray, intercept: Any) -> Self:
        """The same dual point, said to measure other parameters."""
        return replace(self, coef=np.array(coef), intercept=np.array(intercept))

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types."""
        problem = {"loss": "softmax", "lam": self.problem.lam, "free_bias": self.problem.free_bias}
        return {**plain_fields(self), "problem": problem}


class SoftmaxSurvey:
    """P of the model and D of the reference, in two passes over the data."""

    def __init__(self, point: SoftmaxPoint, X: Matrix, y: AnyArray) -> None:
        self.point, self.problem = point, point.problem
        directions = np.vstack([point.coef, point.reference_coef]).T
        sweep = Sweep(X, y, list(point.classes), directions)
        self.n = sweep.X.shape[0]
        if self.n != len(point.weights):
            raise ValueError(f"X has {self.n} rows; the certificate is about {len(point.weights)}.")
        if not np.isin(sweep.y, point.classes).all():
            raise ValueError("y holds labels that the certificate does not know.")
        self.masses = sweep.tally(self._read_masses)
        self.found = sweep.tally(self._read_dual)
        self.facts = gather_facts(X, y, list(point.classes))

    def _parts(self, block: Block) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The truth eᵢ, the scores of the model and the probabilities of the reference."""
        k = len(self.point.classes)
        truth = np.where(block.signs > 0, 1.0, 0.0)
        scores = block.products[:, :k] + self.point.intercept
        p = softmax(block.products[:, k:] + self.point.reference_intercept, axis=1)
        # Scores that overflow give no probabilities; the truth itself is always feasible.
        return truth, scores, np.where(np.isfinite(p).all(axis=1, keepdims=True), p, truth)

    def _read_masses(self, block: Block) -> Tally:
        truth, scores, p = self._parts(block)
        weights = self.point.weights[block.span]
        return {
            "sum risk": self.problem.risk(scores, truth, weights),
            "sum true": weights @ truth,
            "sum predicted": weights @ p,
        }

    def _read_dual(self, block: Block) -> Tally:
        truth, _, p = self._parts(block)
        weights = self.point.weights[block.span]
        p = self._repaired(p) if self.problem.free_bias else p
        gains = [self.problem.dual_gain(truth + t * (p - truth), weights) for t in MULTIPLES]
        return {
            "sum gains": np.array(gains),
            "sum combination": block.combine(weights[:, None] * (truth - p)),
        }

    def _repaired(self, p: FloatArray) -> FloatArray:
        """Probabilities that give each class its mass."""
        true, predicted = self.masses["sum true"], self.masses["sum predicted"]
        kept = np.minimum(1.0, true / np.where(predicted > 0, predicted, 1.0))
        lacking = np.maximum(0.0, true - kept * predicted)
        if not lacking.sum() > 0:
            return p
        missing = np.maximum(0.0, 1.0 - p @ kept)
        return np.asarray(p * kept + np.outer(missing, lacking / lacking.sum()))

    def conclude(self) -> Certificate:
        """Both values and what follows from them."""
        point, problem = self.point, self.problem
        primal = self.masses["sum risk"] + problem.penalty(point.coef)
        cost = problem.dual_cost(self.found["sum combination"])
        values = self.found["sum gains"] - np.square(MULTIPLES) * cost
        dual = float(np.nanmax([*values, 0.0]))
        rounding = 64 * EPS * np.sqrt(self.n) * (abs(primal) + self.found["sum gains"][0] + cost)
        bias = "the biases are free" if problem.free_bias else "without biases"
        return conclude(
            kind="duality",
            lower=dual,
            upper=primal,
            vacuous=dual <= 0.01 * primal,
            statement=(
                f"No softmax regression has a smaller {mean_of(point)} log loss + (λ/2)‖W‖² "
                f"({bias}) than {min(dual, primal):.6g}; this one has {primal:.6g}."
            ),
            reference="weak duality, theory/logistic.md",
            figures={
                "λ": problem.lam,
                "‖W‖": float(np.linalg.norm(point.coef)),
                "classes": float(len(point.classes)),
            },
            remarks=(OPTIMISATION_ONLY,),
            charge=float(rounding),
            witness=point,
            sketch=_joint_sketch(self.facts),
        )


def _joint_sketch(facts: Facts) -> Sketch:
    """One sketch for the labels of all classes, each class with a weight of its own."""
    numbered = enumerate(facts.sketches, start=1)
    labels = sum((k * GOLDEN_RATIO % 1.0) * sketch.labels for k, sketch in numbered)
    return replace(facts.sketches[0], labels=float(labels / len(facts.sketches)))
