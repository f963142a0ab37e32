"""The duality gap of softmax regression whose rows come in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cotas.arrays import Each, FloatArray
from cotas.certificates.blocks import Signs, Watched, as_source, class_factors
from cotas.certificates.certificate import Certificate
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
        found = self._bounds(watched, (watched.n_rows, watched.n_features))
        return self._conclude(found, joint_sketch(watched.sketches()), watched.ends_of_weights())
