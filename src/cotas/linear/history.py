"""The memory of an online run: what a certificate and a warm start need to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.certificates.passes import Facts, Sketch
from cotas.fitting.data import Examples
from cotas.solvers.run import Average, Run


@dataclass
class History:
    """A run with what was known before its first example, so that it can be certified."""

    run: Run
    average: Average | None
    seen_before: IntArray
    start: FloatArray | None = None
    set_aside_before: FloatArray | None = None
    batches: bool = False
    signature: tuple[Any, ...] = ()
    weights: FloatArray | None = None
    sketches: list[Sketch] | None = None

    def presentations(self, c: int) -> int:
        """Tell how many examples class c has been shown in this run."""
        return int(self.run.seen[c] - self.seen_before[c])

    def continues(self, signature: tuple[Any, ...], examples: Examples, facts: Facts) -> bool:
        """Tell whether a fit with this algorithm on these data is the same run going on."""
        return (
            self.start is None
            and not self.batches
            and self.signature == signature
            and self._same_weights(examples.weights)
            and self.sketches is not None
            and all(a.matches(b) for a, b in zip(self.sketches, facts.sketches, strict=True))
        )

    def _same_weights(self, weights: FloatArray | None) -> bool:
        if self.weights is None or weights is None:
            return self.weights is weights
        return np.array_equal(self.weights, weights)
