"""The duality gap of softmax regression, proved by the probabilities of another model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.softmax import softmax_bounds
from cotas.certificates.duality import (
    OPTIMIZATION_ONLY,
    conclude_duality,
    mean_in_words,
    penalty_figures,
    penalty_in_words,
    regularizer_of,
    rows_of,
)
from cotas.certificates.ledger import Parametric, plain_fields
from cotas.certificates.presentation import ends, other_rows
from cotas.certificates.sweep import GOLDEN_RATIO, Facts, Sketch, gather_facts, signs_of
from cotas.problem import SoftmaxRisk
from cotas.words import say


@dataclass(frozen=True)
class SoftmaxPair(Parametric):
    """A softmax regression, and the one whose probabilities are the dual point.

    Attributes
    ----------
    problem : what is minimized
    coef, intercept : the model that is measured, a row and a number for each class
    classes : the labels, in the order of the rows
    reference_coef, reference_intercept : a model near the optimum; any will do
    """

    problem: SoftmaxRisk
    coef: FloatArray
    intercept: FloatArray
    classes: AnyArray
    reference_coef: FloatArray = field(repr=False)
    reference_intercept: FloatArray = field(repr=False)

    def _conclude(
        self, found: Bounds | Objection, sketch: Sketch, weights: FloatArray
    ) -> Certificate:
        """Put both values and what follows from them into words; these are some weights."""
        problem = self.problem
        bias = say("the biases are free" if problem.free_bias else "without biases")
        lower, upper = found.lower, found.upper
        return conclude_duality(
            found,
            statement=say(
                "No softmax regression has a smaller {mean} log loss + {penalty} ({bias}) than "
                "{lower}; this one has {upper}.",
                mean=mean_in_words(weights),
                penalty=penalty_in_words(problem, "W"),
                bias=bias,
                **ends(lower, upper),
            ),
            reference="weak duality, theory/logistic.md",
            figures={
                **penalty_figures(problem, self.coef),
                "‖W‖": float(np.linalg.norm(self.coef)),
                "classes": float(len(self.classes)),
            },
            remarks=(OPTIMIZATION_ONLY,),
            witness=self,
            sketch=sketch,
        )

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types."""
        return {**super().to_dict(), "problem": plain_softmax(self.problem)}


@dataclass(frozen=True)
class SoftmaxPoint(SoftmaxPair):
    """Both, on rows in memory.

    Attributes
    ----------
    weights : sᵢ, which sum to one
    """

    weights: FloatArray = field(repr=False)

    def check(
        self, X: Matrix, y: AnyArray, facts: Facts | None = None, each: Each = map
    ) -> Certificate:
        """Both values, recomputed from the data; `facts` are those of it, if they are known."""
        y, classes = np.asarray(y), list(self.classes)
        rows = rows_of(X, self.problem.free_bias, facts, each)
        if rows.n != len(self.weights):
            raise other_rows(rows.n, len(self.weights))
        if not np.isin(y, self.classes).all() or len(set(classes)) < len(classes):
            raise ValueError("y holds labels that the certificate does not know.")
        truth = np.stack([signs_of(y, label) > 0 for label in classes], axis=1).astype(np.float64)
        found = self._bounds(rows, truth)
        sketch = joint_sketch((facts or gather_facts(X, y, classes)).sketches)
        return self._conclude(found, sketch, self.weights)

    def _bounds(self, rows: Any, truth: FloatArray) -> Bounds | Objection:
        coef, intercept = (np.asarray(a, np.float64) for a in (self.coef, self.intercept))
        try:
            with np.errstate(all="ignore"):
                given = np.asarray(self.reference_coef, np.float64).T
                scores, _, _ = rows.scores(given, [(b,) for b in self.reference_intercept])
                p = np.asarray(softmax(scores, axis=1))
            problem = self.problem
            model = (coef.T, intercept, p, problem.free_bias, self.weights)
            return softmax_bounds(regularizer_of(problem), rows, truth, *model)
        except Objection as objection:
            return objection


def plain_softmax(problem: SoftmaxRisk) -> dict[str, Any]:
    """The problem in plain Python types."""
    return {"loss": "softmax", **plain_fields(problem)}


def joint_sketch(sketches: Sequence[Sketch]) -> Sketch:
    """One sketch for the labels of all classes, each class with a weight of its own."""
    numbered = enumerate(sketches, start=1)
    labels = sum((k * GOLDEN_RATIO % 1.0) * sketch.labels for k, sketch in numbered)
    return replace(sketches[0], labels=float(labels / len(sketches)))
