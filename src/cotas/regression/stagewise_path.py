"""The whole path of a stagewise run, kept as one index and one step an iteration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates.theorems.stagewise import StagewiseRun


@dataclass(frozen=True)
class StagewisePath:
    """βᵏ and what belongs to it, for k = 0 (β = 0) to the last iteration.

    Attributes
    ----------
    run : StagewiseRun
        The index and the step of each iteration.
    scale : array of shape (n_features,)
        The length of each centred column: a coefficient for columns of unit length, divided by
        it, is the coefficient in the units of X.
    losses, lengths, nonzeros : arrays of shape (n_iter_ + 1,)
        L_n(βᵏ) = ‖y − Xβᵏ‖²/(2n), ‖βᵏ‖₁ for columns of unit length, and how many coefficients are
        not zero.
    """

    run: StagewiseRun
    scale: FloatArray
    x_mean: FloatArray
    y_mean: float
    losses: FloatArray
    lengths: FloatArray
    nonzeros: FloatArray

    def __len__(self) -> int:
        return len(self.run.chosen) + 1

    def unit_coef(self, k: int) -> FloatArray:
        """βᵏ for centred columns of unit length, as Rugeles Ospina writes it."""
        if not 0 <= k < len(self):
            raise ValueError(f"k must lie between 0 and {len(self) - 1}, the iterations made.")
        keeps = self.run.keeps()[:k]
        # What later steps leave of each step: the product of their factors.
        left = np.append(np.cumprod(keeps[:0:-1])[::-1], 1.0) if k else keeps
        steps = self.run.steps[:k] * left
        found = np.bincount(self.run.chosen[:k], weights=steps, minlength=len(self.scale))
        return found.astype(np.float64)

    def coef(self, k: int) -> FloatArray:
        """βᵏ in the units of X and y."""
        return np.asarray(self.unit_coef(k) / self.scale)

    def intercept(self, k: int) -> float:
        """The bias that goes with `coef(k)`."""
        return float(self.y_mean - self.x_mean @ self.coef(k))
