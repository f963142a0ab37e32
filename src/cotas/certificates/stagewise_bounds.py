"""Theorems 2.1.2, 2.2.1 and 2.2.3 of document 001, for every iteration at once.

The theorems are stated for one ε. Their proofs need no more than this, and so the bounds here are
for any sequence ε₀, ε₁, …; with one ε they are those of the document. `docs/theory/stagewise.md`
has the proofs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates.unit_columns import Spectrum

TRAINING, COEFFICIENTS, PREDICTIONS = "training error", "coefficients", "predictions"
GRADIENT, CORRELATION = "gradient", "correlation"
LENGTH, SPARSITY = "length of the coefficients", "coefficients that are not zero"


@dataclass(frozen=True)
class Setting:
    """What the bounds depend on besides the run: n, p, the steps ε, δ, and the spectrum."""

    n: float
    p: int  # columns that vary
    eps: FloatArray
    delta: float
    spectrum: Spectrum

    @property
    def fitted(self) -> float:
        """‖Xβ_LS‖, or a number that is no less."""
        return float(np.sqrt(self.spectrum.fitted))


# The bound of each item by name; entry k is about iteration k, from 0 on.
Bounds = dict[str, FloatArray]


def ls_boost_bounds(setting: Setting, losses: FloatArray) -> Bounds:
    """Theorem 2.1.2: linear convergence at the rate γ = 1 − ε(2 − ε)λ_pmin/(4p).

    `losses` are ‖y − Xβᵏ‖², which the first of the two bounds on ‖βᵏ‖₁ refers to.
    """
    eps, fitted = setting.eps, setting.fitted
    gamma = 1.0 - eps * (2.0 - eps) * setting.spectrum.smallest / (4.0 * max(setting.p, 1))
    # √γ₀·√γ₁⋯ up to iteration k
    shrunk = np.append(1.0, np.cumprod(np.sqrt(gamma)))
    smallest = np.sqrt(setting.spectrum.smallest)
    drop = np.sqrt(np.maximum(losses[0] - losses, 0.0))
    by_drop = np.sqrt(np.append(0.0, np.cumsum(eps / (2.0 - eps)))) * drop
    by_rate = fitted * np.append(0.0, np.cumsum(eps * shrunk[:-1]))
    return {
        TRAINING: fitted**2 * shrunk**2 / (2 * setting.n),
        COEFFICIENTS: _over(fitted * shrunk, smallest),
        PREDICTIONS: fitted * shrunk,
        GRADIENT: fitted * shrunk / setting.n,
        LENGTH: np.minimum(by_drop, by_rate),
        SPARSITY: np.arange(len(shrunk), dtype=np.float64),
    }


def forward_stagewise_bounds(setting: Setting, losses: FloatArray) -> Bounds:
    """Theorem 2.2.1: some i ≤ k is near the least-squares solution, up to the size of the steps.

    With b = (‖Xβ_LS‖² + Σε²)/(2Σε) over ε₀ … ε_k, the subgradient method has ‖Xᵀrⁱ‖_∞ ≤ b.
    """
    b = _subgradient(setting, 1.0)
    spread = np.sqrt(max(setting.p, 1))
    smallest = setting.spectrum.smallest
    return {
        TRAINING: _over((spread * 2 * b) ** 2, 2 * setting.n * smallest),
        COEFFICIENTS: _over(spread * 2 * b, smallest),
        PREDICTIONS: _over(spread * 2 * b, np.sqrt(smallest)),
        CORRELATION: b,
        LENGTH: np.append(0.0, np.cumsum(setting.eps)),
        SPARSITY: np.arange(len(b), dtype=np.float64),
    }


def regularized_bounds(setting: Setting, losses: FloatArray) -> Bounds:
    """Theorem 2.2.3: some i ≤ k is near the solution of the Lasso on the ball of radius δ.

    What is bounded is ω_δ itself, which is more: see the proof.
    """
    b = _subgradient(setting, 4.0)
    with np.errstate(divide="ignore"):
        shrunk = np.append(1.0, np.cumprod(1.0 - setting.eps / setting.delta))
    return {
        TRAINING: setting.delta * b / setting.n,
        PREDICTIONS: np.sqrt(2 * setting.delta * b),
        LENGTH: setting.delta * (1.0 - shrunk),
        SPARSITY: np.arange(len(b), dtype=np.float64),
    }


def _subgradient(setting: Setting, square: float) -> FloatArray:
    """(‖Xβ_LS‖² + G²Σε²)/(2Σε) over ε₀ … ε_k for k = 0, 1, …, with G² = `square`.

    The last step is counted as made again: the bound for k iterations is about k + 1 residuals.
    """
    eps = setting.eps
    if len(eps) == 0:
        # No step: at the optimum already, or stopped before anything could be said.
        return np.full(1, np.inf if setting.spectrum.fitted > 0 else 0.0)
    eps = np.append(eps, eps[-1])
    return (setting.spectrum.fitted + square * np.cumsum(eps**2)) / (2 * np.cumsum(eps))


def _over(above: FloatArray, below: float) -> FloatArray:
    """above/below, infinite where λ_pmin is not known and there is something to bound."""
    return above / below if below > 0 else np.where(above > 0, np.inf, 0.0)


THEOREMS: dict[str, tuple[str, Callable[[Setting, FloatArray], Bounds]]] = {
    "LS-Boost": ("Theorem 2.1.2 of document 001", ls_boost_bounds),
    "FS": ("Theorem 2.2.1 of document 001", forward_stagewise_bounds),
    "R-FS": ("Theorem 2.2.3 of document 001", regularized_bounds),
}
