"""The penalized Lasso on a Gram matrix: where a solver stands, and how good that is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.loops import loop

# No gap below so many roundings of ⟨y, y⟩ can be seen.
ROUNDINGS = 16 * 2.0**-52


class LassoIterate(NamedTuple):
    """One solution of the penalized problem, in the units of the centred and scaled columns."""

    lam: float
    support: IntArray
    beta: FloatArray  # on the support
    primal: float
    gap: float

    @property
    def length(self) -> float:
        """‖β‖₁"""
        return float(np.abs(self.beta).sum())


class GramState(NamedTuple):
    """β and g = c − Gβ over the first m columns of a working set."""

    G: FloatArray  # X̃ᵀX̃, with room for more columns
    c: FloatArray  # X̃ᵀy
    beta: FloatArray
    g: FloatArray


class Bounds(NamedTuple):
    """P, P − D, and the multiple κ of the residual that is the dual point."""

    primal: float
    gap: float
    multiple: float


@loop
def bounds(a: float, b: float, length: float, steepest: float, lam: float) -> Bounds:
    """From ⟨r, y⟩, ⟨r, r⟩, ‖β‖₁ and the largest correlation that a coefficient can follow.

    D(κr) = κ⟨r, y⟩ − ½κ²⟨r, r⟩ for the best κ with κ·steepest ≤ λ; docs/theory/lasso.md.
    """
    primal = 0.5 * b + lam * length
    if a <= 0.0 or b <= 0.0:
        return Bounds(primal, primal, 0.0)
    kappa = min(a / b, lam / steepest) if steepest > 0.0 else a / b
    return Bounds(primal, primal - kappa * a + 0.5 * kappa * kappa * b, kappa)


@loop
def restricted_bounds(
    state: GramState, m: int, lam: float, positive: bool, square: float
) -> Bounds:
    """Those of the problem restricted to the first m columns; `square` is ⟨y, y⟩."""
    length = fitted = explained = steepest = 0.0
    for j in range(m):
        length += abs(state.beta[j])
        explained += state.beta[j] * state.c[j]
        fitted += state.beta[j] * state.g[j]
        steepest = max(steepest, state.g[j] if positive else abs(state.g[j]))
    a = square - explained  # ⟨r, y⟩
    return bounds(a, max(a - fitted, 0.0), length, steepest, lam)


@loop
def enough(gap: float, primal: float, square: float, tol: float) -> bool:
    """P − D ≤ tol·P, P being at least 1e-9 of P(0) = ½⟨y, y⟩, or as small as rounding allows."""
    return gap <= max(tol * max(primal, 0.5e-9 * square), ROUNDINGS * square)


@loop
def afresh(state: GramState, m: int) -> None:
    """g = c − Gβ computed anew, so that the rounding of many steps does not add up."""
    g = state.g
    g[:m] = state.c[:m]
    for j in range(m):
        if state.beta[j] != 0.0:
            row, b = state.G[j], state.beta[j]
            for i in range(m):
                g[i] -= b * row[i]
