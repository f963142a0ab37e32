"""The duality gap of softmax regression, proved by the probabilities of another model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray
from cotas.certificates.blocks import Signs, Watched, as_source, class_factors
from cotas.certificates.certificate import Certificate, conclude_bounds
from cotas.certificates.core.blocks import Claims, OneBlock
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.gap import Margin, Risk
from cotas.certificates.core.softmax import softmax_bounds
from cotas.certificates.duality import penalty_figures, penalty_in_words, regularizer_of
from cotas.certificates.passes import (
    GOLDEN_RATIO,
    Facts,
    Sketch,
    class_signs,
    class_sketches,
    refuse_other_features,
    refuse_other_rows,
    rows_of,
)
from cotas.certificates.presentation import OPTIMIZATION_ONLY, ends, mean_of
from cotas.certificates.witnesses import Parametric
from cotas.problem import SoftmaxRisk
from cotas.refusals import ParameterError
from cotas.words import say


@dataclass(frozen=True)
class SoftmaxPoint(Parametric):
    """A softmax regression, and the one whose probabilities are the dual point.

    Attributes
    ----------
    problem : what is minimized
    coef, intercept : the model that is measured, a row and a number for each class
    classes : the labels, in the order of the rows
    reference_coef, reference_intercept : a model near the optimum; any will do
    weights : sᵢ, which sum to one; None where rows come in blocks, which have their own
    factors : the weight that each class has besides those of the blocks; None for ones
    """

    problem: SoftmaxRisk
    coef: FloatArray
    intercept: FloatArray
    classes: AnyArray
    reference_coef: FloatArray = field(repr=False)
    reference_intercept: FloatArray = field(repr=False)
    weights: FloatArray | None = field(default=None, repr=False)
    factors: FloatArray | None = None

    @property
    def takes_blocks(self) -> bool:
        """Tell whether X of `check` may be a source."""
        return self.weights is None

    def check(
        self, X: Any, y: Any = None, facts: Facts | None = None, each: Each = map
    ) -> Certificate:
        """Recompute both values from the data; `facts` are those of it, if they are known."""
        classes = np.asarray(self.classes).tolist()
        if len({*classes}) < len(classes):
            raise ValueError("The certificate names a class twice.")
        if self.weights is None:
            source = as_source(X, y)
            refuse_other_features(source.n_features, self.coef.shape[-1])
            factors = () if self.factors is None else class_factors(self.classes, self.factors)
            watched = Watched.over(source, Signs(tuple(classes), factors), each)
            found = self._bounds(watched, (watched.n_rows, watched.n_features))
            return self._conclude(found, watched.sketches(), watched.ends_of_weights())
        rows, y = rows_of(X, self.problem.free_bias, facts, each), np.asarray(y)
        refuse_other_rows(rows.n, self.weights)
        if not np.isin(y, self.classes).all():
            raise ParameterError("y", "y holds labels that the certificate does not know.")
        found = self._bounds(
            OneBlock(rows, class_signs(y, classes), self.weights), (rows.n, rows.d)
        )
        sketches = facts.sketches if facts else class_sketches(X, y, classes)
        return self._conclude(found, sketches, self.weights)

    def _bounds(self, source: Any, shape: tuple[int, int]) -> Bounds | Objection:
        """Return both values, from a source of X of this shape and of labels as ±1."""
        coef, bias, near, near_bias = (
            np.asarray(a, np.float64)
            for a in (self.coef, self.intercept, self.reference_coef, self.reference_intercept)
        )
        same = np.array_equal(coef, near) and np.array_equal(bias, near_bias)
        risk = Risk(Margin(), regularizer_of(self.problem), self.problem.free_bias)
        model = (coef.T, tuple(bias.tolist()), source.read, (None,) * len(bias))
        try:
            claims = Claims(risk, *model, *shape)
            return softmax_bounds(source, claims, None if same else (near.T, near_bias))
        except Objection as objection:
            return objection

    def _conclude(
        self, found: Bounds | Objection, sketches: Sequence[Sketch], weights: FloatArray
    ) -> Certificate:
        """Put both values and what follows from them into words; these are some weights."""
        problem = self.problem
        bias = say("the biases are free" if problem.free_bias else "without biases")
        return conclude_bounds(
            found,
            statement=say(
                "No softmax regression has a smaller {mean} log loss + {penalty} ({bias}) than "
                "{lower}; this one has {upper}.",
                mean=mean_of(weights),
                penalty=penalty_in_words(problem, "W"),
                bias=bias,
                **ends(found.lower, found.upper),
            ),
            reference="weak duality, theory/logistic.md",
            figures={
                **penalty_figures(problem, self.coef),
                "‖W‖": float(np.linalg.norm(self.coef)),
                "classes": float(len(self.classes)),
            },
            remarks=(OPTIMIZATION_ONLY,),
            witness=self,
            sketch=joint_sketch(sketches),
        )


def joint_sketch(sketches: Sequence[Sketch]) -> Sketch:
    """Return one sketch for the labels of all classes, each class with a weight of its own."""
    numbered = enumerate(sketches, start=1)
    labels = sum((k * GOLDEN_RATIO % 1.0) * sketch.labels for k, sketch in numbered)
    return replace(sketches[0], labels=float(labels / len(sketches)))
