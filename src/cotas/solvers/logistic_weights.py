"""The weights p(1−p) and targets of LogitBoost's Newton steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import log_softmax, softmax

from cotas.arrays import Each, FloatArray, IntArray
from cotas.loops import loop
from cotas.solvers.exponential_weights import parts_of

LARGEST_Z = 4.0  # of the working response, as Friedman, Hastie and Tibshirani advise
HALVINGS = 20  # of a step, after which it counts as none
LEAST_UNCLIPPED = 1e-5  # where z is not clipped: smaller weights would leave z no digits
LEAST_WEIGHT = 2.0**-51  # p(1−p) is no smaller: twice the precision of a double


@loop
def newton_targets(
    F: FloatArray, y: FloatArray, s: FloatArray, e: FloatArray, g: FloatArray, wz: FloatArray,
    w: FloatArray, losses: FloatArray,
) -> None:  # fmt: skip
    """Compute g = s(y* − p), w = s·p(1−p), and wz with z clipped, from e = exp(−2|F|).

    Nothing overflows: p is 1/(1+e) or e/(1+e). `losses` are ln(1+e) before, and s·ln(1 + e^{−2yF})
    afterwards.
    """
    for i in range(len(F)):
        margin, label, share = y[i] * F[i], y[i], s[i]
        small = e[i] / (1.0 + e[i])
        sure = 1.0 - small if margin > 0 else small
        wrong = small if margin > 0 else 1.0 - small  # the probability of the other class
        both = sure * wrong
        weight = share * (both if both > LEAST_WEIGHT else LEAST_WEIGHT)
        g[i], w[i] = share * label * wrong, weight
        # z = y/(probability of its own class), and wz = g where z is not clipped.
        wz[i] = label * weight / (sure if sure > 1.0 / LARGEST_Z else 1.0 / LARGEST_Z)
        losses[i] = share * (losses[i] - (0.0 if margin > 0 else 2.0 * margin))


def newton_rows(
    F: FloatArray, y: FloatArray, s: FloatArray, f: FloatArray, a: float, g: FloatArray,
    wz: FloatArray, w: FloatArray, room: FloatArray,
) -> float:  # fmt: skip
    """Compute F ← F + a·f, g, w and wz as they belong to it; the loss Σ s·ln(1 + e^{−2yF}).

    NumPy takes the exponentials and logarithms of many numbers in a fraction of the time. `room`
    is to work in.
    """
    e, losses = room
    F += np.multiply(f, a, out=e)
    np.multiply(np.abs(F, out=e), -2.0, out=e)
    np.exp(e, out=e)
    np.log1p(e, out=losses)
    newton_targets(F, y, s, e, g, wz, w, losses)
    return float(losses.sum())


class LogisticWeights:
    """Values of F on all the rows, with the weights, the weighted targets and the loss that belong
    to it.

    Invariant: with p = 1/(1+e^{−2F}) the gradient of the likelihood is g = s(y* − p), w = s·p(1−p),
    no smaller than 2⁻⁵¹s, and wz = w·z with the working response z = (y* − p)/(p(1−p)) in [−4, 4].
    """

    def __init__(self, y: FloatArray, s: FloatArray, F: FloatArray, each: Each = map) -> None:
        self.y, self.s, self.F = y, s, F
        self.g, self.w, self.wz = np.empty_like(F), np.empty_like(F), np.empty_like(F)
        self.room = np.empty((2, len(F)))
        self.parts = parts_of(len(F))
        self.each = each if len(self.parts) > 1 else map
        self.advance(np.zeros_like(F), 0.0)

    def advance(self, f: FloatArray, a: float) -> None:
        """Update F ← F + a·f"""

        def one(part: slice) -> float:
            return newton_rows(
                self.F[part],
                self.y[part],
                self.s[part],
                f[part],
                a,
                self.g[part],
                self.wz[part],
                self.w[part],
                self.room[:, part],
            )

        self.loss = float(sum(self.each(one, self.parts)))

    def targets(self, clipped: bool) -> tuple[FloatArray, FloatArray, float]:
        """Compute w·z, w and the largest value that a leaf may have; z clipped, or as it is."""
        if clipped:
            return self.wz, self.w, math.inf
        return self.g, np.maximum(self.w, LEAST_UNCLIPPED * self.s), LARGEST_Z

    def step(self, f: FloatArray, a: float, safeguard: bool) -> tuple[float, float, float]:
        """Update F ← F + a·f, or a part of it: the step taken, −⟨∇H, f⟩ and the weighted error of
        f.

        With `safeguard` the step is zero where none lowers the loss.
        """
        edge, mass = float(self.g @ f), float(self.w.sum())
        error = float(self.w @ (self.y * f < 0)) / mass
        if safeguard:
            return self.raise_likelihood(f, a) if edge > 0 else 0.0, edge, error
        self.advance(f, a)
        return a, edge, error

    def raise_likelihood(self, f: FloatArray, a: float) -> float:
        """Compute F ← F + a·f, a being halved until the loss falls; zero if it never does."""
        F, before = self.F.copy(), self.loss
        for _ in range(HALVINGS):
            self.advance(f, a)
            if self.loss < before:
                return a
            self.F[:] = F
            a /= 2
        self.advance(f, 0.0)
        return 0.0


class ClassWeights:
    """Values T with a column for each of K classes, F = (K−1)/K (T − mean of T), and p =
    softmax(F).

    The loss is −Σ sᵢ ln p of the class of row i.
    """

    def __init__(self, codes: IntArray, s: FloatArray, T: FloatArray) -> None:
        self.codes, self.s, self.T = codes, s, T
        self.n_classes = T.shape[1]
        self._evaluate()

    def _evaluate(self) -> None:
        F = centred(self.T)
        self.p = softmax(F, axis=1)
        own = log_softmax(F, axis=1)[np.arange(len(F)), self.codes]
        self.loss = float(-self.s @ own)

    def slope(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Compute s(y* − p) of class k, and 1 − p to all its digits."""
        others = np.delete(self.p, k, axis=1).sum(axis=1)
        return self.s * np.where(self.codes == k, others, -self.p[:, k]), others

    def targets(self, k: int, clipped: bool) -> tuple[FloatArray, FloatArray, float]:
        """Compute what `LogisticWeights.targets` does, for class k."""
        g, others = self.slope(k)
        w = self.s * np.maximum(self.p[:, k] * others, LEAST_WEIGHT if clipped else LEAST_UNCLIPPED)
        if clipped:
            return np.clip(g, -LARGEST_Z * w, LARGEST_Z * w), w, math.inf
        return g, w, LARGEST_Z

    def kept(self, f: FloatArray) -> FloatArray:
        """Return the values of a function, which the next one overwrites."""
        return f.copy()

    def step(
        self, f: Sequence[FloatArray], a: float, safeguard: bool
    ) -> tuple[float, float, float]:
        """Compute T ← T + a·f: the step taken, −⟨∇H, f⟩ and the weighted error after it.

        With `safeguard` it is halved until the loss falls; zero where it never does.
        """
        edge = sum(float(self.slope(k)[0] @ values) for k, values in enumerate(f))
        start, before, values = self.T.copy(), self.loss, np.stack(f, axis=1)
        for _ in range(HALVINGS if safeguard else 1):
            self.T[:] = start + a * values
            self._evaluate()
            if self.loss < before or not safeguard:
                return a, edge, float(self.s @ (self.T.argmax(axis=1) != self.codes))
            a /= 2
        self.T[:] = start
        self._evaluate()
        return 0.0, edge, math.nan


def centred(T: FloatArray) -> FloatArray:
    """Compute F = (K−1)/K (T − mean of T)"""
    K = T.shape[1]
    return np.asarray((K - 1) / K * (T - T.mean(axis=1, keepdims=True)))
