"""The duality gap of softmax regression whose rows come in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cotas.arrays import Each, FloatArray
from cotas.certificates.blocks import Signs, Watched, as_source, class_factors
from cotas.certificates.certificate import Certificate
from cotas.certificates.core.blocks import Claims
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.gap import Margin, Risk
from cotas.certificates.core.softmax_blocks import softmax_in_blocks
from cotas.certificates.duality import regularizer_of
from cotas.certificates.softmax import SoftmaxPair, joint_sketch


@dataclass(frozen=True)
class SoftmaxInBlocks(SoftmaxPair):
    """A softmax regression whose rows come in blocks, and its dual point.

    Attributes
    ----------
    factors : the weight that each class has besides those of its rows; None for ones
    """

    takes_blocks: ClassVar[bool] = True  # X of `check` may be a source

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
        return self._conclude(found, joint_sketch(watched.sketches()), watched.ends_of_weights())

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
