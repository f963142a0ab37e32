"""The duality gap of softmax regression, proved by the probabilities of another model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.blocks import Signs, Watched, as_source, class_factors
from cotas.certificates.certificate import Certificate
from cotas.certificates.core.blocks import Claims
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.gap import Risk
from cotas.certificates.core.losses import Margin
from cotas.certificates.core.softmax import softmax_bounds, softmax_in_blocks
from cotas.certificates.duality import (
    OPTIMIZATION_ONLY,
    conclude_duality,
    mean_of,
    penalty_figures,
    penalty_in_words,
    regularizer_of,
    rows_of,
)
from cotas.certificates.ledger import plain_fields
from cotas.certificates.presentation import at_least, at_most
from cotas.certificates.sweep import GOLDEN_RATIO, Facts, Sketch, gather_facts, signs_of
from cotas.certificates.words import other_rows
from cotas.problem import SoftmaxRisk
from cotas.words import say


@dataclass(frozen=True)
class SoftmaxPoint:
    """A softmax regression, and the one whose probabilities are the dual point.

    Attributes
    ----------
    problem : what is minimized
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
        return self._conclude(found, _joint((facts or gather_facts(X, y, classes)).sketches))

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

    def _conclude(self, found: Bounds | Objection, sketch: Sketch) -> Certificate:
        """Put both values and what follows from them into words."""
        problem = self.problem
        bias = say("the biases are free" if problem.free_bias else "without biases")
        lower, upper = found.lower, found.upper
        return conclude_duality(
            found,
            statement=say(
                "No softmax regression has a smaller {mean} log loss + {penalty} ({bias}) than "
                "{lower}; this one has {upper}.",
                mean=mean_of(self),
                penalty=penalty_in_words(problem, "W"),
                bias=bias,
                lower=at_least(lower),
                upper=at_most(upper),
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

    def about(self, coef: FloatArray, intercept: Any) -> Self:
        """The same dual point, said to measure other parameters."""
        return replace(self, coef=np.array(coef), intercept=np.array(intercept))

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types."""
        return {**plain_fields(self), "problem": plain_softmax(self.problem)}


def plain_softmax(problem: SoftmaxRisk) -> dict[str, Any]:
    """The problem in plain Python types."""
    return {"loss": "softmax", **plain_fields(problem)}


def _joint(sketches: Sequence[Sketch]) -> Sketch:
    """One sketch for the labels of all classes, each class with a weight of its own."""
    numbered = enumerate(sketches, start=1)
    labels = sum((k * GOLDEN_RATIO % 1.0) * sketch.labels for k, sketch in numbered)
    return replace(sketches[0], labels=float(labels / len(sketches)))


@dataclass(frozen=True)
class SoftmaxInBlocks:
    """A softmax regression whose rows come in blocks; its dual point as in `SoftmaxPoint`.

    Attributes
    ----------
    problem, coef, intercept, classes, reference_coef, reference_intercept : as in `SoftmaxPoint`
    factors : the weight that each class has besides those of its rows; None for ones
    """

    takes_blocks: ClassVar[bool] = True  # X of `check` may be a source

    problem: SoftmaxRisk
    coef: FloatArray
    intercept: FloatArray
    classes: AnyArray
    reference_coef: FloatArray = field(repr=False)
    reference_intercept: FloatArray = field(repr=False)
    factors: FloatArray | None = None

    def check(self, X: Any, y: Any = None, each: Each = map) -> Certificate:
        """The certificate of this point, recomputed from a source, or from arrays."""
        source = as_source(X, y)
        classes = self.classes.tolist()
        if self.coef.shape[1:] != (source.n_features,):
            raise ValueError(
                f"X has {source.n_features} features; the certificate is about "
                f"{self.coef.shape[-1]}."
            )
        if len({*classes}) < len(classes):
            raise ValueError("The certificate names a class twice.")
        factors = () if self.factors is None else class_factors(self.classes, self.factors)
        watched = Watched.over(source, Signs(tuple(classes), factors), each)
        found = self._bounds(watched)
        sketch, ends = _joint(watched.sketches()), watched.ends_of_weights()
        given = (self.classes, self.reference_coef, self.reference_intercept, ends)
        point = SoftmaxPoint(self.problem, self.coef, self.intercept, *given)
        return replace(point._conclude(found, sketch), witness=self)

    def _bounds(self, watched: Watched) -> Bounds | Objection:
        coef, near = (np.asarray(a, np.float64) for a in (self.coef, self.reference_coef))
        bias, near_bias = (
            np.asarray(a, np.float64) for a in (self.intercept, self.reference_intercept)
        )
        same = np.array_equal(coef, near) and np.array_equal(bias, near_bias)
        risk = Risk(Margin(), regularizer_of(self.problem), self.problem.free_bias)
        size = (watched.n_rows, watched.n_features)
        biases = tuple(bias.tolist())
        try:
            claims = Claims(risk, coef.T, biases, watched.read, (None,) * len(biases), *size)
            return softmax_in_blocks(watched, claims, None if same else (near.T, near_bias))
        except Objection as objection:
            return objection

    def about(self, coef: FloatArray, intercept: Any) -> Self:
        """The same dual point, said to measure other parameters."""
        return replace(self, coef=np.array(coef), intercept=np.array(intercept))

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types."""
        return {**plain_fields(self), "problem": plain_softmax(self.problem)}
