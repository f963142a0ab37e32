"""One combination of functions for each class, proved together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from cotas.arrays import AnyArray, FloatArray
from cotas.certificates.boosting import Combination


@dataclass(frozen=True, kw_only=True)
class ClassCombinations:
    """The part of a witness that says what the model is."""

    combinations: tuple[Combination, ...]
    classes: AnyArray
    weights: FloatArray | None = None

    @property
    def coef(self) -> FloatArray:
        return np.stack([c.coefficients() for c in self.combinations])

    @property
    def intercept(self) -> float:
        return 0.0

    def about(self, coef: FloatArray, intercept: float) -> Self:
        changed = tuple(
            Combination(c.learners, np.asarray(steps), np.ones(len(steps)))
            for c, steps in zip(self.combinations, coef, strict=True)
        )
        return replace(self, combinations=changed)

    def prefix(self, k: int) -> Self:
        """The witness of the model after k rounds."""
        return replace(self, combinations=tuple(c.prefix(k) for c in self.combinations))
