"""The training error of a model with several classes is below its negative log-likelihood in bits.

If the model chooses another class than y, then p_y ≤ ½, so −log₂ p_y ≥ 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.boosting import (
    NOT_ABOUT_NEW_DATA,
    Combination,
    read_sketch,
    sketch_block,
)
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.class_combinations import ClassCombinations
from cotas.certificates.sweep import Block, Sweep, Tally

REFERENCE = "docs/theory/boosting.md: if the chosen class is wrong, p of the right one is at most ½"


@dataclass(frozen=True, kw_only=True)
class LikelihoodLedger(ClassCombinations):
    """T_k = Σ cₘ fₘₖ for each class, F = (K−1)/K (T − mean of T), p = softmax(F)."""

    def of_mixed_data(self) -> Self:
        """All that is said here holds whatever the rounds were made on."""
        return self

    def to_dict(self) -> dict[str, Any]:
        return {
            "combinations": [c.to_dict() for c in self.combinations],
            "classes": self.classes.tolist(),
            "weights": None if self.weights is None else self.weights.tolist(),
        }

    def check(self, X: Matrix, y: AnyArray, each: Each = map) -> Certificate:
        n, d = np.shape(X)
        s = np.full(n, 1.0 / n) if self.weights is None else self.weights / self.weights.sum()
        if len(s) != n:
            raise ValueError(f"The certificate is about {len(s)} rows, not {n}.")
        sweep = Sweep(X, y, list(self.classes), np.zeros((d, 1)))
        K = len(self.classes)

        def read(block: Block) -> Tally:
            rows = block.rows
            T = np.stack([_sum(c, rows) for c in self.combinations], axis=1)
            F = (K - 1) / K * (T - T.mean(axis=1, keepdims=True))
            own = block.signs.argmax(axis=1)
            bits = -log_softmax(F, axis=1)[np.arange(len(F)), own] / math.log(2)
            weights = s[block.span]
            return {
                **sketch_block(rows, block.signs @ np.arange(1.0, K + 1), block.span),
                "sum bits": weights @ bits,
                "sum error": weights @ (F.argmax(axis=1) != own),
            }

        tally = sweep.tally(read, each)
        error, bits = float(tally["sum error"]), float(tally["sum bits"])
        rounding = 1e-9 * (1 + bits) if math.isfinite(bits) else 0.0
        objection = ""
        if not error <= bits + rounding:
            objection = "The training error is above its bound."
        return conclude(
            kind="training error",
            lower=error,
            upper=bits if math.isfinite(bits) else 1.0,  # no error is larger
            objection=objection,
            vacuous=bits >= 1.0,
            statement=(
                f"The training error is {error:.6g}; the negative log-likelihood in bits allows "
                f"at most {bits:.6g}."
            ),
            reference=REFERENCE,
            figures={"classes": float(K), "rounds": float(len(self.combinations[0].steps))},
            remarks=(NOT_ABOUT_NEW_DATA,),
            charge=rounding,
            witness=self,
            sketch=read_sketch(tally, n, d),
        )


def _sum(combination: Combination, rows: Matrix) -> FloatArray:
    total = np.zeros(rows.shape[0])
    values = combination.learners.values(rows)
    for c, f in zip(combination.coefficients(), values, strict=True):
        total += c * f
    return total
