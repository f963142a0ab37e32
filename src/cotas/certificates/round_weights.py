"""The weights of each boosting round on some rows, followed by the checker from F alone."""

from __future__ import annotations

import math

import numpy as np

from cotas.arrays import BoolArray, FloatArray
from cotas.certificates.sweep import Tally

RENEWED = 64  # rounds after which weights that were multiplied are computed from the margins
LONG, SHORT = 30.0, 1e-3  # steps for which they always are


class RoundWeights:
    """wᵢ = sᵢ exp(−margin)/J for the margins of each round: their sum, and what f gets wrong of it.

    `log_losses` are the ln J that somebody claims; they only set the scale, so that no weight
    overflows. A claim that is far off is found out by the sums.
    """

    def __init__(self, log_losses: FloatArray, s: FloatArray) -> None:
        k = len(log_losses) - 1
        self.log_losses = log_losses
        self.log_s = np.log(s, out=np.full(len(s), -np.inf), where=s > 0)
        self.totals, self.wrong, self.after = np.zeros(k + 1), np.zeros(k), np.zeros(k)
        self._weigh(0, np.zeros(len(s)))

    def advance(self, m: int, wrong: BoolArray, margins: FloatArray) -> None:
        """Round m, whose function is wrong on these rows and leaves these margins."""
        self.wrong[m] = self.w[wrong].sum()
        self._weigh(m + 1, margins)
        self.after[m] = self.w[wrong].sum()

    def advance_signs(self, m: int, wrong: BoolArray, step: float, margins: FloatArray) -> None:
        """The same for a function of ±1, which multiplies each weight by one of two factors.

        The factors and the sums before and after tell how much of the weight was wrong.
        """
        if m % RENEWED == 0 or not SHORT < abs(step) < LONG:
            self.advance(m, wrong, margins)
            return
        fall = self.log_losses[m] - self.log_losses[m + 1]
        good, bad = math.exp(min(fall - step, 700.0)), math.exp(min(fall + step, 700.0))
        self.w *= np.where(wrong, bad, good)
        before, after = self.totals[m], self.w.sum()
        self.wrong[m] = (after - good * before) / (bad - good)
        self.totals[m + 1], self.after[m] = after, bad * self.wrong[m]

    def _weigh(self, m: int, margins: FloatArray) -> None:
        exponents = self.log_s - margins
        exponents -= self.log_losses[m]
        self.w = np.exp(exponents, out=exponents)
        self.totals[m] = self.w.sum()

    def tally(self) -> Tally:
        return {
            "sum weights": self.totals,
            "sum wrong": self.wrong,
            "sum wrong after": self.after,
        }
